//! Tests the first minute with the report, and its use without a mouse: the verdict is on the first
//! screen of every size, menus open by keyboard, a zoom holds for every chart of seconds, and a
//! title and notes of one's own are where they belong.

use serde_json::json;

use super::browser::{self, Browser, Look};
use super::fixture::{Shape, study};
use super::*;

const SIZES: [(u32, u32); 3] = [(1440, 900), (800, 1000), (400, 800)];

fn open(browser: &mut Browser, report: &Report, width: u32, height: u32) {
    browser.look(Look { width, height, is_dark: false });
    browser.open(&format!("file://{}?all", report.written.html.display()));
    browser.ask("assay.settled()");
}

fn bottom(browser: &mut Browser, selector: &str) -> f64 {
    let script = format!("document.querySelector('{selector}').getBoundingClientRect().bottom");
    browser.ask(&script).as_f64().unwrap()
}

/// Words beside points of the first chart that its edges cut off.
const WORDS_CUT_OFF: &str = "(() => {
    const chart = document.querySelector('[data-chart=first]');
    const area = chart.querySelector('.nsewdrag').getBoundingClientRect();
    const isCut = ({ left, right }) => left < area.left - 1 || right > area.right + 1;
    return [...chart.querySelectorAll('.textpoint text')]
      .filter((one) => isCut(one.getBoundingClientRect())).map((one) => one.textContent);
})()";

#[test]
fn the_verdict_and_its_numbers_are_on_the_first_screen() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    for (width, height) in SIZES {
        open(&mut browser, &report, width, height);
        // On a telephone the numbers follow the chart.
        let seen: &[&str] = if width < 720 {
            &[".question", ".sentence", "[data-chart=first]"]
        } else {
            &[".question", ".sentence", ".warning", ".number", ".number .kept-by"]
        };
        for selector in seen {
            let bottom = bottom(&mut browser, selector);
            assert!(
                bottom > 0.0 && bottom <= f64::from(height),
                "{selector} ends at {bottom} of {height} at a width of {width}"
            );
        }
        if width == 1440 {
            for selector in ["[data-chart=first]", ".number:last-child"] {
                let bottom = bottom(&mut browser, selector);
                assert!(bottom <= f64::from(height), "{selector} ends at {bottom}");
            }
        }
        let drawn =
            "document.querySelector('[data-chart=first] .main-svg').getBoundingClientRect().right
            - document.querySelector('[data-chart=first]').getBoundingClientRect().right";
        assert!(browser.ask(drawn).as_f64().unwrap() <= 1.0, "the chart stays in its card");
        assert_eq!(browser.ask(WORDS_CUT_OFF), json!([]), "at a width of {width}");
        let told =
            browser.ask("document.querySelector('[data-chart=first] .plot-container').textContent");
        assert!(told.as_str().unwrap().contains("% "), "{told}");
    }
    let numbers = browser.ask("document.querySelectorAll('.number').length");
    assert_eq!(numbers, 3);
    let intervals = "document.querySelectorAll('[data-chart=first] .errorbar path').length";
    assert!(browser.ask(intervals).as_u64().unwrap() >= 2, "the intervals are drawn");
}

/// The first chart's rows where it is narrow: the share of its width that is drawn on, and names
/// outside or over each other.
const NAMES_ABOVE: &str = "(() => {
    const chart = document.querySelector('[data-chart=first]');
    const { left, right, width } = chart.getBoundingClientRect();
    const share = chart.querySelector('.nsewdrag').getBoundingClientRect().width / width;
    const names = [...chart.querySelectorAll('.annotation-text-g')].map((one) => \
    one.getBoundingClientRect());
    const isOver = (one, other) => one !== other && one.top < other.bottom - 1 && other.top < \
    one.bottom - 1;
    return {
      share, rows: chart.layout.yaxis.categoryarray.length, names: names.length,
      outside: names.filter((one) => one.left < left - 1 || one.right > right + 1).length,
      over: names.filter((one) => names.some((other) => isOver(one, other))).length,
    };
})()";

