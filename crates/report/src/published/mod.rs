//! Measured beside printed figures: those that both have, their ratio, and why they may not be
//! compared.

mod crossover;
mod names;
pub mod rows;
mod scale;
mod study;
#[cfg(test)]
mod tests;

use anyhow::Result;
use assay_claims::{find, paper};
use assay_judge::paper::with_derived as with_derived_of;
use assay_study::{Store, Study};
pub use crossover::Crossed;
pub use study::{Beside, Leveled, SharesOfMean, beside};

/// Relation of a study to the papers that come with Assay, or to the one that its plan names.
#[derive(Debug)]
pub enum PaperMatch {
    /// Its plan repeats this paper: printed figures stand beside measured ones.
    Beside(Box<Beside>),
    /// It has something of a paper, but its plan does not say so, or the paper is not at hand: what
    /// would set them side by side.
    Partly(Hint),
    /// It has nothing of any.
    Apart,
}

/// Steps that would make a study comparable to what is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// Its plan names these claims, which are none of Assay's own: their file.
    NameFile(String),
    /// These claims print no figure of what ran: the plan that repeats their paper.
    RunPlan {
        /// Name of the claims.
        claims: String,
        /// The plan.
        plan: String,
    },
    /// These claims print figures of what ran, and its plan does not name them: their name.
    NameClaims(String),
}

/// The study with everything among its runs' results that its plan or its claims set beside a
/// printed figure, also what no run stores as a result.
///
/// # Errors
/// The store cannot be read.
pub fn with_derived(store: &Store, study: &Study) -> Result<Study> {
    let own =
        study.paper.iter().flat_map(|paper| &paper.comparisons).map(|one| one.metric.as_str());
    let found = find::of_study(study.paper.as_ref()).ok();
    with_derived_of(store, study.clone(), own.chain(found.iter().flat_map(metrics)))
}

/// As [`with_derived`], for these claims whatever the plan of the study names.
///
/// # Errors
/// The store cannot be read.
pub fn with_derived_for(store: &Store, study: Study, paper: &paper::ParsedPaper) -> Result<Study> {
    with_derived_of(store, study, metrics(paper))
}

/// The results of a run that claims set beside printed figures.
fn metrics(paper: &paper::ParsedPaper) -> impl Iterator<Item = &str> {
    let repeated = || paper.document.repeated.iter();
    let gains = repeated().flat_map(|one| &one.comparisons).map(|one| one.metric.as_str());
    let levels = repeated().flat_map(|one| &one.levels);
    gains.chain(levels.filter_map(|level| level.metric.as_deref()))
}

/// How a study stands to claims; found as `assay claims --study` finds them.
pub fn paper_match(study: &Study) -> PaperMatch {
    match &study.paper {
        Some(paper) => of_its_plan(paper, study),
        None => of_any(study),
    }
}

fn of_its_plan(paper: &assay_study::Paper, study: &Study) -> PaperMatch {
    let Ok(found) = find::of_study(Some(paper)) else {
        let hint = |named: &String| PaperMatch::Partly(Hint::NameFile(named.clone()));
        return paper.claims.as_ref().map_or(PaperMatch::Apart, hint);
    };
    match study::beside(&found, study) {
        Ok(beside) if study::meets(&beside) => PaperMatch::Beside(Box::new(beside)),
        _ => found.document.repeated.map_or(PaperMatch::Apart, |repeated| {
            PaperMatch::Partly(Hint::RunPlan { claims: found.name, plan: repeated.plan })
        }),
    }
}

/// The match of a plan that names no paper.
fn of_any(study: &Study) -> PaperMatch {
    let is_partly = |paper: &paper::ParsedPaper| {
        study::beside(paper, study).is_ok_and(|beside| study::meets(&beside))
    };
    match find::all().unwrap_or_default().into_iter().find(is_partly) {
        Some(paper) => PaperMatch::Partly(Hint::NameClaims(paper.name)),
        None => PaperMatch::Apart,
    }
}
