//! Caveats of the study: its notes, failed and marked runs, errors, and parts that were not run.

use std::collections::BTreeMap;

use serde::Serialize;

use assay_judge::Judgement;
use assay_judge::durability::Durability;
use assay_study::metrics::{MetricEntry, Window, metric};
use assay_study::{Config, Discarded, Events, RunState, Study, Trial, Warning};

use crate::analysis::Analysis;
use crate::charts::series::Embedded;
use crate::comparisons::closed_loop;
use crate::comparisons::questions;
use crate::comparisons::ran_alike::{self, Ran};
use crate::comparisons::uneven_loss;
use crate::comparisons::{by_day, by_start};
use crate::figures::format::{figure, list, plural};
use crate::first_screen::from_memory;
use crate::words::{self, disturbed, settling, warning};

/// One thing to know before a number is quoted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Caveat {
    pub(crate) kind: &'static str,
    /// The thing itself.
    pub(crate) text: String,
    /// The runs that it is true of, if not of the whole study.
    pub(crate) runs: Vec<String>,
}

fn caveat(kind: &'static str, text: String) -> Caveat {
    Caveat { kind, text, runs: Vec::new() }
}

/// All of them, the gravest first, and last those of the page itself.
pub(crate) fn of(analysis: &Analysis, series: &Embedded) -> Vec<Caveat> {
    let mut caveats = of_study(analysis);
    caveats.extend(of_page(series));
    caveats
}

/// Those of the study, wherever it is shown.
pub(crate) fn of_study(analysis: &Analysis) -> Vec<Caveat> {
    let Analysis { study, variables, judgement, appraisal, .. } = analysis;
    let ran = Ran { study, variables };
    let mut caveats: Vec<Caveat> = of_trials(study, RunState::Failed, "failed", |trial| {
        vec![trial.reason.clone().unwrap_or_else(|| "no reason was stored".into())]
    });
    caveats.extend(ran_alike::sentences(ran).into_iter().map(|text| caveat("settings", text)));
    caveats.extend(from_memory::sentences(study).into_iter().map(|text| caveat("reads", text)));
    caveats.extend(from_memory::of_zeroes(study).into_iter().map(|text| caveat("data", text)));
    caveats.extend(flagged(study));
    caveats.extend(repeated(study));
    let uneven_loss = uneven_loss::sentences(study, judgement);
    caveats.extend(uneven_loss.into_iter().map(|text| caveat("machine", text)));
    let by_day = by_day::sentences(study, judgement);
    caveats.extend(by_day.into_iter().map(|text| caveat("days", text)));
    let by_start = by_start::sentences(study, judgement);
    caveats.extend(by_start.into_iter().map(|text| caveat("turns", text)));
    caveats.extend(too_fast(study));
    caveats.extend(
        uneven(study, &appraisal.durability).into_iter().map(|text| caveat("safety", text)),
    );
    caveats.extend(models(study));
    caveats.extend(waits_before_models(study));
    caveats.extend(
        settling::sentences(&judgement.settling).into_iter().map(|text| caveat("warm-up", text)),
    );
    let closed_loop = closed_loop::sentence(study, judgement);
    caveats.extend(closed_loop.map(|text| caveat("closed loop", text)));
    caveats.extend(noise(judgement));
    caveats.extend(study.notes.iter().map(|note| caveat("note", words::note(*note).into())));
    caveats
        .extend(of_trials(study, RunState::Done, "errors", |trial| errors(study.events(), trial)));
    caveats.extend(not_run(study));
    caveats.extend(once(study));
    caveats.extend(not_tested(study));
    caveats
}

/// Configurations whose speeds are not bought with the same safety, against the first
/// configuration: what differs, a sentence each. A/A runs are not told of: they are as safe as
/// their configurations.
pub(crate) fn uneven(study: &Study, durability: &[Durability]) -> Vec<String> {
    let Some((first, rest)) = durability.split_first() else { return Vec::new() };
    let Some(name) = study.configs.first().map(|config| config.name.as_str()) else {
        return Vec::new();
    };
    let others = rest.iter().zip(study.configs.iter().skip(1));
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for (kept, config) in others.filter(|(_, config)| !questions::is_aa_run(study, config)) {
        let unlike = if first.class == kept.class { Vec::new() } else { first.differs(kept) };
        let Some(differs) = words::durability::differences(&unlike) else { continue };
        match found.iter_mut().find(|(one, _)| *one == differs) {
            Some((_, names)) => names.push(questions::named(&config.name)),
            None => found.push((differs, vec![questions::named(&config.name)])),
        }
    }
    let price = match study.trials.as_slice() {
        [] => "",
        _ => ", so part of a difference in speed may be the price of safety",
    };
    let told = |(differs, names): (String, Vec<String>)| {
        let (name, names) = (questions::named(name), list(&names));
        format!("{name} and {names} differ in crash safety{price}: {differs}.")
    };
    found.into_iter().map(told).collect()
}

