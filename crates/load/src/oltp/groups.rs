//! What one event consists of: groups of statements that share a table.

use super::Kind;
use crate::generator::Generator;
use crate::recipe::Recipe;
use crate::schema::{Schema, SchemaKind};
use crate::workload::Workload;
use crate::ycsb::{Mix, Operation};

/// Where a group's statements go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// To no table.
    None,
    /// To `sbtest1`.
    First,
    /// To a table drawn evenly from all.
    Any,
    /// To the one table that is drawn for the whole event.
    Event,
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

impl Recipe {
    /// The groups of one event.
    #[must_use]
    pub fn groups(self, workload: &Workload, schema: &Schema) -> Vec<Group> {
        let (tables, swap): (_, &'static [Kind]) = match self.generator() {
            // The update is a work-around for PostgreSQL that every server got.
            Generator::V04 => {
                (Tables::First, &[Kind::UpdateBeforeDelete, Kind::Delete, Kind::Insert])
            }
            Generator::V05 | Generator::Legacy => (Tables::Event, &[Kind::Delete, Kind::Insert]),
            Generator::V10 => (Tables::Any, &[Kind::Delete, Kind::Insert]),
            Generator::Ycsb => return operations(&workload.ycsb.mix(self)),
        };
        let text = schema.kind == SchemaKind::Text;
        let mut program = Builder { workload, text, tables, swap, groups: Vec::new() };
        match self {
            Recipe::OltpReadOnly => program.transaction(Builder::reads),
            Recipe::OltpWriteOnly => program.transaction(Builder::writes),
            Recipe::OltpReadWrite | Recipe::Oltp | Recipe::LegacyOltp | Recipe::OltpComplex => {
                program.transaction(|program| {
                    program.reads();
                    program.writes();
                });
            }
            Recipe::OltpPointSelect | Recipe::OltpSimple => program.add(1, &[Kind::PointSelect]),
            Recipe::OltpUpdateIndex => program.add(workload.index_updates, &[Kind::IndexUpdate]),
            Recipe::OltpUpdateNonIndex => {
                program.add(workload.non_index_updates, &[Kind::NonIndexUpdate]);
            }
            Recipe::OltpDelete => program.add(1, &[Kind::Delete]),
            Recipe::OltpInsert => program.add(1, &[Kind::InsertNew]),
            Recipe::SelectRandomPoints => program.push(Tables::First, 1, &[Kind::RandomPoints]),
            Recipe::SelectRandomRanges => program.push(Tables::First, 1, &[Kind::RandomRanges]),
            Recipe::LegacySelect => program.add(1, &[Kind::PadSelect]),
            Recipe::LegacySimple => program.add(1, &[Kind::PointSelect]),
            Recipe::LegacyInsert => program.add(1, &[Kind::InsertNew]),
            Recipe::LegacyDelete => program.add(1, &[Kind::Delete]),
            Recipe::LegacyUpdateIndex => program.add(1, &[Kind::IndexUpdate]),
            Recipe::LegacyUpdateNonIndex => program.add(1, &[Kind::NonIndexUpdate]),
            Recipe::OltpNontrxSelect => program.add(1, &[Kind::PadSelect]),
            Recipe::OltpNontrxUpdateKey => program.add(1, &[Kind::IndexUpdate]),
            Recipe::OltpNontrxUpdateNokey => program.add(1, &[Kind::NonIndexUpdate]),
            Recipe::OltpNontrxInsert => program.add(1, &[Kind::WalkInsert]),
            Recipe::OltpNontrxDelete => program.add(1, &[Kind::WalkDelete]),
            Recipe::YcsbA
            | Recipe::YcsbB
            | Recipe::YcsbC
            | Recipe::YcsbD
            | Recipe::YcsbE
            | Recipe::YcsbF
            | Recipe::Ycsb
            | Recipe::YcsbLoad => {}
        }
        program.groups
    }
}

/// A group for each operation of a mix. An event of YCSB is one of them, drawn by its share.
fn operations(mix: &Mix) -> Vec<Group> {
    let steps = |operation: Operation| -> &'static [Kind] {
        match operation {
            Operation::Read => &[Kind::RecordRead],
            Operation::Update => &[Kind::RecordUpdate],
            Operation::Insert => &[Kind::RecordInsert],
            Operation::Scan => &[Kind::RecordScan],
            Operation::ReadModifyWrite => &[Kind::RecordRead, Kind::RecordUpdate],
        }
    };
    let group = |operation| Group { tables: Tables::First, repeat: 1, steps: steps(operation) };
    let occurs = |(operation, share): (Operation, f64)| (share > 0.0).then(|| group(operation));
    mix.shares().into_iter().filter_map(occurs).collect()
}

struct Builder<'a> {
    workload: &'a Workload,
    text: bool,
    /// Where the generator sends a group.
    tables: Tables,
    /// How it deletes a row and inserts it again.
    swap: &'static [Kind],
    groups: Vec<Group>,
}

impl Builder<'_> {
    fn push(&mut self, tables: Tables, repeat: u32, steps: &'static [Kind]) {
        if repeat > 0 {
            self.groups.push(Group { tables, repeat, steps });
        }
    }

    fn add(&mut self, repeat: u32, steps: &'static [Kind]) {
        self.push(self.tables, repeat, steps);
    }

    fn transaction(&mut self, body: impl FnOnce(&mut Self)) {
        let brackets = u32::from(!self.workload.skip_trx);
        self.push(Tables::None, brackets, &[Kind::Begin]);
        body(self);
        self.push(Tables::None, brackets, &[Kind::Commit]);
    }

    fn reads(&mut self) {
        let w = self.workload;
        self.add(w.point_selects, &[Kind::PointSelect]);
        if self.text {
            self.add(w.text_selects, &[Kind::TextSelect]);
        }
        if w.range_selects {
            self.add(w.simple_ranges, &[Kind::SimpleRange]);
            self.add(w.sum_ranges, &[Kind::SumRange]);
            self.add(w.order_ranges, &[Kind::OrderRange]);
            self.add(w.distinct_ranges, &[Kind::DistinctRange]);
        }
    }

    fn writes(&mut self) {
        let w = self.workload;
        self.add(w.index_updates, &[Kind::IndexUpdate]);
        self.add(w.non_index_updates, &[Kind::NonIndexUpdate]);
        if self.text {
            self.add(w.text_updates, &[Kind::TextUpdate]);
        }
        self.add(w.delete_inserts, self.swap);
    }
}
