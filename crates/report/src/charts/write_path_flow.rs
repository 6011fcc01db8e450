//! The write path per transaction as a picture: bytes written for each transaction flow from
//! InnoDB's files to the media, as wide as they are many, on one scale for all configurations of a
//! workload. What is not known is drawn as not known.
//!
//! SVG made here, so that it is there without a script and prints sharply.

use std::fmt::Write;

use serde::Serialize;

use assay_judge::write_path::{LayerName, WritePath};

use crate::figures::format::figure;
use crate::words::write_path::layer;
use assay_judge::summary::RepeatStatistics;
use assay_study::Events;

/// InnoDB's and the server's files, from the top down.
const FILES: [LayerName; 5] = [
    LayerName::DataFiles,
    LayerName::Doublewrite,
    LayerName::RedoLog,
    LayerName::BinaryLog,
    LayerName::TemporaryFiles,
];

/// Layers below the files.
const BELOW: [LayerName; 4] =
    [LayerName::AllFiles, LayerName::Device, LayerName::Drive, LayerName::Media];

/// Places of the bars on the picture, in its own units.
const LEFT: f64 = 168.0;
const STEP: f64 = 148.0;
const EDGE: f64 = 8.0;
const BAR: f64 = 12.0;
const TOP: f64 = 34.0;
const WIDE: f64 = 96.0;
/// Between the files' bars, so that thin ones keep their words apart.
const APART: f64 = 15.0;
/// Thinner than this could not be seen.
const LEAST: f64 = 1.5;

/// A picture of one configuration.
#[derive(Debug, Serialize)]
pub(crate) struct Flow {
    pub(crate) config: usize,
    /// Markup of our own making: figures and names of layers, none of the user's words.
    svg: String,
    /// The same for those who do not see it.
    words: String,
}

/// Mean bytes of one layer over the repeats.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Layer {
    name: LayerName,
    bytes: Option<f64>,
}

/// Pictures of the configurations, on one scale; nothing where no bytes are known at all.
pub(crate) fn flows(events: Events, sides: &[(usize, Vec<&WritePath>)]) -> Vec<Flow> {
    let read: Vec<(usize, Vec<Layer>, Vec<Layer>)> = sides
        .iter()
        .map(|(config, write_paths)| (*config, files(write_paths), below(write_paths)))
        .collect();
    let most = read
        .iter()
        .flat_map(|(_, files, below)| files.iter().chain(below))
        .filter_map(|one| one.bytes);
    let most = most.fold(0.0, f64::max);
    let frame = Frame {
        columns: read.iter().map(|(_, _, below)| below.len()).max().unwrap_or(0),
        left: if read.iter().all(|(_, files, _)| files.is_empty()) { EDGE - STEP } else { LEFT },
        most,
    };
    let all = read.iter().filter(|_| most > 0.0);
    all.map(|(config, files, below)| Flow {
        config: *config,
        svg: picture(files, below, &frame),
        words: words(events, files, below),
    })
    .collect()
}

fn layers(write_paths: &[&WritePath], names: &[LayerName]) -> Vec<Layer> {
    let one = |name: &LayerName| {
        let its = || {
            write_paths
                .iter()
                .flat_map(|write_path| &write_path.layers)
                .filter(|layer| layer.name == *name)
        };
        its().next()?;
        let bytes = RepeatStatistics::of(its().filter_map(|layer| layer.write_bytes).collect());
        Some(Layer { name: *name, bytes: bytes.map(|figure| figure.mean) })
    };
    names.iter().filter_map(one).collect()
}

/// Layers of the files; a file without writes is not drawn.
fn files(write_paths: &[&WritePath]) -> Vec<Layer> {
    layers(write_paths, &FILES).into_iter().filter(|layer| layer.bytes != Some(0.0)).collect()
}

/// Below the files there is always a device, and media in it, whether anything is known of them or
/// not.
fn below(write_paths: &[&WritePath]) -> Vec<Layer> {
    let known = layers(write_paths, &BELOW);
    let is_known = |name| known.iter().find(|layer| layer.name == name).copied();
    let always = |name| match (is_known(name), name) {
        (None, LayerName::Drive) => None,
        (found, name) => Some(found.unwrap_or(Layer { name, bytes: None })),
    };
    BELOW.into_iter().filter_map(always).collect()
}

/// Scale shared by all pictures of one workload, so that they can be laid beside one another.
struct Frame {
    /// The most layers below the files that any configuration has.
    columns: usize,
    /// Where the files' bars stand; off the picture where no configuration has any.
    left: f64,
    /// Bytes of the widest bar.
    most: f64,
}

