//! Phases of runs: a table of each phase's figures, what happened in them, and verdicts phase by
//! phase; `tables/phases.csv`, a row for each phase of each run with all its figures.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use assay_judge::summary::{RepeatGroup, RepeatStatistics};
use assay_judge::{Judgement, Metric as Judged, OfPhase, is_of_too_few};
use assay_study::metrics::{MetricEntry, metric};
use assay_study::{Done, PhasePace, Study};

use crate::comparisons::questions::is_aa_run;
use crate::figures::format::{bytes, figure, threads};
use crate::tables::csv::{optional, write_row};
use crate::tables::verdicts;
use crate::tables::worth::{self, NONE};
use crate::words::phases as words;

#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    figures: worth::Table,
    happened: Vec<HappenedRow>,
    /// Throughput and p99 where there is a verdict, and where there is none.
    told: Vec<verdicts::Row>,
    inconclusive: Vec<verdicts::Row>,
}

/// Events in a phase, over the repeats.
#[derive(Debug, Serialize)]
struct HappenedRow {
    config: usize,
    load: String,
    phase: String,
    what: String,
    took: String,
    came_of_it: String,
}

/// A phase as a chart of seconds marks it.
#[derive(Debug, Serialize)]
pub(crate) struct Mark<'a> {
    name: &'a str,
    from: f64,
    to: f64,
    /// Event with its beginning and end; no end where it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    happened: Option<(String, f64, Option<f64>)>,
}

/// The phases of a run, for its charts.
pub(crate) fn marks(trial: &assay_study::Trial) -> Vec<Mark<'_>> {
    let mark = |phase: &'_ assay_study::Phase| {
        let happened = phase.happened.as_ref();
        happened.map(|one| (words::happening(&one.happening), one.began_s, one.ended_s))
    };
    trial
        .phases
        .iter()
        .map(|phase| Mark {
            name: &phase.name,
            from: phase.window.from_s,
            to: phase.window.to_s,
            happened: mark(phase),
        })
        .collect()
}

const COLUMNS: [(&str, &str); 9] = [
    ("asked, /s", "{events} per second that fell due, on average"),
    ("done, /s", "{events} per second that ended"),
    ("p50, ms", "median response time; at a rate, from when {an event} was due"),
    ("p95, ms", "95th percentile"),
    ("p99, ms", "99th percentile"),
    ("longest, ms", "the longest response time"),
    ("queue at the end", "{events} that were due and not begun when the phase ended"),
    ("read, /s", "bytes that the device under the data read per second"),
    ("written, /s", "bytes that the device under the data wrote per second"),
];

