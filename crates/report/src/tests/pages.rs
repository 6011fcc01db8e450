//! The report in a real browser: everything draws, nothing is fetched, nothing is complained of,
//! and what can be switched does switch. With `ASSAY_PICTURES=DIRECTORY` the page and photographs
//! of it are left in that directory.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::browser::{self, Browser, Look};
use super::fixture::{HOSTILE, Shape};
use super::{Report, report, rows};

const LAPTOP: Look = Look { width: 1280, height: 800, is_dark: false };
const LOOKS: [Look; 4] = [
    LAPTOP,
    Look { is_dark: true, ..LAPTOP },
    Look { width: 400, height: 800, is_dark: false },
    Look { width: 400, height: 800, is_dark: true },
];

/// In the small study: the first screen, two workloads' five charts, space, eleven charts of three
/// configurations, one of which has no disk counters, and five of the configuration that stands on
/// a drive.
const CHARTS: u64 = 1 + 2 * (3 + 2) + 1 + 11 * 3 - 3 + DRIVE_CHARTS;
const DRIVE_CHARTS: u64 = 5;

fn url(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// Opens the report with every chart drawn.
fn open(browser: &mut Browser, report: &Report) -> String {
    let url = format!("{}?all", url(&report.written.html));
    browser.open(&url);
    url
}

/// Defects of the open page, and the number of charts it shows.
fn check(browser: &mut Browser) -> (Vec<String>, u64) {
    let found = browser.ask(include_str!("check.js"));
    let wrong = found["wrong"].as_array().unwrap();
    let wrong = wrong.iter().map(|text| text.as_str().unwrap().into()).collect();
    (wrong, found["count"].as_u64().unwrap())
}

fn assert_sound(browser: &mut Browser, url: &str, what: &str) -> u64 {
    let (wrong, count) = check(browser);
    assert!(wrong.is_empty(), "{what}: {wrong:#?}");
    assert_eq!(browser.complaints(), Vec::<String>::new(), "{what}");
    assert_eq!(browser.fetched(url), Vec::<String>::new(), "{what}");
    count
}

/// Sets a choice as a person would.
fn choose(browser: &mut Browser, id: &str, value: &str) {
    browser.ask(&format!(
        "(() => {{ const one = document.getElementById('{id}'); one.value = '{value}';
           one.dispatchEvent(new Event('change')); return assay.drawAll(); }})()"
    ));
}

fn click(browser: &mut Browser, selector: &str) {
    browser.ask(&format!("document.querySelector('{selector}').click(); assay.drawAll()"));
}

#[test]
fn every_chart_draws_on_laptop_and_phone_in_light_and_dark() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    for look in LOOKS {
        browser.look(look);
        let url = open(&mut browser, &report);
        assert_eq!(assert_sound(&mut browser, &url, &format!("{look:?}")), CHARTS);
        let weak = browser.ask(include_str!("contrast.js"));
        assert_eq!(weak, serde_json::json!([]), "{look:?}");
        photograph(&mut browser, look, &report, "small");
    }
}

fn photograph(browser: &mut Browser, look: Look, report: &Report, name: &str) {
    let Some(directory) = std::env::var_os("ASSAY_PICTURES").map(PathBuf::from) else { return };
    let theme = if look.is_dark { "dark" } else { "light" };
    fs::create_dir_all(&directory).unwrap();
    fs::copy(&report.written.html, directory.join(format!("{name}.html"))).unwrap();
    browser
        .pictures(&directory.join(format!("{name}-{}-{theme}", look.width)).display().to_string());
}

/// Largest height of a page of the demo's size on a screen 1440 wide, folded as it opens.
const DEMO_HEIGHT_MOST: f64 = 9_000.0;

