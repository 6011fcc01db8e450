//! Runs at a rate: what was asked for and done, and latency from both starts: when a transaction
//! was sent, and when it was due.
//!
//! Their difference is waiting that a closed loop hides: there, nobody comes while a server stands
//! still.

use assay_judge::summary::{RepeatGroup, RepeatStatistics};
use assay_study::metrics::metric;
use assay_study::{Events, Study, Trial};

use crate::comparisons::questions::{is_aa_run, named};
use crate::figures::format::{figure, rate};
use crate::tables::worth::{self, NONE, Table};
use assay_judge::summary::result;

/// A rate that is missed by more than this is not sustained.
const SUSTAINED_PERCENT_MIN: f64 = 99.0;
/// Standard deviations that random arrivals stay below.
const CHANCE_DEVIATIONS: f64 = 3.0;
/// Due ÷ sent, and due − sent in ms, from which on the difference is worth a sentence.
const TOLD_RATIO_MIN: f64 = 2.0;
const TOLD_GAP_MS_MIN: f64 = 5.0;

const COLUMNS: [(&str, &str); 6] = [
    ("asked, /s", "{events} per second that were due"),
    ("done, /s", "{events} per second that ended"),
    ("done, %", "of those that were asked for"),
    ("p99 from sent, ms", "from when {an event} was sent to its end: what the server took"),
    ("p99 from due, ms", "from when it should have been sent: what a user waits"),
    ("longest from due, ms", "the longest that {an event} took from when it was due"),
];

/// One configuration at one rate, over its repeats.
struct AtRate<'a> {
    config: &'a str,
    workload: &'a str,
    asked: RepeatStatistics,
    done: RepeatStatistics,
    /// Events that were due in all its runs.
    due: f64,
    sent_ms: Option<RepeatStatistics>,
    due_ms: Option<RepeatStatistics>,
    longest_ms: Option<RepeatStatistics>,
}

/// A row for each configuration at each rate and thread count; nothing of a study in closed loop.
pub(crate) fn table(study: &Study, groups: &[RepeatGroup<'_>]) -> Option<Table> {
    let found: Vec<(&RepeatGroup<'_>, AtRate<'_>)> =
        groups.iter().filter_map(|group| Some((group, at_rate(study, group)?))).collect();
    let rows = found.iter().map(|(group, one)| (*group, one.fields())).collect();
    let columns = COLUMNS.map(|(head, title)| worth::column(study.events(), head, title)).into();
    let notes = [waiting(study.events(), &found), overload(&found)].into_iter().flatten().collect();
    Table::of(study, columns, rows, notes)
}

fn at_rate<'a>(study: &'a Study, group: &RepeatGroup<'_>) -> Option<AtRate<'a>> {
    let config = study.configs.get(group.config).filter(|one| !is_aa_run(study, one))?;
    let over = |name: &'static str| group.figure(|trial: &Trial| result(trial, name));
    Some(AtRate {
        config: &config.name,
        workload: &study.workloads.get(group.workload)?.name,
        asked: over(metric!("target_rate").name)?,
        done: over(metric!("achieved_rate").name)?,
        due: group.done().filter_map(due).sum(),
        sent_ms: over(metric!("service_ms_p99").name),
        due_ms: over(metric!("latency_ms_p99").name),
        longest_ms: over(metric!("latency_ms_max").name),
    })
}

fn due(trial: &Trial) -> Option<f64> {
    Some(result(trial, metric!("target_rate").name)? * trial.window?.length_s())
}

impl AtRate<'_> {
    fn done_percent(&self) -> f64 {
        100.0 * self.done.mean / self.asked.mean
    }

    /// Whether it did less than was due, and by more than arrivals at random times may lack (a
    /// Poisson count's deviation is its square root).
    fn is_missed(&self) -> bool {
        let by_chance = 100.0 * CHANCE_DEVIATIONS / self.due.sqrt();
        let lacking = 100.0 - self.done_percent();
        lacking > 100.0 - SUSTAINED_PERCENT_MIN && !(self.due > 0.0 && lacking <= by_chance)
    }

    fn fields(&self) -> Vec<String> {
        let shown = |value: &Option<RepeatStatistics>| {
            value.as_ref().map_or_else(|| NONE.to_owned(), |value| figure(value.mean))
        };
        vec![
            rate(self.asked.mean),
            rate(self.done.mean),
            format!("{:.1}", self.done_percent()),
            shown(&self.sent_ms),
            shown(&self.due_ms),
            shown(&self.longest_ms),
        ]
    }

    /// p99 from both starts, where they are worth a sentence.
    fn gap(&self) -> Option<(f64, f64)> {
        let (sent, due) = (self.sent_ms.as_ref()?.mean, self.due_ms.as_ref()?.mean);
        let is_told = due >= sent * TOLD_RATIO_MIN && due - sent >= TOLD_GAP_MS_MIN;
        is_told.then_some((sent, due))
    }
}

/// Why latency from the due start is longer, by the run where it is most so.
fn waiting(events: Events, all: &[(&RepeatGroup<'_>, AtRate<'_>)]) -> Option<String> {
    let gaps = all.iter().filter_map(|(_, one)| Some((one, one.gap()?)));
    let most = |a: &(&AtRate<'_>, (f64, f64)), b: &(&AtRate<'_>, (f64, f64))| {
        (a.1.1 / a.1.0).total_cmp(&(b.1.1 / b.1.0))
    };
    let (rate, (sent, due)) = gaps.max_by(most)?;
    Some(format!(
        "{} under “{}”: the p99 is {} ms from when {one} was sent, and {} ms from when it was \
        due. The difference is waiting: {many} that fall due while the server stalls wait for a \
        free connection. A closed loop sends none meanwhile, so its percentiles hardly show a \
        stall.",
        named(rate.config),
        rate.workload,
        figure(sent),
        figure(due),
        one = events.one(),
        many = events.many()
    ))
}

/// Where the rate was more than was done.
fn overload(all: &[(&RepeatGroup<'_>, AtRate<'_>)]) -> Option<String> {
    let missed: Vec<&AtRate<'_>> =
        all.iter().map(|(_, one)| one).filter(|one| one.is_missed()).collect();
    let lowest = missed.iter().min_by(|a, b| a.done_percent().total_cmp(&b.done_percent()))?;
    Some(format!(
        "Overloaded: {} of {} did less than {SUSTAINED_PERCENT_MIN} % of its rate, {} under “{}” \
        {:.0} %. Its queue grows as long as the run lasts and its latency with it, so that these \
        percentiles tell how long the run was.",
        missed.len(),
        all.len(),
        named(lowest.config),
        lowest.workload,
        lowest.done_percent()
    ))
}
