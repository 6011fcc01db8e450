//! Measurements as YCSB's exporters write them (`site.ycsb.measurements.exporter`).

use std::fmt::Write;

/// A value with the words before it in YCSB's text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measurement {
    /// `OVERALL`, or an operation: `READ`, `Intended-READ`.
    pub(super) metric: String,
    /// E.g. `AverageLatency(us)`.
    pub(super) name: String,
    pub(super) value: Value,
}

/// A value, printed as by Java's types.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    Whole(u64),
    Double(f64),
    /// Java's `-1` for an unknown number.
    MinusOne,
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Whole(value) => write!(f, "{value}"),
            // Always with a decimal point, as in Java.
            Value::Double(value) => write!(f, "{value:?}"),
            Value::MinusOne => f.write_str("-1"),
        }
    }
}

/// The format of measurements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Exporter {
    /// `[READ], Operations, 5` to a line: `TextMeasurementsExporter`.
    #[default]
    Text,
    /// A sequence of objects: `JSONMeasurementsExporter`.
    Json,
    /// An array of objects: `JSONArrayMeasurementsExporter`.
    JsonArray,
}

impl Exporter {
    /// Java's classes of this name, without their package.
    pub(super) const NAMES: [(&'static str, Exporter); 3] = [
        ("TextMeasurementsExporter", Exporter::Text),
        ("JSONMeasurementsExporter", Exporter::Json),
        ("JSONArrayMeasurementsExporter", Exporter::JsonArray),
    ];

    /// The text that the exporter writes to a file.
    pub(super) fn write(self, all: &[Measurement]) -> String {
        match self {
            Exporter::Text => all.iter().map(text).collect(),
            Exporter::Json => all.iter().map(object).collect::<Vec<_>>().join(" "),
            Exporter::JsonArray => {
                format!("[ {} ]", all.iter().map(object).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

fn text(one: &Measurement) -> String {
    format!("[{}], {}, {}\n", one.metric, one.name, one.value)
}

/// An object in the form of Jackson's default pretty printer.
fn object(one: &Measurement) -> String {
    let mut text = String::new();
    // Jackson quotes values that JSON cannot express as numbers.
    let value = match one.value {
        Value::Double(value) if value.is_nan() => "\"NaN\"".into(),
        value => value.to_string(),
    };
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let _ = write!(
        text,
        "{{\n  \"metric\" : {},\n  \"measurement\" : {},\n  \"value\" : {}\n}}",
        quoted(&one.metric),
        quoted(&one.name),
        value
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exporters_write_as_ycsbs_own_do() {
        let measurement = |metric: &str, name: &str, value| Measurement {
            metric: metric.into(),
            name: name.into(),
            value,
        };
        let all = [
            measurement("OVERALL", "RunTime(ms)", Value::Whole(1234)),
            measurement("READ", "AverageLatency(us)", Value::Double(5.0)),
        ];
        assert_eq!(
            Exporter::Text.write(&all),
            "[OVERALL], RunTime(ms), 1234\n[READ], AverageLatency(us), 5.0\n"
        );
        let objects: Vec<serde_json::Value> =
            serde_json::from_str(&Exporter::JsonArray.write(&all)).unwrap();
        assert_eq!(objects[1]["value"], 5.0);
        let text = Exporter::Json.write(&all);
        let mut objects = serde_json::Deserializer::from_str(&text).into_iter();
        let first: serde_json::Value = objects.next().unwrap().unwrap();
        assert_eq!((&first["metric"], &first["value"]), (&"OVERALL".into(), &1234.into()));
        assert_eq!(objects.count(), 1);
    }
}
