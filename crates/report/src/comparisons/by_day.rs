//! How differences within a study varied from day to day, of studies with sessions.

use assay_judge::{ByDay, JudgedComparison, Judgement, Metric};
use assay_study::{Day, HOURS_APART, Study};

use crate::comparisons::questions;
use crate::figures::format::list;
use crate::words::size::{in_words, interval_in_words};

/// Sentences for the comparisons of throughput that stand for a workload; of sessions that are too
/// close to be days, that they are.
pub(crate) fn sentences(study: &Study, judgement: &Judgement) -> Vec<String> {
    let all = questions::whole(judgement, Metric::Throughput);
    let told = all.into_iter().filter_map(|one| of_comparison(study, one));
    of_near_ones(study).into_iter().chain(told).collect()
}

fn of_comparison(study: &Study, one: &JudgedComparison) -> Option<String> {
    let found = ByDay::of(study, one)?;
    let [name, base_name] = questions::sides(one);
    let days: Vec<String> = found.ratios.iter().map(|ratio| in_words(one.metric, *ratio)).collect();
    Some(format!(
        "{name} against {base_name} ({}) by day: {}; an interval by these {} days is {}.",
        one.workload,
        list(&days),
        days.len(),
        interval_in_words(one.metric, found.ratio_interval)
    ))
}

fn of_near_ones(study: &Study) -> Option<String> {
    let sessions = study.sessions.repeats.len();
    let days = Day::all(&study.sessions, &study.trials).len();
    let are = if days == 1 { "one day".to_owned() } else { format!("{days} days") };
    (sessions > days).then(|| {
        format!(
            "{sessions} sessions count as {are}, for sessions that begin within {HOURS_APART} \
             hours do not show how days differ."
        )
    })
}
