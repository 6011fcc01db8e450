//! Tests the sentences of the charts of seconds and of space, and that all charts of seconds follow
//! the keyboard.

use serde_json::json;

use super::browser::{self, Browser, Look};
use super::fixture::Shape;
use super::*;

fn data(html: &str) -> Value {
    let data = html.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(data).unwrap()
}

/// The page's sentence about a run's chart.
fn said(data: &Value, trial: usize, chart: &str) -> String {
    let charts = data["seconds"].as_array().unwrap();
    let place = charts.iter().position(|one| one["name"] == chart).unwrap();
    data["trials"][trial]["found"][place].as_str().unwrap().to_owned()
}

#[test]
fn a_chart_of_seconds_says_what_is_usual_and_when_it_was_furthest_from_it() {
    let report = report(&Shape::small());
    let data = data(&report.html());
    // Every series of the fixture dips in second 17 and begins low; the warm-up ends with second 5.
    let throughput = said(&data, 0, "throughput");
    assert!(throughput.contains("/s at the median, least "), "{throughput}");
    assert!(throughput.contains(" at second 17. It dropped by "), "{throughput}");
    assert!(throughput.contains(" for 1 second from second 17, when "), "{throughput}");
    let latency = said(&data, 0, "latency");
    assert!(
        latency.starts_with("p99 ") && latency.contains(" ms at the median, most "),
        "{latency}"
    );
    let failed =
        data["trials"].as_array().unwrap().iter().position(|trial| !trial["reason"].is_null());
    assert_eq!(said(&data, failed.unwrap(), "throughput"), "", "of nothing nothing is said");
}

#[test]
fn what_is_said_of_seconds_is_what_the_table_holds() {
    let report = report(&Shape::small());
    let trials = rows(&report.written.tables.join("runs.csv"));
    let series = rows(&report.written.tables.join(&trials[0]["series_file"]));
    let in_window =
        |row: &&BTreeMap<String, String>| (6..=29).contains(&row["second"].parse().unwrap());
    let values = |name: &str| -> Vec<f64> {
        series.iter().filter(in_window).map(|row| row[name].parse().unwrap()).collect()
    };
    let least = values("tps").into_iter().fold(f64::MAX, f64::min);
    let said = said(&data(&report.html()), 0, "throughput");
    let text = format!("least {}/s", crate::figures::format::figure(least));
    assert!(said.contains(&text), "{text} is not in {said}");
}

#[test]
fn the_chart_of_space_says_what_holds_how_much_in_how_little() {
    let markup = markup(&report(&Shape::small()).html());
    let space = markup.split_once("id=\"space\"").unwrap().1.split_once("</section>").unwrap().0;
    let finding =
        space.split_once("<p class=\"finding\">").unwrap().1.split_once("</p>").unwrap().0;
    assert!(
        finding.starts_with(
            "Under read_write: on doublewrite off 1.12 GB of files take 430 MB of media (2.60 : \
            1), on "
        ),
        "{finding}"
    );
}

/// The time axes of all charts of seconds, each once.
const RANGES: &str = "assay.drawAll().then(() => JSON.stringify([...new \
    Set([...document.querySelectorAll('.panel .chart')]
    .filter((one) => one.layout).map((one) => one.layout.xaxis.range.map((x) => Math.round(x * \
    10) / 10).join('–')))]))";

fn press(browser: &mut Browser, key: &str) -> String {
    for kind in ["keyDown", "keyUp"] {
        browser.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key}));
    }
    browser.ask(RANGES).as_str().unwrap().to_owned()
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn the_keyboard_zooms_and_moves_every_chart_of_seconds() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    browser.look(Look { width: 1440, height: 900, is_dark: false });
    browser.open(&format!("file://{}?all", report.written.html.display()));
    browser.ask("assay.settled()");
    assert_eq!(browser.ask(RANGES), "[\"0–30\"]");
    let before = press(&mut browser, "+");
    assert_eq!(before, "[\"0–30\"]", "without a chart in focus keys are the page's own");
    browser.ask("document.querySelector('#seconds .menu summary').focus({ focusVisible: true })");
    let mut press = |key: &str| press(&mut browser, key);
    assert_eq!(press("+"), "[\"7.5–22.5\"]");
    assert_eq!(press("ArrowRight"), "[\"11.3–26.3\"]");
    assert_eq!(press("ArrowLeft"), "[\"7.5–22.5\"]");
    assert_eq!(press("ArrowLeft"), "[\"3.8–18.8\"]");
    assert_eq!(press("ArrowLeft"), "[\"0–15\"]", "no further than the first second");
    assert_eq!(press("-"), "[\"0–30\"]");
    press("+");
    assert_eq!(press("0"), "[\"0–30\"]");
    let ring = browser.ask("getComputedStyle(document.activeElement).outlineStyle");
    assert_eq!(ring, "solid", "what has the focus is seen");
    let hint = browser.ask("document.getElementById('keys').offsetHeight");
    assert!(hint.as_f64().unwrap() > 0.0);
}
