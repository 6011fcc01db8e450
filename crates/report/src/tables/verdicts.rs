//! Verdicts in the report: one table of what came to one, what was inconclusive on demand, and two
//! tables for other programs.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::words::samples;
use crate::words::{chance, looks, reason, stalls, steady, steps, verdict};
use assay_judge::papers::Sampled;
use assay_judge::{
    ChanceTally, Conclusion, Correction, JudgedComparison, Judgement, Metric, OfTrial, Reason,
    Step, Taken,
};
use assay_study::{Events, Study};

use crate::comparisons::closed_loop;
use crate::comparisons::flagged;
use crate::comparisons::known_steps;
use crate::figures::format::{figure, plural};
use crate::tables::csv::{optional, write_row};
use crate::tables::effects;

/// One table of verdicts, and the rest on demand.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    lead: String,
    /// Throughput and p99, where there is a verdict.
    rows: Vec<Row>,
    parts: Vec<Part>,
    /// Effects of factors, where configurations are a full cross.
    effects: Option<List>,
    /// Share of each factor, for pairs that differ in several.
    steps: Option<List>,
    /// How many of these came to a verdict where no comparison as a whole did; they are unfolded
    /// then.
    known_steps: usize,
    lists: Vec<List>,
}

/// Rows that are shown when asked for.
#[derive(Debug, Serialize)]
struct Part {
    title: &'static str,
    rows: Vec<Row>,
}

/// A comparison as texts.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    config: usize,
    pub(crate) name: String,
    pub(crate) baseline: String,
    pub(crate) workload: String,
    pub(crate) threads: String,
    pub(crate) metric: &'static str,
    pub(crate) word: &'static str,
    /// The word's kind, for the style sheet.
    kind: &'static str,
    pub(crate) text: String,
    because: String,
}

