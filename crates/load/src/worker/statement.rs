//! The values of each statement, and how it travels: prepared, or as text.

use crate::keys::Keys;
use crate::oltp::Kind;
use crate::program::Program;
use crate::random::Rng;
use crate::rows;
use crate::schema::{C_BYTES, PAD_BYTES, TEXT_BYTES_MAX};
use crate::session::{Reply, Session, SessionError, StatementId, Value};

/// The server cannot prepare this statement (`ER_UNSUPPORTED_PS`), such as `BEGIN`.
const UNSUPPORTED_PS: u16 = 1295;

/// How every statement of a session travels.
pub(crate) struct Slots {
    /// By kind, then by table; absent where it travels as text.
    prepared: Vec<Vec<Option<StatementId>>>,
    text: Vec<u8>,
}

impl Slots {
    /// Prepares all statements of the program; an error comes with the statement it is about.
    pub(crate) fn prepare<S: Session>(
        session: &mut S,
        program: &Program,
    ) -> Result<Slots, (SessionError, String)> {
        let mut slots = Slots { prepared: vec![Vec::new(); Kind::COUNT], text: Vec::new() };
        for texts in &program.statements {
            let place = &mut slots.prepared[texts.kind as usize];
            for text in &texts.by_table {
                place.push(match texts.prepare {
                    true => prepare_one(session, text).map_err(|error| (error, text.clone()))?,
                    false => None,
                });
            }
        }
        Ok(slots)
    }

    /// Runs the statement of `kind` for `table`.
    #[inline]
    pub(crate) fn run<S: Session>(
        &mut self,
        session: &mut S,
        kind: Kind,
        table: usize,
        program: &Program,
        values: &[Value<'_>],
    ) -> Result<Reply, SessionError> {
        match self.prepared[kind as usize][table] {
            Some(id) => session.execute(id, values),
            None => {
                self.text.clear();
                render(program.statement(kind, table), values, &mut self.text);
                session.query(&self.text)
            }
        }
    }
}

fn prepare_one<S: Session>(
    session: &mut S,
    text: &str,
) -> Result<Option<StatementId>, SessionError> {
    match session.prepare(text) {
        Ok(id) => Ok(Some(id)),
        Err(SessionError::Server { code: UNSUPPORTED_PS, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes `template` with its `?` replaced by `values`.
pub(crate) fn render(template: &str, values: &[Value<'_>], out: &mut Vec<u8>) {
    let mut values = values.iter();
    for &byte in template.as_bytes() {
        match (byte, (byte == b'?').then(|| values.next()).flatten()) {
            (_, Some(Value::Int(number))) => rows::push_number(out, *number),
            (_, Some(Value::Bytes(bytes))) => push_quoted(out, bytes),
            (byte, None) => out.push(byte),
        }
    }
}

/// Appends a string literal. Backslashes are doubled too, as the default `sql_mode` asks.
fn push_quoted(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'\'');
    for &byte in bytes {
        if matches!(byte, b'\'' | b'\\') {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'\'');
}

/// The values of the statement at hand, in buffers that are used again.
pub(crate) struct Buffers {
    c: [u8; C_BYTES],
    pad: [u8; PAD_BYTES],
    data: [Vec<u8>; 2],
    numbers: Vec<Value<'static>>,
    /// The row deleted last, to be inserted again.
    deleted: i64,
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers {
            c: [0; C_BYTES],
            pad: [0; PAD_BYTES],
            data: Default::default(),
            numbers: Vec::new(),
            deleted: 0,
        }
    }
}

/// A few values on the stack, or many in a buffer.
pub(crate) enum Values<'a> {
    Few([Value<'a>; 6], usize),
    Many(&'a [Value<'a>]),
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
            Kind::Begin | Kind::Commit => Values::few([]),
            Kind::PointSelect | Kind::IndexUpdate | Kind::TextSelect => {
                Values::few([Value::Int(id(rng))])
            }
            Kind::SimpleRange | Kind::SumRange | Kind::OrderRange | Kind::DistinctRange => {
                let low = id(rng);
                let high = low + program.workload.range_size.cast_signed() - 1;
                Values::few([Value::Int(low), Value::Int(high)])
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
            Kind::Delete => {
                self.deleted = id(rng);
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
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(template: &str, values: &[Value<'_>]) -> String {
        let mut out = Vec::new();
        render(template, values, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_take_the_places_in_order() {
        let text =
            rendered("UPDATE t SET c=? WHERE id=?", &[Value::Bytes(b"a'b\\"), Value::Int(-7)]);
        assert_eq!(text, r"UPDATE t SET c='a''b\\' WHERE id=-7");
        assert_eq!(rendered("COMMIT", &[]), "COMMIT");
    }
}
