//! What follows from a device's numbers in closed form, before anything is measured.

use anyhow::Result;
use assay_drive::model::nand::figures;
use assay_drive::{BLOCK_BYTES, RECORD_OVERHEAD_BYTES};
use serde::Serialize;

use super::figure::Mark;
use super::nand::Nand;
use super::preset::Preset;

/// Bytes of the commands that sequential figures are of.
pub const SEQUENTIAL_BYTES: u64 = 128 << 10;

/// Under which conditions.
#[derive(Debug, Clone, Copy)]
pub struct Conditions {
    /// Share of what the host may store that holds data.
    pub fill: f64,
    /// Logical bytes for each byte that is stored; none: the data do not compress.
    pub ratio: Option<f64>,
    /// Bytes of a small command.
    pub bytes: u64,
}

impl Default for Conditions {
    fn default() -> Conditions {
        Conditions { fill: 0.8, ratio: None, bytes: BLOCK_BYTES }
    }
}

/// One figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Closed {
    /// Its name, unit last.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// The weakest mark of what it rests on; never better than computed.
    pub mark: Mark,
}

/// What a figure of flash rests on, by section and name in the preset.
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

/// Every figure of a flash device.
///
/// # Errors
/// None of a device that could be made.
pub fn nand(preset: &Preset, nand: &Nand, conditions: Conditions) -> Result<Vec<Closed>> {
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

/// What a block takes on media, with its header and its table.
fn stored_bytes(ratio: Option<f64>) -> f64 {
    ratio.map_or((BLOCK_BYTES + RECORD_OVERHEAD_BYTES) as f64, |ratio| BLOCK_BYTES as f64 / ratio)
}

/// The share of the flash that is live, of what collection can work with.
fn live_share(nand: &Nand, conditions: Conditions) -> Result<f64> {
    let format = nand.format(nand.user_bytes);
    let usable = format.usable_bytes(nand.raw_bytes)? as f64;
    let blocks = nand.user_bytes as f64 * conditions.fill / BLOCK_BYTES as f64;
    Ok((blocks * stored_bytes(conditions.ratio) / usable).clamp(0.01, 0.99))
}