#[derive(Debug, Serialize)]
struct List {
    title: &'static str,
    lead: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The section as texts; nothing of a study with nothing to judge.
pub(crate) fn shown(study: &Study, judgement: &Judgement) -> Option<Shown> {
    let part = |title, is_wanted: fn(&JudgedComparison) -> bool| Part {
        title,
        rows: rows(study, judgement, is_wanted),
    };
    let parts = [
        part("Inconclusive: throughput and p99", |one| leads(one) && !is_told(one)),
        part("Percentiles by kind of statement", is_of_statement),
        part("Other percentiles", |one| is_other(one) && is_told(one)),
        part("Inconclusive: other percentiles", |one| is_other(one) && !is_told(one)),
    ];
    let lists = [noise(judgement), trials(judgement), sampled(study.events(), judgement)];
    let rows = told(study, judgement);
    let known_steps = if rows.is_empty() { known_steps::known(judgement).len() } else { 0 };
    let shown = Shown {
        lead: lead(study, judgement),
        rows,
        known_steps,
        parts: parts.into_iter().filter(|part| !part.rows.is_empty()).collect(),
        effects: (!judgement.effects.is_empty()).then(|| effects_of(study.events(), judgement)),
        steps: (!judgement.chains.is_empty()).then(|| one_at_a_time(study.events(), judgement)),
        lists: lists.into_iter().filter(|list| !list.rows.is_empty()).collect(),
    };
    (!judgement.trials.is_empty()).then_some(shown)
}

/// Throughput and p99, where there is a verdict.
pub(crate) fn told(study: &Study, judgement: &Judgement) -> Vec<Row> {
    rows(study, judgement, |one| leads(one) && is_told(one))
}

/// Those of a phase that came to a verdict, or those that did not.
pub(crate) fn of_phase(
    study: &Study,
    phase: &str,
    comparisons: &[JudgedComparison],
    is_wanted_told: bool,
) -> Vec<Row> {
    let wanted = comparisons.iter().filter(|one| is_told(one) == is_wanted_told);
    let named = |row: Row| Row { workload: format!("{phase}: {}", row.workload), ..row };
    wanted.filter_map(|one| row(study, one)).map(named).collect()
}

/// The same without a verdict.
pub(crate) fn inconclusive(study: &Study, judgement: &Judgement) -> Vec<Row> {
    rows(study, judgement, |one| leads(one) && !is_told(one))
}

/// Whether the table begins with it.
fn leads(one: &JudgedComparison) -> bool {
    matches!(one.metric, Metric::Throughput | Metric::P99)
}

/// Whether the plan asks for it by the kind of statement.
fn is_of_statement(one: &JudgedComparison) -> bool {
    matches!(one.metric, Metric::Statement(_))
}

fn is_other(one: &JudgedComparison) -> bool {
    !leads(one) && !is_of_statement(one)
}

fn is_told(one: &JudgedComparison) -> bool {
    one.verdict.conclusion != Conclusion::Inconclusive
}

fn rows(
    study: &Study,
    judgement: &Judgement,
    is_wanted: fn(&JudgedComparison) -> bool,
) -> Vec<Row> {
    judgement
        .comparisons
        .iter()
        .filter(|one| is_wanted(one))
        .filter_map(|one| row(study, one))
        .collect()
}

fn lead(study: &Study, judgement: &Judgement) -> String {
    let floor = match &judgement.noise_floor {
        Some(floor) => format!(
            "{} ran twice under two names; differences within the noise floor that this shows \
            are neither better nor worse.",
            floor
                .configs
                .iter()
                .map(|(config, _)| config.as_str())
                .collect::<Vec<_>>()
                .join(" and ")
        ),
        None => "Without an A/A run there is no noise floor: the repeats alone show how runs vary."
            .to_owned(),
    };
    format!(
        "Better or worse: the {:.0} % confidence interval excludes equality, also after \
        correction: of the pairs that the plan asks for, at most 5 % of studies have any false \
        direction; of all others, on average at most 5 % of the directions told are false. \
        Equivalent: it lies within ±{} %. {floor}{}{} docs/measuring.md has every formula.",
        judgement.level * 100.0,
        judgement.margin_percent,
        others_by_chance(judgement).map_or_else(String::new, |text| format!(" {text}")),
        looks::text(&judgement.look, &study.judging.looks)
            .map_or_else(String::new, |text| format!(" {text}")),
    )
}

/// The share of chance in the comparisons that nobody asked for.
fn others_by_chance(judgement: &Judgement) -> Option<String> {
    let is_other =
        |one: &&JudgedComparison| matches!(one.correction, Correction::BenjaminiHochberg { .. });
    let tally = ChanceTally::of(judgement.comparisons.iter().filter(is_other))?;
    Some(chance::of_others(&tally))
}

fn row(study: &Study, one: &JudgedComparison) -> Option<Row> {
    Some(Row {
        config: study.configs.iter().position(|config| config.name == one.config)?,
        name: one.config.clone(),
        baseline: match &one.against_workload {
            None => one.baseline.clone(),
            Some(workload) => format!("{} on “{workload}”", one.baseline),
        },
        workload: one.workload.clone(),
        threads: one.threads.map_or_else(|| "all".into(), |threads| threads.to_string()),
        metric: one.metric.label(),
        word: verdict::word(one.verdict.conclusion),
        kind: verdict::kind(one.verdict.conclusion),
        text: verdict::text(one),
        because: [because(study, one), of_closed_loop(study, one)]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("; "),
    })
}

/// Why no more can be said: of runs that may not be compared, what disturbed them.
fn because(study: &Study, one: &JudgedComparison) -> Option<String> {
    let disturbance = match &one.verdict.reason {
        Some(Reason::TrialNotComparable(_)) => flagged::of_comparison(study, one),
        _ => None,
    };
    disturbance.map(|(cause, _)| cause).or_else(|| reason::because(study.events(), one))
}

/// The caveat of a verdict on a tail in closed loop.
fn of_closed_loop(study: &Study, one: &JudgedComparison) -> Option<String> {
    closed_loop::beside(study, one).filter(|_| is_told(one))
}

fn noise(judgement: &Judgement) -> List {
    let seen = judgement.noise_floor.iter().flat_map(|floor| &floor.seen);
    let row = |one: &assay_judge::Seen| {
        let percents: Vec<String> =
            one.ratios.iter().map(|ratio| format!("{:+.1} %", (ratio - 1.0) * 100.0)).collect();
        vec![
            one.workload.clone(),
            one.threads.to_string(),
            one.metric.label().to_owned(),
            percents.join(", "),
            one.floor_percent.map_or_else(
                || format!("not known from {}", plural(one.spread.df as usize, "difference")),
                |percent| format!("{percent:.1} %"),
            ),
            if one.is_of_study { "the study" } else { "the workload" }.to_owned(),
        ]
    };
    List {
        title: "Noise floor: a configuration compared with itself",
        lead: "Difference between the two runs of a configuration, repeat by repeat, and the \
            limit that 95 of 100 such differences stay below, from the spread within the \
            workload, or within the study if the workload has fewer than four. With fewer than \
            four in the study it is not known."
            .into(),
        head: heads(&["workload", "threads", "figure", "seen", "floor", "spread of"]),
        rows: seen.map(row).collect(),
    }
}

fn trials(judgement: &Judgement) -> List {
    let row = |one: &OfTrial| {
        let steady = one.steady.as_ref();
        vec![
            one.key.to_string(),
            steady.map_or_else(|| untold(judgement, one).into(), steady::text),
            steady
                .map_or_else(String::new, |s| format!("{:+.1} %/min", s.slope_percent_per_minute)),
            steady.map_or_else(String::new, |s| format!("{:.1} %", s.spread_percent)),
            one.stalls.as_ref().map_or_else(String::new, stalls::text),
            one.stalls.as_ref().map_or_else(String::new, departed),
        ]
    };
    List {
        title: "Steady state and stalls, run by run",
        lead: "Drift of throughput in the window, deviation per second, stalls, and the counters \
            that were furthest from their median in the first stall."
            .into(),
        head: heads(&["run", "throughput", "slope", "deviation", "stalls", "what departed"]),
        rows: judgement.trials.iter().map(row).collect(),
    }
}

/// Why it is not told whether throughput held still.
fn untold(judgement: &Judgement, one: &OfTrial) -> &'static str {
    match judgement.phases.of_trials.iter().any(|phase| phase.key == one.key) {
        true => "made of phases, each judged by itself",
        false => "too short to tell",
    }
}

