//! `results.json`: the study, its summary, verdicts and everything else that the judge finds, for
//! other programs. `docs/results-json.md` describes every key.

mod costs;
mod effects;
pub mod judgement;

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::input::Input;
use crate::published::PaperMatch;
use crate::published::rows::BesideView;
use crate::tables::csv::{result_names, stored};
use crate::words::durability::DurabilityView;
use crate::words::endurance::{self, RatedView};
use crate::words::paper::{self, ComparedView};
use crate::words::write_path::WritePathView;
use assay_base::version::version;
use assay_judge::paper::Compared;
use assay_judge::reconcile::FactorPair;
use assay_judge::summary::{RepeatGroup, RepeatStatistics};
use assay_judge::worth::{DriveLife, ServersForLoad, Uncosted};
use assay_study::Study;
use costs::CostView;
use judgement::JudgementView;

/// Version of `results.json`. It grows when a key is removed or means something else; a key that
/// is added leaves it as it is.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Results<'a> {
    format: u32,
    written_by: String,
    #[serde(flatten)]
    study: &'a Study,
    summary: Vec<Summary<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compared_with_paper: Vec<ComparedView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claims: Option<BesideView<'a>>,
    judgement: JudgementView<'a>,
    durability: BTreeMap<&'a str, DurabilityView>,
    factors: &'a [FactorPair],
    write_path: Vec<WritePathView<'a>>,
    endurance: &'a [DriveLife],
    rated: BTreeMap<&'a str, RatedView>,
    servers: &'a [ServersForLoad],
    #[serde(skip_serializing_if = "Option::is_none")]
    costs: Option<Vec<CostView<'a>>>,
    /// Loads of configurations whose throughput makes no cost, and why.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    uncosted: &'a [Uncosted],
    variables: BTreeMap<&'a str, &'a BTreeMap<String, String>>,
}

#[derive(Serialize)]
struct Summary<'a> {
    config: &'a str,
    workload: &'a str,
    threads: u32,
    repeats_done: usize,
    durability: &'a str,
    results: BTreeMap<&'a str, Spread>,
}

#[derive(Serialize)]
struct Spread {
    mean: f64,
    low: f64,
    high: f64,
}

/// Writes `results.json`. Of several sets of server variables of a configuration, the first is
/// written.
pub(crate) fn write(
    file: &mut dyn Write,
    input: &Input<'_>,
    compared: &[Compared],
    claims: &PaperMatch,
) -> Result<()> {
    let Input { study, analysis, .. } = *input;
    let appraisal = &analysis.appraisal;
    let results = Results {
        format: FORMAT,
        written_by: format!("assay {}", version()),
        study,
        summary: summary(input),
        compared_with_paper: paper::view(compared),
        claims: match claims {
            PaperMatch::Beside(beside) => Some(BesideView::of(beside)),
            _ => None,
        },
        judgement: JudgementView::of(input.study, input.judgement),
        durability: study
            .configs
            .iter()
            .zip(&appraisal.durability)
            .map(|(config, durability)| (config.name.as_str(), DurabilityView::of(durability)))
            .collect(),
        factors: &appraisal.factors,
        write_path: appraisal.write_paths.iter().map(WritePathView::of).collect(),
        endurance: &appraisal.endurance,
        rated: endurance::view(&appraisal.rated),
        servers: &appraisal.servers,
        costs: appraisal.costs.as_ref().map(|costs| costs::view(study.events(), costs)),
        uncosted: &appraisal.uncosted,
        variables: study
            .configs
            .iter()
            .zip(input.variables)
            .filter_map(|(config, sets)| Some((config.name.as_str(), sets.first()?)))
            .collect(),
    };
    serde_json::to_writer_pretty(&mut *file, &results)?;
    Ok(writeln!(file)?)
}

fn summary<'a>(input: &Input<'a>) -> Vec<Summary<'a>> {
    let study = input.study;
    let names = result_names(study);
    let spread =
        |figure: RepeatStatistics| Spread { mean: figure.mean, low: figure.low, high: figure.high };
    let of_group = |group: &RepeatGroup<'_>| Summary {
        config: &study.configs[group.config].name,
        workload: &study.workloads[group.workload].name,
        threads: group.threads,
        repeats_done: group.done().count(),
        durability: input.analysis.label(group.config),
        results: names
            .iter()
            .filter_map(|name| Some((*name, spread(stored(group, name)?))))
            .collect(),
    };
    input.groups.iter().map(of_group).collect()
}
