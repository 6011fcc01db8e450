//! Claims beside measurements, as the page shows them: every figure that a paper prints of what this study ran, with
//! what was measured, their ratio, and the conditions that differ.

use serde::Serialize;

use crate::beside::{Beside, Hint, Standing};
use crate::claim_rows::{CROSSOVERS, RATIO, Row, of_crossover, of_gain, of_level};

/// The section, or the line in its place; nothing of a study that no claims know.
#[derive(Debug, Serialize)]
pub(super) struct Claimed {
    /// Title of the paper.
    paper: String,
    tables: Vec<Table>,
    /// Why the figures may not be compared.
    differs: Vec<String>,
    ratio: &'static str,
    /// How to get the section, where there is none.
    hint: Option<String>,
}

#[derive(Debug, Serialize)]
struct Table {
    title: String,
    rows: Vec<Row>,
}

/// What the page shows of them.
pub(super) fn claimed(standing: &Standing) -> Option<Claimed> {
    match standing {
        Standing::Apart => None,
        Standing::Partly(hint) => Some(Claimed {
            paper: String::new(),
            tables: Vec::new(),
            differs: Vec::new(),
            ratio: RATIO,
            hint: Some(told(hint)),
        }),
        Standing::Beside(beside) => Some(section(beside)),
    }
}

fn told(hint: &Hint) -> String {
    match hint {
        Hint::NameFile(named) => format!(
            "This study's plan refers to the claims {named}, which are not built in: `assay claims FILE.toml --study STUDY` compares every figure of that file with this study."
        ),
        Hint::RunPlan { claims, plan } => format!(
            "The claims {claims} have no figure for what ran here; the plan {plan} repeats the paper, and its report compares both."
        ),
        Hint::NameClaims(claims) => format!(
            "The claims {claims} have figures for what ran here, but the plan does not refer to them: `assay claims {claims} --study STUDY` compares them with the measurements."
        ),
    }
}

fn section(beside: &Beside) -> Claimed {
    let gains = beside.gains.iter().map(|gain| Table {
        title: format!("{}: {} over {}, {}", gain.table, gain.config, gain.against, gain.metric),
        rows: of_gain(gain),
    });
    let levels = Table {
        title: "Single configurations".into(),
        rows: beside.levels.iter().map(of_level).collect(),
    };
    let crossovers = Table {
        title: CROSSOVERS.into(),
        rows: beside.crossovers.iter().map(of_crossover).collect(),
    };
    Claimed {
        paper: beside.paper.clone(),
        tables: gains.chain([levels, crossovers]).filter(|table| !table.rows.is_empty()).collect(),
        differs: beside.differs.clone(),
        ratio: RATIO,
        hint: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_the_command_or_the_plan_that_sets_both_side_by_side() {
        let named = told(&Hint::NameClaims("stec-2013".into()));
        assert!(named.contains("`assay claims stec-2013 --study STUDY`"), "{named}");
        let (claims, plan) = ("exflash".to_owned(), "exflash-2015".to_owned());
        let run = told(&Hint::RunPlan { claims, plan });
        assert!(run.contains("the plan exflash-2015 repeats the paper"), "{run}");
        let file = told(&Hint::NameFile("mine".into()));
        assert!(file.contains("the claims mine") && file.contains("FILE.toml"), "{file}");
    }
}
