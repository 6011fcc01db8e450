//! The recipes: their names and their programs.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::generator::Generator;
use assay_base::suggest;

/// The content of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recipe {
    /// Point selects and ranges in a transaction.
    OltpReadOnly,
    /// Updates, a delete and an insert in a transaction.
    OltpWriteOnly,
    /// Both of these in one transaction.
    OltpReadWrite,
    /// One point select.
    OltpPointSelect,
    /// Updates of the indexed column, each by itself.
    OltpUpdateIndex,
    /// Updates of a column without index, each by itself.
    OltpUpdateNonIndex,
    /// One delete.
    OltpDelete,
    /// One insert.
    OltpInsert,
    /// Rows by a list of `k`.
    SelectRandomPoints,
    /// A count over ranges of `k`.
    SelectRandomRanges,
    /// sysbench 0.5's `oltp.lua`: reads and writes in one transaction on one table.
    Oltp,
    /// The same script as sysbench 1.0 has and runs it.
    LegacyOltp,
    /// sysbench 1.0's legacy `select.lua`: `pad` of one row.
    LegacySelect,
    /// `oltp_simple.lua`: `c` of one row.
    LegacySimple,
    /// `insert.lua`: one insert.
    LegacyInsert,
    /// `delete.lua`: one delete.
    LegacyDelete,
    /// `update_index.lua`: one update of the indexed column.
    LegacyUpdateIndex,
    /// `update_non_index.lua`: one update of a column without index.
    LegacyUpdateNonIndex,
    /// sysbench 0.4's test mode `complex`: reads and writes in one transaction.
    OltpComplex,
    /// sysbench 0.4's test mode `simple`: one point select.
    OltpSimple,
    /// sysbench 0.4's test mode `nontrx`: one select of `pad`.
    OltpNontrxSelect,
    /// The same: one update of the indexed column.
    OltpNontrxUpdateKey,
    /// The same: one update of a column without index.
    OltpNontrxUpdateNokey,
    /// The same: one insert; the table is emptied first.
    OltpNontrxInsert,
    /// The same: one delete, of another row each time.
    OltpNontrxDelete,
    /// YCSB's workload A: half reads, half updates.
    YcsbA,
    /// YCSB's workload B: 95 % reads, 5 % updates.
    YcsbB,
    /// YCSB's workload C: reads.
    YcsbC,
    /// YCSB's workload D: 95 % reads of the newest records, 5 % inserts.
    YcsbD,
    /// YCSB's workload E: 95 % short scans, 5 % inserts.
    YcsbE,
    /// YCSB's workload F: half reads, half read-modify-writes.
    YcsbF,
    /// YCSB with a custom mix.
    Ycsb,
    /// YCSB's load phase: inserts into an empty table.
    YcsbLoad,
}

impl Recipe {
    /// All recipes.
    pub const ALL: [Recipe; 33] = [
        Recipe::OltpReadOnly,
        Recipe::OltpWriteOnly,
        Recipe::OltpReadWrite,
        Recipe::OltpPointSelect,
        Recipe::OltpUpdateIndex,
        Recipe::OltpUpdateNonIndex,
        Recipe::OltpDelete,
        Recipe::OltpInsert,
        Recipe::SelectRandomPoints,
        Recipe::SelectRandomRanges,
        Recipe::Oltp,
        Recipe::LegacyOltp,
        Recipe::LegacySelect,
        Recipe::LegacySimple,
        Recipe::LegacyInsert,
        Recipe::LegacyDelete,
        Recipe::LegacyUpdateIndex,
        Recipe::LegacyUpdateNonIndex,
        Recipe::OltpComplex,
        Recipe::OltpSimple,
        Recipe::OltpNontrxSelect,
        Recipe::OltpNontrxUpdateKey,
        Recipe::OltpNontrxUpdateNokey,
        Recipe::OltpNontrxInsert,
        Recipe::OltpNontrxDelete,
        Recipe::YcsbA,
        Recipe::YcsbB,
        Recipe::YcsbC,
        Recipe::YcsbD,
        Recipe::YcsbE,
        Recipe::YcsbF,
        Recipe::Ycsb,
        Recipe::YcsbLoad,
    ];

