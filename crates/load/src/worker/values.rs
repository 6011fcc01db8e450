//! The values of each statement, as each generator draws them.

use crate::generator::Generator;
use crate::keys::Keys;
use crate::oltp::Kind;
use crate::operations::{Drawn, RecordValues};
use crate::program::Program;
use crate::random::Rng;
use crate::rows;
use crate::schema::{C_BYTES, PAD_BYTES, TEXT_BYTES_MAX};
use assay_mysql::Value;

/// The values of the statement at hand, in buffers that are used again.
pub(crate) struct Buffers {
    c: [u8; C_BYTES],
    pad: [u8; PAD_BYTES],
    data: [Vec<u8>; 2],
    numbers: Vec<Value<'static>>,
    /// The row updated last, to be deleted next.
    doomed: Option<i64>,
    /// The row deleted last, to be inserted again.
    deleted: i64,
    /// Whether the event is tried again, with the rows of a walk that it had.
    pub(crate) again: bool,
    /// YCSB's operation at hand.
    pub(crate) drawn: Option<Drawn>,
}

impl Buffers {
    /// With the operations of a YCSB workload, if it is one.
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
    Few([Value<'a>; 6], usize),
    Many(&'a [Value<'a>]),
    Record(RecordValues<'a>),
}

impl<'a> Values<'a> {
    fn few<const N: usize>(values: [Value<'a>; N]) -> Values<'a> {
        let mut all = [Value::Int(0); 6];
        all[..N].copy_from_slice(&values);
        Values::Few(all, N)
    }

    pub(crate) fn as_slice(&self) -> &[Value<'a>] {
        match self {
            Values::Few(values, count) => &values[..*count],
            Values::Many(values) => values,
            Values::Record(values) => values,
        }
    }
}

impl Buffers {
    /// Draws the values of a statement of `kind`, in the order of its places.
    #[inline]
    pub(crate) fn values<'a>(
        &'a mut self,
        kind: Kind,
        program: &Program,
        points: &Keys,
        rng: &mut Rng,
    ) -> Values<'a> {
        let id = |rng: &mut Rng| program.rows.draw(rng).cast_signed();
        match kind {
            Kind::Begin | Kind::Commit | Kind::FileRead | Kind::FileWrite | Kind::FileFsync => {
                Values::few([])
            }
            Kind::PointSelect | Kind::PadSelect | Kind::IndexUpdate | Kind::TextSelect => {
                Values::few([Value::Int(id(rng))])
            }
            Kind::SimpleRange | Kind::SumRange | Kind::OrderRange | Kind::DistinctRange => {
                let (low, high) = ends(kind, id(rng), program);
                Values::few([Value::Int(low), Value::Int(high)])
            }
            Kind::NonIndexUpdate if program.generator == Generator::V04 => {
                let id = id(rng);
                rows::fill_integers(rng, 10, &mut self.data[0]);
                Values::few([Value::Bytes(&self.data[0]), Value::Int(id)])
            }
            Kind::NonIndexUpdate => {
                let id = id(rng);
                rows::fill_c(rng, &mut self.c);
                Values::few([Value::Bytes(&self.c), Value::Int(id)])
            }
            Kind::TextUpdate => {
                let id = id(rng);
                self.fill_text(0, program, rng);
                Values::few([Value::Bytes(&self.data[0]), Value::Int(id)])
            }
            Kind::UpdateBeforeDelete => {
                let id = id(rng);
                self.doomed = Some(id);
                Values::few([Value::Int(id)])
            }
            Kind::Delete => {
                self.deleted = self.doomed.take().unwrap_or_else(|| id(rng));
                Values::few([Value::Int(self.deleted)])
            }
            Kind::WalkDelete => Values::few([Value::Int(self.walk(program))]),
            Kind::WalkInsert => self.walked_row(program, rng),
            Kind::Insert if program.generator == Generator::V04 => {
                Values::few([Value::Int(self.deleted)])
            }
            Kind::Insert => self.row(self.deleted, program, rng),
            Kind::InsertNew => {
                let id = match program.auto_inc {
                    true => 0,
                    false => i64::from(program.unique.next()) - (1 << 31),
                };
                self.row(id, program, rng)
            }
            Kind::RandomPoints => {
                let count = program.workload.random_points;
                self.numbers.clear();
                self.numbers.extend((0..count).map(|_| Value::Int(points.draw(rng).cast_signed())));
                Values::Many(&self.numbers)
            }
            Kind::RandomRanges => {
                self.numbers.clear();
                for _ in 0..program.workload.number_of_ranges {
                    let low = points.draw(rng).cast_signed();
                    let high = low + program.workload.delta.cast_signed();
                    self.numbers.extend([Value::Int(low), Value::Int(high)]);
                }
                Values::Many(&self.numbers)
            }
            Kind::RecordRead
            | Kind::RecordUpdate
            | Kind::RecordInsert
            | Kind::RecordScan
            | Kind::ReadModifyWrite => match (&mut self.drawn, &program.operations) {
                (Some(drawn), Some(operations)) => {
                    Values::Record(drawn.values(kind, operations, rng))
                }
                _ => Values::few([]),
            },
        }
    }

    /// The next row of the walk; the one at hand if the event is tried again.
    fn walk(&mut self, program: &Program) -> i64 {
        if !self.again {
            self.deleted = program.walk.next().cast_signed();
        }
        self.deleted
    }

    /// A row of random integers, whose id the server may give.
    fn walked_row<'a>(&'a mut self, program: &Program, rng: &mut Rng) -> Values<'a> {
        let k = Value::Int(program.rows.draw(rng).cast_signed());
        let id = (!program.auto_inc).then(|| Value::Int(self.walk(program)));
        rows::fill_integers(rng, 10, &mut self.data[0]);
        rows::fill_integers(rng, 5, &mut self.data[1]);
        let [c, pad] = [Value::Bytes(&self.data[0]), Value::Bytes(&self.data[1])];
        id.map_or_else(|| Values::few([k, c, pad]), |id| Values::few([id, k, c, pad]))
    }

    fn row<'a>(&'a mut self, id: i64, program: &Program, rng: &mut Rng) -> Values<'a> {
        let k = program.rows.draw(rng).cast_signed();
        rows::fill_c(rng, &mut self.c);
        rows::fill_pad(rng, &mut self.pad);
        let [id, k, c, pad] =
            [Value::Int(id), Value::Int(k), Value::Bytes(&self.c), Value::Bytes(&self.pad)];
        if program.text.is_none() {
            return Values::few([id, k, c, pad]);
        }
        for place in 0..2 {
            fill_line(&mut self.data[place], program, rng);
        }
        let [data1, data2] = &self.data;
        Values::few([id, k, c, pad, Value::Bytes(data1), Value::Bytes(data2)])
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

/// What stands in the two places of a range that begins at `low`.
fn ends(kind: Kind, low: i64, program: &Program) -> (i64, i64) {
    let size = program.workload.range_size.cast_signed();
    match program.generator {
        // The server adds the rest.
        Generator::V05 => (low, low),
        Generator::Legacy | Generator::V10 | Generator::Ycsb => (low, low + size - 1),
        Generator::V04 => {
            let rows = program.table_size.cast_signed();
            let low = if low + size > rows { (rows - size).max(1) } else { low };
            // The distinct range is one row longer than the others.
            (low, low + size - i64::from(kind != Kind::DistinctRange))
        }
    }
}
