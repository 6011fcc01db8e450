//! What was compared, in words: how much of it, for how long, and how much of it ended well.

use assay_study::metrics::Window;
use assay_study::{Arm, State, Study};

use super::differences;
use super::format::{list, plural, threads};
use super::headline::{is_twin, named};
use assay_judge::summary;

/// What was compared, in a sentence or two of numbers.
pub(super) fn compared(study: &Study) -> String {
    let names =
        |names: Vec<&String>| list(&names.into_iter().map(|name| named(name)).collect::<Vec<_>>());
    let workloads: Vec<String> =
        differences::optioned(study).map(|one| one.workload.clone()).collect();
    let (twins, arms): (Vec<&Arm>, Vec<&Arm>) =
        study.arms.iter().partition(|arm| is_twin(study, arm));
    let mut text = format!(
        "{} ({}){} under {} ({}){} at {}",
        plural(arms.len(), "arm"),
        names(arms.iter().map(|arm| &arm.name).collect()),
        if twins.is_empty() { "" } else { ", one of them twice for the noise floor," },
        plural(workloads.len(), "workload"),
        list(&workloads),
        data_sets(study),
        threads(&summary::threads(study)),
    );
    let repeats = study.cells.iter().map(|cell| cell.key.repeat).max().unwrap_or(0);
    if repeats > 0 {
        text.push_str(&format!(", {}", plural(repeats as usize, "repeat")));
    }
    text.push_str(&windows(study));
    let of_state = |state: State| study.cells.iter().filter(|cell| cell.state == state).count();
    let (done, failed) = (of_state(State::Done), of_state(State::Failed));
    let marked = study.cells.iter().filter(|cell| !cell.warnings.is_empty()).count();
    text.push_str(&format!(". {} of {} done", done, plural(study.cells.len(), "cell")));
    for (count, what) in [(failed, "failed"), (marked, "marked")] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text.push('.');
    text
}

/// Which data sets, if the plan has any.
fn data_sets(study: &Study) -> String {
    let mut names: Vec<String> =
        study.workloads.iter().filter_map(|one| one.data_set.clone()).collect();
    names.dedup();
    match names.len() {
        0 => String::new(),
        count => format!(" on {} ({})", plural(count, "data set"), list(&names)),
    }
}

/// How long cells were measured.
fn windows(study: &Study) -> String {
    let lengths = study.cells.iter().filter_map(|cell| cell.window).map(Window::length_s);
    let (low, high) =
        lengths.fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(one), high.max(one)));
    match (low.round(), high.round()) {
        _ if high <= 0.0 => String::new(),
        (low, high) if low == high => format!(", each measured for {high} s"),
        (low, high) => format!(", measured for {low} to {high} s"),
    }
}
