//! A cloud volume at a scale.

use anyhow::{Context, Result, ensure};
use assay_drive::BLOCK_BYTES;
use assay_models::volume::{Allowance, LatencyModel, VolumeLimits};
use assay_models::{Rate, Time};

use super::figure::PresetFigure;
use super::preset::Preset;
use super::scale::{Obtained, Scale};

/// A volume in numbers.
#[derive(Debug, Clone)]
pub struct Paid {
    pub limits: VolumeLimits,
    /// Bytes that the host sees.
    pub user_bytes: u64,
    /// Resources as the scale leaves them.
    pub obtained: Vec<Obtained>,
}

/// Least bytes of a volume.
const USER_BYTES_MIN: u64 = 1 << 20;

impl Paid {
    /// The volume of `preset` at `scale`.
    ///
    /// # Errors
    /// One line: what is left is too small.
    pub fn new(preset: &Preset, scale: Scale) -> Result<Paid> {
        let document = &preset.document;
        let volume = document.volume.as_ref().context("a volume needs a section [volume]")?;
        let capacity = document.capacity.as_ref().context("a volume has a capacity")?;
        let real = capacity.user_bytes.value as f64;
        let user_bytes = (real / scale.capacity) as u64 / BLOCK_BYTES * BLOCK_BYTES;
        ensure!(
            user_bytes >= USER_BYTES_MIN,
            "a capacity scale of {} leaves {user_bytes} bytes; give at most {}",
            scale.capacity,
            (real / USER_BYTES_MIN as f64).floor()
        );
        let rest = Time::from_us(volume.rest_us.value);
        let allowance =
            |rate: f64, credit: &Option<PresetFigure<f64>>, peak: &Option<PresetFigure<f64>>| {
                let rate = Rate(rate / scale.parallel);
                let steady = Allowance::steady(rate, rest);
                let scaled = |figure: &PresetFigure<f64>| figure.value / scale.parallel;
                Allowance {
                    credit: credit.as_ref().map_or(steady.credit, scaled),
                    peak_per_s: peak.as_ref().map(|peak| Rate(scaled(peak))),
                    ..steady
                }
            };
        let latency = |median: f64, p99: f64| {
            LatencyModel::lognormal(Time::from_us(median), Time::from_us(p99))
        };
        let (operations, bytes) = (volume.operations_per_s.value, volume.bytes_per_s.value);
        let limits = VolumeLimits {
            operations: allowance(
                operations,
                &volume.operations_credit,
                &volume.operations_peak_per_s,
            ),
            bytes: allowance(bytes, &volume.bytes_credit, &volume.bytes_peak_per_s),
            bytes_per_operation: volume.bytes_per_operation.value,
            rest,
            read_latency: latency(volume.read_us.value, volume.read_p99_us.value),
            write_latency: latency(volume.write_us.value, volume.write_p99_us.value),
            flush_latency: Time::from_us(volume.flush_us.value),
        };
        let obtained = vec![
            Obtained::new("user_bytes", real, user_bytes as f64),
            Obtained::new("operations_per_s", operations, limits.operations.per_s.0),
            Obtained::new("bytes_per_s", bytes, limits.bytes.per_s.0),
        ];
        Ok(Paid { limits, user_bytes, obtained })
    }
}
