//! The report on every device: a desk, a tablet, a telephone under a finger, paper, and the
//! keyboard alone.

use serde_json::json;

use super::browser::{self, Browser, Look};
use super::fixture::Shape;
use super::*;

const DESK: Look = Look { width: 1440, height: 900, is_dark: false };
const TELEPHONE: Look = Look { width: 400, height: 800, is_dark: false };

fn open(browser: &mut Browser, report: &Report, look: Look, query: &str) {
    browser.look(look);
    browser.open(&format!("file://{}{query}", report.written.html.display()));
    browser.ask("assay.settled()");
    frame(browser);
}

/// Waits for a frame, in which observers run.
fn frame(browser: &mut Browser) {
    browser.ask("new Promise(next => requestAnimationFrame(() => requestAnimationFrame(next)))");
}

/// From now on pages are touched, not pointed at.
fn touch(browser: &mut Browser) {
    browser
        .call("Emulation.setTouchEmulationEnabled", json!({"enabled": true, "maxTouchPoints": 5}));
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn nothing_is_wider_than_its_column_without_a_hint() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    for width in [1920, 1440, 800, 400] {
        open(&mut browser, &report, Look { width, ..DESK }, "?all");
        assert_eq!(browser.ask(include_str!("wide.js")), json!([]), "at {width}");
    }
    touch(&mut browser);
    open(&mut browser, &report, TELEPHONE, "?all");
    assert_eq!(browser.ask(include_str!("wide.js")), json!([]), "under a finger");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    // The check finds what has no hint.
    browser.ask(
        "document.head.append(Object.assign(document.createElement('style'), { \
        textContent: '[data-more] { mask-image: none }' }))",
    );
    let wrong = browser.ask(include_str!("wide.js"));
    assert!(wrong.as_array().unwrap().len() > 3, "{wrong}");
}

/// Moves a finger up by 200 pixels from the middle of the first chart against threads, and says how
/// far the page went.
fn swipe(browser: &mut Browser) -> f64 {
    browser.ask(
        "document.querySelector('#threads .chart').scrollIntoView({ block: 'center', \
        behavior: 'instant' })",
    );
    frame(browser);
    browser.ask("assay.settled()");
    let place = browser.ask(
        "(() => { const box = document.querySelector('#threads .chart').getBoundingClientRect();
           const at = [box.left + box.width / 2, box.top + box.height / 2];
           return [...at, document.elementFromPoint(...at).closest('.chart') !== null, scrollY]; \
           })()",
    );
    assert_eq!(place[2], true, "the finger is on the chart");
    let (x, y) = (place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    let mut send = |kind: &str, points: Value| {
        browser.call("Input.dispatchTouchEvent", json!({"type": kind, "touchPoints": points}));
    };
    send("touchStart", json!([{"x": x, "y": y}]));
    for step in 1..=10 {
        send("touchMove", json!([{"x": x, "y": y - 20.0 * f64::from(step)}]));
    }
    send("touchEnd", json!([]));
    // Until the page has stood still for a while.
    browser.ask(
        "new Promise((done) => { let last = scrollY; let same = 0; const look = () => {
           same = scrollY === last ? same + 1 : 0; last = scrollY;
           if (same > 20) done(); else requestAnimationFrame(look); }; look(); })",
    );
    browser.ask("scrollY").as_f64().unwrap() - place[3].as_f64().unwrap()
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn a_swipe_over_a_chart_scrolls_the_page_and_buttons_zoom() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    touch(&mut browser);
    open(&mut browser, &report, TELEPHONE, "");
    let moved = swipe(&mut browser);
    assert!(moved > 100.0, "the page moved by {moved}");
    browser.ask("document.querySelector('.zooms [aria-label=\"Zoom in\"]').click()");
    let shown = browser.ask("document.getElementById('span').textContent");
    assert_eq!(shown, "Shown: second 8 to 23.");
    // The test can fail: a chart that drags a zoom keeps the page where it is.
    browser.open("about:blank");
    open(&mut browser, &report, TELEPHONE, "");
    browser.ask(
        "document.querySelector('#threads .chart').scrollIntoView({ block: 'center', \
        behavior: 'instant' })",
    );
    frame(&mut browser);
    browser.ask("assay.settled()");
    browser.ask(
        "Plotly.relayout(document.querySelector('#threads .chart'), { dragmode: 'zoom' \
        }).then(() => true)",
    );
    assert!(swipe(&mut browser).abs() < 1.0);
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn a_finger_finds_every_control() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    touch(&mut browser);
    open(&mut browser, &report, TELEPHONE, "?all");
    let small = browser.ask(
        "[...document.querySelectorAll('button, select, summary, nav a')].filter((one) => \
         one.checkVisibility())
           .filter((one) => \
           { const { width, height } = one.getBoundingClientRect();
             return Math.min(width, height) < 39.5; })
           .map((one) => one.outerHTML.slice(0, 120))",
    );
    assert_eq!(small, json!([]));
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn every_chart_has_a_key_for_what_it_draws_and_for_nothing_else() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    open(&mut browser, &report, DESK, "?all");
    assert_eq!(browser.ask(include_str!("keys.js")), json!([]));
    browser.ask("document.querySelector('[data-switch=\"1\"]').click(); assay.drawAll()");
    assert_eq!(browser.ask(include_str!("keys.js")), json!([]), "one configuration off");
    let naming = browser.ask(
        "[...document.querySelectorAll('.finding, figcaption, .key li, #caveats li')]
           .filter((one) => one.checkVisibility() && one.textContent.includes('doublewrite \
           off')).map((one) => one.textContent)",
    );
    assert_eq!(naming, json!([]), "nobody speaks of what is switched off");
    browser.ask("document.querySelector('.key').remove()");
    assert_ne!(browser.ask(include_str!("keys.js")), json!([]), "the check finds a missing key");
}

