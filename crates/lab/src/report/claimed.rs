//! Claims beside measurements, as the page shows them: every figure that a paper prints of what this study ran, with what was measured,
//! their ratio, and the conditions that differ.

use serde::Serialize;

use crate::beside::{Beside, Standing};
use crate::report::claim_rows::{RATIO, Row, of_gain, of_level};

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
            hint: Some(hint.clone()),
        }),
        Standing::Beside(beside) => Some(section(beside)),
    }
}

fn section(beside: &Beside) -> Claimed {
    let gains = beside.gains.iter().map(|gain| Table {
        title: format!("{}: {} over {}, {}", gain.table, gain.arm, gain.against, gain.metric),
        rows: of_gain(gain),
    });
    let levels = Table {
        title: "One arm by itself".into(),
        rows: beside.levels.iter().map(of_level).collect(),
    };
    Claimed {
        paper: beside.paper.clone(),
        tables: gains.chain([levels]).filter(|table| !table.rows.is_empty()).collect(),
        differs: beside.differs.clone(),
        ratio: RATIO,
        hint: None,
    }
}
