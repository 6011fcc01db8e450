//! The first chart of a study whose runs were disturbed, at the widths of screens: no point stands
//! where nothing was compared, and names, words and points keep clear of one another.

use std::collections::BTreeMap;

use super::browser::{self, Browser, Look};
use super::opening::{UNLIKE, outcome, study_of};
use super::*;
use assay_study::{Outcome, Warning};

/// Widths of a laptop, a tablet, half a laptop and a telephone, in pixels.
const WIDTHS: [u32; 4] = [1280, 800, 500, 400];

/// A study in which the runs of these levels were disturbed.
fn disturbed(directory: &Path, is_spoilt: &dyn Fn(f64) -> bool) -> String {
    let at = |level: f64, wave: f64| {
        let stopped = Warning::Stopped { length_s: 3.0 };
        let warnings = is_spoilt(level).then_some(stopped).into_iter().collect();
        Outcome { warnings, ..outcome(level * (1.0 + 0.002 * wave)) }
    };
    let store = study_of(directory, &UNLIKE, BTreeMap::new(), &at);
    let written = write(&store, directory).unwrap();
    format!("file://{}", written.html.display())
}

/// Overlaps in the first chart, and parts outside it.
fn overlaps(browser: &mut Browser) -> Vec<String> {
    let found = browser.ask(include_str!("overlaps.js"));
    found.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

#[test]
fn words_names_and_points_of_the_first_chart_keep_clear_of_one_another() {
    let Some(mut browser) = browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    let some = disturbed(directory.path(), &|level| level > 1100.0);
    for width in WIDTHS {
        browser.look(Look { width, height: 900, is_dark: false });
        browser.open(&format!("{some}?all"));
        if let Some(pictures) = std::env::var_os("ASSAY_PICTURES") {
            browser.pictures(
                &Path::new(&pictures).join(format!("some-{width}")).display().to_string(),
            );
        }
        assert_eq!(overlaps(&mut browser), Vec::<String>::new(), "{width}");
        let points = "document.querySelectorAll('[data-chart=first] .points path.point').length";
        assert_eq!(
            browser.ask(points),
            2,
            "of two's two workloads, and none of what was not compared"
        );
    }
}

#[test]
fn where_nothing_was_compared_no_chart_says_that_all_is_equal() {
    let directory = tempfile::tempdir().unwrap();
    disturbed(directory.path(), &|_| true);
    let page = markup(&fs::read_to_string(directory.path().join("report.html")).unwrap());
    assert!(!page.contains("data-chart=\"first\""));
}