    /// The benchmark program of the recipe.
    #[must_use]
    pub fn generator(self) -> Generator {
        match self {
            Recipe::Oltp => Generator::V05,
            Recipe::LegacyOltp
            | Recipe::LegacySelect
            | Recipe::LegacySimple
            | Recipe::LegacyInsert
            | Recipe::LegacyDelete
            | Recipe::LegacyUpdateIndex
            | Recipe::LegacyUpdateNonIndex => Generator::Legacy,
            Recipe::OltpComplex
            | Recipe::OltpSimple
            | Recipe::OltpNontrxSelect
            | Recipe::OltpNontrxUpdateKey
            | Recipe::OltpNontrxUpdateNokey
            | Recipe::OltpNontrxInsert
            | Recipe::OltpNontrxDelete => Generator::V04,
            Recipe::YcsbA
            | Recipe::YcsbB
            | Recipe::YcsbC
            | Recipe::YcsbD
            | Recipe::YcsbE
            | Recipe::YcsbF
            | Recipe::Ycsb
            | Recipe::YcsbLoad => Generator::Ycsb,
            _ => Generator::V10,
        }
    }

    /// All recipes of one program.
    pub fn of(generator: Generator) -> impl Iterator<Item = Recipe> {
        Recipe::ALL.into_iter().filter(move |recipe| recipe.generator() == generator)
    }

    /// The name in plans and on command lines: sysbench's (for 0.4, made from its test mode), or
    /// YCSB's letter after its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Recipe::OltpReadOnly => "oltp_read_only",
            Recipe::OltpWriteOnly => "oltp_write_only",
            Recipe::OltpReadWrite => "oltp_read_write",
            Recipe::OltpPointSelect => "oltp_point_select",
            Recipe::OltpUpdateIndex => "oltp_update_index",
            Recipe::OltpUpdateNonIndex => "oltp_update_non_index",
            Recipe::OltpDelete => "oltp_delete",
            Recipe::OltpInsert => "oltp_insert",
            Recipe::SelectRandomPoints => "select_random_points",
            Recipe::SelectRandomRanges => "select_random_ranges",
            Recipe::Oltp => "oltp",
            Recipe::LegacyOltp => "legacy_oltp",
            Recipe::LegacySelect => "legacy_select",
            Recipe::LegacySimple => "legacy_simple",
            Recipe::LegacyInsert => "legacy_insert",
            Recipe::LegacyDelete => "legacy_delete",
            Recipe::LegacyUpdateIndex => "legacy_update_index",
            Recipe::LegacyUpdateNonIndex => "legacy_update_non_index",
            Recipe::OltpComplex => "oltp_complex",
            Recipe::OltpSimple => "oltp_simple",
            Recipe::OltpNontrxSelect => "oltp_nontrx_select",
            Recipe::OltpNontrxUpdateKey => "oltp_nontrx_update_key",
            Recipe::OltpNontrxUpdateNokey => "oltp_nontrx_update_nokey",
            Recipe::OltpNontrxInsert => "oltp_nontrx_insert",
            Recipe::OltpNontrxDelete => "oltp_nontrx_delete",
            Recipe::YcsbA => "ycsb_a",
            Recipe::YcsbB => "ycsb_b",
            Recipe::YcsbC => "ycsb_c",
            Recipe::YcsbD => "ycsb_d",
            Recipe::YcsbE => "ycsb_e",
            Recipe::YcsbF => "ycsb_f",
            Recipe::Ycsb => "ycsb",
            Recipe::YcsbLoad => "ycsb_load",
        }
    }

    /// Finds a recipe by name, with or without `oltp_` before it or `.lua` after it.
    ///
    /// # Errors
    /// [`Error::Config`] with the nearest name.
    pub fn from_name(name: &str) -> Result<Recipe> {
        let file = name.rsplit('/').next().unwrap_or(name);
        let bare = file.strip_suffix(".lua").unwrap_or(file).replace('-', "_");
        if let Some(recipe) = legacy(name, file) {
            return recipe;
        }
        // The common part of sysbench's scripts, which also creates and drops their tables by
        // itself.
        if bare == "oltp_common" {
            return Ok(Recipe::OltpReadWrite);
        }
        let matches = |recipe: &Recipe| {
            recipe.name() == bare || recipe.name().strip_prefix("oltp_") == Some(&bare)
        };
        let found = Recipe::ALL.into_iter().find(matches);
        found.ok_or_else(|| Error::Config(unknown(name, &bare)))
    }
}

