//! Response times of the kinds of statement that the plan asks about: a row for each configuration
//! under each load.

use assay_judge::summary::{RepeatGroup, RepeatStatistics};
use assay_judge::{Judgement, Statements};
use assay_study::Study;

use crate::comparisons::questions::is_aa_run;
use crate::figures::format::figure;
use crate::tables::phases::spread;
use crate::tables::worth::{NONE, Table};

/// A percentile, what heads call it, and what it means.
type Percentile = (fn(&Statements) -> Option<f64>, &'static str, &'static str);

const PERCENTILES: [Percentile; 3] = [
    (
        |one| one.latency_ms_p50,
        "p50",
        "half of these statements took this or less, from sending to the end of the answer",
    ),
    (
        |one| one.latency_ms_p99,
        "p99",
        "99 of 100 of these statements took this or less, from sending to the end of the answer",
    ),
    (
        |one| one.latency_ms_p999,
        "p99.9",
        "999 of 1000 of these statements took this or less, from sending to the end of the answer",
    ),
];

/// The table; nothing where the plan asks about no kind, or none was timed.
pub(crate) fn table(
    study: &Study,
    groups: &[RepeatGroup<'_>],
    judgement: &Judgement,
) -> Option<Table> {
    let kinds = &study.judging.percentiles_by_statement;
    let mut columns = Vec::new();
    for kind in kinds {
        for (_, percentile, title) in PERCENTILES {
            columns.push((format!("{kind} {percentile}, ms"), title.into()));
        }
    }
    let row = |group: &RepeatGroup<'_>| -> Vec<String> {
        let of = |kind: &String| {
            PERCENTILES.map(|(value, ..)| spread(over(group, judgement, kind, value), figure))
        };
        kinds.iter().flat_map(of).collect()
    };
    let is_shown = |group: &&RepeatGroup<'_>| {
        study.configs.get(group.config).is_some_and(|one| !is_aa_run(study, one))
    };
    let rows = groups.iter().filter(is_shown).map(|group| (group, row(group)));
    let known = rows.filter(|(_, fields)| fields.iter().any(|field| field != NONE));
    Table::of(study, columns, known.collect(), Vec::new())
}

/// A percentile of a kind over the repeats that have it.
fn over(
    group: &RepeatGroup<'_>,
    judgement: &Judgement,
    kind: &str,
    value: fn(&Statements) -> Option<f64>,
) -> Option<RepeatStatistics> {
    let of_trial = |trial: &assay_study::Trial| {
        let judged = judgement.trials.iter().find(|one| one.key == trial.key)?;
        value(judged.statements.iter().find(|one| one.statement == kind)?)
    };
    RepeatStatistics::of(group.done().filter_map(of_trial).collect())
}
