//! A workload: the recipe with its options, named as sysbench names them (underscores for dashes).

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::generator::Generator;
use crate::keys::{Distortion, Distribution, KeyArithmetic, RandType};
use crate::mode::Mode;
use crate::recipe::Recipe;
use crate::schema::Schema;
use crate::ycsb::YcsbOptions;

/// The form in which statements are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PsMode {
    /// Prepared on the server; as text if the server refuses.
    #[default]
    Auto,
    /// All as text.
    Disable,
}

/// Server errors that restart an event; others end the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IgnoreErrors {
    /// These error numbers.
    Listed(Vec<u16>),
    /// Every error, by the word `all`.
    Every(AllWord),
}

/// The word `all`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AllWord {
    /// Every error.
    All,
}

impl IgnoreErrors {
    /// Returns true if error number `code` is ignored.
    #[must_use]
    pub fn covers(&self, code: u16) -> bool {
        match self {
            IgnoreErrors::Listed(codes) => codes.contains(&code),
            IgnoreErrors::Every(_) => true,
        }
    }
}

impl Default for IgnoreErrors {
    /// Deadlock, record changed, lock wait time-out.
    fn default() -> IgnoreErrors {
        IgnoreErrors::Listed(vec![1213, 1020, 1205])
    }
}

/// A recipe with all its options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Workload {
    /// The content of an event.
    pub recipe: Recipe,
    /// With the program's quirks, or repaired.
    pub mode: Mode,
    /// Rows in a range.
    pub range_size: u64,
    /// Point selects in a transaction.
    pub point_selects: u32,
    /// Plain ranges in a transaction.
    pub simple_ranges: u32,
    /// Sums in a transaction.
    pub sum_ranges: u32,
    /// Sorted ranges in a transaction.
    pub order_ranges: u32,
    /// Distinct ranges in a transaction.
    pub distinct_ranges: u32,
    /// Updates of the indexed column in a transaction.
    pub index_updates: u32,
    /// Updates of a column without index in a transaction.
    pub non_index_updates: u32,
    /// Pairs of delete and insert in a transaction.
    pub delete_inserts: u32,
    /// True for transactions with range selects.
    pub range_selects: bool,
    /// No transactions: each statement commits itself.
    pub skip_trx: bool,
    /// Values in the list of `select_random_points`.
    pub random_points: u32,
    /// Ranges of `select_random_ranges`.
    pub number_of_ranges: u32,
    /// Upper minus lower end of such a range.
    pub delta: u64,
    /// Selects of both text columns in a transaction (schema `text`).
    pub text_selects: u32,
    /// Updates of a text column in a transaction (schema `text`).
    pub text_updates: u32,
    /// Shortest wait before a statement, in microseconds, except `BEGIN` and `COMMIT` (sysbench
    /// 0.4).
    #[serde(skip_serializing_if = "is_zero")]
    pub user_delay_min: u64,
    /// Upper limit of the wait, in microseconds, if above the shortest.
    #[serde(skip_serializing_if = "is_zero")]
    pub user_delay_max: u64,
    /// Distribution of keys; absent: `special` in mode `compat`, `uniform` in mode `strict`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rand_type: Option<RandType>,
    /// Numbers averaged by gaussian and special.
    pub rand_spec_iter: u32,
    /// Width of special's window, per cent.
    pub rand_spec_pct: u32,
    /// Share of special's draws meant for the window, per cent.
    pub rand_spec_res: u32,
    /// Pareto's h.
    pub rand_pareto_h: f64,
    /// Zipf's θ.
    pub rand_zipfian_exp: f64,
    /// Fraction of the keys that hotspot heats.
    pub rand_hot_fraction: f64,
    /// Share of draws that hotspot sends there.
    pub rand_hot_share: f64,
    /// True to scatter popular keys over the table rather than cluster them.
    pub rand_scatter: bool,
    /// The form in which statements are sent.
    pub db_ps_mode: PsMode,
    /// Errors that make an event start again: numbers, or `all`.
    pub mysql_ignore_errors: IgnoreErrors,
    /// Options of YCSB's recipes.
    #[serde(skip_serializing_if = "YcsbOptions::is_default")]
    pub ycsb: YcsbOptions,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Default for Workload {
    fn default() -> Workload {
        Workload {
            recipe: Recipe::OltpReadWrite,
            mode: Mode::Strict,
            range_size: 100,
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            range_selects: true,
            skip_trx: false,
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
            text_selects: 1,
            text_updates: 1,
            user_delay_min: 0,
            user_delay_max: 0,
            rand_type: None,
            rand_spec_iter: 12,
            rand_spec_pct: 1,
            rand_spec_res: 75,
            rand_pareto_h: 0.2,
            rand_zipfian_exp: 0.8,
            rand_hot_fraction: 0.2,
            rand_hot_share: 0.8,
            rand_scatter: false,
            db_ps_mode: PsMode::Auto,
            mysql_ignore_errors: IgnoreErrors::default(),
            ycsb: YcsbOptions::default(),
        }
    }
}

