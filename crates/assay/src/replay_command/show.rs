//! Prints a replay's result as text.

use super::result::{KindSummary, LatencySummary, ReplayResult, ScaledDevice};
use crate::print;
use assay_base::text::number;
use assay_base::text::{counted, size, time};

/// Share of never-written blocks among those read up to which the effect is lost in noise.
const UNWRITTEN_SHARE_MAX: f64 = 0.01;

pub(crate) fn print(result: &ReplayResult) {
    print::line(format_args!("recorded   {}", named(&result.recorded)));
    print::line(format_args!("predicted  {}", named(&result.predicted)));
    if let Some(ratio) = result.assumed_ratio {
        let note = if ratio > 1.0 { "as given" } else { "change it with --ratio" };
        print::line(format_args!(
            "assumed    compression ratio {}, {note}: the recorded device did not compress",
            number(ratio)
        ));
    }
    let coming = match result.as_recorded {
        true => "at recorded arrival times",
        false => "at recorded delays after the previous answer",
    };
    print::line(format_args!(
        "replayed   {}, {coming}",
        counted(result.replayed_commands as u64, "command")
    ));
    print::line(format_args!("compared   {:.1} s to {:.1} s", result.from_s, result.to_s));
    print::line("");
    print_latencies(result);
    print::line("");
    print_waits(result);
    if let (Some(media), Some(host)) = (result.write_bytes_media, result.write_bytes_host) {
        let per_byte = result.write_amplification;
        let per_byte =
            per_byte.map_or_else(String::new, |times| format!(", {} for each", number(times)));
        print::line(format_args!(
            "flash      {} written for {} of the host{per_byte}",
            size(media as f64),
            size(host as f64)
        ));
    }
    if let Some(share) = result.unwritten_read_share.filter(|share| *share > UNWRITTEN_SHARE_MAX) {
        print::line(format_args!(
            "too fast   {:.0} % of the blocks read were never written, so the flash had nothing to \
             read: fill the device before recording",
            share * 100.0
        ));
    }
    print::line(format_args!(
        "took       {:.1} s for {} of device time, {} times real time",
        result.elapsed_s,
        time(result.virtual_s),
        number(result.times_real_time)
    ));
}

fn named(device: &ScaledDevice) -> String {
    let scale = device.scale;
    format!("{}, capacity ÷ {}, parallel ÷ {}", device.name, scale.capacity, scale.parallel)
}

/// Name of a figure, and the figure of a summary.
type Figure = (&'static str, fn(&LatencySummary) -> f64);

const FIGURES: [Figure; 3] = [
    ("mean", |latency| latency.mean_us),
    ("p50", |latency| latency.p50_us),
    ("p99", |latency| latency.p99_us),
];

fn print_latencies(result: &ReplayResult) {
    let head = ["µs", "", "modelled", "achieved", "predicted", "÷ modelled", "÷ achieved"];
    let mut rows = vec![head.map(str::to_owned)];
    for (kind, of_kind) in &result.kinds {
        rows.extend(FIGURES.iter().enumerate().map(|(index, figure)| {
            let name = match index {
                0 => format!("{kind}, {}", of_kind.commands),
                _ => String::new(),
            };
            row(name, *figure, of_kind)
        }));
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; 7] = std::array::from_fn(|column| width(column).unwrap_or_default());
    for row in &rows {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (text, width))| {
            if column < 2 { format!("{text:<width$}") } else { format!("{text:>width$}") }
        });
        print::line(cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    print::line(format_args!(
        "achieved: with the port's {} µs and the delays of the machine that recorded",
        number(result.port_us)
    ));
}

fn row(name: String, (figure, take): Figure, of_kind: &KindSummary) -> [String; 7] {
    let predicted = take(&of_kind.predicted);
    let recorded = [take(&of_kind.recorded_modelled), take(&of_kind.recorded_achieved)];
    let [per_modelled, per_achieved] = recorded.map(|mean_us| match mean_us > 0.0 {
        true => format!("{:.3}", predicted / mean_us),
        false => "–".into(),
    });
    let [modelled, achieved] = recorded.map(number);
    [name, figure.into(), modelled, achieved, number(predicted), per_modelled, per_achieved]
}

fn print_waits(result: &ReplayResult) {
    let all: u64 = result.waited.values().sum();
    let mut waits: Vec<_> = result.waited.iter().collect();
    waits.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let shares = waits.iter().map(|(resource, count)| {
        format!("{resource} {:.1} %", 100.0 * **count as f64 / all as f64)
    });
    print::line(format_args!("waited for {}", shares.collect::<Vec<_>>().join(", ")));
}
