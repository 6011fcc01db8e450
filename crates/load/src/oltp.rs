//! The recipes as data: which statements make one event, in which order, grouped by table.
//!
//! A *group* draws its table once; every statement in it goes there. Sequences and counts are sysbench 1.0.20's.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::schema::{Schema, SchemaKind};
use crate::suggest;
use crate::workload::Workload;

/// The kinds of statement, each with histograms of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Kind {
    /// `BEGIN`.
    Begin,
    /// `COMMIT`.
    Commit,
    /// `c` of one row by primary key.
    PointSelect,
    /// `c` of a range of rows.
    SimpleRange,
    /// Sum of `k` over a range of rows.
    SumRange,
    /// `c` of a range of rows, sorted.
    OrderRange,
    /// Distinct `c` of a range of rows, sorted.
    DistinctRange,
    /// Adds one to `k`, which is indexed.
    IndexUpdate,
    /// Writes a new `c`, which is not indexed.
    NonIndexUpdate,
    /// Deletes one row.
    Delete,
    /// Inserts the row just deleted, with new contents.
    Insert,
    /// Inserts a row of a new id, as text.
    InsertNew,
    /// `data1` and `data2` of one row (schema `text`).
    TextSelect,
    /// Writes a new line to `data1` (schema `text`).
    TextUpdate,
    /// Rows whose `k` is in a list.
    RandomPoints,
    /// Count of rows whose `k` is in any of some ranges.
    RandomRanges,
}

impl Kind {
    /// How many kinds there are.
    pub const COUNT: usize = 16;

    /// All kinds, in order of their numbers.
    pub const ALL: [Kind; Kind::COUNT] = [
        Kind::Begin,
        Kind::Commit,
        Kind::PointSelect,
        Kind::SimpleRange,
        Kind::SumRange,
        Kind::OrderRange,
        Kind::DistinctRange,
        Kind::IndexUpdate,
        Kind::NonIndexUpdate,
        Kind::Delete,
        Kind::Insert,
        Kind::InsertNew,
        Kind::TextSelect,
        Kind::TextUpdate,
        Kind::RandomPoints,
        Kind::RandomRanges,
    ];

    /// The name it is stored and reported under.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Begin => "begin",
            Kind::Commit => "commit",
            Kind::PointSelect => "point_select",
            Kind::SimpleRange => "simple_range",
            Kind::SumRange => "sum_range",
            Kind::OrderRange => "order_range",
            Kind::DistinctRange => "distinct_range",
            Kind::IndexUpdate => "index_update",
            Kind::NonIndexUpdate => "non_index_update",
            Kind::Delete => "delete",
            Kind::Insert | Kind::InsertNew => "insert",
            Kind::TextSelect => "text_select",
            Kind::TextUpdate => "text_update",
            Kind::RandomPoints => "random_points",
            Kind::RandomRanges => "random_ranges",
        }
    }

    /// The statement for table `table`, with `?` for each parameter.
    #[must_use]
    pub fn sql(self, table: u32, workload: &Workload, schema: &Schema) -> String {
        let t = format!("sbtest{table}");
        let list = |count: u32, one: &str, joint: &str| vec![one; count as usize].join(joint);
        match self {
            Kind::Begin => "BEGIN".into(),
            Kind::Commit => "COMMIT".into(),
            Kind::PointSelect => format!("SELECT c FROM {t} WHERE id=?"),
            Kind::SimpleRange => format!("SELECT c FROM {t} WHERE id BETWEEN ? AND ?"),
            Kind::SumRange => format!("SELECT SUM(k) FROM {t} WHERE id BETWEEN ? AND ?"),
            Kind::OrderRange => format!("SELECT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c"),
            Kind::DistinctRange => {
                format!("SELECT DISTINCT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c")
            }
            Kind::IndexUpdate => format!("UPDATE {t} SET k=k+1 WHERE id=?"),
            Kind::NonIndexUpdate => format!("UPDATE {t} SET c=? WHERE id=?"),
            Kind::Delete => format!("DELETE FROM {t} WHERE id=?"),
            Kind::Insert | Kind::InsertNew => {
                let columns = schema.columns();
                let places = list(columns.split(',').count() as u32, "?", ", ");
                format!("INSERT INTO {t} ({columns}) VALUES ({places})")
            }
            Kind::TextSelect => format!("SELECT data1, data2 FROM {t} WHERE id=?"),
            Kind::TextUpdate => format!("UPDATE {t} SET data1=? WHERE id=?"),
            Kind::RandomPoints => {
                let places = list(workload.random_points, "?", ", ");
                format!("SELECT id, k, c, pad FROM {t} WHERE k IN ({places})")
            }
            Kind::RandomRanges => {
                let ranges = list(workload.number_of_ranges, "k BETWEEN ? AND ?", " OR ");
                format!("SELECT count(k) FROM {t} WHERE {ranges}")
            }
        }
    }
}

