//! Space as the page shows it: bars, a table, and in a sentence what holds how much in how little.

use serde::Serialize;

use crate::store::Study;

use super::charts::{self, Plot};
use super::format::{bytes, list};
use super::headline::{is_twin, named};
use super::metrics::{self, Metric};
use super::page::Input;
use super::summary::Group;
use super::view;

/// The section.
#[derive(Serialize)]
pub(super) struct Space<'a> {
    plot: usize,
    /// What the chart says.
    finding: String,
    columns: Vec<(&'a str, &'a str)>,
    rows: Vec<view::SpaceRow>,
}

/// Space of each workload's data, whose plot is added to `plots`; nothing where no cell has any.
pub(super) fn space<'a>(input: &Input<'_>, plots: &mut Vec<Plot>) -> Option<Space<'a>> {
    let is_held = |kind: &Metric<'_>| {
        input.study.cells.iter().any(|cell| cell.results.contains_key(kind.name))
    };
    let kinds: Vec<Metric<'static>> = metrics::SPACE.into_iter().filter(is_held).collect();
    // Bars are of what every arm has.
    let of_all = kinds.iter().filter(|kind| kind.name.starts_with("space_"));
    let plot = charts::space(input.study, &of_all.copied().collect::<Vec<_>>(), input.groups)?;
    plots.push(plot);
    Some(Space {
        plot: plots.len() - 1,
        finding: finding(input.study, input.groups).unwrap_or_default(),
        rows: view::space(input.study, input.groups, &kinds),
        columns: kinds.iter().map(|kind| (kind.head, kind.title)).collect(),
    })
}

/// Up to so many arms are told of, those that take least first.
const TOLD: usize = 3;

/// An arm's files, and what they take of the media or, where that is not known, of the file system.
struct Held<'a> {
    arm: &'a str,
    files: f64,
    taken: f64,
}

/// `Under write only: on CSD 3.10 GB of files take 1.40 GB of media (2.21 : 1) and on plain …`
fn finding(study: &Study, groups: &[Group<'_>]) -> Option<String> {
    let [files, allocated, _, physical] = metrics::SPACE;
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
    let told = |one: &Held<'_>| {
        let (files, taken) = (bytes(one.files), bytes(one.taken));
        format!("on {} {files} of files take {taken} of {place}", named(one.arm)) + &by(one)
    };
    let told: Vec<String> = all.iter().map(told).collect();
    let under = match study.workloads.len() {
        0 | 1 => String::new(),
        _ => format!("Under {}: ", study.workloads.get(workload)?.name),
    };
    let between = match left_out {
        0 => String::new(),
        1 => "; one more lies between".into(),
        count => format!("; {count} more lie between"),
    };
    let text = format!("{under}{}{between}.", list(&told));
    // Without a workload before it the sentence begins here.
    Some(text.strip_prefix("on ").map_or(text.clone(), |rest| format!("On {rest}")))
}

/// How many bytes of files a byte of what they take holds, where that is not one.
fn by(one: &Held<'_>) -> String {
    let ratio = one.files / one.taken;
    if (0.98..1.02).contains(&ratio) { String::new() } else { format!(" ({ratio:.2} : 1)") }
}

fn held<'a>(
    study: &'a Study,
    groups: &[Group<'_>],
    workload: usize,
    [files, taken]: [&Metric<'_>; 2],
) -> Vec<Held<'a>> {
    let arms = study.arms.iter().enumerate().filter(|(_, arm)| !is_twin(study, arm));
    let of_arm = |(place, arm): (usize, &'a crate::store::Arm)| {
        let of = |kind: &Metric<'_>| {
            let mean = charts::space_of(groups, place, workload, kind)?.mean / kind.scale;
            (mean > 0.0).then_some(mean)
        };
        Some(Held { arm: &arm.name, files: of(files)?, taken: of(taken)? })
    };
    arms.filter_map(of_arm).collect()
}
