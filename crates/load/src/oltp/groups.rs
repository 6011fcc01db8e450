//! The statements of one event, in groups that share a table.

use super::StatementKind;
use crate::generator::Generator;
use crate::recipe::Recipe;
use crate::schema::{Schema, SchemaKind};
use crate::workload::Workload;
use crate::ycsb::{Mix, Operation};

/// The table of a group's statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableChoice {
    /// No table.
    None,
    /// `sbtest1`.
    First,
    /// A table drawn evenly from all.
    Any,
    /// The one table drawn for the whole event.
    Event,
}

/// Statements that share one drawn table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementGroup {
    /// The table.
    pub tables: TableChoice,
    /// Number of repetitions of the steps.
    pub repeat: u32,
    /// The statements, in order.
    pub steps: &'static [StatementKind],
}

impl Recipe {
    /// The groups of one event.
    #[must_use]
    pub fn groups(self, workload: &Workload, schema: &Schema) -> Vec<StatementGroup> {
        let (tables, swap): (_, &'static [StatementKind]) = match self.generator() {
            // The update is a work-around for PostgreSQL that every server got.
            Generator::V04 => (
                TableChoice::First,
                &[StatementKind::UpdateBeforeDelete, StatementKind::Delete, StatementKind::Insert],
            ),
            Generator::V05 | Generator::Legacy => {
                (TableChoice::Event, &[StatementKind::Delete, StatementKind::Insert])
            }
            Generator::V10 => (TableChoice::Any, &[StatementKind::Delete, StatementKind::Insert]),
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
            Recipe::OltpPointSelect | Recipe::OltpSimple => {
                program.add(1, &[StatementKind::PointSelect])
            }
            Recipe::OltpUpdateIndex => {
                program.add(workload.index_updates, &[StatementKind::IndexUpdate])
            }
            Recipe::OltpUpdateNonIndex => {
                program.add(workload.non_index_updates, &[StatementKind::NonIndexUpdate]);
            }
            Recipe::OltpDelete => program.add(1, &[StatementKind::Delete]),
            Recipe::OltpInsert => program.add(1, &[StatementKind::InsertNew]),
            Recipe::SelectRandomPoints => {
                program.push(TableChoice::First, 1, &[StatementKind::RandomPoints])
            }
            Recipe::SelectRandomRanges => {
                program.push(TableChoice::First, 1, &[StatementKind::RandomRanges])
            }
            Recipe::LegacySelect => program.add(1, &[StatementKind::PadSelect]),
            Recipe::LegacySimple => program.add(1, &[StatementKind::PointSelect]),
            Recipe::LegacyInsert => program.add(1, &[StatementKind::InsertNew]),
            Recipe::LegacyDelete => program.add(1, &[StatementKind::Delete]),
            Recipe::LegacyUpdateIndex => program.add(1, &[StatementKind::IndexUpdate]),
            Recipe::LegacyUpdateNonIndex => program.add(1, &[StatementKind::NonIndexUpdate]),
            Recipe::OltpNontrxSelect => program.add(1, &[StatementKind::PadSelect]),
            Recipe::OltpNontrxUpdateKey => program.add(1, &[StatementKind::IndexUpdate]),
            Recipe::OltpNontrxUpdateNokey => program.add(1, &[StatementKind::NonIndexUpdate]),
            Recipe::OltpNontrxInsert => program.add(1, &[StatementKind::WalkInsert]),
            Recipe::OltpNontrxDelete => program.add(1, &[StatementKind::WalkDelete]),
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
fn operations(mix: &Mix) -> Vec<StatementGroup> {
    let steps = |operation: Operation| -> &'static [StatementKind] {
        match operation {
            Operation::Read => &[StatementKind::RecordRead],
            Operation::Update => &[StatementKind::RecordUpdate],
            Operation::Insert => &[StatementKind::RecordInsert],
            Operation::Scan => &[StatementKind::RecordScan],
            Operation::ReadModifyWrite => &[StatementKind::RecordRead, StatementKind::RecordUpdate],
        }
    };
    let group = |operation| StatementGroup {
        tables: TableChoice::First,
        repeat: 1,
        steps: steps(operation),
    };
    let occurs = |(operation, share): (Operation, f64)| (share > 0.0).then(|| group(operation));
    mix.shares().into_iter().filter_map(occurs).collect()
}

struct Builder<'a> {
    workload: &'a Workload,
    text: bool,
    /// The table of the generator's groups.
    tables: TableChoice,
    /// The steps that delete a row and insert it again.
    swap: &'static [StatementKind],
    groups: Vec<StatementGroup>,
}

impl Builder<'_> {
    fn push(&mut self, tables: TableChoice, repeat: u32, steps: &'static [StatementKind]) {
        if repeat > 0 {
            self.groups.push(StatementGroup { tables, repeat, steps });
        }
    }

    fn add(&mut self, repeat: u32, steps: &'static [StatementKind]) {
        self.push(self.tables, repeat, steps);
    }

    fn transaction(&mut self, body: impl FnOnce(&mut Self)) {
        let brackets = u32::from(!self.workload.skip_trx);
        self.push(TableChoice::None, brackets, &[StatementKind::Begin]);
        body(self);
        self.push(TableChoice::None, brackets, &[StatementKind::Commit]);
    }

    fn reads(&mut self) {
        let w = self.workload;
        self.add(w.point_selects, &[StatementKind::PointSelect]);
        if self.text {
            self.add(w.text_selects, &[StatementKind::TextSelect]);
        }
        if w.range_selects {
            self.add(w.simple_ranges, &[StatementKind::SimpleRange]);
            self.add(w.sum_ranges, &[StatementKind::SumRange]);
            self.add(w.order_ranges, &[StatementKind::OrderRange]);
            self.add(w.distinct_ranges, &[StatementKind::DistinctRange]);
        }
    }

    fn writes(&mut self) {
        let w = self.workload;
        self.add(w.index_updates, &[StatementKind::IndexUpdate]);
        self.add(w.non_index_updates, &[StatementKind::NonIndexUpdate]);
        if self.text {
            self.add(w.text_updates, &[StatementKind::TextUpdate]);
        }
        self.add(w.delete_inserts, self.swap);
    }
}
