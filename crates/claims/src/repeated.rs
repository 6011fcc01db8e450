//! What a plan that repeats the paper stands beside: printed gains, worked out from figures that stand once.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};

use super::document::Source;
use super::paper::Paper;

/// Which plan repeats the paper, and what of it stands beside which figure.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeated {
    /// The plan's name.
    pub plan: String,
    /// Why the plan's figures are not the paper's, beyond what a study tells of itself.
    pub differs: Vec<String>,
    /// Of how many devices of its preset an arm is the model, where of several whose parallelism is taken together.
    #[serde(default)]
    pub devices: BTreeMap<String, u32>,
    /// One arm against another, in percent.
    #[serde(default)]
    pub comparisons: Vec<Gain>,
    /// One arm by itself.
    #[serde(default)]
    pub levels: Vec<Level>,
}

/// One arm against another; as a plan's `[[paper.comparisons]]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gain {
    /// Where it is printed, and what it is called there.
    pub table: String,
    /// The result that is compared.
    pub metric: String,
    /// The arm whose gain it is.
    pub arm: String,
    /// The arm that it is measured by.
    pub against: String,
    /// What is printed.
    #[serde(default)]
    pub printed: Vec<GainPrinted>,
}

/// One gain.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GainPrinted {
    /// The plan's data set, where it has any.
    pub data_set: Option<String>,
    /// The plan's workload.
    pub workload: String,
    /// By how much the arm is above the other, as an expression in percent.
    pub percent: Option<Source>,
    /// The name of a figure that is words.
    pub figure: Option<Source>,
}

/// One figure of one arm.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// The printed figure.
    pub figure: Source,
    /// The result of a study that it is.
    pub metric: String,
    /// The plan's arm.
    pub arm: String,
    /// The plan's workload.
    pub workload: String,
    /// The plan's data set, where it has any.
    pub data_set: Option<String>,
    /// Which of the study's thread counts stands for the paper's.
    #[serde(default)]
    pub threads: Which,
}

/// Which thread count of a study.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// The only one, or the mean of all.
    #[default]
    All,
    /// The lowest.
    Lowest,
    /// The highest.
    Highest,
}

/// The plan's `[paper]`: title and comparisons.
///
/// # Errors
/// One line: no plan repeats it; or an expression that is not understood, with its line.
pub fn printed(paper: &Paper) -> Result<assay_study::Paper> {
    let repeated = paper.document.repeated.as_ref();
    let repeated = repeated.with_context(|| {
        format!("the claims {} say nothing of a plan; add [repeated] to them", paper.name)
    })?;
    let comparisons = repeated.comparisons.iter().map(|gain| comparison(paper, gain));
    Ok(assay_study::Paper {
        claims: Some(paper.name.clone()),
        title: paper.document.title.clone(),
        comparisons: comparisons.collect::<Result<_>>()?,
    })
}

fn comparison(paper: &Paper, gain: &Gain) -> Result<assay_study::Comparison> {
    let printed = gain.printed.iter().map(|one| of_workload(paper, one));
    Ok(assay_study::Comparison {
        table: gain.table.clone(),
        metric: gain.metric.clone(),
        arm: gain.arm.clone(),
        against: gain.against.clone(),
        printed: printed.collect::<Result<_>>()?,
    })
}

/// A figure that is worked out says how.
fn of_workload(paper: &Paper, gain: &GainPrinted) -> Result<assay_study::Printed> {
    let (percent, says) = match (&gain.percent, &gain.figure) {
        (Some(source), None) => {
            let expression = paper.expression(source, None)?;
            let value = expression.evaluate(&|name| paper.named(name))?;
            let value = value.context("a printed gain divides by what may be zero")?.value;
            let how = || expression.shown(&|name| paper.named(name));
            (Some(value), (!expression.is_a_name()).then(how))
        }
        (None, Some(source)) => {
            let says = paper.figure(source)?.says.clone();
            let name = source.get_ref();
            (None, Some(says.ok_or_else(|| anyhow!("figure `{name}` is not words; give percent"))?))
        }
        _ => return Err(anyhow!("give percent or figure for `{}`, one of them", gain.workload)),
    };
    let (data_set, workload) = (gain.data_set.clone(), gain.workload.clone());
    Ok(assay_study::Printed { data_set, workload, percent, says })
}

/// That every level is one number, and that arms are of some devices.
///
/// # Errors
/// One line: no such figure, with the nearest, or one that is not a number; or an arm of no device.
pub fn check_levels(paper: &Paper) -> Result<()> {
    for (arm, devices) in paper.document.repeated.iter().flat_map(|repeated| &repeated.devices) {
        ensure!(*devices > 0, "devices of `{arm}` are 0; give how many it is made of");
    }
    for level in paper.document.repeated.iter().flat_map(|repeated| &repeated.levels) {
        let figure = paper.figure(&level.figure)?;
        let name = level.figure.get_ref();
        ensure!(figure.printed.len() == 1, "`{name}` is not one number; a level is");
    }
    Ok(())
}
