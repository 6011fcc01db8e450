//! Sending statements, prepared or as text.

use crate::oltp::StatementKind;
use crate::program::Program;
use crate::rows;
use assay_mysql::{BoundValue, Session, SessionError, StatementId};

/// The server cannot prepare this statement (`ER_UNSUPPORTED_PS`), such as `BEGIN`.
const UNSUPPORTED_PS: u16 = 1295;

/// The prepared statements of a session.
pub(crate) struct Slots {
    /// By kind, then by table; absent for statements sent as text.
    prepared: Vec<Vec<Option<StatementId>>>,
    text: Vec<u8>,
}

impl Slots {
    /// Prepares all statements of the program; an error comes with the statement it is about.
    pub(crate) async fn prepare<S: Session>(
        session: &mut S,
        program: &Program,
    ) -> Result<Slots, (SessionError, String)> {
        let mut slots =
            Slots { prepared: vec![Vec::new(); StatementKind::COUNT], text: Vec::new() };
        for texts in &program.statements {
            let place = &mut slots.prepared[texts.kind as usize];
            for text in &texts.by_table {
                place.push(match texts.prepare {
                    true => {
                        let prepared = prepare_one(session, text).await;
                        prepared.map_err(|error| (error, text.clone()))?
                    }
                    false => None,
                });
            }
        }
        Ok(slots)
    }

    /// Buffers the statement of `kind` for `table`.
    #[inline]
    pub(crate) fn put<S: Session>(
        &mut self,
        session: &mut S,
        kind: StatementKind,
        table: usize,
        program: &Program,
        values: &[BoundValue<'_>],
    ) -> Result<(), SessionError> {
        match self.prepared[kind as usize][table] {
            Some(id) => session.put_execute(id, values),
            None => {
                self.text.clear();
                render(program.statement(kind, table), values, &mut self.text);
                session.put_query(&self.text);
                Ok(())
            }
        }
    }
}

async fn prepare_one<S: Session>(
    session: &mut S,
    text: &str,
) -> Result<Option<StatementId>, SessionError> {
    match session.prepare(text).await {
        Ok(id) => Ok(Some(id)),
        Err(SessionError::Server { code: UNSUPPORTED_PS, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes `template` with its `?` replaced by `values`.
pub(crate) fn render(template: &str, values: &[BoundValue<'_>], out: &mut Vec<u8>) {
    let mut values = values.iter();
    for &byte in template.as_bytes() {
        match (byte, (byte == b'?').then(|| values.next()).flatten()) {
            (_, Some(BoundValue::Int(number))) => rows::push_number(out, *number),
            (_, Some(BoundValue::Bytes(bytes))) => push_quoted(out, bytes),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(template: &str, values: &[BoundValue<'_>]) -> String {
        let mut out = Vec::new();
        render(template, values, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_take_the_places_in_order() {
        let text = rendered(
            "UPDATE t SET c=? WHERE id=?",
            &[BoundValue::Bytes(b"a'b\\"), BoundValue::Int(-7)],
        );
        assert_eq!(text, r"UPDATE t SET c='a''b\\' WHERE id=-7");
        assert_eq!(rendered("COMMIT", &[]), "COMMIT");
    }
}
