//! Figures that follow from a device's numbers in closed form, before a measurement.

use anyhow::Result;
use assay_drive::{BLOCK_BYTES, RECORD_OVERHEAD_BYTES};
use assay_models::nand::figures;
use assay_models::network::NetworkLink;
use assay_models::rotating::{self, ArrayGeometry, SpindleGeometry};
use assay_models::volume::VolumeLimits;
use assay_models::{Kind, Time};
use serde::Serialize;

use super::figure::Mark;
use super::nand::Nand;
use super::preset::Preset;

/// Bytes of the commands that sequential figures are of.
pub const SEQUENTIAL_BYTES: u64 = 128 << 10;

/// Commands in flight where random reads and writes are limited by nothing else.
pub const DEPTH: u32 = 64;
/// The same of random writes.
pub const DEPTH_OF_WRITES: u32 = 32;

/// The conditions of a figure.
#[derive(Debug, Clone, Copy)]
pub struct ClosedConditions {
    /// Share of what the host may store that holds data.
    pub fill: f64,
    /// Logical bytes for each byte that is stored; none: the data do not compress.
    pub ratio: Option<f64>,
    /// Bytes of a small command.
    pub bytes: u64,
}

impl Default for ClosedConditions {
    fn default() -> ClosedConditions {
        ClosedConditions { fill: 0.8, ratio: None, bytes: BLOCK_BYTES }
    }
}

/// A figure in closed form.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Closed {
    /// Its name, unit last.
    pub name: &'static str,
    pub value: f64,
    /// The weakest mark of what it rests on; never better than computed.
    pub mark: Mark,
}

impl Closed {
    /// The figure of a device whose commands take `times` as long because of an injected fault.
    #[must_use]
    pub fn slowed(self, times: f64) -> Closed {
        let is_rate = self.name.ends_with("per_s");
        let value = if is_rate { self.value / times } else { self.value * times };
        Closed { value, mark: Mark::Fitted, ..self }
    }
}

/// Numbers that a figure of flash rests on, by section and name in the preset.
const LATENCY: &[&str] = &[
    "host.read_firmware_us",
    "flash.read_us",
    "flash.bus_bytes_per_s",
    "host.link_bytes_per_s",
    "engine.latency_us",
];
const WRITE_LATENCY: &[&str] =
    &["host.write_firmware_us", "host.link_bytes_per_s", "engine.latency_us"];
const READS: &[&str] = &[
    "flash.channels",
    "flash.dies_per_channel",
    "flash.read_us",
    "flash.bus_bytes_per_s",
    "host.operations_per_s",
    "host.link_bytes_per_s",
    "engine.bytes_per_s",
];
const WRITES: &[&str] = &[
    "flash.channels",
    "flash.dies_per_channel",
    "flash.planes",
    "flash.page_bytes",
    "flash.program_us",
    "flash.erase_us",
    "host.link_bytes_per_s",
    "engine.bytes_per_s",
];
const RANDOM_WRITES: &[&str] = &[
    "capacity.raw_per_user",
    "flash.channels",
    "flash.dies_per_channel",
    "flash.planes",
    "flash.page_bytes",
    "flash.program_us",
    "flash.erase_us",
    "host.operations_per_s",
    "host.link_bytes_per_s",
    "engine.bytes_per_s",
];

const DISKS: &[&str] = &[
    "spindle.rotation_us",
    "spindle.track_to_track_us",
    "spindle.read_seek_us",
    "spindle.write_seek_us",
    "spindle.media_bytes_per_s",
    "array.spindles",
    "array.command_us",
];
const NETWORK: &[&str] = &["network.over", "network.round_trip_us", "network.bytes_per_s"];

/// Every figure of a flash device.
///
/// # Errors
/// None of a device that could be made.
pub fn nand(preset: &Preset, nand: &Nand, conditions: ClosedConditions) -> Result<Vec<Closed>> {
    let (flash, host) = (&nand.geometry, &nand.limits);
    let bytes = conditions.bytes;
    let per_byte = stored_bytes(conditions.ratio) / BLOCK_BYTES as f64;
    let stored = (bytes as f64 * per_byte) as u64;
    let amplified = per_byte * figures::write_amplification(live_share(nand, conditions)?);
    let sequential = |rate: f64| rate * SEQUENTIAL_BYTES as f64;
    let sequential_stored = (SEQUENTIAL_BYTES as f64 * per_byte) as u64;
    let engine = host.engine.map_or(0.0, |engine| engine.latency.as_us());
    let write_latency_us =
        host.write_firmware_time.as_us() + host.link_bytes_per_s.time_for(bytes).as_us() + engine;
    let figure = |name, value, keys: &[&str]| Closed { name, value, mark: preset.weakest(keys) };
    Ok(vec![
        figure("read_latency_us", figures::read_latency_us(flash, host, bytes, stored), LATENCY),
        figure("write_latency_us", write_latency_us, WRITE_LATENCY),
        figure("random_read_per_s", figures::reads_per_s(flash, host, bytes, stored), READS),
        figure(
            "random_write_per_s",
            figures::writes_per_s(flash, host, bytes, amplified),
            RANDOM_WRITES,
        ),
        figure(
            "read_bytes_per_s",
            sequential(figures::reads_per_s(flash, host, SEQUENTIAL_BYTES, sequential_stored)),
            READS,
        ),
        figure(
            "write_bytes_per_s",
            sequential(figures::writes_per_s(flash, host, SEQUENTIAL_BYTES, per_byte)),
            WRITES,
        ),
    ])
}

