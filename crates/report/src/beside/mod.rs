//! What a study measured beside what a paper printed: the figures that both have, their ratio, and why they may not be compared.

mod crossover;
mod names;
mod scale;
mod study;
#[cfg(test)]
mod tests;

use anyhow::Result;
use assay_claims::{find, paper};
use assay_judge::paper::with_statements as with_statements_of;
use assay_study::{Store, Study};
pub use crossover::Crossed;
pub use study::{Beside, Leveled, beside};

/// What a study is to the papers that come with Assay, or to the one its plan names.
#[derive(Debug)]
pub enum Standing {
    /// Its plan repeats this paper: printed figures stand beside measured ones.
    Beside(Box<Beside>),
    /// It has something of a paper, but its plan does not say so, or the paper is not at hand: what would set them side by side.
    Partly(Hint),
    /// It has nothing of any.
    Apart,
}

/// What would set a study beside what is printed.
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

/// The study with what papers compare of kinds of statement among its runs' results, if its plan or its claims ask for any.
///
/// # Errors
/// The store cannot be read.
pub fn with_statements(store: &Store, study: &Study) -> Result<Study> {
    let own = study.paper.iter().flat_map(|paper| &paper.comparisons).map(|one| &one.metric);
    let found = find::of_study(study.paper.as_ref()).ok();
    let repeated = found.iter().filter_map(|paper| paper.document.repeated.as_ref());
    let claimed = repeated.flat_map(|repeated| &repeated.comparisons).map(|one| &one.metric);
    let names = own.chain(claimed).map(String::as_str);
    with_statements_of(store, study.clone(), names)
}

/// How a study stands to claims; found as `assay claims --study` finds them.
pub fn standing(study: &Study) -> Standing {
    match &study.paper {
        Some(paper) => of_its_plan(paper, study),
        None => of_any(study),
    }
}

fn of_its_plan(paper: &assay_study::Paper, study: &Study) -> Standing {
    let Ok(found) = find::of_study(Some(paper)) else {
        let hint = |named: &String| Standing::Partly(Hint::NameFile(named.clone()));
        return paper.claims.as_ref().map_or(Standing::Apart, hint);
    };
    match study::beside(&found, study) {
        Ok(beside) if study::meets(&beside) => Standing::Beside(Box::new(beside)),
        _ => found.document.repeated.map_or(Standing::Apart, |repeated| {
            Standing::Partly(Hint::RunPlan { claims: found.name, plan: repeated.plan })
        }),
    }
}

/// Of a plan that names none.
fn of_any(study: &Study) -> Standing {
    let is_partly = |paper: &paper::Paper| {
        study::beside(paper, study).is_ok_and(|beside| study::meets(&beside))
    };
    match find::all().unwrap_or_default().into_iter().find(is_partly) {
        Some(paper) => Standing::Partly(Hint::NameClaims(paper.name)),
        None => Standing::Apart,
    }
}
