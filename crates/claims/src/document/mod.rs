//! The TOML document of a paper's claims: figures, checks of them, remarks, and the plan that
//! repeats it.
//!
//! `docs/claims.md` describes each key.

pub mod repeated;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::printed::PrintedNumber;
use repeated::Repeated;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Authors, title and date.
    pub title: String,
    /// Summary of the paper.
    pub about: String,
    /// Numbers from other sources that checks need.
    #[serde(default)]
    pub given: IndexMap<String, Given>,
    /// Single figures, by name.
    #[serde(default)]
    pub figures: IndexMap<String, Figure>,
    /// Tables of figures, by name.
    #[serde(default)]
    pub tables: IndexMap<String, Table>,
    #[serde(default)]
    pub checks: Vec<Check>,
    #[serde(default)]
    pub remarks: Vec<Remark>,
    pub repeated: Option<Repeated>,
}

/// A number that the paper does not print.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    pub printed: PrintedNumber,
    #[serde(default)]
    pub unit: String,
    pub source: String,
    /// Largest distance of the true value; default: half a unit of the last digit.
    pub within: Option<f64>,
}

/// The conditions of a figure, as far as the paper states them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// The system under test, in the paper's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_profile: Option<String>,
    /// Number of connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
}

/// A figure, or a list of figures.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    #[serde(default)]
    pub printed: Digits,
    /// Page, table or section.
    #[serde(rename = "where")]
    pub place: String,
    pub what: String,
    #[serde(default)]
    pub unit: String,
    /// Words before the number, e.g. `more than`, or instead of it.
    pub says: Option<String>,
    /// See [`Given::within`].
    pub within: Option<f64>,
    #[serde(default)]
    pub on: Conditions,
}

/// The printed numbers of a figure.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(untagged, expecting = "digits in quotes such as \"79.8\", or a list of them")]
pub enum Digits {
    /// Printed in words.
    #[default]
    None,
    One(PrintedNumber),
    Several(Vec<PrintedNumber>),
}

impl Digits {
    #[must_use]
    pub fn all(&self) -> &[PrintedNumber] {
        match self {
            Digits::None => &[],
            Digits::One(one) => std::slice::from_ref(one),
            Digits::Several(several) => several,
        }
    }
}

/// A table. Each cell is a figure named `TABLE.ROW.COLUMN`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Page, number or heading.
    #[serde(rename = "where")]
    pub place: String,
    /// Meaning of the figures, unless rows or columns state it.
    #[serde(default)]
    pub what: String,
    /// Unit of the figures, unless a row or column states its own.
    #[serde(default)]
    pub unit: String,
    /// See [`Given::within`].
    pub within: Option<f64>,
    /// Conditions of all figures.
    #[serde(default)]
    pub on: Conditions,
    /// Columns by name, from left to right.
    pub columns: IndexMap<String, Axis>,
    /// Rows by name, from top to bottom.
    pub rows: IndexMap<String, Row>,
}

/// A column of a table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    #[serde(default)]
    pub what: String,
    /// Unit, if not the row's.
    pub unit: Option<String>,
    /// See [`Given::within`].
    pub within: Option<f64>,
    #[serde(default)]
    pub on: Conditions,
}

/// A row of a table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// One number for each column.
    pub printed: Vec<PrintedNumber>,
    #[serde(default)]
    pub what: String,
    /// Unit, if not the table's.
    pub unit: Option<String>,
    /// See [`Given::within`].
    pub within: Option<f64>,
    #[serde(default)]
    pub on: Conditions,
}

/// The text of an expression, with its position in the file.
pub type ExpressionText = Spanned<String>;

/// A relation that must hold between figures: a law, or `computed` against `printed`. A check that
/// lacks a figure states which one is `missing`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    pub name: String,
    /// Page, table or section that states it.
    #[serde(rename = "where")]
    pub place: String,
    /// Value that follows from the paper's figures.
    pub computed: Option<ExpressionText>,
    /// Relation of `computed` to `printed`.
    #[serde(default)]
    pub relation: Relation,
    pub printed: Option<ExpressionText>,
    /// Instead of both: threads = rate × mean latency.
    pub little: Option<Little>,
    /// Instead of both: a percentile is at most mean ÷ (1 − p).
    pub markov: Option<Markov>,
    /// Values of `{}`; the check is repeated for each.
    #[serde(default)]
    pub each: Vec<String>,
    /// Tolerance in addition to rounding, in percent of the computed value, 0 to 100.
    #[serde(default)]
    pub tolerance_percent: f64,
    /// Unit of both sides.
    #[serde(default)]
    pub unit: String,
    /// The figure that the paper does not print and the check needs.
    pub missing: Option<String>,
    /// An assumption that the result depends on and the paper does not state. The verdict is then
    /// undecided, with the verdict under the assumption next to it.
    pub assumes: Option<String>,
    /// Explanation shown if the check holds.
    pub follows: Option<String>,
    /// Explanation shown if it does not.
    pub otherwise: Option<String>,
}

/// Relation of the computed to the printed value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relation {
    /// Equal within rounding.
    #[default]
    #[serde(rename = "=")]
    Equal,
    /// At most.
    #[serde(rename = "<=")]
    AtMost,
    /// At least.
    #[serde(rename = ">=")]
    AtLeast,
    /// Less.
    #[serde(rename = "<")]
    Below,
    /// More.
    #[serde(rename = ">")]
    Above,
}

/// Little's law (J. D. C. Little, "A proof for the queuing formula L = λW", 1961) for a closed loop
/// without think time.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Little {
    /// Number of connections, each with one transaction in progress.
    pub threads: ExpressionText,
    /// Transactions per second.
    pub per_s: ExpressionText,
    /// Printed mean latency in ms.
    pub latency_ms: ExpressionText,
}

/// Markov's inequality: the share of non-negative values that reach x is at most mean ÷ x.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Markov {
    pub mean: ExpressionText,
    /// Rank of the percentile, e.g. 95.
    pub percent: u32,
    pub percentile: ExpressionText,
}

/// A remark on a paper that no arithmetic shows.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remark {
    pub kind: RemarkKind,
    pub says: String,
    /// Page, table or section of the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// Differences between the compared configurations, for the kind `factors`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<String>,
    /// Source, if not the paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RemarkKind {
    /// The compared configurations differ in more than one respect.
    Factors,
    /// Two statements without numbers contradict each other.
    Words,
    /// The method of measurement.
    Method,
    /// Missing information.
    Missing,
}