/// One caveat for each distinct text, naming its runs.
fn of_trials(
    study: &Study,
    state: RunState,
    kind: &'static str,
    texts: impl Fn(&Trial) -> Vec<String>,
) -> Vec<Caveat> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for trial in study.trials.iter().filter(|trial| trial.state == state) {
        for text in texts(trial) {
            match found.iter_mut().find(|(one, _)| *one == text) {
                Some((_, trials)) => trials.push(trial.key.to_string()),
                None => found.push((text, vec![trial.key.to_string()])),
            }
        }
    }
    let told = |(text, runs)| Caveat { runs, ..caveat(kind, text) };
    found.into_iter().map(told).collect()
}

/// Emulated drives of which the calibration said beforehand that their time could not be kept.
fn too_fast(study: &Study) -> impl Iterator<Item = Caveat> {
    let found = study.calibration.iter().flat_map(|found| &found.too_fast);
    found.map(|one| caveat("models", words::calibration::too_fast(one)))
}

/// One caveat for each kind of warning and cause: of runs that differ in figures alone, those of
/// the worst.
fn flagged(study: &Study) -> Vec<Caveat> {
    let mut found: Vec<(warning::Sort, Vec<(&Warning, String)>)> = Vec::new();
    for trial in study.trials.iter().filter(|trial| trial.state == RunState::Done) {
        for one in &trial.warnings {
            let sort = warning::sort(one);
            match found.iter_mut().find(|(other, _)| *other == sort) {
                Some((_, all)) => all.push((one, trial.key.to_string())),
                None => found.push((sort, vec![(one, trial.key.to_string())])),
            }
        }
    }
    let mut told: Vec<Caveat> =
        found.into_iter().filter_map(|(_, all)| merged(study.events(), all)).collect();
    told.sort_by_key(|caveat| std::cmp::Reverse(caveat.runs.len()));
    told
}

fn merged(events: Events, all: Vec<(&Warning, String)>) -> Option<Caveat> {
    let size = |one: &(&Warning, String)| warning::size(one.0);
    let (worst, _) = all.iter().max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let text = warning::text(events, worst);
    let is_alike = all.iter().all(|(one, _)| warning::text(events, one) == text);
    let mut runs: Vec<String> = all.iter().map(|(_, run)| run.clone()).collect();
    runs.dedup();
    let text = match is_alike || runs.len() == 1 {
        true => text,
        false => format!("{} runs are flagged for this, the worst: {text}", runs.len()),
    };
    Some(Caveat { runs, ..caveat("flagged", text) })
}

/// Attempts that were thrown away, one caveat for each kind of cause, in the words of the worst.
fn repeated(study: &Study) -> Vec<Caveat> {
    let mut found: BTreeMap<disturbed::DisturbanceKind, Vec<(f64, &Discarded)>> = BTreeMap::new();
    for attempt in &study.discarded {
        let of_machine = attempt.warnings.iter().find(|one| one.is_of_machine());
        let Some((kind, size)) = of_machine.and_then(disturbed::of_warning) else { continue };
        found.entry(kind).or_default().push((size, attempt));
    }
    let told = |attempts: Vec<(f64, &Discarded)>| {
        let worst = attempts.iter().max_by(|a, b| a.0.total_cmp(&b.0))?.1;
        let cause = warning::cause(&worst.warnings)?;
        let of = match attempts.len() {
            1 => String::new(),
            count => format!(" (the worst of {})", plural(count, "attempt")),
        };
        let runs = attempts.iter().map(|(_, attempt)| attempt.key.to_string()).collect();
        let text = format!("discarded and run again: {cause}{of}");
        Some(Caveat { runs, ..caveat("repeated", text) })
    };
    found.into_values().filter_map(told).collect()
}

/// Counts differ from run to run, so the text names the codes only; counts are in `results.json`.
fn errors(events: Events, trial: &Trial) -> Vec<String> {
    trial.errors.keys().map(|code| format!("{} met server error {code}", events.many())).collect()
}

fn not_run(study: &Study) -> Option<Caveat> {
    let waiting = |trial: &&Trial| matches!(trial.state, RunState::Pending | RunState::Running);
    let count = study.trials.iter().filter(waiting).count();
    let text = format!("{} of {} not run yet", count, plural(study.trials.len(), "run"));
    (count > 0).then(|| caveat("not run", text))
}

fn once(study: &Study) -> Option<Caveat> {
    let mut repeats: BTreeMap<_, u32> = BTreeMap::new();
    for trial in study.trials.iter().filter(|trial| trial.state == RunState::Done) {
        *repeats.entry((&trial.key.config, &trial.key.workload, trial.key.threads)).or_default() +=
            1;
    }
    let count = repeats.values().filter(|repeats| **repeats == 1).count();
    let text = format!(
        "{} of {} combinations of configuration, workload and threads have a single finished \
        repeat: their variation is unknown",
        count,
        plural(repeats.len(), "combination")
    );
    (count > 0).then(|| caveat("one repeat", text))
}

