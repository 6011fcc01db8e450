//! Rotating disks at a scale.

use anyhow::{Context, Result, ensure};
use assay_drive::BLOCK_BYTES;
use assay_models::rotating::{ArrayGeometry, Order, Rotating, SeekTimes, SpindleGeometry};
use assay_models::{Rate, Time};

use super::document::Spindle;
use super::preset::Preset;
use super::scale::{Obtained, Scale};

/// An array of disks in numbers.
#[derive(Debug, Clone)]
pub struct Disks {
    pub geometry: ArrayGeometry,
    /// Resources as the scale leaves them.
    pub obtained: Vec<Obtained>,
}

/// Fewest chunks of a disk: below that an arm would have nowhere to go.
const CHUNKS_MIN: u64 = 64;

impl Disks {
    /// The disks of `preset` at `scale`.
    ///
    /// # Errors
    /// One line: what is left is too small to work, or no arm seeks so.
    pub fn new(preset: &Preset, scale: Scale) -> Result<Disks> {
        let document = &preset.document;
        let array = document.array.as_ref().context("disks need a section [array]")?;
        let spindle = document.spindle.as_ref().context("disks need a section [spindle]")?;
        let capacity = document.capacity.as_ref().context("disks have a capacity")?;
        let copies = if array.mirrored.value { 2 } else { 1 };
        let sides = f64::from(array.spindles.value / copies) / scale.parallel;
        let sides = (sides.round() as u32).max(1);
        let chunk_bytes = array.chunk_bytes.value;
        let user = capacity.user_bytes.value as f64;
        let disk_bytes = (user / scale.capacity / f64::from(sides)) as u64;
        let disk_bytes = disk_bytes / chunk_bytes * chunk_bytes;
        ensure!(
            disk_bytes >= CHUNKS_MIN * chunk_bytes,
            "a capacity scale of {} leaves {disk_bytes} bytes of each disk, too little to seek \
            over; give at most {}",
            scale.capacity,
            (user / f64::from(sides) / ((CHUNKS_MIN + 1) * chunk_bytes) as f64).floor()
        );
        let geometry = ArrayGeometry {
            spindle: spindle_geometry(spindle, disk_bytes),
            spindles: sides * copies,
            mirrored: array.mirrored.value,
            chunk_bytes,
            command_time: Time::from_us(array.command_us.value),
            link_bytes_per_s: Rate(array.link_bytes_per_s.value),
            cache: array.cache.value.cache(),
            cache_bytes: (array.cache_bytes.value as f64 / scale.parallel) as u64 / BLOCK_BYTES
                * BLOCK_BYTES,
            order: Order::Elevator,
            patience: Time::from_us(array.patience_us.value),
        };
        // The model refuses impossible geometries in its own words.
        Rotating::new(geometry, 0)?;
        let obtained = vec![
            Obtained::new("user_bytes", user, geometry.capacity_bytes() as f64),
            Obtained::new("spindles", array.spindles.value.into(), geometry.spindles.into()),
        ];
        Ok(Disks { geometry, obtained })
    }
}

fn spindle_geometry(spindle: &Spindle, capacity_bytes: u64) -> SpindleGeometry {
    let us = Time::from_us;
    let seek = |mean_us: f64| SeekTimes {
        track_to_track: us(spindle.track_to_track_us.value),
        mean: us(mean_us),
        full_stroke: spindle.full_stroke_us.as_ref().map(|figure| us(figure.value)),
    };
    SpindleGeometry {
        capacity_bytes,
        rotation_time: us(spindle.rotation_us.value),
        read_seek: seek(spindle.read_seek_us.value),
        write_seek: seek(spindle.write_seek_us.value),
        media_bytes_per_s: Rate(spindle.media_bytes_per_s.value),
        read_ahead_bytes: spindle.read_ahead_bytes.value,
    }
}
