//! What a study measured beside what a paper printed: the figures that both have, their ratio, and why they may not be compared.

mod names;
mod scale;
mod study;
#[cfg(test)]
mod tests;

use crate::claims::{find, paper};
use crate::store::Study;
pub(crate) use study::{Beside, Leveled, beside};

/// What a study is to the papers that come with Assay, or to the one its plan names.
#[derive(Debug)]
pub(crate) enum Standing {
    /// Its plan repeats this paper: printed figures stand beside measured ones.
    Beside(Box<Beside>),
    /// It has something of a paper, but its plan does not say so, or the paper is not at hand: what would set them side by side.
    Partly(String),
    /// It has nothing of any.
    Apart,
}

/// How a study stands to claims; found as `assay claims --study` finds them.
pub(crate) fn standing(study: &Study) -> Standing {
    match &study.paper {
        Some(paper) => of_its_plan(paper, study),
        None => of_any(study),
    }
}

fn of_its_plan(paper: &crate::store::Paper, study: &Study) -> Standing {
    let Ok(found) = find::of_study(Some(paper)) else {
        let hint = |named: &String| {
            Standing::Partly(format!(
                "This study's plan names the claims {named}, which are none of Assay's own: `assay claims FILE.toml --study STUDY` \
                 sets every figure of that file beside this study."
            ))
        };
        return paper.claims.as_ref().map_or(Standing::Apart, hint);
    };
    match study::beside(&found, study) {
        Ok(beside) if study::meets(&beside) => Standing::Beside(Box::new(beside)),
        _ => Standing::Partly(format!(
            "The claims {} print no figure of what ran here; the plan {} repeats the paper, and its report sets both side by side.",
            found.name,
            found.document.repeated.as_ref().map_or("", |repeated| repeated.plan.as_str())
        )),
    }
}

/// Of a plan that names none.
fn of_any(study: &Study) -> Standing {
    let is_partly = |paper: &paper::Paper| {
        study::beside(paper, study).is_ok_and(|beside| study::meets(&beside))
    };
    match find::all().unwrap_or_default().into_iter().find(is_partly) {
        Some(paper) => Standing::Partly(format!(
            "The claims {0} print figures of what ran here, but the plan does not name them: `assay claims {0} --study STUDY` sets \
             them beside what was measured.",
            paper.name
        )),
        None => Standing::Apart,
    }
}