#[test]
#[ignore = "in --full: another pass of the browser"]
fn on_a_telephone_names_stand_above_their_rows_and_the_chart_has_the_width() {
    let Some(mut browser) = browser::start() else { return };
    let long =
        vec!["plain, doublewrite on", "CSD, doublewrite off", "plain, zlib pages, doublewrite on"];
    for shape in [Shape::small(), Shape { configs: long, ..Shape::small() }] {
        let report = report(&shape);
        open(&mut browser, &report, 400, 800);
        let found = browser.ask(NAMES_ABOVE);
        assert!(found["share"].as_f64().unwrap() > 0.8, "{found}");
        assert!(found["names"].as_u64().unwrap() > 0, "{found}");
        assert_eq!(found["names"], found["rows"], "{found}");
        assert_eq!((&found["outside"], &found["over"]), (&json!(0), &json!(0)), "{found}");
    }
    open(&mut browser, &report(&Shape::small()), 1440, 900);
    assert_eq!(browser.ask(NAMES_ABOVE)["names"], 0, "with room they stand beside it");
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn a_charts_menu_is_reached_and_left_by_keyboard_and_saves_what_is_drawn() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    open(&mut browser, &report, 1440, 900);
    // A figure of several panels has one menu, and its picture holds all of them.
    let figures = browser.ask(
        "[...document.querySelectorAll('figure')].filter((one) => \
        one.querySelector('.chart')).length",
    );
    assert_eq!(
        browser.ask("document.querySelectorAll('.menu summary[aria-label]').length"),
        figures
    );
    browser.ask("document.querySelector('.menu summary').focus()");
    let mut press = |key: &str| {
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let code = if key == "Enter" { 13 } else { 27 };
            browser.call(
                "Input.dispatchKeyEvent",
                json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code}),
            );
        }
        browser.ask("document.querySelector('.menu').open")
    };
    assert_eq!(press("Enter"), true);
    assert_eq!(press("Escape"), false);
    for format in ["png", "svg"] {
        let picture = browser.ask(&format!(
            "Plotly.toImage(document.querySelector('[data-chart=first]'), {{ format: '{format}', \
            width: 600, height: 300 }})"
        ));
        assert!(picture.as_str().unwrap().starts_with(&format!("data:image/{format}")));
    }
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn a_zoom_into_seconds_holds_for_every_chart_of_seconds() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    open(&mut browser, &report, 1440, 900);
    let ranges = "JSON.stringify([...new Set([...document.querySelectorAll('.panel .chart')]
        .filter((one) => one.layout).map((one) => \
        one.layout.xaxis.range.map(Math.round).join('–')))])";
    assert_eq!(browser.ask(ranges), "[\"0–30\"]");
    browser.ask(
        "Plotly.relayout(document.querySelector('[data-chart=\"throughput:0\"]'), \
         { 'xaxis.range[0]': 10, 'xaxis.range[1]': 20 })
         .then(() => assay.drawAll())",
    );
    assert_eq!(browser.ask(ranges), "[\"10–20\"]");
    browser.ask(
        "[...document.querySelectorAll('#seconds \
        .menu')][1].querySelectorAll('button')[2].click(); assay.drawAll()",
    );
    assert_eq!(browser.ask(ranges), "[\"0–30\"]");
}

#[test]
fn a_title_and_notes_of_ones_own_are_on_the_page_and_not_in_the_data() {
    let directory = tempfile::tempdir().unwrap();
    let store = study(directory.path(), &Shape::small());
    let notes = "# Why\n\nOld <b>disk</b>; see [the ticket](https://example.org/1).";
    let wishes = ReportOptions { title: Some("Old or <new>?"), notes: Some(notes) };
    let written = write_as(&store, directory.path(), Supplied::default(), wishes).unwrap();
    let html = fs::read_to_string(&written.html).unwrap();
    let text = markup(&html);
    assert!(text.contains("<h1>Old or &lt;new&gt;?</h1>"));
    assert!(text.contains("<h3>Why</h3>") && text.contains("Old &lt;b&gt;disk&lt;/b&gt;"));
    let json: Value = serde_json::from_slice(&fs::read(&written.json).unwrap()).unwrap();
    assert!(json["title"].as_str().unwrap().starts_with("What does the doublewrite"));
}