fn departed(stalls: &assay_judge::Stalls) -> String {
    let departures = stalls.events.first().map_or(&[][..], |event| &event.departures);
    let one = |departure: &assay_judge::Departure| {
        format!(
            "{} {} (usually {})",
            departure.series,
            figure(departure.value),
            figure(departure.median)
        )
    };
    departures.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// A row a step of each pair that differs in several factors.
fn one_at_a_time(events: Events, judgement: &Judgement) -> List {
    let rows = judgement.chains.iter().flat_map(|chain| {
        chain.steps.iter().map(|step| {
            vec![
                way(step),
                chain.workload.clone(),
                step.factors.join(", "),
                throughput_over_orders(step),
                steps::bytes_over_orders(step).unwrap_or_else(|| NOT_KNOWN.into()),
            ]
        })
    });
    let bytes = format!("bytes per {}", events.noun());
    List {
        title: "One factor at a time",
        lead: "Pairs that differ in several factors, in steps of one where the study has the \
            configurations between. Where it has several orders, each factor has the mean over \
            them, and their range if they disagree by more than chance."
            .into(),
        head: heads(&["step", "workload", "factor", "throughput", &bytes]),
        rows: rows.collect(),
    }
}

/// The two configurations of a step, or the number of orders that it is the mean over.
fn way(step: &Step) -> String {
    step.over_orders
        .as_ref()
        .map_or_else(|| format!("{} → {}", step.against, step.config), steps::mean_over)
}

fn throughput_over_orders(step: &Step) -> String {
    let range = step.over_orders.as_ref().and_then(|orders| orders.throughput_range);
    let text = step.throughput_over_orders().map(verdict::text_with_word);
    text.map_or_else(|| NOT_KNOWN.into(), |text| format!("{text}{}", steps::by_order(range)))
}

fn effects_of(events: Events, judgement: &Judgement) -> List {
    List {
        title: "Effects of factors",
        lead: "The effect of each factor as the mean over the levels of the others, and how \
            effects change with another factor: the ratio of two ratios. Corrected for the number \
            of effects of a figure."
            .into(),
        head: heads(&effects::HEAD),
        rows: effects::rows(events, judgement).into_iter().map(Vec::from).collect(),
    }
}

fn heads(heads: &[&str]) -> Vec<String> {
    heads.iter().map(|head| (*head).to_owned()).collect()
}

/// Text where nothing is known.
const NOT_KNOWN: &str = "not known";

fn sampled(events: Events, judgement: &Judgement) -> List {
    let rows = judgement.trials.iter().flat_map(|trial| {
        trial.samples.rows.iter().map(|row| {
            let is_latency = row.what == Sampled::LatencyP95;
            let whole = trial.samples.latency_ms_p95.filter(|_| is_latency);
            vec![
                trial.key.to_string(),
                samples::what(row.what).to_owned(),
                figure(row.sd),
                figure(row.mean),
                figure(row.p95),
                figure(row.max),
                whole.map_or_else(String::new, figure),
            ]
        })
    });
    let p95 = format!("p95 of {}", events.many());
    List {
        title: "Seconds as samples, as in Percona's eXFlash paper",
        lead: samples::note(events),
        head: heads(&["run", "sampled", "sd", "mean", "95thpct", "max", &p95]),
        rows: rows.collect(),
    }
}

/// `verdicts.csv`: a row a comparison.
pub(crate) fn write_verdicts(file: &mut dyn Write, judgement: &Judgement) -> Result<()> {
    const HEAD: &str = "workload,threads,baseline,config,metric,unit,baseline_value,value,ratio,\
        ratio_low,ratio_high,difference,\
        difference_low,difference_high,basis,repeats,deviation,p_t,p_permutation,permuted,units,\
        p_corrected,correction,corrected_over,improvement_factor,\
        verdict,text,because,unlikely_before,against_workload,question";
    write_row(file, HEAD.split(',').map(str::to_owned))?;
    for one in &judgement.comparisons {
        let found = one.difference.as_ref();
        let permutation = found.and_then(|found| found.permutation.as_ref());
        let basis = found.map(|found| serde_json::to_value(found.basis)).transpose()?;
        let correction = serde_json::to_value(one.correction)?;
        let row = [
            one.workload.clone(),
            optional(one.threads),
            one.baseline.clone(),
            one.config.clone(),
            one.metric.name().to_owned(),
            one.metric.unit().to_owned(),
            optional(found.map(|found| found.baseline_value)),
            optional(found.map(|found| found.value)),
            optional(found.map(|found| found.ratio)),
            optional(found.map(|found| found.ratio_interval.0)),
            optional(found.map(|found| found.ratio_interval.1)),
            optional(found.map(|found| found.difference)),
            optional(found.map(|found| found.difference_interval.0)),
            optional(found.map(|found| found.difference_interval.1)),
            optional(basis.as_ref().and_then(|basis| basis.as_str())),
            optional(found.map(|found| found.repeats)),
            optional(found.map(|found| found.deviation)),
            optional(found.map(|found| found.p_t)),
            optional(permutation.map(|one| one.permuted.p)),
            optional(permutation.map(|one| verdict::units(one.of))),
            optional(permutation.map(|one| one.units)),
            optional(one.p_corrected),
            optional(correction["method"].as_str()),
            optional(one.correction.comparisons()),
            optional(one.improvement_factor),
            verdict::word(one.verdict.conclusion).to_owned(),
            verdict::text(one),
            optional(reason::because(Events::Transactions, one)),
            optional(one.verdict.unlikely_before),
            one.against_workload.clone().unwrap_or_else(|| one.workload.clone()),
            optional(one.question.map(|place| place + 1)),
        ];
        write_row(file, row)?;
    }
    Ok(())
}

/// `stalls.csv`: a row a breakdown, and one without seconds for each run that has none.
pub(crate) fn write_stalls(file: &mut dyn Write, judgement: &Judgement) -> Result<()> {
    const HEAD: &str = "config,workload,threads,repeat,steady,slope_percent_per_minute,slope_low,\
        slope_high,drift_percent,spread_percent,\
        autocorrelation,settled_after_s,from_second,to_second,at,depth_percent,delay_ms,\
        transactions,period_s,departures,\
        smallest_drop_percent";
    write_row(file, HEAD.split(',').map(str::to_owned))?;
    for trial in &judgement.trials {
        let steady = trial.steady.as_ref();
        let head = [
            trial.key.config.clone(),
            trial.key.workload.clone(),
            trial.key.threads.to_string(),
            trial.key.repeat.to_string(),
            optional(steady.map(steady::text)),
            optional(steady.map(|one| one.slope_percent_per_minute)),
            optional(steady.map(|one| one.slope_interval.0)),
            optional(steady.map(|one| one.slope_interval.1)),
            optional(steady.map(|one| one.drift_percent)),
            optional(steady.map(|one| one.spread_percent)),
            optional(steady.map(|one| one.autocorrelation)),
            optional(steady.and_then(|one| one.settled_after_s)),
        ];
        let events = trial.stalls.as_ref().map_or(&[][..], |stalls| &stalls.events);
        let period = trial.stalls.as_ref().and_then(|stalls| stalls.period);
        let smallest = optional(trial.stalls.as_ref().and_then(|one| one.smallest_drop_percent));
        if events.is_empty() {
            let none = std::iter::repeat_n(String::new(), 8).chain([smallest.clone()]);
            write_row(file, head.iter().cloned().chain(none))?;
        }
        for event in events {
            let departures: Vec<&str> =
                event.departures.iter().map(|one| one.series.as_str()).collect();
            let tail = [
                event.from_second.to_string(),
                event.to_second.to_string(),
                optional(event.at.as_ref()),
                event.depth_percent.to_string(),
                optional(event.delay_ms),
                optional(event.transactions),
                optional(period.map(|period| period.seconds)),
                departures.join("; "),
                smallest.clone(),
            ];
            write_row(file, head.iter().cloned().chain(tail))?;
        }
    }
    Ok(())
}

/// `steps.csv`: of each pair that differs in several factors a row a step, and one for the whole
/// with step 0.
pub(crate) fn write_steps(file: &mut dyn Write, judgement: &Judgement) -> Result<()> {
    const HEAD: &str = "workload,threads,against,config,step,step_against,step_config,factors,\
        throughput_ratio,\
        throughput_low,throughput_high,verdict,bytes_ratio,bytes_to,bytes_low,bytes_high,orders,\
        mean_ratio,mean_low,mean_high,mean_verdict,order_low,order_high,orders_disagree,\
        mean_bytes_ratio,mean_bytes_low,mean_bytes_high";
    write_row(file, HEAD.split(',').map(str::to_owned))?;
    for chain in &judgement.chains {
        let threads: Vec<String> = chain.threads.iter().map(u32::to_string).collect();
        for (place, step) in std::iter::once(&chain.whole).chain(&chain.steps).enumerate() {
            let of_step = step.throughput.as_ref();
            let found = of_step.and_then(|one| one.difference.as_ref());
            let mut row = vec![
                chain.workload.clone(),
                threads.join(" "),
                chain.whole.against.clone(),
                chain.whole.config.clone(),
                place.to_string(),
                step.against.clone(),
                step.config.clone(),
                step.factors.join("; "),
                optional(found.map(|found| found.ratio)),
                optional(found.map(|found| found.ratio_interval.0)),
                optional(found.map(|found| found.ratio_interval.1)),
                optional(of_step.map(|one| verdict::word(one.verdict.conclusion))),
                optional(step.taken.map(|taken| taken.ratio)),
                optional(step.taken.map(steps::bytes_to)),
            ];
            row.extend(of_interval(step.taken));
            row.extend(of_orders(step));
            write_row(file, row)?;
        }
    }
    Ok(())
}

fn of_interval(taken: Option<Taken>) -> [String; 2] {
    let interval = taken.and_then(|taken| taken.interval);
    [optional(interval.map(|one| one.0)), optional(interval.map(|one| one.1))]
}

/// The mean over the orders; empty where there is one.
fn of_orders(step: &Step) -> Vec<String> {
    let orders = step.over_orders.as_ref();
    let of_mean = orders.and_then(|orders| orders.throughput.as_ref());
    let mean = of_mean.and_then(|one| one.difference.as_ref());
    let range = orders.and_then(|orders| orders.throughput_range);
    let taken = orders.and_then(|orders| orders.taken);
    let throughput = [
        optional(orders.map(|orders| orders.orders)),
        optional(mean.map(|mean| mean.ratio)),
        optional(mean.map(|mean| mean.ratio_interval.0)),
        optional(mean.map(|mean| mean.ratio_interval.1)),
        optional(of_mean.map(|one| verdict::word(one.verdict.conclusion))),
        optional(range.map(|range| range.low)),
        optional(range.map(|range| range.high)),
        optional(range.map(|range| range.disagrees)),
        optional(taken.map(|taken| taken.ratio)),
    ];
    throughput.into_iter().chain(of_interval(taken)).collect()
}

/// `statements.csv`: a row a kind of statement of each run.
pub(crate) fn write_statements(file: &mut dyn Write, judgement: &Judgement) -> Result<()> {
    const HEAD: &str = "config,workload,threads,repeat,statement,count,latency_ms_p50,\
        latency_ms_p95,latency_ms_p99,\
        latency_ms_p999,latency_ms_max";
    write_row(file, HEAD.split(',').map(str::to_owned))?;
    for trial in &judgement.trials {
        for one in &trial.statements {
            let row = [
                trial.key.config.clone(),
                trial.key.workload.clone(),
                trial.key.threads.to_string(),
                trial.key.repeat.to_string(),
                one.statement.clone(),
                one.count.to_string(),
                optional(one.latency_ms_p50),
                optional(one.latency_ms_p95),
                optional(one.latency_ms_p99),
                optional(one.latency_ms_p999),
                optional(one.latency_ms_max),
            ];
            write_row(file, row)?;
        }
    }
    Ok(())
}
