//! The printed gains of a paper, computed from its figures, for the plan that repeats it.

use anyhow::{Context, Result, anyhow};

use super::paper::ParsedPaper;

pub use super::document::repeated::{Crossover, Gain, GainPrinted, Level, Repeated, Which};

/// The plan's `[paper]`: title and comparisons.
///
/// Fails if no plan repeats the paper, or an expression does not parse.
pub fn printed(paper: &ParsedPaper) -> Result<assay_study::Paper> {
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

fn comparison(paper: &ParsedPaper, gain: &Gain) -> Result<assay_study::Comparison> {
    let printed = gain.printed.iter().map(|gain| of_workload(paper, gain));
    Ok(assay_study::Comparison {
        table: gain.table.clone(),
        metric: gain.metric.clone(),
        config: gain.config.clone(),
        against: gain.against.clone(),
        printed: printed.collect::<Result<_>>()?,
    })
}

/// The printed gain of a workload; a computed one carries its arithmetic.
fn of_workload(paper: &ParsedPaper, gain: &GainPrinted) -> Result<assay_study::Printed> {
    let (percent, says) = match (&gain.percent, &gain.figure) {
        (Some(source), None) => {
            let expression = paper.expression(source, None)?;
            let value = expression.evaluate(&|name| paper.named(name))?;
            let value = value.context("a printed gain may divide by zero")?.value;
            let how = || expression.shown(&|name| paper.named(name));
            (Some(value), (!expression.is_a_name()).then(how))
        }
        (None, Some(source)) => {
            let says = paper.figure(source)?.says.clone();
            let name = source.get_ref();
            (
                None,
                Some(says.ok_or_else(|| anyhow!("figure `{name}` is not a text; give percent"))?),
            )
        }
        _ => return Err(anyhow!("give percent or figure for `{}`, one of them", gain.workload)),
    };
    let (data_profile, workload) = (gain.data_profile.clone(), gain.workload.clone());
    let is_better = gain.is_better;
    Ok(assay_study::Printed { data_profile, workload, percent, says, is_better })
}