/// Every figure of rotating disks. Reads of mirrored pairs at depth 1 are faster: the nearer arm
/// goes.
///
/// # Errors
/// None of disks that could be made.
pub fn rotating(
    preset: &Preset,
    array: &ArrayGeometry,
    conditions: ClosedConditions,
) -> Result<Vec<Closed>> {
    // Data lie at the beginning of the disks.
    let (bytes, span) = (conditions.bytes, conditions.fill);
    let depth = |commands: u32| (commands / array.spindles).max(1);
    let writes = ArrayGeometry {
        spindle: SpindleGeometry { read_seek: array.spindle.write_seek, ..array.spindle },
        ..*array
    };
    let reads_per_s = rotating::figures::reads_per_s(array, bytes, depth(DEPTH), span)?
        * f64::from(array.spindles);
    let pair_depth = DEPTH_OF_WRITES * array.copies() as u32;
    let writes_per_s = rotating::figures::reads_per_s(&writes, bytes, depth(pair_depth), span)?
        * array.sides() as f64;
    let sequential = rotating::figures::sequential_bytes_per_s(array);
    // With enough reads in flight both sides of a mirror take part.
    let copies = array.copies() as f64;
    let mark = preset.weakest(DISKS);
    let figure = |name, value| Closed { name, value, mark };
    Ok(vec![
        figure("read_latency_us", rotating::figures::read_latency_us(array, bytes, span)?),
        figure("write_latency_us", rotating::figures::write_latency_us(array, bytes, span)?),
        figure("random_read_per_s", reads_per_s),
        figure("random_write_per_s", writes_per_s),
        figure("read_bytes_per_s", (sequential * copies).min(array.link_bytes_per_s.0)),
        figure("write_bytes_per_s", sequential),
    ])
}

/// Every figure of a cloud volume.
#[must_use]
pub fn volume(preset: &Preset, limits: &VolumeLimits, conditions: ClosedConditions) -> Vec<Closed> {
    let bytes = conditions.bytes;
    let small = limits.commands_per_s(bytes);
    let large = limits.commands_per_s(SEQUENTIAL_BYTES) * SEQUENTIAL_BYTES as f64;
    let figure = |name, value, keys: &[&str]| Closed { name, value, mark: preset.weakest(keys) };
    let (operations, all) = (["volume.operations_per_s"], ["volume.bytes_per_s"]);
    // At depth 1 a command that takes less than its turn waits for that.
    let latency = |mean: Time| mean.as_us().max(1e6 / small);
    vec![
        figure("read_latency_us", latency(limits.read_latency.mean()), &["volume.read_us"]),
        figure("write_latency_us", latency(limits.write_latency.mean()), &["volume.write_us"]),
        figure("random_read_per_s", small, &operations),
        figure("random_write_per_s", small, &operations),
        figure("read_bytes_per_s", large, &all),
        figure("write_bytes_per_s", large, &all),
    ]
}

/// The figures of a device behind a network.
#[must_use]
pub fn network(
    preset: &Preset,
    link: &NetworkLink,
    behind: Vec<Closed>,
    conditions: ClosedConditions,
) -> Vec<Closed> {
    let through = |closed: Closed| {
        let carried = link.to_node_bytes_per_s.0;
        let added = |kind| link.added(kind, conditions.bytes).as_us();
        let value = match closed.name {
            "read_latency_us" => closed.value + added(Kind::Read),
            "write_latency_us" => closed.value + added(Kind::Write),
            name if name.ends_with("bytes_per_s") => closed.value.min(carried),
            _ => closed.value.min(carried / conditions.bytes as f64),
        };
        Closed { value, mark: closed.mark.max(preset.weakest(NETWORK)), ..closed }
    };
    behind.into_iter().map(through).collect()
}

/// The figures of a mirror from those of one side: reads times the sides, writes and latencies as
/// they are.
#[must_use]
pub fn mirror(sides: u32, side: Vec<Closed>) -> Vec<Closed> {
    let times = |closed: &Closed| match closed.name {
        "random_read_per_s" | "read_bytes_per_s" => f64::from(sides),
        _ => 1.0,
    };
    side.into_iter()
        .map(|closed| Closed { value: closed.value * times(&closed), ..closed })
        .collect()
}

/// Bytes of a block on media, with its header and its share of the table.
fn stored_bytes(ratio: Option<f64>) -> f64 {
    ratio.map_or((BLOCK_BYTES + RECORD_OVERHEAD_BYTES) as f64, |ratio| BLOCK_BYTES as f64 / ratio)
}

/// The share of the flash that is live, of what collection can work with.
fn live_share(nand: &Nand, conditions: ClosedConditions) -> Result<f64> {
    let format = nand.format(nand.user_bytes);
    let usable = format.usable_bytes(nand.raw_bytes)? as f64;
    let blocks = nand.user_bytes as f64 * conditions.fill / BLOCK_BYTES as f64;
    Ok((blocks * stored_bytes(conditions.ratio) / usable).clamp(0.01, 0.99))
}
