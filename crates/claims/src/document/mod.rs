//! What a file of claims may say, as TOML: a paper's figures, checks of them, remarks, and which plan repeats it.
//!
//! Every figure stands once. See `docs/claims.md` for what each key is for.

pub mod repeated;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::printed::Printed;
use repeated::Repeated;

/// A whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Who, what, when.
    pub title: String,
    /// What it is about and what is worth knowing of it.
    pub about: String,
    /// Numbers that checks need and the paper does not print.
    #[serde(default)]
    pub given: IndexMap<String, Given>,
    /// Single figures, by name.
    #[serde(default)]
    pub figures: IndexMap<String, Figure>,
    /// Tables of figures, by name.
    #[serde(default)]
    pub tables: IndexMap<String, Table>,
    /// What must hold between figures.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// What should be known and is no arithmetic.
    #[serde(default)]
    pub remarks: Vec<Remark>,
    /// The plan that repeats the paper.
    pub repeated: Option<Repeated>,
}

/// A number from elsewhere.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Its digits.
    pub printed: Printed,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
    /// Where it is from.
    pub source: String,
    /// How far the true value may lie from it; half a unit of the last digit unless said otherwise.
    pub within: Option<f64>,
}

/// Under which conditions a figure was found, where the paper says so.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// What was under test, in the paper's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// What was run on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Over which data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_profile: Option<String>,
    /// With how many connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
}

/// A figure, or several in a row.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its digits, or those of a list.
    #[serde(default)]
    pub printed: Digits,
    /// Page, table or section.
    #[serde(rename = "where")]
    pub place: String,
    /// What it is.
    pub what: String,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
    /// What stands before it, e.g. `more than`; or in its place.
    pub says: Option<String>,
    /// See [`Given::within`].
    pub within: Option<f64>,
    /// Its conditions.
    #[serde(default)]
    pub on: Conditions,
}

/// No number, one, or several.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(untagged, expecting = "digits in quotes such as \"79.8\", or a list of them")]
pub enum Digits {
    /// What is printed is words.
    #[default]
    None,
    /// One number.
    One(Printed),
    /// A list.
    Several(Vec<Printed>),
}

impl Digits {
    /// As a list.
    #[must_use]
    pub fn all(&self) -> &[Printed] {
        match self {
            Digits::None => &[],
            Digits::One(one) => std::slice::from_ref(one),
            Digits::Several(several) => several,
        }
    }
}

/// A table: every run is a figure called `TABLE.ROW.COLUMN`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Page, number or heading.
    #[serde(rename = "where")]
    pub place: String,
    /// What its figures are, unless rows and columns say it better.
    #[serde(default)]
    pub what: String,
    /// The unit, unless a row or column has its own.
    #[serde(default)]
    pub unit: String,
    /// See [`Given::within`].
    pub within: Option<f64>,
    /// Conditions of all of it.
    #[serde(default)]
    pub on: Conditions,
    /// Columns, by name, from left to right.
    pub columns: IndexMap<String, Axis>,
    /// Rows, by name, from top to bottom.
    pub rows: IndexMap<String, Row>,
}

/// What a column adds to what its table says.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// What its figures are.
    #[serde(default)]
    pub what: String,
    /// Their unit, if not the row's.
    pub unit: Option<String>,
    /// See [`Given::within`].
    pub within: Option<f64>,
    /// Its conditions.
    #[serde(default)]
    pub on: Conditions,
}

/// A row of a table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// A number for each column.
    pub printed: Vec<Printed>,
    /// What its figures are.
    #[serde(default)]
    pub what: String,
    /// Their unit, if not the table's.
    pub unit: Option<String>,
    /// See [`Given::within`].
    pub within: Option<f64>,
    /// Its conditions.
    #[serde(default)]
    pub on: Conditions,
}

/// An expression as it stands in the file, with its place there.
pub type Source = Spanned<String>;

/// What must hold between figures: a law, or `computed` against `printed`; or what is missing to tell.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// What is checked.
    pub name: String,
    /// Where the paper states it.
    #[serde(rename = "where")]
    pub place: String,
    /// What follows from the paper's figures.
    pub computed: Option<Source>,
    /// How that must stand to what is printed.
    #[serde(default)]
    pub relation: Relation,
    /// What is printed.
    pub printed: Option<Source>,
    /// In place of both: threads = rate × mean latency.
    pub little: Option<Little>,
    /// In place of both: a percentile is at most mean ÷ (1 − p).
    pub markov: Option<Markov>,
    /// The check is made with each of these in place of `{}`.
    #[serde(default)]
    pub each: Vec<String>,
    /// Allowed beyond rounding, in percent of what is computed, from 0 to 100.
    #[serde(default)]
    pub tolerance_percent: f64,
    /// The unit of both sides.
    #[serde(default)]
    pub unit: String,
    /// What is not printed, without which it cannot be told.
    pub missing: Option<String>,
    /// What is taken for granted that the paper does not say, where the result hangs on it: then it cannot be told, and
    /// it is said what it would be.
    pub assumes: Option<String>,
    /// In words, if it follows.
    pub follows: Option<String>,
    /// In words, if it does not.
    pub otherwise: Option<String>,
}

/// How what is computed stands to what is printed.
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

/// Little's law (J. D. C. Little, "A proof for the queuing formula L = λW", 1961) for a closed loop without think time.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Little {
    /// Connections, each with one transaction under way.
    pub threads: Source,
    /// Transactions a second.
    pub per_s: Source,
    /// The printed mean of their latencies, in milliseconds.
    pub latency_ms: Source,
}

/// Markov's inequality: of what is never negative at most mean ÷ x is x or more.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Markov {
    /// The mean.
    pub mean: Source,
    /// Which percentile, e.g. 95.
    pub percent: u32,
    /// The percentile.
    pub percentile: Source,
}

/// What should be known of a paper and is no arithmetic.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remark {
    /// What sort of thing it is.
    pub kind: RemarkKind,
    /// In a sentence or two.
    pub says: String,
    /// Where the paper shows it.
    #[serde(rename = "where")]
    pub place: String,
    /// What differs between configurations that are compared, of kind `factors`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<String>,
    /// Where it is from, if not from the paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// What sort of thing a remark is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RemarkKind {
    /// More than one thing differs between configurations that are compared.
    Factors,
    /// Two statements, neither a number, that do not go together.
    Words,
    /// How it was measured.
    Method,
    /// What is not told.
    Missing,
}
