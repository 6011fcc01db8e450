//! A prepared workload: groups, statements and choosers of keys, shared by all threads of a run.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::generator::Generator;
use crate::keys::{KeyChooser, Unique, Walk};
use crate::mode::Mode;
use crate::oltp::{StatementGroup, StatementKind, TableChoice, variants};
use crate::operations::Operations;
use crate::part::Deal;
use crate::random::splitmix64;
use crate::recipe::Recipe;
use crate::schema::{Schema, SchemaKind};
use crate::text::TextSource;
use crate::workload::{PsMode, Workload};
use crate::ycsb::Operation;

/// A prepared workload.
pub(crate) struct Program {
    pub(crate) workload: Workload,
    pub(crate) generator: Generator,
    pub(crate) groups: Vec<StatementGroup>,
    pub(crate) tables: u32,
    pub(crate) table_size: u64,
    pub(crate) auto_inc: bool,
    /// The statements of every kind in use, by table (from 0), in the order of the recipe.
    pub(crate) statements: Vec<Texts>,
    /// Draws of `id`, and of `k` of new rows.
    pub(crate) rows: KeyChooser,
    pub(crate) unique: Arc<Unique>,
    pub(crate) walk: Arc<Walk>,
    pub(crate) text: Option<TextSource>,
    /// The operations of YCSB, in place of groups.
    pub(crate) operations: Option<Operations>,
    deal: Deal,
    schema: Schema,
    scatter_seed: Option<u64>,
}

/// The SQL of one kind, a text for each table.
pub(crate) struct Texts {
    pub(crate) kind: StatementKind,
    pub(crate) by_table: Vec<String>,
    /// True if the server prepares it.
    pub(crate) prepare: bool,
}

/// Seed of scattering hot keys: the same for loading and running.
pub(crate) fn scatter_seed(workload: &Workload, seed: u64) -> Option<u64> {
    workload.rand_scatter.then(|| splitmix64(&mut { seed }))
}

/// The source of English lines for the schema.
pub(crate) fn text_source(schema: &Schema) -> Result<Option<TextSource>> {
    match (schema.kind, &schema.text) {
        (SchemaKind::Default, _) => Ok(None),
        (SchemaKind::Text, None) => Ok(Some(TextSource::built_in())),
        (SchemaKind::Text, Some(path)) => {
            TextSource::from_file(path).map(Some).map_err(|error| Error::Config(error.to_string()))
        }
    }
}

impl Program {
    pub(crate) fn new(
        schema: &Schema,
        workload: &Workload,
        deal: Deal,
        seed: u64,
    ) -> Result<Program> {
        schema.check()?;
        workload.check()?;
        workload.check_tables(schema)?;
        let groups = workload.recipe.groups(workload, schema);
        if groups.is_empty() {
            let message = "the workload has no statements; set one of its counts above 0";
            return Err(Error::Config(message.into()));
        }
        let scatter_seed = scatter_seed(workload, seed);
        Ok(Program {
            statements: texts(&groups, schema, workload),
            generator: schema.generator,
            groups,
            tables: schema.tables,
            table_size: schema.table_size,
            auto_inc: schema.auto_inc,
            rows: KeyChooser::new(&workload.distribution(), 1, schema.table_size, scatter_seed),
            unique: Arc::new(Unique::new(splitmix64(&mut seed.wrapping_add(1)), deal)),
            walk: Arc::new(Walk::new(schema.table_size, deal)),
            text: text_source(schema)?,
            operations: (schema.generator == Generator::Ycsb)
                .then(|| Operations::new(schema, workload, deal, splitmix64(&mut { seed }))),
            workload: workload.clone(),
            deal,
            schema: schema.clone(),
            scatter_seed,
        })
    }

    /// Shares with `other`, a program on the same tables, the sources of values that must not
    /// repeat.
    pub(crate) fn beside(mut self, other: &Program) -> Program {
        self.unique = Arc::clone(&other.unique);
        self.walk = Arc::clone(&other.walk);
        if let (Some(mine), Some(theirs)) = (&mut self.operations, &other.operations) {
            mine.counter = Arc::clone(&theirs.counter);
        }
        self
    }

