//! Prints presets and the figures that follow from them, as text and as JSON.

use serde_json::{Value, json};

use super::measure::MeasuredModel;
use crate::print;
use assay_base::text::{grouped, number};
use assay_presets::Device;
use assay_presets::Mark;
use assay_presets::closed::Closed;
use assay_presets::preset::{Preset, PresetRow};
use assay_presets::{Obtained, Scale};

/// A device with its numbers and figures.
pub(crate) struct DeviceView<'a> {
    pub preset: &'a Preset,
    pub rows: Vec<PresetRow>,
    pub scale: Scale,
    pub device: &'a Device,
    /// Share of the logical size that holds data.
    pub fill: f64,
    pub closed: Vec<Closed>,
    /// Figures of fio, if the model was measured.
    pub measured: Option<MeasuredModel>,
}

/// Prints a line for each preset.
pub(crate) fn list(presets: &[Preset]) {
    let width = presets.iter().map(|preset| preset.name.len()).max().unwrap_or_default();
    for preset in presets {
        let document = &preset.document;
        print::line(format_args!(
            "{:<width$}  {:<8}  {}",
            preset.name,
            document.kind.name(),
            document.title
        ));
    }
}

#[must_use]
pub(crate) fn list_json(presets: &[Preset]) -> Value {
    let entry = |preset: &Preset| {
        let document = &preset.document;
        json!({ "name": preset.name, "kind": document.kind.name(), "title": document.title })
    };
    presets.iter().map(entry).collect()
}

impl DeviceView<'_> {
    pub fn print(&self) {
        let document = &self.preset.document;
        print::line(format_args!("{}: {}", self.preset.name, document.title));
        document.about.trim().lines().for_each(print::line);
        let fault = self.preset.fault();
        if !fault.is_none() {
            print::line(format_args!("It has an injected fault: it {fault}."));
        }
        print::line("");
        let rows = self.rows.iter().map(|row| {
            let because = row.differs.as_ref().map(|why| format!("; the model differs: {why}"));
            let source = row.source.clone() + &because.unwrap_or_default();
            [row.key.clone(), value(&row.value), row.mark.name().into(), source]
        });
        table(rows.collect());
        if self.scale != Scale::default() {
            print::line(format_args!(
                "\nAt a capacity scale of {} and a parallel scale of {}; latencies do not change",
                self.scale.capacity, self.scale.parallel
            ));
            table(self.device.obtained().iter().map(obtained).collect());
        }
        print::line(format_args!(
            "\nDerived figures, {:.0} % full, incompressible data unless noted",
            self.fill * 100.0
        ));
        table(self.closed.iter().map(closed).collect());
        self.measured.iter().for_each(print_measured);
    }

    #[must_use]
    pub fn json(&self) -> Value {
        let document = &self.preset.document;
        let row = |row: &PresetRow| {
            json!({
                "key": row.key, "value": row.value, "mark": row.mark, "source": row.source,
                "differs": row.differs,
            })
        };
        json!({
            "name": self.preset.name,
            "kind": document.kind.name(),
            "title": document.title,
            "about": document.about.trim(),
            "numbers": self.rows.iter().map(row).collect::<Vec<_>>(),
            "capacity_scale": self.scale.capacity,
            "parallel_scale": self.scale.parallel,
            "obtained": self.device.obtained(),
            "fill": self.fill,
            "closed": self.closed,
            "measured": self.measured,
        })
    }
}

/// Prints measured figures next to derived ones.
fn print_measured(measured: &MeasuredModel) {
    print::line(format_args!(
        "\nMeasured with fio; the port alone takes {:.0} us{}",
        measured.port_us,
        measured.write_amplification.map_or_else(String::new, |times| format!(
            ", steady-state write amplification of random writes {times:.2}"
        ))
    ));
    if let Some(ratio) = measured.ratio {
        print::line(format_args!(
            "Derived figures use {ratio:.3}, the compression ratio that the preconditioned model \
             reported"
        ));
    }
    let heads =
        ["", "follows", "measured", "ratio", "missed", "too fast", "added"].map(str::to_owned);
    let rows = measured.figures.iter().map(|figure| {
        let percent = |share: f64| format!("{:.2} %", share * 100.0);
        let note = if figure.comparable { "" } else { "  not comparable: " };
        [
            figure.closed.name.into(),
            number(figure.closed.value),
            number(figure.measured),
            format!("{:.3}", figure.ratio),
            percent(figure.missed_deadline_share),
            percent(figure.too_fast_share),
            format!("{:>8}", figure.added_share.map_or_else(|| "–".into(), percent))
                + note
                + &figure.reasons.join(", "),
        ]
    });
    for [name, follows, measured, ratio, missed, below, added] in std::iter::once(heads).chain(rows)
    {
        let text = format!(
            "  {name:<20}  {follows:>15}  {measured:>15}  {ratio:>6}  {missed:>8}  {below:>10}  \
             {added:>8}"
        );
        print::line(text.trim_end());
    }
}

fn obtained(resource: &Obtained) -> [String; 4] {
    let factor = format!("1/{}", number(resource.factor));
    let of_real = format!("of {}", number(resource.real));
    [resource.resource.clone(), number(resource.modelled), factor, of_real]
}

fn closed(figure: &Closed) -> [String; 4] {
    let note = if figure.mark == Mark::Fitted { "depends on a fitted number" } else { "" };
    [figure.name.into(), number(figure.value), figure.mark.name().into(), note.into()]
}

/// Prints rows of four columns; the second is aligned to the right.
pub(crate) fn table(rows: Vec<[String; 4]>) {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let widths = [width(0), width(1), width(2)];
    for [name, value, mark, rest] in &rows {
        let line = format!(
            "  {name:<0$}  {value:>1$}  {mark:<2$}  {rest}",
            widths[0], widths[1], widths[2]
        );
        print::line(line.trim_end());
    }
}

fn value(value: &toml::Value) -> String {
    match value {
        toml::Value::Integer(integer) => grouped(&integer.to_string()),
        toml::Value::Float(float) => float.to_string(),
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
