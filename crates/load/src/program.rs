//! A workload made ready to run: groups, statements and key draws, shared by all threads of a run.

use crate::error::{Error, Result};
use crate::keys::{Keys, Unique};
use crate::oltp::{Group, Kind, Recipe, Tables};
use crate::random::splitmix64;
use crate::schema::{Schema, SchemaKind};
use crate::text::TextSource;
use crate::workload::{Mode, PsMode, Workload};

/// A workload made ready.
pub(crate) struct Program {
    pub(crate) workload: Workload,
    pub(crate) groups: Vec<Group>,
    pub(crate) tables: u32,
    pub(crate) auto_inc: bool,
    /// The statements of every kind that occurs, by table (from 0), in the order of the recipe.
    pub(crate) statements: Vec<Texts>,
    /// Draws of `id`, and of `k` of new rows.
    pub(crate) rows: Keys,
    pub(crate) unique: Unique,
    pub(crate) text: Option<TextSource>,
    threads: u32,
    schema: Schema,
    scatter_seed: Option<u64>,
}

/// The SQL of one kind, a text for each table.
pub(crate) struct Texts {
    pub(crate) kind: Kind,
    pub(crate) by_table: Vec<String>,
    /// Whether to ask the server to prepare it.
    pub(crate) prepare: bool,
}

/// Where hot keys are scattered to: the same place when loading as when running.
pub(crate) fn scatter_seed(workload: &Workload, seed: u64) -> Option<u64> {
    workload.rand_scatter.then(|| splitmix64(&mut { seed }))
}

/// The source of English lines that a schema asks for.
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
        threads: u32,
        seed: u64,
    ) -> Result<Program> {
        schema.check()?;
        workload.check()?;
        let groups = workload.recipe.groups(workload, schema);
        if groups.is_empty() {
            let message = "the workload has no statement at all; set one of its counts above 0";
            return Err(Error::Config(message.into()));
        }
        let scatter_seed = scatter_seed(workload, seed);
        Ok(Program {
            statements: texts(&groups, schema, workload),
            groups,
            tables: schema.tables,
            auto_inc: schema.auto_inc,
            rows: Keys::new(&workload.distribution(), 1, schema.table_size, scatter_seed),
            unique: Unique::new(splitmix64(&mut seed.wrapping_add(1))),
            text: text_source(schema)?,
            workload: workload.clone(),
            threads,
            schema: schema.clone(),
            scatter_seed,
        })
    }

    /// Draws of `k` for the `select_random_…` recipes of one thread. In sysbench each thread keeps to its own slice of
    /// the table, so that the pattern changes with the number of threads; mode `fixed` draws from the whole.
    pub(crate) fn points(&self, thread: u32) -> Keys {
        let distribution = self.workload.distribution();
        if self.workload.mode == Mode::Fixed {
            return Keys::new(&distribution, 1, self.schema.table_size, self.scatter_seed);
        }
        let slice = self.schema.table_size as f64 / f64::from(self.threads);
        let end = |thread: u32| (f64::from(thread) * slice) as u64;
        Keys::new(&distribution, end(thread), end(thread + 1), self.scatter_seed)
    }

    /// The text of the statement of `kind` for `table`, from 0.
    pub(crate) fn statement(&self, kind: Kind, table: usize) -> &str {
        let texts = self.statements.iter().find(|texts| texts.kind == kind);
        texts.and_then(|texts| texts.by_table.get(table)).map_or("", String::as_str)
    }

    /// Statements each connection prepares.
    pub(crate) fn prepared_per_connection(&self) -> u64 {
        let prepared = self.statements.iter().filter(|texts| texts.prepare);
        prepared.map(|texts| texts.by_table.len() as u64).sum()
    }
}

fn texts(groups: &[Group], schema: &Schema, workload: &Workload) -> Vec<Texts> {
    let mut all: Vec<Texts> = Vec::new();
    for group in groups {
        for &kind in group.steps {
            if all.iter().any(|texts| texts.kind == kind) {
                continue;
            }
            let tables = if group.tables == Tables::Any { schema.tables } else { 1 };
            all.push(Texts {
                kind,
                by_table: (1..=tables).map(|table| kind.sql(table, workload, schema)).collect(),
                prepare: workload.db_ps_mode == PsMode::Auto && kind != Kind::InsertNew,
            });
        }
    }
    all
}

/// Statements of one event and what they do, as far as that is certain: reads, writes, others.
///
/// A delete or update that hits no row counts as other instead of write.
#[must_use]
pub fn queries_per_event(workload: &Workload, schema: &Schema) -> crate::record::Queries {
    let mut queries = crate::record::Queries::default();
    for group in Recipe::groups(workload.recipe, workload, schema) {
        for kind in group.steps {
            let count = match kind {
                Kind::Begin | Kind::Commit => &mut queries.other,
                Kind::IndexUpdate
                | Kind::NonIndexUpdate
                | Kind::Delete
                | Kind::Insert
                | Kind::InsertNew
                | Kind::TextUpdate => &mut queries.write,
                _ => &mut queries.read,
            };
            *count += u64::from(group.repeat);
        }
    }
    queries
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
        ];
        for (recipe, (read, write, other)) in published {
            let workload = Workload { recipe, ..Workload::default() };
            let queries = queries_per_event(&workload, &Schema::default());
            assert_eq!((queries.read, queries.write, queries.other), (read, write, other));
        }
    }

    #[test]
    fn read_write_prepares_nine_per_table_and_two() {
        let schema = Schema { tables: 7, ..Schema::default() };
        let program = Program::new(&schema, &Workload::default(), 1, 1).unwrap();
        assert_eq!(program.prepared_per_connection(), 9 * 7 + 2);
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
            let keys = Program::new(&schema, &workload, 3, 1).unwrap().points(thread);
            let mut rng = Rng::new(1, 1);
            let drawn: Vec<u64> = (0..500).map(|_| keys.draw(&mut rng)).collect();
            (*drawn.iter().min().unwrap(), *drawn.iter().max().unwrap())
        };
        // As sysbench 1.0.20 was seen to draw with 10 rows and 3 threads.
        assert_eq!([0, 1, 2].map(|thread| range(Mode::Compat, thread)), [(0, 3), (3, 6), (6, 10)]);
        assert_eq!(range(Mode::Fixed, 1), (1, 10));
    }
}
