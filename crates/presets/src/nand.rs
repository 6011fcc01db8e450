//! A flash device at a scale: what the model is built from.

use anyhow::{Context, Result, bail};
use assay_drive::{BLOCK_BYTES, Codec, Format};
use assay_models::nand::{CompressionEngine, FlashGeometry, HostLimits};
use assay_models::{Rate, Time, WriteCache};

use super::document::CacheName;
use super::preset::Preset;
use super::scale::{Obtained, Scale, whole_dies};
use assay_base::text::size;

/// More than any drive takes.
const DATA_BYTES_MAX: f64 = 1e15;

/// A flash device's model in numbers.
#[derive(Debug, Clone)]
pub struct Nand {
    pub geometry: FlashGeometry,
    pub limits: HostLimits,
    pub codec: Codec,
    /// Durability of a completed write.
    pub cache: WriteCache,
    /// Bytes of flash, spare ones included.
    pub raw_bytes: u64,
    /// Bytes that the host may store as they are.
    pub user_bytes: u64,
    /// Resources as the scale leaves them.
    pub obtained: Vec<Obtained>,
}

impl Nand {
    /// The device of `preset` at `scale`.
    ///
    /// # Errors
    /// One line: what is left is too small to work.
    pub fn new(preset: &Preset, scale: Scale) -> Result<Nand> {
        let document = &preset.document;
        let flash = document.flash.as_ref().context("a flash device has flash")?;
        let host = document.host.as_ref().context("a flash device has a host's side")?;
        let capacity = document.capacity.as_ref().context("a flash device has a capacity")?;
        let raw_per_user = capacity.raw_per_user.as_ref().map_or(1.0, |raw| raw.value);
        let (all_channels, all_dies) = (flash.channels.value, flash.dies_per_channel.value);
        let (channels, dies_per_channel) = whole_dies(all_channels, all_dies, scale.parallel);
        let stripe_bytes = u64::from(flash.planes.value) * u64::from(flash.page_bytes.value);
        let buffer_bytes = divided(flash.buffer_bytes.value as f64, scale.parallel);
        let user_bytes = blocks(capacity.user_bytes.value as f64 / scale.capacity);
        let us = Time::from_us;
        let geometry = FlashGeometry {
            channels,
            dies_per_channel,
            planes: flash.planes.value,
            page_bytes: flash.page_bytes.value,
            pages_per_block: flash.pages_per_block.value,
            read_time: us(flash.read_us.value),
            program_time: us(flash.program_us.value),
            erase_time: us(flash.erase_us.value),
            program_suspend_time: us(flash.program_suspend_us.value),
            erase_suspend_time: us(flash.erase_suspend_us.value),
            bus_bytes_per_s: Rate(flash.bus_bytes_per_s.value),
            // The data that a die programs at once must fit, and those of the next program must
            // arrive meanwhile.
            buffer_bytes: buffer_bytes
                .max(2 * stripe_bytes * u64::from(channels * dies_per_channel)),
            is_buffer_protected: host.cache.value == CacheName::Protected,
        };
        let limits = HostLimits {
            read_firmware_time: us(host.read_firmware_us.value),
            write_firmware_time: us(host.write_firmware_us.value),
            operations_per_s: host
                .operations_per_s
                .as_ref()
                .map(|rate| Rate(rate.value / scale.parallel)),
            link_bytes_per_s: Rate(host.link_bytes_per_s.value),
            link_cap_bytes_per_s: Rate(host.link_bytes_per_s.value / scale.parallel),
            engine: document.engine.as_ref().map(|engine| CompressionEngine {
                latency: us(engine.latency_us.value),
                bytes_per_s: Rate(engine.bytes_per_s.value),
                cap_bytes_per_s: Rate(engine.bytes_per_s.value / scale.parallel),
            }),
        };
        let nand = Nand {
            codec: document.engine.as_ref().map_or(Codec::None, |engine| engine.codec.value.0),
            cache: host.cache.value.cache(),
            raw_bytes: blocks(user_bytes as f64 * raw_per_user),
            user_bytes,
            obtained: Vec::new(),
            geometry,
            limits,
        };
        nand.check_size(capacity.user_bytes.value as f64, scale, raw_per_user)?;
        Ok(nand.with_obtained(preset))
    }