#[test]
#[ignore = "in --full: another pass of the browser"]
fn a_page_of_the_demos_size_opens_in_ten_screens() {
    let Some(mut browser) = browser::start() else { return };
    let demo = Shape {
        configs: vec!["csd", "csd-dw", "plain-dw", "plain-dw again", "plain, zlib pages"],
        threads: vec![1, 8],
        repeats: 1,
        has_trouble: false,
        ..Shape::small()
    };
    let report = report(&demo);
    browser.look(LAPTOP);
    browser.open(&url(&report.written.html));
    let height = browser.ask("document.documentElement.scrollHeight").as_f64().unwrap();
    assert!(height < DEMO_HEIGHT_MOST, "{height}");
    browser.ask("for (const one of document.querySelectorAll('details')) one.open = true");
    let open = browser.ask("document.documentElement.scrollHeight").as_f64().unwrap();
    assert!(open > 1.5 * height, "{open}: what is folded is there");
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn charts_out_of_sight_wait_until_they_are_scrolled_to() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    browser.look(LAPTOP);
    browser.open(&url(&report.written.html));
    let drawn = "document.querySelectorAll('[data-drawn=true]').length";
    let before = browser.ask(drawn).as_u64().unwrap();
    assert!(before < CHARTS / 2, "{before} of {CHARTS} drawn before anyone looked");
    browser.ask(
        "new Promise((done) => {
           const chart = document.querySelector('[data-chart=\"space\"]');
           new MutationObserver(done).observe(chart, { attributeFilter: ['data-drawn'] });
           chart.scrollIntoView();
         })",
    );
    let after = browser.ask(drawn).as_u64().unwrap();
    assert!(after > before && after < CHARTS, "{after} after {before}");
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn a_config_is_switched_off_and_on_everywhere() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    browser.look(LAPTOP);
    let url = open(&mut browser, &report);
    let visible = "[...document.querySelectorAll('[data-config=\"1\"]')]
        .filter((one) => one.getClientRects().length).length";
    let traces = "[...document.querySelectorAll('.chart[data-plot]')]
        .map((one) => one.querySelectorAll('.trace').length)";
    let traces_before = browser.ask(traces);
    assert!(browser.ask(visible).as_u64().unwrap() > 20);
    click(&mut browser, "[data-switch=\"1\"]");
    assert_eq!(browser.ask(visible), 0);
    let count = assert_sound(&mut browser, &url, "one configuration off");
    assert_eq!(count, CHARTS - 11 - DRIVE_CHARTS, "its panels are gone");
    // On the first screen a configuration has its points and, hollow, those without a valid
    // comparison.
    for (place, (before, after)) in pairs(&traces_before, &browser.ask(traces)).iter().enumerate() {
        let gone = if place == 0 { 1..=2 } else { 1..=1 };
        assert!(gone.contains(&(before - after)), "chart {place}: {before} to {after}");
    }
    click(&mut browser, "[data-switch=\"1\"]");
    assert_eq!(assert_sound(&mut browser, &url, "on again"), CHARTS);
    for config in 0..3 {
        click(&mut browser, &format!("[data-switch=\"{config}\"]"));
    }
    assert_eq!(assert_sound(&mut browser, &url, "all off is all on"), CHARTS);
}

fn pairs(before: &Value, after: &Value) -> Vec<(i64, i64)> {
    let numbers = |list: &Value| -> Vec<i64> {
        list.as_array().unwrap().iter().map(|one| one.as_i64().unwrap()).collect()
    };
    numbers(before).into_iter().zip(numbers(after)).collect()
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn the_chosen_trial_is_what_is_shown_on_one_scale() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    browser.look(LAPTOP);
    let url = open(&mut browser, &report);
    choose(&mut browser, "choose-workload", "1");
    choose(&mut browser, "choose-threads", "8");
    choose(&mut browser, "choose-repeat", "2");
    assert_eq!(assert_sound(&mut browser, &url, "another run"), CHARTS);
    for (config, name) in ["doublewrite on", "doublewrite off", HOSTILE].iter().enumerate() {
        assert_shows(&mut browser, &report, config, name);
    }
    let ranges = browser.ask(
        "[0, 1, 2].map((config) => \
        document.querySelector(`[data-chart=\"throughput:${config}\"]`).layout.yaxis.range[1])",
    );
    assert_eq!((&ranges[0], &ranges[1]), (&ranges[1], &ranges[2]));
}

