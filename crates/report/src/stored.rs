//! How much room the database's data take, and how small they were stored.

use assay_judge::summary::{Figure, Group};
use assay_study::Trial;
use assay_study::metrics::{Group as Kinds, Metric as Entry, find, metric};

use super::metrics::Metric;

/// Runs of one configuration under one workload, over all thread counts and repeats.
fn trials<'a>(
    groups: &'a [Group<'_>],
    config: usize,
    workload: usize,
) -> impl Iterator<Item = &'a Trial> {
    let its = groups.iter().filter(move |one| (one.config, one.workload) == (config, workload));
    its.flat_map(Group::done)
}

/// Whether what the drive below says of its room is of a model that was preconditioned: of other data than the
/// database's, too.
pub(super) fn is_preconditioned(trial: &Trial) -> bool {
    let has = |metric: &Entry| trial.results.contains_key(metric.name);
    has(metric!("model_commands_per_s")) && has(metric!("drive_logical_bytes_used"))
}

/// A space metric that is of the database's data alone: the room that a preconditioned model's drive has taken is not.
pub(super) fn of_database(
    groups: &[Group<'_>],
    config: usize,
    workload: usize,
    kind: &Metric<'_>,
) -> Option<Figure> {
    let is_of_drive =
        find(kind.name).is_some_and(|one| one.column_of(Kinds::Preconditioned).is_some());
    let its =
        trials(groups, config, workload).filter(|trial| !(is_of_drive && is_preconditioned(trial)));
    Figure::of(its.filter_map(|trial| kind.of(trial)).collect())
}

/// A metric of a preconditioned model.
pub(super) fn of_preconditioned(
    groups: &[Group<'_>],
    config: usize,
    workload: usize,
    kind: &Metric<'_>,
) -> Option<Figure> {
    let its = trials(groups, config, workload).filter(|trial| is_preconditioned(trial));
    Figure::of(its.filter_map(|trial| kind.of(trial)).collect())
}

/// Bytes that a transaction must write at least for anything to be judged by them: less than a sector is a page of the
/// file system now and then, and nothing that the transaction wrote.
pub(super) const WRITTEN_LEAST_BYTES: f64 = 512.0;

/// Bytes that the host wrote in the window for each byte that the drive stored of them, before its own headers,
/// collection and checkpoints. Zeroes are left out: they take no room on any drive. It is of the database's data alone,
/// whatever else the drive holds. Nothing where hardly anything was written.
pub(super) fn stored_ratio(trial: &Trial) -> Option<f64> {
    let figure = |metric: &Entry| trial.results.get(metric.name).copied();
    let zeroes = figure(metric!("drive_write_bytes_zero_per_s")).unwrap_or(0.0);
    let written = figure(metric!("drive_write_bytes_host_per_s"))? - zeroes;
    let stored = figure(metric!("drive_write_bytes_payload_per_s")).filter(|bytes| *bytes > 0.0)?;
    (written >= WRITTEN_LEAST_BYTES * figure(metric!("tps"))?).then_some(written / stored)
}

/// How small it was stored, over the runs of a configuration under a workload.
pub(super) fn stored_figure(
    groups: &[Group<'_>],
    config: usize,
    workload: usize,
) -> Option<Figure> {
    Figure::of(trials(groups, config, workload).filter_map(stored_ratio).collect())
}

/// Of preconditioned models alone: of other drives the room says it.
pub(super) fn stored(groups: &[Group<'_>], config: usize, workload: usize) -> Option<Figure> {
    let its = trials(groups, config, workload).filter(|trial| is_preconditioned(trial));
    Figure::of(its.filter_map(stored_ratio).collect())
}