    /// Choosers of `k` for the `select_random_…` recipes of one thread. In sysbench each thread
    /// keeps to its own slice of the table, so the pattern depends on the number of threads; mode
    /// `strict` draws from the whole.
    pub(crate) fn points(&self, thread: u32) -> KeyChooser {
        let distribution = self.workload.distribution();
        if self.workload.mode == Mode::Strict {
            return KeyChooser::new(&distribution, 1, self.schema.table_size, self.scatter_seed);
        }
        let slice = self.schema.table_size as f64 / f64::from(self.deal.threads());
        let end = |thread: u32| (f64::from(thread) * slice) as u64;
        KeyChooser::new(&distribution, end(thread), end(thread + 1), self.scatter_seed)
    }

    /// The statement sent once before the load, by its first part: sysbench 0.4 empties the table
    /// that it inserts into.
    pub(crate) fn opening(&self) -> Option<String> {
        (self.workload.recipe == Recipe::OltpNontrxInsert && self.deal.is_first())
            .then(|| format!("TRUNCATE TABLE {}", self.schema.table(1)))
    }

    /// The text of the statement of `kind` for `table`, from 0.
    pub(crate) fn statement(&self, kind: StatementKind, table: usize) -> &str {
        let texts = self.statements.iter().find(|texts| texts.kind == kind);
        texts.and_then(|texts| texts.by_table.get(table)).map_or("", String::as_str)
    }

    /// Number of statements that each connection prepares.
    pub(crate) fn prepared_per_connection(&self) -> u64 {
        let prepared = self.statements.iter().filter(|texts| texts.prepare);
        prepared.map(|texts| texts.by_table.len() as u64).sum()
    }
}

fn texts(groups: &[StatementGroup], schema: &Schema, workload: &Workload) -> Vec<Texts> {
    let mut all: Vec<Texts> = Vec::new();
    for group in groups {
        for &kind in group.steps {
            if all.iter().any(|texts| texts.kind == kind) {
                continue;
            }
            let tables = match group.tables {
                TableChoice::Any | TableChoice::Event => schema.tables,
                TableChoice::None | TableChoice::First => variants(kind, workload, schema),
            };
            all.push(Texts {
                kind,
                by_table: (1..=tables).map(|table| kind.sql(table, workload, schema)).collect(),
                prepare: is_prepared(kind, workload, schema),
            });
        }
    }
    all
}

/// sysbench 0.5 sends everything as text, 1.0 the insert of a new row. YCSB's JDBC driver prepares
/// on the client, so everything is sent as text too; mode `strict` prepares on the server.
fn is_prepared(kind: StatementKind, workload: &Workload, schema: &Schema) -> bool {
    let is_text = match schema.generator {
        Generator::V05 | Generator::Legacy => true,
        Generator::Ycsb => workload.mode == Mode::Compat,
        Generator::V04 | Generator::V10 => kind == StatementKind::InsertNew,
    };
    workload.db_ps_mode == PsMode::Auto && !is_text
}

/// Statements of one event, the mean if an event is drawn from a mix.
#[must_use]
pub fn statements_per_event(workload: &Workload, schema: &Schema) -> f64 {
    match workload.recipe.generator() {
        Generator::Ycsb => {
            1.0 + workload.ycsb.mix(workload.recipe).share(Operation::ReadModifyWrite)
        }
        _ => queries_per_event(workload, schema).total() as f64,
    }
}

/// Statements of one event by their effect, as far as it is certain: reads, writes, others.
///
/// A delete or update that matches no row counts as other instead of write. An event of YCSB is one
/// of the counted statements; [`statements_per_event`] returns their mean.
#[must_use]
pub fn queries_per_event(workload: &Workload, schema: &Schema) -> crate::record::Queries {
    let mut queries = crate::record::Queries::default();
    for group in Recipe::groups(workload.recipe, workload, schema) {
        for kind in group.steps {
            let count = match kind {
                StatementKind::Begin | StatementKind::Commit => &mut queries.other,
                StatementKind::IndexUpdate
                | StatementKind::NonIndexUpdate
                | StatementKind::Delete
                | StatementKind::Insert
                | StatementKind::InsertNew
                | StatementKind::TextUpdate
                | StatementKind::UpdateBeforeDelete
                | StatementKind::WalkDelete
                | StatementKind::WalkInsert
                | StatementKind::RecordUpdate
                | StatementKind::RecordInsert => &mut queries.write,
                _ => &mut queries.read,
            };
            *count += u64::from(group.repeat);
        }
    }
    queries
}

