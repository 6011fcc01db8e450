//! Claims beside measurements, as the page shows them, in one section: every figure that a paper
//! prints of what this study ran, with what was measured, their ratio, and the conditions that
//! differ; and what the plan itself asks to be compared.

use serde::Serialize;

use assay_judge::paper::{Compared, ComparedRow};

use crate::published::rows::{CROSSOVERS, PublishedRow, RATIO, of_crossover, of_gain, of_level};
use crate::published::{Beside, Hint, PaperMatch};
use crate::tables::paper::percent;

/// The section, or the line in its place; nothing of a study that no claims know.
#[derive(Debug, Serialize)]
pub(crate) struct Claimed {
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
    rows: Vec<PublishedRow>,
    /// Gains at the fewest and at the most threads, a pair a row.
    by_threads: Vec<[String; 2]>,
    /// Whether the study measured nothing of it, so that it is shown on demand.
    is_folded: bool,
}

/// Claims on the page: the claims' own, and comparisons of the plan that the claims lack.
pub(crate) fn claimed(
    title: Option<&str>,
    standing: &PaperMatch,
    of_plan: &[Compared],
) -> Option<Claimed> {
    let (beside, hint) = match standing {
        PaperMatch::Apart => (None, None),
        PaperMatch::Partly(hint) => (None, Some(told(hint))),
        PaperMatch::Beside(beside) => (Some(beside), None),
    };
    let claimed = beside.map_or(&[][..], |beside| beside.gains.as_slice());
    let is_claimed = |one: &&Compared| {
        let of = |one: &Compared| (one.config.clone(), one.against.clone(), one.metric.clone());
        claimed.iter().any(|other| of(other) == of(one))
    };
    let own = of_plan.iter().filter(|one| !is_claimed(one));
    let mut tables: Vec<Table> = claimed.iter().chain(own).map(gains).collect();
    tables.extend(beside.into_iter().flat_map(|beside| [levels(beside), crossovers(beside)]));
    tables.retain(|table| !table.rows.is_empty());
    (hint.is_some() || !tables.is_empty()).then(|| Claimed {
        paper: beside.map(|beside| beside.paper.as_str()).or(title).unwrap_or_default().to_owned(),
        tables,
        differs: beside.map(|beside| beside.differs.clone()).unwrap_or_default(),
        ratio: RATIO,
        hint,
    })
}

fn gains(gain: &Compared) -> Table {
    let at = |place: Option<&(u32, f64)>| {
        place.map_or_else(
            || "–".into(),
            |(threads, gain)| format!("{} at {threads}", percent(*gain)),
        )
    };
    let ends = |row: &ComparedRow| {
        let all = row.measured.as_ref().map_or(&[][..], |one| &one.by_threads);
        [at(all.first()), at(all.last())]
    };
    Table {
        title: format!("{}: {} over {}, {}", gain.table, gain.config, gain.against, gain.metric),
        rows: of_gain(gain),
        by_threads: gain.rows.iter().map(ends).collect(),
        is_folded: gain.rows.iter().all(|row| row.measured.is_none()),
    }
}

fn levels(beside: &Beside) -> Table {
    Table {
        title: "Single configurations".into(),
        rows: beside.levels.iter().map(of_level).collect(),
        by_threads: Vec::new(),
        is_folded: beside.levels.iter().all(|one| one.measured.is_none()),
    }
}

fn crossovers(beside: &Beside) -> Table {
    Table {
        title: CROSSOVERS.into(),
        rows: beside.crossovers.iter().map(of_crossover).collect(),
        by_threads: Vec::new(),
        is_folded: beside.crossovers.iter().all(|one| one.percent_by_threads.is_empty()),
    }
}

fn told(hint: &Hint) -> String {
    match hint {
        Hint::NameFile(named) => format!(
            "This study's plan refers to the claims {named}, which are not built in: `assay \
            claims FILE.toml --study STUDY` compares every figure of that file with this study."
        ),
        Hint::RunPlan { claims, plan } => format!(
            "The claims {claims} have no figure for what ran here; the plan {plan} repeats the \
            paper, and its report compares both."
        ),
        Hint::NameClaims(claims) => format!(
            "The claims {claims} have figures for what ran here, but the plan does not refer to \
            them: `assay claims {claims} --study STUDY` compares them with the measurements."
        ),
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
