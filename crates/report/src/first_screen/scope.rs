//! The scope of the study in words: how much was compared, for how long, and how much of it ended
//! well.

use assay_study::metrics::Window;
use assay_study::{Config, RunState, Study};

use crate::comparisons::questions::{is_aa_run, named};
use crate::figures::format::{list, plural, threads};
use crate::tables::differences;
use assay_judge::power_cuts::PowerCuts;
use assay_judge::summary;

/// The compared configurations in a sentence or two of numbers.
pub(crate) fn compared(study: &Study) -> String {
    if study.trials.is_empty() && !study.power_cuts.is_empty() {
        let configs = PowerCuts::of_all(&study.power_cuts).len();
        let cuts = plural(study.power_cuts.len(), "power cut");
        return format!("{cuts} of {}.", plural(configs, "configuration"));
    }
    let names =
        |names: Vec<&String>| list(&names.into_iter().map(|name| named(name)).collect::<Vec<_>>());
    let workloads: Vec<String> =
        differences::optioned(study).map(|one| one.workload.clone()).collect();
    let (aa_runs, configs): (Vec<&Config>, Vec<&Config>) =
        study.configs.iter().partition(|config| is_aa_run(study, config));
    let mut text = format!(
        "{} ({}){} under {} ({}){} at {}",
        plural(configs.len(), "configuration"),
        names(configs.iter().map(|config| &config.name).collect()),
        if aa_runs.is_empty() { "" } else { ", one of them twice for the noise floor," },
        plural(workloads.len(), "workload"),
        list(&workloads),
        data_profiles(study),
        threads(&summary::threads(study)),
    );
    let repeats = study.trials.iter().map(|trial| trial.key.repeat).max().unwrap_or(0);
    if repeats > 0 {
        text.push_str(&format!(", {}", plural(repeats as usize, "repeat")));
    }
    text.push_str(&windows(study));
    let of_state =
        |state: RunState| study.trials.iter().filter(|trial| trial.state == state).count();
    let (done, failed) = (of_state(RunState::Done), of_state(RunState::Failed));
    let flagged = study.trials.iter().filter(|trial| !trial.warnings.is_empty()).count();
    text.push_str(&format!(". {} of {} done", done, plural(study.trials.len(), "run")));
    for (count, what) in [(failed, "failed"), (flagged, "flagged")] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text.push('.');
    text
}

/// Which data profiles, if the plan has any.
fn data_profiles(study: &Study) -> String {
    let mut names: Vec<String> =
        study.workloads.iter().filter_map(|one| one.data_profile.clone()).collect();
    names.dedup();
    match names.len() {
        0 => String::new(),
        count => format!(" on {} ({})", plural(count, "data profile"), list(&names)),
    }
}

/// How long runs were measured.
fn windows(study: &Study) -> String {
    let lengths = study.trials.iter().filter_map(|trial| trial.window).map(Window::length_s);
    let (low, high) =
        lengths.fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(one), high.max(one)));
    match (low.round(), high.round()) {
        _ if high <= 0.0 => String::new(),
        (low, high) if low == high => format!(", each measured for {high} s"),
        (low, high) => format!(", measured for {low} to {high} s"),
    }
}