/// Returns true if events write, or may.
#[must_use]
pub fn writes(workload: &Workload, schema: &Schema) -> bool {
    match workload.recipe.generator() {
        Generator::Ycsb => {
            let mix = workload.ycsb.mix(workload.recipe);
            let writing = [Operation::Update, Operation::Insert, Operation::ReadModifyWrite];
            writing.into_iter().any(|operation| mix.share(operation) > 0.0)
        }
        _ => queries_per_event(workload, schema).write > 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    #[test]
    fn published_reads_writes_and_others() {
        let published = [
            (Recipe::OltpReadOnly, (14, 0, 2)),
            (Recipe::OltpWriteOnly, (0, 4, 2)),
            (Recipe::OltpReadWrite, (14, 4, 2)),
            (Recipe::Oltp, (14, 4, 2)),
            // 19 "read/write requests" and 2 others.
            (Recipe::OltpComplex, (14, 5, 2)),
        ];
        for (recipe, (read, write, other)) in published {
            let workload = Workload { recipe, ..Workload::default() };
            let schema = Schema { generator: recipe.generator(), ..Schema::default() };
            let queries = queries_per_event(&workload, &schema);
            assert_eq!((queries.read, queries.write, queries.other), (read, write, other));
        }
    }

    #[test]
    fn a_workload_that_may_write_is_known() {
        let of = |recipe: Recipe| Workload { recipe, ..Workload::default() };
        let is_writing = |workload: &Workload| {
            let generator = workload.recipe.generator();
            writes(workload, &Schema { generator, ..Schema::default() })
        };
        for recipe in [Recipe::OltpReadOnly, Recipe::SelectRandomRanges, Recipe::YcsbC] {
            assert!(!is_writing(&of(recipe)), "{recipe:?}");
        }
        for recipe in [Recipe::OltpReadWrite, Recipe::OltpDelete, Recipe::YcsbE, Recipe::YcsbLoad] {
            assert!(is_writing(&of(recipe)), "{recipe:?}");
        }
        let none = Workload {
            index_updates: 0,
            non_index_updates: 0,
            delete_inserts: 0,
            ..of(Recipe::OltpReadWrite)
        };
        assert!(!is_writing(&none));
    }

    #[test]
    fn read_write_prepares_nine_per_table_and_two() {
        let schema = Schema { tables: 7, ..Schema::default() };
        let program = Program::new(&schema, &Workload::default(), Deal::to(1), 1).unwrap();
        assert_eq!(program.prepared_per_connection(), 9 * 7 + 2);
    }

    #[test]
    fn text_is_never_prepared_by_0_5() {
        let schema = |generator| Schema { generator, ..Schema::default() };
        let prepared = |recipe: Recipe| {
            let workload = Workload { recipe, ..Workload::default() };
            let program =
                Program::new(&schema(recipe.generator()), &workload, Deal::to(1), 1).unwrap();
            program.prepared_per_connection()
        };
        assert_eq!((prepared(Recipe::Oltp), prepared(Recipe::OltpComplex)), (0, 12));
    }

    #[test]
    fn tables_of_another_sysbench_are_refused_in_one_line() {
        let workload = Workload { recipe: Recipe::OltpComplex, ..Workload::default() };
        let refusal =
            |schema: &Schema| Program::new(schema, &workload, Deal::to(1), 1).err().unwrap();
        let message = refusal(&Schema::default()).to_string();
        assert!(
            message.starts_with("`oltp_complex` is a recipe of sysbench-0.4, but the tables are")
        );
        assert!(message.contains("oltp_read_write") && !message.contains('\n'), "{message}");
        let fitting = Schema { generator: Generator::V04, ..Schema::default() };
        assert!(Program::new(&fitting, &workload, Deal::to(1), 1).is_ok());
    }

    #[test]
    fn compat_slices_the_points_and_fixed_does_not() {
        let schema = Schema { table_size: 10, ..Schema::default() };
        let range = |mode, thread| {
            let workload = Workload {
                recipe: Recipe::SelectRandomPoints,
                mode,
                rand_type: Some(crate::keys::RandType::Uniform),
                ..Workload::default()
            };
            let keys = Program::new(&schema, &workload, Deal::to(3), 1).unwrap().points(thread);
            let mut rng = Rng::new(1, 1);
            let drawn: Vec<u64> = (0..500).map(|_| keys.draw(&mut rng)).collect();
            (*drawn.iter().min().unwrap(), *drawn.iter().max().unwrap())
        };
        // The ranges of sysbench 1.0.20 with 10 rows and 3 threads.
        assert_eq!([0, 1, 2].map(|thread| range(Mode::Compat, thread)), [(0, 3), (3, 6), (6, 10)]);
        assert_eq!(range(Mode::Strict, 1), (1, 10));
    }
}
