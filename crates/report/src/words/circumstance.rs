//! Under what two studies were run, where that differs.

use serde::{Serialize, Serializer};

use assay_judge::{Circumstance, Form, Value};

use super::{NONE, rig};

/// `memory: 15.5 GiB and 7.8 GiB`.
pub fn text(one: &Circumstance) -> String {
    format!("{}: {} and {}", one.what, value(one.a.as_ref()), value(one.b.as_ref()))
}

fn value(value: Option<&Value>) -> String {
    match value {
        None => NONE.into(),
        Some(Value::Text(text)) => text.clone(),
        Some(Value::Range { first, last }) if first == last => first.clone(),
        Some(Value::Range { first, last }) => format!("{first} to {last}"),
        Some(Value::Memory { gib_tenths }) => {
            format!("{}.{} GiB", gib_tenths / 10, gib_tenths % 10)
        }
        Some(Value::Repeats(count)) => count.to_string(),
        Some(Value::Lengths { least_s, most_s }) if least_s < most_s => {
            format!("{least_s} to {most_s}")
        }
        Some(Value::Lengths { least_s, .. }) => least_s.to_string(),
        Some(Value::Form(Form::Full)) => "full".into(),
        Some(Value::Form(Form::Quick)) => "quick".into(),
        Some(Value::Layer(layer)) => rig::text(layer),
    }
}

/// A circumstance as JSON has it.
#[derive(Debug, Serialize)]
struct CircumstanceView<'a> {
    what: &'a str,
    a: String,
    b: String,
}

/// Circumstances as JSON has them, for `serialize_with`.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(all: &[Circumstance], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(all.iter().map(|one| CircumstanceView {
        what: &one.what,
        a: value(one.a.as_ref()),
        b: value(one.b.as_ref()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_has_its_words() {
        let told =
            |a: Option<Value>, b: Option<Value>| text(&Circumstance { what: "it".into(), a, b });
        let memory = |gib_tenths| Some(Value::Memory { gib_tenths });
        assert_eq!(told(memory(155), memory(78)), "it: 15.5 GiB and 7.8 GiB");
        let range =
            |first: &str, last: &str| Some(Value::Range { first: first.into(), last: last.into() });
        assert_eq!(
            told(range("2026-01-02", "2026-01-02"), range("2026-01-02", "2026-01-03")),
            "it: 2026-01-02 and 2026-01-02 to 2026-01-03"
        );
        let lengths = |least_s, most_s| Some(Value::Lengths { least_s, most_s });
        assert_eq!(told(lengths(10.0, 10.0), lengths(9.0, 12.0)), "it: 10 and 9 to 12");
        assert_eq!(
            told(Some(Value::Form(Form::Full)), Some(Value::Form(Form::Quick))),
            "it: full and quick"
        );
        assert_eq!(told(Some(Value::Repeats(3)), Some(Value::Text("x".into()))), "it: 3 and x");
        assert_eq!(told(None, Some(Value::Text("64M".into()))), "it: none and 64M");
    }
}
