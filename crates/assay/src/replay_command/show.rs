//! A replay's result for people.

use super::outcome::{Latency, Named, OfKind, Outcome};
use crate::print;
use assay_base::text::number;
use assay_base::text::{counted, size, time};

/// Below this share of reads, never-written blocks make no visible difference.
const UNWRITTEN_SHARE_MAX: f64 = 0.01;

pub fn print(outcome: &Outcome) {
    print::line(format_args!("recorded   {}", named(&outcome.recorded)));
    print::line(format_args!("asked      {}", named(&outcome.predicted)));
    if let Some(ratio) = outcome.assumed_ratio {
        let note = if ratio > 1.0 { "as given" } else { "change it with --ratio" };
        print::line(format_args!(
            "assumed    compression ratio {}, {note}: the recorded device did not compress",
            number(ratio)
        ));
    }
    let coming = match outcome.as_recorded {
        true => "at recorded arrival times",
        false => "at recorded delays after the previous answer",
    };
    print::line(format_args!(
        "replayed   {}, {coming}",
        counted(outcome.replayed_commands as u64, "command")
    ));
    print::line(format_args!("compared   {:.1} s to {:.1} s", outcome.from_s, outcome.to_s));
    print::line("");
    print_latencies(outcome);
    print::line("");
    print_waits(outcome);
    if let (Some(media), Some(host)) = (outcome.write_bytes_media, outcome.write_bytes_host) {
        let per_byte = outcome.write_amplification;
        let per_byte =
            per_byte.map_or_else(String::new, |times| format!(", {} for each", number(times)));
        print::line(format_args!(
            "flash      {} written for {} of the host{per_byte}",
            size(media as f64),
            size(host as f64)
        ));
    }
    if let Some(share) = outcome.unwritten_read_share.filter(|share| *share > UNWRITTEN_SHARE_MAX) {
        print::line(format_args!(
            "too fast   {:.0} % of the blocks read were never written, so the flash had nothing to \
             read: fill the device before recording",
            share * 100.0
        ));
    }
    print::line(format_args!(
        "took       {:.1} s for {} of device time, {} times real time",
        outcome.elapsed_s,
        time(outcome.virtual_s),
        number(outcome.times_real_time)
    ));
}

fn named(named: &Named) -> String {
    let scale = named.scale;
    format!("{}, capacity ÷ {}, parallel ÷ {}", named.name, scale.capacity, scale.parallel)
}

/// A latency's name and its accessor.
type Figure = (&'static str, fn(&Latency) -> f64);

const FIGURES: [Figure; 3] =
    [("mean", |one| one.mean_us), ("p50", |one| one.p50_us), ("p99", |one| one.p99_us)];

fn print_latencies(outcome: &Outcome) {
    let head = ["µs", "", "modelled", "achieved", "predicted", "÷ modelled", "÷ achieved"];
    let mut rows = vec![head.map(str::to_owned)];
    for (kind, of_kind) in &outcome.kinds {
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
        let trials = row.iter().zip(widths).enumerate().map(|(column, (text, width))| {
            if column < 2 { format!("{text:<width$}") } else { format!("{text:>width$}") }
        });
        print::line(trials.collect::<Vec<_>>().join("  ").trim_end());
    }
    print::line(format_args!(
        "achieved: with the port's {} µs and the delays of the machine that recorded",
        number(outcome.port_us)
    ));
}

fn row(name: String, (figure, take): Figure, of_kind: &OfKind) -> [String; 7] {
    let predicted = take(&of_kind.predicted);
    let recorded = [take(&of_kind.recorded_modelled), take(&of_kind.recorded_achieved)];
    let [per_modelled, per_achieved] = recorded.map(|mean| match mean > 0.0 {
        true => format!("{:.3}", predicted / mean),
        false => "–".into(),
    });
    let [modelled, achieved] = recorded.map(number);
    [name, figure.into(), modelled, achieved, number(predicted), per_modelled, per_achieved]
}

fn print_waits(outcome: &Outcome) {
    let all: u64 = outcome.waited.values().sum();
    let mut waits: Vec<_> = outcome.waited.iter().collect();
    waits.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let told = waits.iter().map(|(resource, count)| {
        format!("{resource} {:.1} %", 100.0 * **count as f64 / all as f64)
    });
    print::line(format_args!("waited for {}", told.collect::<Vec<_>>().join(", ")));
}