/// Legacy scripts of sysbench 1.0 (`tests/include/oltp_legacy`); `None` for unsupported ones.
const LEGACY: [(&str, Option<Recipe>); 11] = [
    ("oltp.lua", Some(Recipe::LegacyOltp)),
    ("select.lua", Some(Recipe::LegacySelect)),
    ("oltp_simple.lua", Some(Recipe::LegacySimple)),
    ("insert.lua", Some(Recipe::LegacyInsert)),
    ("delete.lua", Some(Recipe::LegacyDelete)),
    ("update_index.lua", Some(Recipe::LegacyUpdateIndex)),
    ("update_non_index.lua", Some(Recipe::LegacyUpdateNonIndex)),
    // The common part of the others, which also creates and drops their tables by itself.
    ("common.lua", Some(Recipe::LegacyOltp)),
    ("bulk_insert.lua", None),
    ("select_random_points.lua", None),
    ("select_random_ranges.lua", None),
];

/// The recipe of a legacy script, or why there is none; `None` for other files. Outside of their
/// directory, only names that 1.0 uses for no other script count. Of 0.5's directory, `tests/db`,
/// only `oltp.lua` is supported.
fn legacy(path: &str, file: &str) -> Option<Result<Recipe>> {
    let directory = path.strip_suffix(file).unwrap_or_default().trim_end_matches('/');
    let (name, recipe) = LEGACY.iter().find(|(name, _)| *name == file)?;
    let refuse = |why: &str| Some(Err(Error::Config(format!("`{path}` is not built{why}"))));
    let is_of_0_5 = directory.ends_with("tests/db");
    let is_shared = recipe.is_none() || ["oltp.lua", "common.lua"].contains(name);
    match recipe {
        _ if is_of_0_5 && *name == "oltp.lua" => None,
        _ if is_of_0_5 => refuse(&format!("; sysbench 1.0 has it as oltp_legacy/{name}")),
        _ if !directory.ends_with("oltp_legacy") && is_shared => None,
        Some(recipe) => Some(Ok(*recipe)),
        None => refuse(""),
    }
}

/// sysbench's tests without a database.
const NO_DATABASE: [&str; 4] = ["cpu", "memory", "threads", "mutex"];

/// Returns true for a test of sysbench without a database.
pub(crate) fn is_no_database_test(name: &str) -> bool {
    NO_DATABASE.contains(&name)
}

/// The error of an unknown name, with the known ones.
fn unknown(name: &str, bare: &str) -> String {
    let all = || Recipe::ALL.map(Recipe::name).join(", ");
    if bare == "bulk_insert" {
        return format!("`{name}` is not built: it inserts many rows with each statement");
    }
    if NO_DATABASE.contains(&bare) {
        return format!(
            "`{name}` is not built: it loads no server; `assay load help` lists workloads"
        );
    }
    if bare == "parallel_prepare" {
        return format!(
            "`{name}` is not built; use `oltp.lua prepare`, which loads tables concurrently"
        );
    }
    let near = suggest::nearest(bare, Recipe::ALL.map(Recipe::name));
    if name.ends_with(".lua") && near.is_none() {
        return format!("`{name}` is a script, and scripts are not run; there are {}", all());
    }
    match near {
        Some(near) => format!("unknown workload `{name}`; did you mean `{near}`?"),
        None => format!("unknown workload `{name}`; known are {}", all()),
    }
}
