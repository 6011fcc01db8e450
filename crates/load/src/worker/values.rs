//! The values of each statement, as each generator draws them.

use crate::generator::Generator;
use crate::keys::KeyChooser;
use crate::oltp::StatementKind;
use crate::operations::{Drawn, RecordValues};
use crate::program::Program;
use crate::random::Rng;
use crate::rows;
use crate::schema::{C_BYTES, PAD_BYTES, TEXT_BYTES_MAX};
use assay_mysql::BoundValue;

/// The values of the current statement, in reused buffers.
pub(crate) struct Buffers {
    c: [u8; C_BYTES],
    pad: [u8; PAD_BYTES],
    data: [Vec<u8>; 2],
    numbers: Vec<BoundValue<'static>>,
    /// The row updated last, which is deleted next.
    doomed: Option<i64>,
    /// The row deleted last, which is inserted again.
    deleted: i64,
    /// True for a retried event, which keeps the rows of its walk.
    pub(crate) again: bool,
    /// The current operation of YCSB.
    pub(crate) drawn: Option<Drawn>,
}

impl Buffers {
    /// Buffers, with the operations of a YCSB workload.
    pub(crate) fn new(drawn: Option<Drawn>) -> Buffers {
        Buffers {
            c: [0; C_BYTES],
            pad: [0; PAD_BYTES],
            data: Default::default(),
            numbers: Vec::new(),
            doomed: None,
            deleted: 0,
            again: false,
            drawn,
        }
    }
}