/// The section; nothing of a study without phases.
pub(crate) fn shown(
    study: &Study,
    groups: &[RepeatGroup<'_>],
    judgement: &Judgement,
) -> Option<Shown> {
    let all = &judgement.phases.of_trials;
    let parts: Vec<Part<'_>> = groups
        .iter()
        .filter(|group| study.configs.get(group.config).is_some_and(|one| !is_aa_run(study, one)))
        .flat_map(|group| parts(study, group, all))
        .collect();
    let mut blocks: Vec<(String, worth::Fields)> = Vec::new();
    for head in heads(&parts) {
        let its = parts.iter().filter(|part| part.head == *head);
        blocks.push((head.clone(), its.map(|part| (part.config, part.fields())).collect()));
    }
    let columns = COLUMNS.map(|(head, title)| worth::column(study.events(), head, title)).into();
    let rows = |is_told: bool| -> Vec<verdicts::Row> {
        let of = |phase: &assay_judge::PhaseVerdicts| {
            verdicts::of_phase(study, &phase.phase, &phase.comparisons, is_told)
        };
        judgement.phases.verdicts.iter().flat_map(of).collect()
    };
    Some(Shown {
        figures: worth::Table::in_blocks(columns, blocks)?,
        happened: parts.iter().filter_map(Part::happened).collect(),
        told: rows(true),
        inconclusive: rows(false),
    })
}

/// Each head once, in order.
fn heads<'a>(parts: &'a [Part<'_>]) -> Vec<&'a String> {
    let mut seen = BTreeSet::new();
    parts.iter().map(|part| &part.head).filter(|head| seen.insert(*head)).collect()
}

/// One phase of a configuration under a load, over the repeats.
struct Part<'a> {
    config: usize,
    load: String,
    head: String,
    repeats: Vec<&'a OfPhase>,
}

fn parts<'a>(study: &Study, group: &RepeatGroup<'_>, all: &'a [OfPhase]) -> Vec<Part<'a>> {
    let its: Vec<&OfPhase> =
        all.iter().filter(|one| group.done().any(|trial| trial.key == one.key)).collect();
    let Some(first) = its.first() else { return Vec::new() };
    let workload = study.workloads.get(group.workload).map_or("", |one| one.name.as_str());
    let load = format!("{workload}, {}", threads(&[group.threads]));
    let names = its.iter().filter(|one| one.key == first.key).map(|one| &one.phase.name);
    names
        .map(|name| {
            let repeats: Vec<&OfPhase> =
                its.iter().filter(|one| one.phase.name == *name).copied().collect();
            let asked = repeats.first().map(|one| words::asked(&one.phase)).unwrap_or_default();
            Part {
                config: group.config,
                load: load.clone(),
                head: format!("{load} · {name}: {asked}"),
                repeats,
            }
        })
        .collect()
}

impl Part<'_> {
    fn over(&self, value: impl Fn(&OfPhase) -> Option<f64>) -> Option<RepeatStatistics> {
        RepeatStatistics::of(self.repeats.iter().filter_map(|one| value(one)).collect())
    }

    fn result(&self, metric: &'static MetricEntry, text: fn(f64) -> String) -> String {
        spread(self.over(|one| result(one, metric)), text)
    }

    fn fields(&self) -> Vec<String> {
        let asked = self.over(|one| one.phase.pace.mean_per_s());
        vec![
            spread(asked, figure),
            self.result(metric!("tps"), figure),
            self.result(metric!("latency_ms_p50"), figure),
            self.result(metric!("latency_ms_p95"), figure),
            self.result(metric!("latency_ms_p99"), figure),
            self.result(metric!("latency_ms_max"), figure),
            spread(self.over(|one| one.queue_length_end), figure),
            self.result(metric!("disk_read_bytes_per_s"), bytes),
            self.result(metric!("disk_write_bytes_per_s"), bytes),
        ]
    }

    fn happened(&self) -> Option<HappenedRow> {
        let all: Vec<_> = self
            .repeats
            .iter()
            .filter_map(|one| Some((*one, one.phase.happened.as_ref()?)))
            .collect();
        let (first, its) = all.first()?;
        let took = spread(
            RepeatStatistics::of(all.iter().filter_map(|(_, one)| one.took_s()).collect()),
            figure,
        );
        let open = all.iter().filter(|(_, one)| one.ended_s.is_none()).count();
        let late = all
            .iter()
            .filter(|(one, its)| its.ended_s.is_some_and(|ended| ended > one.phase.window.to_s));
        let told = [
            (took != NONE).then(|| format!("{took} s")),
            (late.count() > 0).then(|| "beyond the end of the phase".into()),
            (open > 0).then(|| format!("still running at the end of {open} of {} runs", all.len())),
        ];
        Some(HappenedRow {
            config: self.config,
            load: self.load.clone(),
            phase: first.phase.name.clone(),
            what: words::happening(&its.happening),
            took: told.into_iter().flatten().collect::<Vec<_>>().join(", "),
            came_of_it: came_of(&all),
        })
    }
}