fn picture(files: &[Layer], below: &[Layer], frame: &Frame) -> String {
    let &Frame { columns, left, most } = frame;
    let high = |bytes: f64| (bytes / most * WIDE).max(LEAST);
    let mut svg = String::new();
    let stacked: f64 =
        files.iter().map(|one| high(one.bytes.unwrap_or(0.0)).max(APART) + 3.0).sum();
    let (width, height) = (left + STEP * columns as f64 + 84.0, TOP + stacked.max(WIDE) + 26.0);
    let _ = write!(svg, "<svg viewBox=\"0 0 {width:.0} {height:.0}\" aria-hidden=\"true\">");
    let first = left + STEP;
    let mut top = TOP;
    let mut into = TOP;
    for one in files {
        let own = one.bytes.map_or(APART - 3.0, high);
        let _ = write!(
            svg,
            "<text class=\"name\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{} <tspan \
            class=\"figure\">{}</tspan></text>",
            left - 8.0,
            top + own.max(APART - 3.0) / 2.0 + 4.0,
            layer(one.name),
            kb(one.bytes)
        );
        bar(&mut svg, left, top, own, one.bytes.is_some());
        if one.bytes.is_some() {
            ribbon(&mut svg, (left + BAR, top, own), (first, into, own));
            into += own;
        }
        top += own.max(APART) + 3.0;
    }
    for (place, one) in below.iter().enumerate() {
        let x = first + STEP * place as f64;
        let own = one.bytes.map_or(WIDE / 3.0, high);
        bar(&mut svg, x, TOP, own, one.bytes.is_some());
        let _ = write!(
            svg,
            "<text class=\"name\" x=\"{x:.0}\" y=\"12\">{}</text><text class=\"figure\" \
            x=\"{x:.0}\" y=\"27\">{}</text>",
            layer(one.name),
            kb(one.bytes)
        );
        if let Some(next) = below.get(place + 1) {
            between(&mut svg, x, (one.bytes, next.bytes), high);
        }
    }
    svg.push_str("</svg>");
    svg
}

/// The ribbon between two layers and by how much it grows; a dashed line where one end is not
/// known.
fn between(
    svg: &mut String,
    x: f64,
    (above, below): (Option<f64>, Option<f64>),
    high: impl Fn(f64) -> f64,
) {
    let middle = x + (STEP + BAR) / 2.0;
    let (Some(above), Some(below)) = (above, below) else {
        let y = TOP + WIDE / 6.0;
        let _ = write!(
            svg,
            "<path class=\"unknown\" d=\"M{:.0} {y:.0}H{:.0}\"/><text class=\"factor\" \
            x=\"{middle:.0}\" y=\"{:.0}\" text-anchor=\"middle\">?</text>",
            x + BAR,
            x + STEP,
            y - 5.0
        );
        return;
    };
    ribbon(svg, (x + BAR, TOP, high(above)), (x + STEP, TOP, high(below)));
    if above > 0.0 {
        let y = TOP + high(above).max(high(below)) + 15.0;
        let _ = write!(
            svg,
            "<text class=\"factor\" x=\"{middle:.0}\" y=\"{y:.1}\" text-anchor=\"middle\">× \
            {}</text>",
            figure(below / above)
        );
    }
}

fn bar(svg: &mut String, x: f64, y: f64, height: f64, is_known: bool) {
    let class = if is_known { "amount" } else { "unknown" };
    let _ = write!(
        svg,
        "<rect class=\"{class}\" x=\"{x:.0}\" y=\"{y:.1}\" width=\"{BAR}\" height=\"{height:.1}\"/>"
    );
}

/// From a bar's right edge to another's left: place, top and height of each.
fn ribbon(svg: &mut String, (x, y, h): (f64, f64, f64), (u, v, g): (f64, f64, f64)) {
    let m = (x + u) / 2.0;
    let (low, end) = (y + h, v + g);
    let _ = write!(
        svg,
        "<path class=\"ribbon\" d=\"M{x:.0} {y:.1}C{m:.0} {y:.1} {m:.0} {v:.1} {u:.0} \
        {v:.1}V{end:.1}C{m:.0} {end:.1} {m:.0} {low:.1} {x:.0} {low:.1}Z\"/>"
    );
}

fn kb(bytes: Option<f64>) -> String {
    bytes.map_or_else(|| "not known".into(), |bytes| format!("{} kB", figure(bytes / 1e3)))
}

fn words(events: Events, files: &[Layer], below: &[Layer]) -> String {
    let all = files.iter().chain(below);
    let told = all.map(|one| format!("{} {}", layer(one.name), kb(one.bytes)));
    let told: Vec<String> = told.collect();
    format!("Bytes written per {}: {}", events.noun(), told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn layer(name: LayerName, bytes: Option<f64>) -> Layer {
        Layer { name, bytes }
    }

    #[test]
    fn widths_are_bytes_and_the_unknown_is_drawn_as_such() {
        let files = [
            layer(LayerName::DataFiles, Some(40_000.0)),
            layer(LayerName::RedoLog, Some(10_000.0)),
        ];
        let below = [
            layer(LayerName::AllFiles, Some(50_000.0)),
            layer(LayerName::Device, Some(100_000.0)),
            layer(LayerName::Media, None),
        ];
        let svg = picture(&files, &below, &Frame { columns: 3, left: LEFT, most: 100_000.0 });
        let heights: Vec<f64> = svg
            .split("class=\"amount\"")
            .skip(1)
            .map(|rest| {
                rest.split("height=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
            })
            .collect();
        assert_eq!(heights.len(), 4);
        assert!((heights[0] / heights[1] - 4.0).abs() < 0.05, "{heights:?}");
        assert!(
            (heights[3] - WIDE).abs() < 0.1 && (heights[2] * 2.0 - WIDE).abs() < 0.1,
            "{heights:?}"
        );
        assert!(
            svg.contains("× 2.00")
                && svg.contains("not known")
                && svg.contains("class=\"unknown\"")
        );
        assert!(
            words(Events::Transactions, &files, &below).ends_with("device 100 kB, media not known")
        );
    }
}