/// Sizes of the contents of a PDF's pages; those of a page that shows nothing are some hundred
/// bytes.
fn pages(pdf: &[u8]) -> Vec<u64> {
    let text = String::from_utf8_lossy(pdf);
    let object = |number: &str| {
        let start = format!("\n{number} 0 obj");
        text.split_once(start.as_str()).map(|(_, after)| after).unwrap_or_default()
    };
    let number = |after: &str| after.trim().split([' ', '\n', '/', '>']).next().unwrap().to_owned();
    let all = text.split("/Type /Page\n").skip(1);
    let length = |page: &str| {
        let contents = number(page.split_once("/Contents ").unwrap().1);
        number(object(&contents).split_once("/Length ").unwrap().1).parse().unwrap()
    };
    all.map(length).collect()
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn paper_holds_everything_in_the_light_and_afterwards_all_is_as_it_was() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    open(&mut browser, &report, Look { is_dark: true, ..DESK }, "");
    let open_parts = "document.querySelectorAll('details[open]').length";
    let before = browser.ask(open_parts);
    // What the page is while it is printed.
    browser.ask(
        "addEventListener('beforeprint', () => {
           const all = (selector) => [...document.querySelectorAll(selector)].filter((one) => \
           one.getClientRects().length);
           const charts = all('.chart:not([hidden])');
           const body = document.body.getBoundingClientRect();
           window.printed = {
             folded: document.querySelectorAll('details:not([open]):not(.menu)').length,
             undrawn: charts.filter((one) => !one.querySelector('.main-svg')).length,
             wide: [...charts.map((one) => one.querySelector('.main-svg')).filter(Boolean), \
             ...all('table')]
               .filter((one) => one.getBoundingClientRect().right > body.right + 1).length,
             surface: \
             getComputedStyle(document.documentElement).getPropertyValue('--surface').trim(),
             headings: all('h2').length - document.querySelectorAll('h2').length,
           };
         })",
    );
    let answer = browser.call("Page.printToPDF", json!({"preferCSSPageSize": true}));
    let printed = browser.ask("printed");
    let whole = json!({"folded": 0, "undrawn": 0, "wide": 0, "surface": "#ffffff", "headings": 0});
    assert_eq!(printed, whole);
    let pages = pages(&browser::decode_base64(answer["data"].as_str().unwrap()));
    assert!(pages.len() > 3, "{pages:?}");
    assert!(pages.iter().all(|size| *size > 1000), "a page is blank: {pages:?}");
    assert_eq!(browser.ask(open_parts), before);
    assert_eq!(browser.ask("document.querySelectorAll('.paper-part').length"), 0);
    let dark = "getComputedStyle(document.documentElement).getPropertyValue('--surface').trim()";
    assert_eq!(browser.ask(dark), "#191c20");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

fn press(browser: &mut Browser, key: &str, code: u32) {
    for kind in ["rawKeyDown", "keyUp"] {
        let parameters = json!({"type": kind, "key": key, "windowsVirtualKeyCode": code});
        browser.call("Input.dispatchKeyEvent", parameters);
    }
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn the_keyboard_skips_to_the_results_and_stops_seldom_and_in_sight() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    open(&mut browser, &report, DESK, "");
    press(&mut browser, "Tab", 9);
    let first = browser.ask(
        "[document.activeElement.className, \
        document.activeElement.getBoundingClientRect().top > 0]",
    );
    assert_eq!(first, json!(["skip", true]));
    let under = "(() => {
        const one = document.activeElement;
        const { top, bottom } = one.getBoundingClientRect();
        const bar = document.querySelector('.bar').getBoundingClientRect();
        const isBeside = one.closest('.bar, .skip') || bar.top > 1;
        return isBeside || bottom > bar.bottom && top >= bar.bottom - 1 || top < 0 && bottom > \
        bar.bottom ? '' : one.outerHTML.slice(0, 200);
    })()";
    let mut stops = 1;
    for _ in 0..150 {
        press(&mut browser, "Tab", 9);
        if browser.ask("document.activeElement === document.body") == true {
            break;
        }
        stops += 1;
        assert_eq!(browser.ask(under), "", "stop {stops} is under the bar");
    }
    assert!(stops < 120, "{stops} stops");
    let figures = "[...document.querySelectorAll('figure')].filter((one) => \
        one.querySelector('.chart') && one.checkVisibility())";
    let of_figures = browser.ask(&format!(
        "{figures}.map((one) => [...one.querySelectorAll('summary, button, a, \
        [tabindex]')].filter((stop) => stop.tabIndex >= 0 && stop.checkVisibility()).length)"
    ));
    let of_figures = of_figures.as_array().unwrap();
    assert!(of_figures.iter().all(|count| *count == 1), "one stop each: {of_figures:?}");
}