/// Result of the first repeat with this event: its error, and for restarts and lost stores when
/// throughput was back.
fn came_of(all: &[(&OfPhase, &assay_study::Happened)]) -> String {
    let done = all.iter().find_map(|(_, one)| one.done).map(words::done);
    let error = all.iter().find_map(|(_, one)| one.error.as_ref());
    let is_outage = all.iter().any(|(_, one)| one.happening.is_outage());
    let warm = RepeatStatistics::of(all.iter().filter_map(|(one, _)| one.warm_s).collect());
    let warm = match warm {
        Some(warm) => {
            Some(format!("throughput back at 90 % after {} s", spread(Some(warm), figure)))
        }
        None => is_outage.then(|| "throughput was not back at 90 %, or cannot be compared".into()),
    };
    let refused = error.map(|error| format!("failed: {error}"));
    [done, warm, refused].into_iter().flatten().collect::<Vec<String>>().join("; ")
}

/// A figure of a phase; nothing of a percentile that a handful of transactions made.
fn result(one: &OfPhase, metric: &MetricEntry) -> Option<f64> {
    let transactions = one.results.get(metric!("transactions").name).copied();
    let is_of_few = Judged::named(metric.name)
        .zip(transactions)
        .is_some_and(|(judged, transactions)| is_of_too_few(judged, transactions));
    one.results.get(metric.name).copied().filter(|_| !is_of_few)
}

/// `12.3 (11.9–12.8)`: the mean and the lowest and highest repeat.
pub(crate) fn spread(found: Option<RepeatStatistics>, text: fn(f64) -> String) -> String {
    let Some(found) = found else { return NONE.into() };
    let [low, mid, high] = [found.low, found.mean, found.high].map(text);
    if low == high { mid } else { format!("{mid} ({low}–{high})") }
}

/// `phases.csv`: a row a phase of a run.
pub(crate) fn write_table(file: &mut dyn Write, judgement: &Judgement) -> Result<()> {
    const HEAD: &str = "config,workload,threads,repeat,phase,from_s,to_s,asked_per_s_begin,\
        asked_per_s_end,phase_workload,\
        happening,happening_began_s,happening_ended_s,happening_error,stop_s,answer_s,warm_s,\
        queue_length_end";
    let all = &judgement.phases.of_trials;
    let names: BTreeSet<&String> = all.iter().flat_map(|one| one.results.keys()).collect();
    write_row(
        file,
        HEAD.split(',').map(str::to_owned).chain(names.iter().map(ToString::to_string)),
    )?;
    for one in all {
        let figures = names.iter().map(|name| optional(one.results.get(*name)));
        write_row(file, coordinates(one).into_iter().chain(figures))?;
    }
    Ok(())
}

fn coordinates(one: &OfPhase) -> Vec<String> {
    let OfPhase { key, phase, queue_length_end, warm_s, .. } = one;
    let (begin, end) = match phase.pace {
        PhasePace::Rate { from_per_s, to_per_s } => (Some(from_per_s), Some(to_per_s)),
        PhasePace::Paused => (Some(0.0), Some(0.0)),
        PhasePace::Closed => (None, None),
    };
    let happened = phase.happened.as_ref();
    let (stop_s, answer_s) = match happened.and_then(|one| one.done) {
        Some(Done::Restart { stop_s, answer_s, .. }) => (Some(stop_s), Some(answer_s)),
        _ => (None, None),
    };
    vec![
        key.config.clone(),
        key.workload.clone(),
        key.threads.to_string(),
        key.repeat.to_string(),
        phase.name.clone(),
        phase.window.from_s.to_string(),
        phase.window.to_s.to_string(),
        optional(begin),
        optional(end),
        optional(phase.workload.as_ref()),
        optional(happened.map(|one| one.happening.word())),
        optional(happened.map(|one| one.began_s)),
        optional(happened.and_then(|one| one.ended_s)),
        optional(happened.and_then(|one| one.error.as_ref())),
        optional(stop_s),
        optional(answer_s),
        optional(*warm_s),
        optional(*queue_length_end),
    ]
}