/// The panel shows what the table of the run's series holds.
fn assert_shows(browser: &mut Browser, report: &Report, config: usize, name: &str) {
    let trials = rows(&report.written.tables.join("runs.csv"));
    let is_it = |trial: &&std::collections::BTreeMap<String, String>| {
        (trial["config"].as_str(), trial["workload"].as_str(), trial["threads"].as_str())
            == (name, "write_only", "8")
            && trial["repeat"] == "2"
    };
    let trial = trials.iter().find(is_it).unwrap();
    let seconds = rows(&report.written.tables.join(&trial["series_file"]));
    let shown = browser.ask(&format!(
        "(() => {{ const [{{ x, y }}] = \
         document.querySelector('[data-chart=\"throughput:{config}\"]').data;
           return x.map((second, i) => [second, y[i]]); }})()"
    ));
    let shown = shown.as_array().unwrap();
    assert_eq!(shown.len(), seconds.len());
    for (point, row) in shown.iter().zip(&seconds) {
        let (value, stored) = (point[1].as_f64().unwrap(), row["tps"].parse::<f64>().unwrap());
        assert_eq!(point[0].to_string(), row["second"]);
        assert!((value - stored).abs() <= stored * 0.001, "{value} for {stored}");
    }
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn a_failed_trial_says_so_in_place_of_its_charts() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    browser.look(LAPTOP);
    let url = open(&mut browser, &report);
    choose(&mut browser, "choose-threads", "8");
    assert_eq!(assert_sound(&mut browser, &url, "a failed run"), CHARTS - 11 - DRIVE_CHARTS);
    let reason = browser.ask(
        "document.querySelector('[data-chart=\"cpu:1\"]').parentElement\
         .querySelector('.empty').innerText",
    );
    assert!(reason.as_str().unwrap().starts_with("failed: the server vanished: [ERROR] <InnoDB>"));
    let missing = browser.ask(
        "document.querySelector('[data-chart=\"disk-latency:2\"]').parentElement\
         .querySelector('.empty').innerText",
    );
    assert_eq!(missing, "not recorded");
    choose(&mut browser, "choose-threads", "1");
    assert_eq!(assert_sound(&mut browser, &url, "the charts are back"), CHARTS);
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn any_counter_any_figure_and_the_other_theme_can_be_chosen() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    browser.look(LAPTOP);
    let url = open(&mut browser, &report);
    let place = browser.ask(
        "[...document.querySelectorAll('#choose-series option')].find((one) => one.text === \
        'other_1_per_s').value",
    );
    choose(&mut browser, "choose-series", place.as_str().unwrap());
    let caption = "document.querySelector('[data-second=any] figcaption').textContent";
    assert_eq!(browser.ask(caption), "other counter <1>, 1/s; layer: backing");
    browser.ask(
        "(() => { for (const one of document.querySelectorAll('[data-choose]')) {
             one.selectedIndex = one.options.length - 1; one.dispatchEvent(new Event('change')); }
           return assay.drawAll(); })()",
    );
    let colour = "getComputedStyle(document.querySelector(\
         '[data-chart=\"throughput-by-threads:0\"] .js-line')).stroke";
    let light = browser.ask(colour);
    click(&mut browser, "#theme");
    assert_ne!(browser.ask(colour), light);
    assert_eq!(assert_sound(&mut browser, &url, "other choices"), CHARTS);
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn a_chart_can_be_saved_and_the_page_printed() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    browser.look(LAPTOP);
    browser.open(&url(&report.written.html));
    browser.call("Page.printToPDF", serde_json::json!({}));
    let page = url(&report.written.html);
    assert_eq!(assert_sound(&mut browser, &page, "printed: all drawn"), CHARTS);
    let picture = browser.ask(
        "Plotly.toImage(document.querySelector('[data-chart=\"latency-by-threads:0\"]'), { \
        format: 'png', width: 600, height: 300 })",
    );
    let picture = picture.as_str().unwrap();
    assert!(picture.starts_with("data:image/png;base64,") && picture.len() > 5_000);
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let buttons =
        browser.ask("document.querySelectorAll('.modebar a[href], .plotlyjsicon').length");
    assert_eq!(buttons, 0, "no way out of the page");
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn a_large_report_draws_what_is_seen_and_no_more() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::large());
    browser.look(LAPTOP);
    browser.open(&url(&report.written.html));
    let ready = browser.ask("assay.readyMs").as_f64().unwrap();
    let size = fs::metadata(&report.written.html).unwrap().len();
    eprintln!("a report of 200 runs: {size} bytes, ready after {ready:.0} ms");
    // How long that takes is the machine's; that it does not grow with what is further down is the
    // page's.
    let count = |browser: &mut Browser, what: &str| {
        browser.ask(&format!("document.querySelectorAll('{what}').length")).as_u64().unwrap()
    };
    // The page is told what is seen with a frame.
    browser.ask("new Promise(next => requestAnimationFrame(() => requestAnimationFrame(next)))");
    browser.ask("assay.settled()");
    let all = count(&mut browser, "[data-chart]");
    let drawn = count(&mut browser, "[data-drawn]");
    assert!(drawn < all / 2, "{drawn} of {all} charts are drawn before anybody has looked at them");
    let url = open(&mut browser, &report);
    assert_sound(&mut browser, &url, "a large study");
    photograph(&mut browser, LAPTOP, &report, "large");
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn the_smallest_studies_are_pages_too() {
    let Some(mut browser) = browser::start() else { return };
    browser.look(LAPTOP);
    let one = Shape { configs: vec![HOSTILE], threads: vec![8], repeats: 1, ..Shape::small() };
    let one = report(&Shape { workloads: vec!["read_write", "b"], has_trouble: false, ..one });
    let url = open(&mut browser, &one);
    assert_eq!(
        assert_sound(&mut browser, &url, "one configuration, one thread count"),
        7 + 2 * 2 + 11
    );
    assert!(
        browser.ask("document.querySelectorAll('.barlayer .trace').length").as_u64() >= Some(7)
    );
    let none = Shape { configs: vec![], workloads: vec![], ..Shape::large() };
    let url = open(&mut browser, &report(&none));
    assert_eq!(assert_sound(&mut browser, &url, "nothing was run"), 0);
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn the_check_finds_a_chart_whose_data_are_broken() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    browser.look(LAPTOP);
    let whole = report.html();
    let (before, after) = whole.split_once("\"y\":[").unwrap();
    let (values, after) = after.split_once(']').unwrap();
    let nothing = vec!["null"; values.split(',').count()].join(",");
    fs::write(&report.written.html, format!("{before}\"y\":[{nothing}]{after}")).unwrap();
    open(&mut browser, &report);
    let (wrong, _) = check(&mut browser);
    assert_eq!(wrong, ["throughput-by-threads:0 has an empty trace"]);
}

