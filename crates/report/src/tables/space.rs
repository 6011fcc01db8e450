//! Space as the page shows it: bars, a table, and in a sentence what holds how much in how little.

use std::borrow::Cow;

use serde::Serialize;

use assay_study::metrics::{Group as Kinds, Layer, find, metric};
use assay_study::{Events, Study};

use crate::charts::plots::{self, Plot, Stage};
use crate::comparisons::questions::{is_aa_run, named};
use crate::figures::columns::{self, Metric};
use crate::figures::format::{bytes, list};
use crate::figures::storage::{of_database, of_preconditioned, stored, stored_figure};
use crate::input::Input;
use crate::tables::figures::{self, Field};
use assay_judge::summary::{RepeatGroup, RepeatStatistics};

/// The section.
#[derive(Serialize)]
pub(crate) struct Space {
    plot: usize,
    /// The workload that the chart is of.
    workload: String,
    finding: String,
    columns: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    rows: Vec<figures::SpaceRow>,
    /// Whether flash of models is left out of the chart, as it holds what wore it in too.
    has_preconditioned: bool,
}

/// Space of each workload's data, whose plot is added to `plots`; nothing where no run has any.
pub(crate) fn space(input: &Input<'_>, plots: &mut Vec<Plot>) -> Option<Space> {
    let (study, groups) = (input.study, input.groups);
    let columns = Columns::of(study, groups);
    let (workload, stages) = stages(study, groups, &columns)?;
    let unit = columns.own.first().map_or_else(Cow::default, |kind| kind.unit(study.events()));
    plots.push(plots::space(study, &unit, &stages)?);
    Some(Space {
        plot: plots.len() - 1,
        workload: study.workloads.get(workload).map(|one| one.name.clone()).unwrap_or_default(),
        finding: finding(study, groups).unwrap_or_default(),
        rows: columns.rows(study, groups),
        columns: columns.heads(study.events()),
        has_preconditioned: !columns.preconditioned.is_empty(),
    })
}

/// Stages that every configuration has: the database's data, and below them what a compressing
/// drive stores; from the first workload that writes to a drive, else from the first that has any.
fn stages(
    study: &Study,
    groups: &[RepeatGroup<'_>],
    columns: &Columns,
) -> Option<(usize, Vec<Stage>)> {
    let configs = 0..study.configs.len();
    let of = |workload: usize, kind: &Metric<'_>| -> Vec<Option<RepeatStatistics>> {
        configs.clone().map(|config| of_database(groups, config, workload, kind)).collect()
    };
    let kinds = || columns.own.iter().filter(|kind| is_of_every_config(kind));
    let is_any =
        |workload: &usize| kinds().any(|kind| of(*workload, kind).iter().any(Option::is_some));
    let compresses = |workload: &usize| {
        is_any(workload)
            && configs.clone().any(|config| stored(groups, config, *workload).is_some())
    };
    let mut workloads = 0..study.workloads.len();
    let workload = workloads.clone().find(compresses).or_else(|| workloads.find(is_any))?;
    let mut stages: Vec<Stage> =
        kinds().map(|kind| (kind.head(study.events()).into_owned(), of(workload, kind))).collect();
    if let Some(kind) = kinds().next_back().filter(|_| compresses(&workload)) {
        let small = |config: usize| {
            let ratio = stored(groups, config, workload)?.mean;
            let data = of_database(groups, config, workload, kind)?;
            RepeatStatistics::of(data.values.iter().map(|bytes| bytes / ratio).collect())
        };
        stages.push(("on flash, compressed".to_owned(), configs.clone().map(small).collect()));
    }
    Some((workload, stages))
}

/// Whether it is of files and file systems, and not of a drive that some configurations have.
fn is_of_every_config(kind: &Metric<'_>) -> bool {
    find(kind.name).is_some_and(|one| one.layer == Layer::Space)
}

/// Columns of the table: the database's own data, everything on a model with its preconditioning,
/// and whether anything was stored smaller.
struct Columns {
    own: Vec<Metric<'static>>,
    preconditioned: Vec<Metric<'static>>,
    stored: Option<Metric<'static>>,
}

