//! Tests a reader's actions: copying the answer and pictures, sorting tables, and sending links to
//! a view.

use serde_json::json;

use super::browser::{self, Browser, Look};
use super::fixture::Shape;
use super::*;

fn open(browser: &mut Browser, report: &Report, rest: &str) {
    browser.look(Look { width: 1440, height: 900, is_dark: false });
    // From another page, as another place on the same one would not be loaded.
    browser.open("about:blank");
    browser.open(&format!("file://{}{rest}", report.written.html.display()));
    browser.ask("assay.settled()");
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn the_address_holds_what_is_switched_chosen_and_zoomed_to() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    open(&mut browser, &report, "");
    let state = "[[...document.querySelectorAll('[data-switch]')].map((one) => \
        one.getAttribute('aria-pressed')),
        document.getElementById('choose-threads').value, \
        document.getElementById('span').textContent]";
    let untouched = browser.ask(state);
    assert_eq!(untouched, json!([["true", "true", "true"], "32", ""]));
    browser.ask("document.querySelector('[data-switch=\"1\"]').click()");
    browser.ask(
        "(() => { const one = document.getElementById('choose-threads'); one.value = '8'; \
        one.dispatchEvent(new Event('change')); })()",
    );
    let zoom = "(() => { const one = document.querySelector('#seconds .menu summary'); one.focus();
        one.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true })); })()";
    browser.ask(zoom);
    let shown = json!([["true", "false", "true"], "8", "Shown: second 8 to 23."]);
    assert_eq!(browser.ask(state), shown);
    let query = browser.ask("location.search");
    let query = query.as_str().unwrap();
    assert_eq!(query, "?hide=doublewrite+off&threads=8&seconds=7.5-22.5");
    open(&mut browser, &report, &format!("{query}#seconds"));
    assert_eq!(browser.ask(state), shown, "its link shows the same");
    let hidden = "[...document.querySelectorAll('[data-config=\"1\"]')].filter((one) => \
        one.getClientRects().length).length";
    assert_eq!(browser.ask(hidden), 0);
    // Back undoes step by step.
    open(&mut browser, &report, "");
    browser.ask("document.querySelector('[data-switch=\"1\"]').click()");
    browser.ask(zoom);
    let back = "new Promise((done) => { addEventListener('popstate', () => done(), { once: true \
        }); history.back(); })";
    browser.ask(back);
    assert_eq!(browser.ask(state), json!([["true", "false", "true"], "32", ""]));
    browser.ask(back);
    assert_eq!(browser.ask(state), untouched);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn headings_are_links_and_a_link_opens_what_is_folded() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    open(&mut browser, &report, "");
    let lacking = browser.ask(
        "[...document.querySelectorAll('main h2')].filter((one) => {
           const link = one.querySelector('a.anchor');
           return !link || !document.getElementById(link.getAttribute('href').slice(1));
         }).map((one) => one.textContent)",
    );
    assert_eq!(lacking, json!([]));
    let folded = browser.ask(
        "(() => { const one = document.querySelector('main details:not([open]):not(.menu) table');
           one.id = 'folded';
           location.hash = '#folded'; return new Promise((done) => setTimeout(() => \
           done(one.checkVisibility()), 50)); })()",
    );
    assert_eq!(folded, true);
    let files = browser.ask(
        "[...document.querySelectorAll('a[href^=\"tables/\"]')].map((one) => \
        one.getAttribute('href'))",
    );
    let files: Vec<&str> = files.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(files.contains(&"tables/summary.csv"), "{files:?}");
    for file in files {
        let path = report.written.tables.parent().unwrap().join(file);
        assert!(path.exists(), "{file} is linked and not there");
    }
}

/// A table of two blocks as the page's are.
const TABLE: &str = "<div class=\"table\" tabindex=\"0\"><table id=\"sizes\" class=\"figures\">
    <thead><tr><th>name</th><th>size<small>of it</small></th></tr></thead>
    <tbody><tr class=\"block\"><th colspan=\"2\">first</th></tr>
      <tr><th>a</th><td>1.2 GB</td></tr><tr><th>b</th><td>–</td></tr><tr><th>c</th><td>900 \
      MB<small>800-1 000</small></td></tr><tr><th>d</th><td>1\u{202f}500 kB</td></tr></tbody>
    <tbody><tr class=\"block\"><th colspan=\"2\">second</th></tr><tr><th>e</th><td>−3 \
    %</td></tr><tr><th>f</th><td>−12 % (95 % interval …)</td></tr></tbody>
    </table></div>";