#[test]
#[ignore = "in --full: another pass of the browser"]
fn the_check_finds_what_is_too_wide_too_pale_or_thrown() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    browser.look(LAPTOP);
    let worse = "<p style=\"width:3000px;color:#aaa;background:#fff\">wide</p><script>throw \
        Error('oh')</script></body>";
    fs::write(&report.written.html, report.html().replace("</body>", worse)).unwrap();
    open(&mut browser, &report);
    assert!(check(&mut browser).0[0].starts_with("the page is 3"));
    assert_eq!(browser.ask(include_str!("contrast.js")).as_array().unwrap().len(), 1);
    assert!(browser.complaints()[0].contains("oh"));
}

#[test]
fn whoever_fetches_is_caught_and_the_pages_policy_refuses_it() {
    let Some(mut browser) = browser::start() else { return };
    let report = report(&Shape::small());
    let fetching = "<img src=\"http://127.0.0.1:9/pixel.png\"></body>";
    let page = report.html().replace("</body>", fetching);
    fs::write(&report.written.html, &page).unwrap();
    let url = open(&mut browser, &report);
    let refused = browser.complaints();
    assert!(refused.iter().any(|text| text.contains("Content Security Policy")), "{refused:?}");
    let (before, after) = page.split_once("<meta http-equiv").unwrap();
    let unguarded = format!("{before}{}", after.split_once('>').unwrap().1);
    fs::write(&report.written.html, unguarded).unwrap();
    open(&mut browser, &report);
    assert_eq!(browser.fetched(&url), ["http://127.0.0.1:9/pixel.png"]);
}