impl Columns {
    fn of(study: &Study, groups: &[RepeatGroup<'_>]) -> Columns {
        let loads: Vec<(usize, usize)> = loads(study).collect();
        let is_any = |of: &dyn Fn(usize, usize) -> bool| {
            loads.iter().any(|(workload, config)| of(*workload, *config))
        };
        let own = columns::columns(Kinds::Space).into_iter().filter(|kind| {
            is_any(&|workload, config| of_database(groups, config, workload, kind).is_some())
        });
        let preconditioned = columns::columns(Kinds::Preconditioned).into_iter().filter(|kind| {
            is_any(&|workload, config| of_preconditioned(groups, config, workload, kind).is_some())
        });
        let is_stored = is_any(&|workload, config| stored(groups, config, workload).is_some());
        Columns {
            own: own.collect(),
            preconditioned: preconditioned.collect(),
            stored: is_stored.then_some(columns::STORED),
        }
    }

    fn heads(&self, events: Events) -> Vec<(Cow<'static, str>, Cow<'static, str>)> {
        let all = self.own.iter().chain(&self.stored).chain(&self.preconditioned);
        all.map(|kind| (kind.head(events), kind.title(events))).collect()
    }

    fn rows(&self, study: &Study, groups: &[RepeatGroup<'_>]) -> Vec<figures::SpaceRow> {
        let row = |(workload, config): (usize, usize)| {
            let own =
                self.own.iter().map(|kind| (kind, of_database(groups, config, workload, kind)));
            let own: Vec<_> = own.collect();
            own.iter().any(|(_, figure)| figure.is_some()).then_some(())?;
            let mut fields: Vec<Field> =
                own.into_iter().map(|(kind, figure)| Field::of_bytes(kind, figure)).collect();
            let stored = self.stored.iter();
            fields.extend(
                stored.map(|kind| Field::bare(kind, stored_figure(groups, config, workload))),
            );
            let preconditioned = self.preconditioned.iter();
            fields.extend(preconditioned.map(|kind| {
                Field::of_bytes(kind, of_preconditioned(groups, config, workload, kind))
            }));
            Some(figures::SpaceRow::of(&study.workloads.get(workload)?.name, config, fields))
        };
        loads(study).filter_map(row).collect()
    }
}

/// Every workload with every configuration.
fn loads(study: &Study) -> impl Iterator<Item = (usize, usize)> {
    let configs = study.configs.len();
    (0..study.workloads.len())
        .flat_map(move |workload| (0..configs).map(move |config| (workload, config)))
}

/// Up to so many configurations are told of, those that take least first.
const TOLD: usize = 3;

/// A configuration's files, and what they take of the media or, where that is not known, of the
/// file system.
struct Held<'a> {
    config: &'a str,
    files: f64,
    taken: f64,
}

/// `Under write only: on CSD 3.10 GB of files take 1.40 GB of media (2.21 : 1) and on plain …`
fn finding(study: &Study, groups: &[RepeatGroup<'_>]) -> Option<String> {
    let files = columns::column(metric!("space_file_bytes"), Kinds::Space);
    let allocated = columns::column(metric!("space_allocated_bytes"), Kinds::Space);
    let physical = columns::column(metric!("space_physical_bytes"), Kinds::Space);
    let workloads = 0..study.workloads.len();
    let (workload, kind, place) = workloads
        .flat_map(|workload| [(workload, physical, "media"), (workload, allocated, "blocks")])
        .find(|(workload, kind, _)| !held(study, groups, *workload, [&files, kind]).is_empty())?;
    let mut all = held(study, groups, workload, [&files, &kind]);
    all.sort_by(|a, b| (a.taken / a.files).total_cmp(&(b.taken / b.files)));
    let left_out = all.len().saturating_sub(TOLD);
    // The last of those told is the one that takes most.
    if left_out > 0 {
        all.drain(TOLD - 1..all.len() - 1);
    }
    let is_one_workload = study.workloads.len() <= 1;
    let told = |(nth, one): (usize, &Held<'_>)| {
        let (files, taken) = (bytes(one.files), bytes(one.taken));
        // Without a workload before it the sentence begins here.
        let on = if is_one_workload && nth == 0 { "On" } else { "on" };
        format!("{on} {} {files} of files take {taken} of {place}", named(one.config)) + &by(one)
    };
    let told: Vec<String> = all.iter().enumerate().map(told).collect();
    let under = match is_one_workload {
        true => String::new(),
        false => format!("Under {}: ", study.workloads.get(workload)?.name),
    };
    let between = match left_out {
        0 => String::new(),
        1 => "; one more lies between".into(),
        count => format!("; {count} more lie between"),
    };
    let text = format!("{under}{}{between}.", list(&told));
    Some(text + &of_models(study, groups).unwrap_or_default())
}

/// ` What was written under write only was stored 2.21 : 1 on CSD and …`: of preconditioned models,
/// under the first workload that writes.
fn of_models(study: &Study, groups: &[RepeatGroup<'_>]) -> Option<String> {
    let of = |workload: usize| -> Vec<String> {
        let configs =
            study.configs.iter().enumerate().filter(|(_, config)| !is_aa_run(study, config));
        let told = configs.filter_map(|(place, config)| {
            let found = stored(groups, place, workload)?;
            Some(format!("{:.2} : 1 on {}", found.mean, named(&config.name)))
        });
        told.collect()
    };
    let all = (0..study.workloads.len()).map(|workload| (workload, of(workload)));
    let (workload, told) = all.into_iter().find(|(_, told)| !told.is_empty())?;
    let name = &study.workloads.get(workload)?.name;
    Some(format!(" What was written under {name} was stored {}.", list(&told)))
}

/// How many bytes of files a byte of what they take holds, where that is not one.
fn by(one: &Held<'_>) -> String {
    let ratio = one.files / one.taken;
    if (0.98..1.02).contains(&ratio) { String::new() } else { format!(" ({ratio:.2} : 1)") }
}

fn held<'a>(
    study: &'a Study,
    groups: &[RepeatGroup<'_>],
    workload: usize,
    [files, taken]: [&Metric<'_>; 2],
) -> Vec<Held<'a>> {
    let configs = study.configs.iter().enumerate().filter(|(_, config)| !is_aa_run(study, config));
    let of_config = |(place, config): (usize, &'a assay_study::Config)| {
        let of = |kind: &Metric<'_>| {
            let mean = of_database(groups, place, workload, kind)?.mean / kind.scale;
            (mean > 0.0).then_some(mean)
        };
        Some(Held { config: &config.name, files: of(files)?, taken: of(taken)? })
    };
    configs.filter_map(of_config).collect()
}