    /// Returns true if the device compresses.
    #[must_use]
    pub fn compresses(&self) -> bool {
        self.codec != Codec::None
    }

    /// The drive that stands in for its translation layer, not made yet.
    #[must_use]
    pub fn format(&self, logical_bytes: u64) -> Format {
        Format {
            drive_id: 0,
            logical_bytes,
            codec: self.codec,
            units: false,
            dictionary: false,
            segment_bytes: None,
        }
    }
}

impl Nand {
    /// The drive must hold what the host may store, also when nothing of it compresses.
    fn check_size(&self, user: f64, scale: Scale, raw_per_user: f64) -> Result<()> {
        if fits(self.raw_bytes, self.user_bytes) {
            return Ok(());
        }
        let works = |divisor: &f64| {
            let user_bytes = blocks(user / divisor);
            fits(blocks(user_bytes as f64 * raw_per_user), user_bytes)
        };
        // Down to a divisor that would make the device far larger than a drive can be.
        let mut divisors =
            std::iter::successors(Some(scale.capacity), |divisor| Some(divisor / 1.1))
                .take_while(|divisor| user / divisor < DATA_BYTES_MAX);
        let Some(divisor) = divisors.find(works) else {
            bail!(
                "capacity.raw_per_user is {raw_per_user}; garbage collection needs more room, at \
                least 1.06"
            )
        };
        bail!(
            "a capacity scale of {} leaves {} of flash for {} of data, too little to work with; \
            give at most {}",
            scale.capacity,
            size(self.raw_bytes as f64),
            size(self.user_bytes as f64),
            if divisor < 10.0 { divisor } else { divisor.floor() },
        )
    }

    fn with_obtained(self, preset: &Preset) -> Nand {
        let document = &preset.document;
        let mut obtained = Vec::new();
        let mut add = |resource: &str, real: f64, modelled: f64| {
            obtained.push(Obtained::new(resource, real, modelled));
        };
        let (geometry, limits) = (&self.geometry, &self.limits);
        if let Some(capacity) = &document.capacity {
            add("user_bytes", capacity.user_bytes.value as f64, self.user_bytes as f64);
        }
        if let Some(flash) = &document.flash {
            let (channels, dies) = (flash.channels.value, flash.dies_per_channel.value);
            add("channels", channels.into(), geometry.channels.into());
            add("dies", f64::from(channels * dies), geometry.dies() as f64);
            add("buffer_bytes", flash.buffer_bytes.value as f64, geometry.buffer_bytes as f64);
        }
        if let Some(host) = &document.host {
            let rates = host.operations_per_s.as_ref().zip(limits.operations_per_s);
            if let Some((real, modelled)) = rates {
                add("operations_per_s", real.value, modelled.0);
            }
            add("link_bytes_per_s", host.link_bytes_per_s.value, limits.link_cap_bytes_per_s.0);
        }
        if let Some((real, modelled)) = document.engine.as_ref().zip(limits.engine) {
            add("engine_bytes_per_s", real.bytes_per_s.value, modelled.cap_bytes_per_s.0);
        }
        Nand { obtained, ..self }
    }
}

fn fits(raw_bytes: u64, user_bytes: u64) -> bool {
    let format = Format {
        drive_id: 0,
        logical_bytes: user_bytes.max(BLOCK_BYTES),
        codec: Codec::None,
        units: false,
        dictionary: false,
        segment_bytes: None,
    };
    format.incompressible_bytes(raw_bytes).is_ok_and(|bytes| bytes >= user_bytes)
}

fn blocks(bytes: f64) -> u64 {
    bytes as u64 / BLOCK_BYTES * BLOCK_BYTES
}

fn divided(amount: f64, divisor: f64) -> u64 {
    (amount / divisor) as u64
}
