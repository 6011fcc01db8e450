//! A prepared YCSB workload: the next operation, its record, its values.
//!
//! Guarantees: a retried operation keeps its record; a retried insert takes the next number, as its
//! own may be in the table; once buffers have grown, a draw allocates nothing.

mod counter;

use std::sync::Arc;

use smallvec::SmallVec;

use counter::InsertCounter;

use crate::oltp::StatementKind;
use crate::part::Deal;
use crate::random::Rng;
use crate::recipe::Recipe;
use crate::schema::Schema;
use crate::workload::Workload;
use crate::ycsb::{
    Chooser, Hot, Mix, Operation, ScanLengths, THETA, Zipfian, fill_field, key_name,
};
use assay_mysql::BoundValue;

/// Values of one statement; a record of ten fields needs no heap memory.
pub(crate) type RecordValues<'a> = SmallVec<[BoundValue<'a>; 12]>;

/// State shared by all threads of a run.
pub(crate) struct Operations {
    mix: Mix,
    chooser: Chooser,
    scan_length_max: u64,
    scan_ranks: Option<Zipfian>,
    schema: Schema,
    write_all_fields: bool,
    /// Counts the loaded records and those that this part has inserted: [`Operations::record`] maps
    /// them to records.
    pub(crate) counter: Arc<InsertCounter>,
    /// Number of records before the load.
    loaded: u64,
    deal: Deal,
}

impl Operations {
    pub(crate) fn new(
        schema: &Schema,
        workload: &Workload,
        deal: Deal,
        scatter_seed: u64,
    ) -> Operations {
        let (options, recipe) = (&workload.ycsb, workload.recipe);
        let mix = options.mix(recipe);
        let records = if recipe == Recipe::YcsbLoad { 0 } else { schema.table_size };
        let hot = Hot { fraction: workload.rand_hot_fraction, share: workload.rand_hot_share };
        let scan_length_max = options.max_scan_length(recipe);
        let is_zipfian = options.scan_length_distribution == ScanLengths::Zipfian;
        Operations {
            mix,
            chooser: Chooser::of(
                options,
                recipe,
                workload.mode,
                &hot,
                records.max(1),
                scatter_seed,
            ),
            scan_length_max,
            scan_ranks: is_zipfian.then(|| Zipfian::new(scan_length_max, THETA)),
            schema: schema.clone(),
            write_all_fields: options.write_all_fields,
            counter: Arc::new(InsertCounter::new(records, deal.own() as usize)),
            loaded: records,
            deal,
        }
    }

    /// The record with this number of the counter. A part knows and requests only its own inserts.
    fn record(&self, number: u64) -> u64 {
        match number.checked_sub(self.loaded) {
            None => number,
            Some(place) => self.loaded + self.deal.nth(place),
        }
    }

    fn scan_length(&self, rng: &mut Rng) -> u64 {
        match &self.scan_ranks {
            Some(ranks) => 1 + ranks.draw(rng),
            None => 1 + rng.below(self.scan_length_max),
        }
    }
}

/// The current operation, with the buffers of its values. One for each thread.
pub(crate) struct Drawn {
    chooser: Chooser,
    operation: Operation,
    number: u64,
    key: Vec<u8>,
    /// The field that an update writes.
    field: u32,
    scan_length: u64,
    /// All fields, concatenated.
    data: Vec<u8>,
}

impl Drawn {
    pub(crate) fn new(operations: &Operations) -> Drawn {
        let schema = &operations.schema;
        Drawn {
            chooser: operations.chooser.clone(),
            operation: Operation::Read,
            number: 0,
            key: Vec::with_capacity(64),
            field: 0,
            scan_length: 1,
            data: vec![0; schema.field_count as usize * schema.field_length as usize],
        }
    }

    /// Draws the next operation; `again` keeps the current one.
    pub(crate) fn draw(
        &mut self,
        operations: &Operations,
        again: bool,
        rng: &mut Rng,
    ) -> Operation {
        match (again, self.operation) {
            (true, Operation::Insert) => {
                operations.counter.acknowledge(self.number);
                self.number = operations.counter.take();
            }
            (true, _) => return self.operation,
            (false, _) => {
                self.operation = operations.mix.draw(rng);
                self.number = match self.operation {
                    Operation::Insert => operations.counter.take(),
                    _ => self.chooser.draw(operations.counter.existing(), rng),
                };
            }
        }
        let schema = &operations.schema;
        let record = operations.record(self.number);
        key_name(record, schema.insert_order, schema.zero_padding as usize, &mut self.key);
        match self.operation {
            Operation::Scan => self.scan_length = operations.scan_length(rng),
            Operation::Update | Operation::ReadModifyWrite if !operations.write_all_fields => {
                self.field = rng.below(u64::from(schema.field_count)) as u32;
            }
            _ => {}
        }
        self.operation
    }

    /// The field that an update writes, from 0; 0 if it writes all.
    pub(crate) fn field(&self) -> u32 {
        self.field
    }

    /// Records that the current insert is in the table.
    pub(crate) fn acknowledge(&self, operations: &Operations) {
        operations.counter.acknowledge(self.number);
    }

    /// The values of a statement of `kind`, in the order of its parameters.
    pub(crate) fn values<'a>(
        &'a mut self,
        kind: StatementKind,
        operations: &Operations,
        rng: &mut Rng,
    ) -> RecordValues<'a> {
        let length = operations.schema.field_length as usize;
        let mut values = RecordValues::new();
        match kind {
            StatementKind::RecordUpdate if !operations.write_all_fields => {
                fill_field(rng, &mut self.data[..length]);
                values.push(BoundValue::Bytes(&self.data[..length]));
                values.push(BoundValue::Bytes(&self.key));
            }
            StatementKind::RecordUpdate => {
                self.fill(length, rng);
                values.extend(self.data.chunks(length).map(BoundValue::Bytes));
                values.push(BoundValue::Bytes(&self.key));
            }
            StatementKind::RecordInsert => {
                self.fill(length, rng);
                values.push(BoundValue::Bytes(&self.key));
                values.extend(self.data.chunks(length).map(BoundValue::Bytes));
            }
            StatementKind::RecordScan => {
                values.push(BoundValue::Bytes(&self.key));
                values.push(BoundValue::Int(self.scan_length.cast_signed()));
            }
            _ => values.push(BoundValue::Bytes(&self.key)),
        }
        values
    }

    fn fill(&mut self, length: usize, rng: &mut Rng) {
        self.data.chunks_mut(length).for_each(|field| fill_field(rng, field));
    }
}