/// A few values on the stack, many in a buffer, or those of a record.
pub(crate) enum Values<'a> {
    Few([BoundValue<'a>; 6], usize),
    Many(&'a [BoundValue<'a>]),
    Record(RecordValues<'a>),
}

impl<'a> Values<'a> {
    fn few<const N: usize>(values: [BoundValue<'a>; N]) -> Values<'a> {
        let mut all = [BoundValue::Int(0); 6];
        all[..N].copy_from_slice(&values);
        Values::Few(all, N)
    }

    pub(crate) fn as_slice(&self) -> &[BoundValue<'a>] {
        match self {
            Values::Few(values, count) => &values[..*count],
            Values::Many(values) => values,
            Values::Record(values) => values,
        }
    }
}

impl Buffers {
    /// Draws the values of a statement of `kind`, in the order of its parameters.
    #[inline]
    pub(crate) fn values<'a>(
        &'a mut self,
        kind: StatementKind,
        program: &Program,
        points: &KeyChooser,
        rng: &mut Rng,
    ) -> Values<'a> {
        let id = |rng: &mut Rng| program.rows.draw(rng).cast_signed();
        match kind {
            StatementKind::Begin
            | StatementKind::Commit
            | StatementKind::FileRead
            | StatementKind::FileWrite
            | StatementKind::FileFsync => Values::few([]),
            StatementKind::PointSelect
            | StatementKind::PadSelect
            | StatementKind::IndexUpdate
            | StatementKind::TextSelect => Values::few([BoundValue::Int(id(rng))]),
            StatementKind::SimpleRange
            | StatementKind::SumRange
            | StatementKind::OrderRange
            | StatementKind::DistinctRange => {
                let (low, high) = ends(kind, id(rng), program);
                Values::few([BoundValue::Int(low), BoundValue::Int(high)])
            }
            StatementKind::NonIndexUpdate if program.generator == Generator::V04 => {
                let id = id(rng);
                rows::fill_integers(rng, 10, &mut self.data[0]);
                Values::few([BoundValue::Bytes(&self.data[0]), BoundValue::Int(id)])
            }
            StatementKind::NonIndexUpdate => {
                let id = id(rng);
                rows::fill_c(rng, &mut self.c);
                Values::few([BoundValue::Bytes(&self.c), BoundValue::Int(id)])
            }
            StatementKind::TextUpdate => {
                let id = id(rng);
                self.fill_text(0, program, rng);
                Values::few([BoundValue::Bytes(&self.data[0]), BoundValue::Int(id)])
            }
            StatementKind::UpdateBeforeDelete => {
                let id = id(rng);
                self.doomed = Some(id);
                Values::few([BoundValue::Int(id)])
            }
            StatementKind::Delete => {
                self.deleted = self.doomed.take().unwrap_or_else(|| id(rng));
                Values::few([BoundValue::Int(self.deleted)])
            }
            StatementKind::WalkDelete => Values::few([BoundValue::Int(self.walk(program))]),
            StatementKind::WalkInsert => self.walked_row(program, rng),
            StatementKind::Insert if program.generator == Generator::V04 => {
                Values::few([BoundValue::Int(self.deleted)])
            }
            StatementKind::Insert => self.row(self.deleted, program, rng),
            StatementKind::InsertNew => {
                let id = match program.auto_inc {
                    true => 0,
                    false => i64::from(program.unique.next()) - (1 << 31),
                };
                self.row(id, program, rng)
            }
            StatementKind::RandomPoints => {
                let count = program.workload.random_points;
                self.numbers.clear();
                self.numbers
                    .extend((0..count).map(|_| BoundValue::Int(points.draw(rng).cast_signed())));
                Values::Many(&self.numbers)
            }
            StatementKind::RandomRanges => {
                self.numbers.clear();
                for _ in 0..program.workload.number_of_ranges {
                    let low = points.draw(rng).cast_signed();
                    let high = low + program.workload.delta.cast_signed();
                    self.numbers.extend([BoundValue::Int(low), BoundValue::Int(high)]);
                }
                Values::Many(&self.numbers)
            }
            StatementKind::RecordRead
            | StatementKind::RecordUpdate
            | StatementKind::RecordInsert
            | StatementKind::RecordScan
            | StatementKind::ReadModifyWrite => match (&mut self.drawn, &program.operations) {
                (Some(drawn), Some(operations)) => {
                    Values::Record(drawn.values(kind, operations, rng))
                }
                _ => Values::few([]),
            },
        }
    }

    /// The next row of the walk; the current one for a retried event.
    fn walk(&mut self, program: &Program) -> i64 {
        if !self.again {
            self.deleted = program.walk.next().cast_signed();
        }
        self.deleted
    }

    /// A row of random integers; the server may assign its id.
    fn walked_row<'a>(&'a mut self, program: &Program, rng: &mut Rng) -> Values<'a> {
        let k = BoundValue::Int(program.rows.draw(rng).cast_signed());
        let id = (!program.auto_inc).then(|| BoundValue::Int(self.walk(program)));
        rows::fill_integers(rng, 10, &mut self.data[0]);
        rows::fill_integers(rng, 5, &mut self.data[1]);
        let [c, pad] = [BoundValue::Bytes(&self.data[0]), BoundValue::Bytes(&self.data[1])];
        id.map_or_else(|| Values::few([k, c, pad]), |id| Values::few([id, k, c, pad]))
    }

    fn row<'a>(&'a mut self, id: i64, program: &Program, rng: &mut Rng) -> Values<'a> {
        let k = program.rows.draw(rng).cast_signed();
        rows::fill_c(rng, &mut self.c);
        rows::fill_pad(rng, &mut self.pad);
        let [id, k, c, pad] = [
            BoundValue::Int(id),
            BoundValue::Int(k),
            BoundValue::Bytes(&self.c),
            BoundValue::Bytes(&self.pad),
        ];
        if program.text.is_none() {
            return Values::few([id, k, c, pad]);
        }
        for place in 0..2 {
            fill_line(&mut self.data[place], program, rng);
        }
        let [data1, data2] = &self.data;
        Values::few([id, k, c, pad, BoundValue::Bytes(data1), BoundValue::Bytes(data2)])
    }

    fn fill_text(&mut self, place: usize, program: &Program, rng: &mut Rng) {
        fill_line(&mut self.data[place], program, rng);
    }
}

fn fill_line(line: &mut Vec<u8>, program: &Program, rng: &mut Rng) {
    line.clear();
    if let Some(text) = &program.text {
        text.line(rng, TEXT_BYTES_MAX, line);
    }
}

/// The two parameters of a range that starts at `low`.
fn ends(kind: StatementKind, low: i64, program: &Program) -> (i64, i64) {
    let size = program.workload.range_size.cast_signed();
    match program.generator {
        // The server adds the rest.
        Generator::V05 => (low, low),
        Generator::Legacy | Generator::V10 | Generator::Ycsb => (low, low + size - 1),
        Generator::V04 => {
            let rows = program.table_size.cast_signed();
            let low = if low + size > rows { (rows - size).max(1) } else { low };
            // The distinct range is one row longer than the others.
            (low, low + size - i64::from(kind != StatementKind::DistinctRange))
        }
    }
}