/// Configurations whose figures follow from a preset and not from a device.
fn models(study: &Study) -> Option<Caveat> {
    let names = questions::models(study);
    let text = format!(
        "{} use emulated drives: their results depend on presets, whose numbers are partly \
         published, partly computed and partly fitted; `assay models` shows which. The real \
         device may be faster or slower",
        names.join(", ")
    );
    (!names.is_empty()).then(|| caveat("models", text))
}

/// The kernel's mean latency of a model's commands above the model's own by more than this factor
/// is told.
const WAITS_FROM: f64 = 1.25;

/// Kinds of command: how many a model was asked, how long they took by the kernel, and how long by
/// the model.
const COMMANDS: [(&str, [&MetricEntry; 3]); 2] = [
    (
        "read",
        [
            metric!("model_reads_per_s"),
            metric!("disk_read_latency_ms"),
            metric!("model_read_achieved_latency_ms"),
        ],
    ),
    (
        "write",
        [
            metric!("model_writes_per_s"),
            metric!("disk_write_latency_ms"),
            metric!("model_write_achieved_latency_ms"),
        ],
    ),
];

/// Waits of commands in the kernel before they reach a model, which the model cannot see: they are
/// neither late nor added there.
fn waits_before_models(study: &Study) -> Option<Caveat> {
    let of_kind = |config: &Config, (kind, metrics): (&str, [&MetricEntry; 3])| {
        let its = study.trials.iter().filter(|trial| trial.key.config == config.name);
        let ratios: Vec<f64> = its.filter_map(|trial| waited(trial, metrics)).collect();
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        (mean > WAITS_FROM)
            .then(|| format!("{} times for {kind}s of {}", figure(mean), config.name))
    };
    let configs = study.configs.iter().filter(|config| !questions::is_aa_run(study, config));
    let told: Vec<String> =
        configs.flat_map(|config| COMMANDS.map(|kind| of_kind(config, kind))).flatten().collect();
    let text = format!(
        "by the kernel's accounting, I/Os took longer than the models showed: {} on average. \
        They wait in the kernel for the path to the model, longer than for a device with \
        hardware queues; missed deadlines and added time do not include this",
        told.join(", ")
    );
    (!told.is_empty()).then(|| caveat("models", text))
}

/// The kernel's mean latency of a run's commands ÷ the model's, of a kind that came at least once a
/// second.
fn waited(trial: &Trial, metrics: [&MetricEntry; 3]) -> Option<f64> {
    let figure =
        |metric: &MetricEntry| trial.results.get(metric.name).copied().filter(|value| *value > 0.0);
    let [rate, kernel_ms, model_ms] = metrics.map(figure);
    rate.filter(|rate| *rate >= 1.0)?;
    Some(kernel_ms? / model_ms?)
}

/// Difference of one configuration from itself, if known.
fn noise(judgement: &Judgement) -> Option<Caveat> {
    if judgement.comparisons.is_empty() {
        return None;
    }
    let seen = judgement.noise_floor.iter().flat_map(|floor| &floor.seen);
    let tps = seen.filter(|one| one.metric == assay_judge::Metric::Throughput);
    let widest = tps.clone().filter_map(|one| one.floor_percent).reduce(f64::max);
    let furthest = tps.flat_map(|one| one.ratios.iter().map(|ratio| (ratio - 1.0).abs() * 100.0));
    let text = match widest {
        Some(percent) => format!(
            "noise floor: where it is noisiest, a configuration differs from itself by less than \
            {} % of throughput in 95 of 100 cases; smaller differences may be chance",
            figure(percent)
        ),
        None => match furthest.reduce(f64::max) {
            Some(percent) => format!(
                "the noise floor is not known: too few runs of a configuration against itself, \
                which differed by up to {} %; add repeats",
                figure(percent)
            ),
            None => "no A/A run: how far a configuration differs from itself is known from its \
                repeats only; `noise_floor = true` in the plan adds one"
                .into(),
        },
    };
    Some(caveat("noise floor", text))
}

/// Limits of every study of this kind, with this one's own bounds.
fn not_tested(study: &Study) -> Option<Caveat> {
    let lengths = study.trials.iter().filter_map(|trial| trial.window).map(Window::length_s);
    let longest = lengths.fold(0.0, f64::max);
    let text = format!(
        "runs were measured for at most {}, so slower effects are not included: wear, heat, a \
        device that fills up, backups, ALTER TABLE. The results do not cover other data sizes, \
        other ratios of data to memory, other servers, or replicas",
        plural(longest.round() as usize, "second")
    );
    (longest > 0.0).then(|| caveat("not tested", text))
}

fn of_page(series: &Embedded) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if series.coarsest_step_s > 1 {
        caveats.push(caveat(
            "this page",
            format!(
                "a point in the second-by-second charts covers up to {} seconds: means, or \
                maxima of latencies; tables/series has every second",
                series.coarsest_step_s
            ),
        ));
    }
    if !series.left_out.is_empty() {
        caveats.push(caveat(
            "this page",
            format!(
                "omitted to keep the page small, but in tables/series: {}",
                series.left_out.join(", ")
            ),
        ));
    }
    caveats
}
