//! The command lines of sysbench 0.4 and 0.5: old names of options, and choices that were options
//! then.
//!
//! A bare `--test=oltp` is the built-in test of 0.4.12; 0.5 has a script in its place, and needs
//! its path.

use super::given::Given;
use crate::error::{Error, Result};
use crate::generator::Generator;
use crate::recipe::Recipe;

/// Old names, and today's.
pub(super) const NAMES: &[(&str, &str)] = &[
    ("oltp_table_name", "table_name"),
    ("oltp_table_size", "table_size"),
    ("oltp_tables_count", "tables"),
    ("oltp_auto_inc", "auto_inc"),
    ("oltp_secondary", "secondary"),
    ("oltp_skip_trx", "skip_trx"),
    ("oltp_range_size", "range_size"),
    ("oltp_create_secondary", "create_secondary"),
    ("oltp_range_selects", "range_selects"),
    ("oltp_delete_inserts", "delete_inserts"),
    ("oltp_point_selects", "point_selects"),
    ("oltp_simple_ranges", "simple_ranges"),
    ("oltp_sum_ranges", "sum_ranges"),
    ("oltp_order_ranges", "order_ranges"),
    ("oltp_distinct_ranges", "distinct_ranges"),
    ("oltp_index_updates", "index_updates"),
    ("oltp_non_index_updates", "non_index_updates"),
    ("oltp_user_delay_min", "user_delay_min"),
    ("oltp_user_delay_max", "user_delay_max"),
    ("oltp_dist_type", "rand_type"),
    ("oltp_dist_iter", "rand_spec_iter"),
    ("oltp_dist_pct", "rand_spec_pct"),
    ("oltp_dist_res", "rand_spec_res"),
    ("mysql_table_engine", "mysql_storage_engine"),
    ("mysql_create_options", "create_table_options"),
    // From STEC's white paper of 2013, with `=` for the second dash: `--mysql-engine=trx=yes`.
    ("mysql_engine", "mysql_engine_trx"),
    ("seed_rng", "rand_seed"),
];

/// Options of 0.4 alone.
const OF_04: [&str; 4] =
    ["oltp_test_mode", "oltp_nontrx_mode", "table_name", "oltp_reconnect_mode"];

fn refuse<T>(message: &str) -> Result<T> {
    Err(Error::Config(message.into()))
}

/// The workload of `--test`.
///
/// # Errors
/// [`Error::Config`] for an unknown name or an unsupported test mode.
pub(super) fn of_test(name: &str, given: &Given) -> Result<Recipe> {
    if name != "oltp" {
        return Recipe::from_name(name);
    }
    if given.is_given("tables") && given.text("tables") != "1" {
        return refuse(
            "`--test=oltp` is sysbench 0.4's, which has one table; for 0.5's give --test=oltp.lua",
        );
    }
    let mode = given.choice(
        "oltp_test_mode",
        &[
            ("complex", Some(Recipe::OltpComplex)),
            ("simple", Some(Recipe::OltpSimple)),
            ("nontrx", None),
        ],
    )?;
    match mode {
        Some(recipe) => Ok(recipe),
        None => given.choice(
            "oltp_nontrx_mode",
            &[
                ("select", Recipe::OltpNontrxSelect),
                ("update_key", Recipe::OltpNontrxUpdateKey),
                ("update_nokey", Recipe::OltpNontrxUpdateNokey),
                ("insert", Recipe::OltpNontrxInsert),
                ("delete", Recipe::OltpNontrxDelete),
            ],
        ),
    }
}

/// The recipe of the sysbench whose options are given: 1.0 runs 0.5's script too, and has options
/// that 0.5 lacks.
pub(super) fn run_by(recipe: Recipe, given: &Given) -> Recipe {
    let is_1_0 = ["threads", "time", "events", "rate"].iter().any(|name| given.is_given(name));
    if recipe == Recipe::Oltp && is_1_0 { Recipe::LegacyOltp } else { recipe }
}

/// Checks that no option of an old test is given with another workload.
///
/// # Errors
/// [`Error::Config`] with the option and what to give instead.
pub(super) fn check(given: &Given, recipe: Recipe) -> Result<()> {
    if !matches!(recipe.generator(), Generator::V05 | Generator::Legacy) {
        given.choice("oltp_reconnect_mode", &[("session", ())])?;
    }
    given.choice("mysql_engine_trx", &[("auto", ()), ("yes", ()), ("trx=yes", ())])?;
    let is_04 = recipe.generator() == Generator::V04;
    if is_04 && given.switch("validate")? {
        return refuse(
            "`--validate` of sysbench 0.4's oltp, which counts the rows of results, is not built; \
             leave it out",
        );
    }
    // Scripts accept any option, and ignore these.
    let is_05 = matches!(recipe.generator(), Generator::V05 | Generator::Legacy);
    let ignores = |name: &str| is_05 && name != "table_name";
    let is_foreign = |name: &&str| !is_04 && !ignores(name) && given.is_given(name);
    if let Some(name) = OF_04.into_iter().find(is_foreign) {
        let name = if name == "table_name" {
            "oltp-table-name".into()
        } else {
            super::given::dashed(name)
        };
        return refuse(&format!("`--{name}` is of sysbench 0.4's `--test=oltp`; leave it out"));
    }
    let has_it = is_05 || recipe == Recipe::OltpComplex;
    if given.switch("oltp_write_only")? {
        if !is_05 {
            return refuse(
                "`--oltp-write-only` is of sysbench's legacy scripts; give the workload \
                 oltp_write_only",
            );
        }
        if given.switch("oltp_read_only")? {
            return refuse("--oltp-read-only and --oltp-write-only exclude each other; give one");
        }
    }
    if given.switch("oltp_read_only")? && !has_it {
        return refuse(
            "`--oltp-read-only` is of the oltp tests of sysbench 0.4 and 0.5; give the workload \
             oltp_read_only",
        );
    }
    Ok(())
}

/// The warnings of sysbench 1.0.20, in its words and order. Older ones had no other names.
pub(super) fn warnings(given: &Given, recipe: Option<Recipe>) -> Vec<&'static str> {
    let is_old = recipe.is_some_and(|recipe| !recipe.generator().is_default());
    let counts = |name: &str| match name {
        "test" => given.is_given(name),
        name => given.differs(name),
    };
    DEPRECATED
        .into_iter()
        .filter(|(name, _)| !is_old && counts(name))
        .map(|(_, warning)| warning)
        .collect()
}

/// Deprecated names of sysbench 1.0.20, with its warnings.
pub(super) const DEPRECATED: [(&str, &str); 5] = [
    (
        "test",
        "WARNING: the --test option is deprecated. You can pass a script name or path on the \
         command line without any options.",
    ),
    ("num_threads", "WARNING: --num-threads is deprecated, use --threads instead"),
    ("max_requests", "WARNING: --max-requests is deprecated, use --events instead"),
    ("max_time", "WARNING: --max-time is deprecated, use --time instead"),
    ("tx_rate", "WARNING: --tx-rate is deprecated, use --rate instead"),
];