#[test]
#[ignore = "in --full: another pass of the browser"]
fn a_table_is_sorted_by_value_within_its_blocks() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    let page = report.html().replacen("<main", &format!("<div>{TABLE}</div><main"), 1);
    fs::write(&report.written.html, page).unwrap();
    open(&mut browser, &report, "");
    let rows = "[...document.querySelectorAll('#sizes tbody th:first-child')].map((one) => \
        one.textContent).join(' ')";
    let size = "document.querySelector('#sizes').tHead.rows[0].cells[1]";
    browser.ask(&format!("{size}.querySelector('button').click()"));
    assert_eq!(browser.ask(rows), "first d c a b second f e");
    assert_eq!(browser.ask(&format!("{size}.getAttribute('aria-sort')")), "ascending");
    // By keyboard: the first head is the table's stop, an arrow leads to the next, Enter sorts.
    browser.ask("document.querySelector('#sizes .sort').focus()");
    for (key, code, text) in [("ArrowRight", 39, ""), ("Enter", 13, "\r")] {
        for kind in ["keyDown", "keyUp"] {
            browser.call(
                "Input.dispatchKeyEvent",
                json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code}),
            );
        }
    }
    assert_eq!(browser.ask(rows), "first a c d b second e f", "what is missing stays last");
    assert_eq!(browser.ask(&format!("{size}.getAttribute('aria-sort')")), "descending");
    let sortable = browser.ask("document.querySelectorAll('main .sort').length");
    assert!(sortable.as_u64() > Some(10));
}

/// Width and height in a PNG's first chunk.
fn size_of_png(address: &str) -> (u32, u32) {
    let bytes = browser::decode_base64(address.strip_prefix("data:image/png;base64,").unwrap());
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn saved_pictures_carry_title_key_and_source_on_white() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    browser.look(Look { width: 1440, height: 900, is_dark: true });
    browser.open(&format!("file://{}?all", report.written.html.display()));
    browser.ask("assay.settled()");
    let texts = |figure: &str| {
        format!(
            "assay.pictureOf({figure}, 'svg').then((address) => {{
               const svg = new \
               DOMParser().parseFromString(decodeURIComponent(address.slice(address.indexOf(',') \
               + 1)), 'image/svg+xml');
               const white = svg.querySelector('.bg, rect')?.getAttribute('style') ?? '';
               return [[...svg.querySelectorAll('text')].map((one) => one.textContent).join('|'), \
               white]; }})"
        )
    };
    let source = format!(
        "What does the doublewrite buffer cost on this disk? <img src=x onerror=alert(1)> · {} · \
        assay {}",
        &rows(&report.written.tables.join("runs.csv"))[0]["started_at"][..10],
        env!("CARGO_PKG_VERSION")
    );
    let figures = [
        (
            "document.querySelector('[data-chart^=throughput-by]').closest('figure')",
            "Throughput",
            ["doublewrite on", fixture::HOSTILE],
        ),
        (
            "document.querySelector('[data-chart=\"latency:0\"]').closest('figure')",
            "Latency",
            ["p99", "doublewrite off"],
        ),
        (
            "document.querySelector('[data-chart=\"cpu:0\"]').closest('figure')",
            "CPU",
            ["system", fixture::HOSTILE],
        ),
    ];
    for (figure, title, key) in figures {
        let found = browser.ask(&texts(figure));
        let (text, white) = (found[0].as_str().unwrap(), found[1].as_str().unwrap());
        assert!(text.contains(title) && text.contains(&source), "{text}");
        assert!(key.iter().all(|name| text.contains(name)), "{text}");
        assert!(white.contains("rgb(255, 255, 255)"), "{white}");
        let png = browser.ask(&format!("assay.pictureOf({figure}, 'png')"));
        let (width, height) = size_of_png(png.as_str().unwrap());
        let chart = browser.ask(&format!("{figure}.querySelector('.chart').clientHeight"));
        assert_eq!(width, 2000);
        assert!(u64::from(height) > 2 * (chart.as_u64().unwrap() + 100), "{height} for {chart}");
    }
    let theme = "getComputedStyle(document.documentElement).getPropertyValue('--surface').trim()";
    assert_eq!(browser.ask(theme), "#191c20", "the page stays as it was");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn the_answer_is_copied_and_where_there_is_no_clipboard_it_is_there_to_be_taken() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    open(&mut browser, &report, "");
    let sentence = browser.ask("document.querySelector('.sentence').textContent.trim()");
    let sentence = sentence.as_str().unwrap();
    let set = |value: &str| {
        format!(
            "Object.defineProperty(navigator, 'clipboard', {{ configurable: true, value: {value} \
            }})"
        )
    };
    browser.ask(&set("{ writeText: async (text) => { window.copied = text; } }"));
    let click = |place: usize| {
        format!(
            "document.querySelectorAll('.copy button')[{place}].click(); new Promise((done) => \
            setTimeout(done))"
        )
    };
    browser.ask(&click(0));
    let copied = browser.ask("copied");
    assert!(
        copied.as_str().unwrap().starts_with('#') && copied.as_str().unwrap().contains(sentence),
        "{copied}"
    );
    browser.ask(&click(1));
    let line = browser.ask("copied");
    assert!(
        line.as_str().unwrap().contains(sentence) && !line.as_str().unwrap().contains('\n'),
        "{line}"
    );
    assert_eq!(browser.ask("document.querySelector('.copy output').textContent"), "Copied");
    browser.ask(&set("undefined"));
    browser.ask(&click(0));
    let taken = browser.ask("document.querySelector('dialog').open && getSelection().toString()");
    assert_eq!(taken, copied);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
