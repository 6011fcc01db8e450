//! How much room the database's data take, and how small they were stored.

use assay_judge::summary::{RepeatGroup, RepeatStatistics};
use assay_judge::worth::space::{is_preconditioned, stored_ratio};
use assay_study::Trial;
use assay_study::metrics::{Group as Kinds, find};

use crate::figures::columns::Metric;

/// Runs of one configuration under one workload, over all thread counts and repeats.
fn trials<'a>(
    groups: &'a [RepeatGroup<'_>],
    config: usize,
    workload: usize,
) -> impl Iterator<Item = &'a Trial> {
    let its = groups.iter().filter(move |one| (one.config, one.workload) == (config, workload));
    its.flat_map(RepeatGroup::done)
}

/// A space metric that is of the database's data alone: the room that a preconditioned model's
/// drive has taken is not.
pub(crate) fn of_database(
    groups: &[RepeatGroup<'_>],
    config: usize,
    workload: usize,
    kind: &Metric<'_>,
) -> Option<RepeatStatistics> {
    let is_of_drive =
        find(kind.name).is_some_and(|one| one.column_of(Kinds::Preconditioned).is_some());
    let its =
        trials(groups, config, workload).filter(|trial| !(is_of_drive && is_preconditioned(trial)));
    RepeatStatistics::of(its.filter_map(|trial| kind.of(trial)).collect())
}

/// A metric of a preconditioned model.
pub(crate) fn of_preconditioned(
    groups: &[RepeatGroup<'_>],
    config: usize,
    workload: usize,
    kind: &Metric<'_>,
) -> Option<RepeatStatistics> {
    let its = trials(groups, config, workload).filter(|trial| is_preconditioned(trial));
    RepeatStatistics::of(its.filter_map(|trial| kind.of(trial)).collect())
}

/// How small it was stored, over the runs of a configuration under a workload.
pub(crate) fn stored_figure(
    groups: &[RepeatGroup<'_>],
    config: usize,
    workload: usize,
) -> Option<RepeatStatistics> {
    RepeatStatistics::of(trials(groups, config, workload).filter_map(stored_ratio).collect())
}

/// Stored data of preconditioned models alone; for other drives the space says it.
pub(crate) fn stored(
    groups: &[RepeatGroup<'_>],
    config: usize,
    workload: usize,
) -> Option<RepeatStatistics> {
    let its = trials(groups, config, workload).filter(|trial| is_preconditioned(trial));
    RepeatStatistics::of(its.filter_map(stored_ratio).collect())
}