/// Where a group's statements go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// To no table.
    None,
    /// To `sbtest1`.
    First,
    /// To a table drawn evenly from all.
    Any,
}

/// Statements that share one drawn table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// How the table is chosen.
    pub tables: Tables,
    /// How often the steps are done.
    pub repeat: u32,
    /// The statements, in order.
    pub steps: &'static [Kind],
}

/// What an event is made of.
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
}

impl Recipe {
    /// All recipes.
    pub const ALL: [Recipe; 10] = [
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
    ];

    /// sysbench's name for it.
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
        }
    }

    /// The recipe of that name, with or without `oltp_` before it, or `.lua` after it.
    ///
    /// # Errors
    /// [`Error::Config`] with the nearest name.
    pub fn from_name(name: &str) -> Result<Recipe> {
        let file = name.rsplit('/').next().unwrap_or(name);
        let bare = file.strip_suffix(".lua").unwrap_or(file).replace('-', "_");
        let matches = |recipe: &Recipe| {
            recipe.name() == bare || recipe.name().strip_prefix("oltp_") == Some(&bare)
        };
        Recipe::ALL.into_iter().find(matches).ok_or_else(|| {
            let names = || Recipe::ALL.into_iter().map(Recipe::name);
            let hint = suggest::nearest(&bare, names())
                .map_or_else(|| names().collect::<Vec<_>>().join(", "), |near| format!("`{near}`"));
            Error::Config(format!("unknown workload `{name}`; known is {hint}"))
        })
    }

    /// The groups of one event.
    #[must_use]
    pub fn groups(self, workload: &Workload, schema: &Schema) -> Vec<Group> {
        let mut program =
            Builder { workload, text: schema.kind == SchemaKind::Text, groups: Vec::new() };
        match self {
            Recipe::OltpReadOnly => program.transaction(Builder::reads),
            Recipe::OltpWriteOnly => program.transaction(Builder::writes),
            Recipe::OltpReadWrite => program.transaction(|program| {
                program.reads();
                program.writes();
            }),
            Recipe::OltpPointSelect => program.any(1, &[Kind::PointSelect]),
            Recipe::OltpUpdateIndex => program.any(workload.index_updates, &[Kind::IndexUpdate]),
            Recipe::OltpUpdateNonIndex => {
                program.any(workload.non_index_updates, &[Kind::NonIndexUpdate]);
            }
            Recipe::OltpDelete => program.any(1, &[Kind::Delete]),
            Recipe::OltpInsert => program.any(1, &[Kind::InsertNew]),
            Recipe::SelectRandomPoints => program.push(Tables::First, 1, &[Kind::RandomPoints]),
            Recipe::SelectRandomRanges => program.push(Tables::First, 1, &[Kind::RandomRanges]),
        }
        program.groups
    }
}

struct Builder<'a> {
    workload: &'a Workload,
    text: bool,
    groups: Vec<Group>,
}