impl Workload {
    /// The distribution of keys; by default that of the mode.
    #[must_use]
    pub fn distribution(&self) -> Distribution {
        let own = if self.mode == Mode::Compat { RandType::Special } else { RandType::Uniform };
        Distribution {
            rand_type: self.rand_type.unwrap_or(own),
            spec_iter: self.rand_spec_iter,
            spec_pct: f64::from(self.rand_spec_pct),
            spec_res: f64::from(self.rand_spec_res),
            pareto_h: self.rand_pareto_h,
            zipfian_exp: self.rand_zipfian_exp,
            hot_fraction: self.rand_hot_fraction,
            hot_share: self.rand_hot_share,
            arithmetic: match (self.mode, self.recipe.generator()) {
                (Mode::Strict, _) | (_, Generator::Ycsb) => KeyArithmetic::Exact,
                (Mode::Compat, Generator::V04) => KeyArithmetic::Words04,
                (Mode::Compat, Generator::V05) => KeyArithmetic::Words05,
                (Mode::Compat, Generator::Legacy | Generator::V10) => KeyArithmetic::Narrow,
            },
        }
    }

    /// The effect of an old sysbench's 32-bit arithmetic on its keys in tables of this size; `None`
    /// in mode `strict`, and if it has none.
    #[must_use]
    pub fn distortion(&self, schema: &Schema) -> Option<Distortion> {
        Distortion::of(&self.distribution(), schema.table_size)
    }

    /// Checks that the tables are those of the recipe's program.
    ///
    /// # Errors
    /// [`Error::Config`] with what to change.
    pub fn check_tables(&self, schema: &Schema) -> Result<()> {
        let (mine, theirs) = (self.recipe.generator(), schema.generator);
        if mine == theirs {
            return match mine {
                Generator::Ycsb => YcsbOptions::check_records(self.mode, schema.table_size),
                _ => Ok(()),
            };
        }
        let known: Vec<&str> = Recipe::of(theirs).map(Recipe::name).collect();
        Err(Error::Config(format!(
            "`{}` is a recipe of {}, but the tables are those of {}; set `generator` of the \
             tables, or use one of these: {}",
            self.recipe.name(),
            mine.name(),
            theirs.name(),
            known.join(", ")
        )))
    }

    /// Checks the options.
    ///
    /// # Errors
    /// [`Error::Config`] with what to change.
    pub fn check(&self) -> Result<()> {
        let refuse = |message: String| Err(Error::Config(message));
        let within = |name: &str, value: f64, low: f64, high: f64| {
            if value > low && value < high {
                return Ok(());
            }
            refuse(format!("`{name}` is {value}; give more than {low} and less than {high}"))
        };
        match self.recipe.generator() {
            Generator::Ycsb => self.ycsb.check(self.recipe, self.mode)?,
            _ if !self.ycsb.is_default() => {
                let name = self.recipe.name();
                return refuse(format!("`ycsb` is given, but `{name}` is none of YCSB's recipes"));
            }
            _ => {}
        }
        within("rand_pareto_h", self.rand_pareto_h, 0.0, 1.0)?;
        within("rand_zipfian_exp", self.rand_zipfian_exp, 0.0, 100.0)?;
        within("rand_hot_fraction", self.rand_hot_fraction, 0.0, 1.0)?;
        within("rand_hot_share", self.rand_hot_share, 0.0, 1.0)?;
        within("rand_spec_res", f64::from(self.rand_spec_res), -1.0, 100.0)?;
        within("rand_spec_pct", f64::from(self.rand_spec_pct), -1.0, 101.0)?;
        within("rand_spec_iter", f64::from(self.rand_spec_iter), 0.0, 1000.0)?;
        within("range_size", self.range_size as f64, 0.0, 2e9)?;
        within("user_delay_min", self.user_delay_min as f64, -1.0, 3.6e9)?;
        within("user_delay_max", self.user_delay_max as f64, -1.0, 3.6e9)?;
        within("random_points", f64::from(self.random_points), 0.0, 65_536.0)?;
        within("number_of_ranges", f64::from(self.number_of_ranges), 0.0, 32_768.0)
    }
}