impl Builder<'_> {
    fn push(&mut self, tables: Tables, repeat: u32, steps: &'static [Kind]) {
        if repeat > 0 {
            self.groups.push(Group { tables, repeat, steps });
        }
    }

    fn any(&mut self, repeat: u32, steps: &'static [Kind]) {
        self.push(Tables::Any, repeat, steps);
    }

    fn transaction(&mut self, body: impl FnOnce(&mut Self)) {
        let brackets = u32::from(!self.workload.skip_trx);
        self.push(Tables::None, brackets, &[Kind::Begin]);
        body(self);
        self.push(Tables::None, brackets, &[Kind::Commit]);
    }

    fn reads(&mut self) {
        let w = self.workload;
        self.any(w.point_selects, &[Kind::PointSelect]);
        if self.text {
            self.any(w.text_selects, &[Kind::TextSelect]);
        }
        if w.range_selects {
            self.any(w.simple_ranges, &[Kind::SimpleRange]);
            self.any(w.sum_ranges, &[Kind::SumRange]);
            self.any(w.order_ranges, &[Kind::OrderRange]);
            self.any(w.distinct_ranges, &[Kind::DistinctRange]);
        }
    }

    fn writes(&mut self) {
        let w = self.workload;
        self.any(w.index_updates, &[Kind::IndexUpdate]);
        self.any(w.non_index_updates, &[Kind::NonIndexUpdate]);
        if self.text {
            self.any(w.text_updates, &[Kind::TextUpdate]);
        }
        self.any(w.delete_inserts, &[Kind::Delete, Kind::Insert]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(recipe: Recipe, workload: &Workload, schema: &Schema) -> Vec<&'static str> {
        let once = |g: Group| g.steps.repeat(g.repeat as usize);
        recipe.groups(workload, schema).into_iter().flat_map(once).map(Kind::name).collect()
    }

    #[test]
    fn queries_per_event_are_as_published() {
        let workload = Workload::default();
        let counts =
            [(Recipe::OltpReadOnly, 16), (Recipe::OltpWriteOnly, 6), (Recipe::OltpReadWrite, 20)];
        for (recipe, queries) in counts {
            assert_eq!(
                sequence(recipe, &workload, &Schema::default()).len(),
                queries,
                "{recipe:?}"
            );
        }
        for recipe in &Recipe::ALL[3..] {
            assert_eq!(sequence(*recipe, &workload, &Schema::default()).len(), 1, "{recipe:?}");
        }
    }

    #[test]
    fn options_add_and_remove_statements() {
        let workload = Workload {
            skip_trx: true,
            range_selects: false,
            point_selects: 2,
            index_updates: 0,
            delete_inserts: 2,
            ..Workload::default()
        };
        assert_eq!(
            sequence(Recipe::OltpReadWrite, &workload, &Schema::default()),
            [
                "point_select",
                "point_select",
                "non_index_update",
                "delete",
                "insert",
                "delete",
                "insert"
            ]
        );
    }

    #[test]
    fn text_statements_come_with_the_text_schema_only() {
        let schema = Schema { kind: SchemaKind::Text, ..Schema::default() };
        let names = sequence(Recipe::OltpReadWrite, &Workload::default(), &schema);
        assert_eq!(names.len(), 22);
        assert_eq!(names.iter().filter(|name| name.starts_with("text_")).count(), 2);
        let insert = Kind::Insert.sql(3, &Workload::default(), &schema);
        assert_eq!(
            insert,
            "INSERT INTO sbtest3 (id, k, c, pad, data1, data2) VALUES (?, ?, ?, ?, ?, ?)"
        );
    }

    #[test]
    fn names_are_forgiving_and_slips_get_a_hint() {
        assert_eq!(Recipe::from_name("oltp_read_write").unwrap(), Recipe::OltpReadWrite);
        assert_eq!(Recipe::from_name("read_only").unwrap(), Recipe::OltpReadOnly);
        assert_eq!(
            Recipe::from_name("/usr/share/sysbench/oltp_insert.lua").unwrap(),
            Recipe::OltpInsert
        );
        let error = Recipe::from_name("oltp_read_wirte").unwrap_err().to_string();
        assert!(error.contains("`oltp_read_write`"), "{error}");
    }

    #[test]
    fn numbers_of_kinds_are_their_places() {
        for (number, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
    }
}
