//! Closed forms of a preset: figures that a measurement on the attached model must meet.

use super::super::time::Rate;
use super::flash::FlashGeometry;
use super::host::HostLimits;
use assay_disk::BLOCK_BYTES;

/// Mean bytes read from flash for `stored_bytes` that lie together: media are read in whole blocks,
/// and stored data begin anywhere in one.
#[must_use]
pub fn fetched_bytes(stored_bytes: u64) -> u64 {
    stored_bytes + BLOCK_BYTES - 1
}

/// Latency of one read of `bytes` at depth 1, in microseconds, from one stripe of an idle drive, if
/// `stored_bytes` hold them.
#[must_use]
pub fn read_latency_us(
    flash: &FlashGeometry,
    host: &HostLimits,
    bytes: u64,
    stored_bytes: u64,
) -> f64 {
    let engine = host.engine.map_or(0.0, |engine| {
        engine.latency.as_us()
            + engine.bytes_per_s.time_for(bytes.saturating_sub(BLOCK_BYTES)).as_us()
    });
    host.read_firmware_time.as_us()
        + flash.read_time.as_us()
        + flash.bus_bytes_per_s.time_for(fetched_bytes(stored_bytes)).as_us()
        + engine
        + host.link_bytes_per_s.time_for(bytes).as_us()
}

/// Most random reads of `bytes` a second: the least of what controller, dies, channels, engine and
/// link allow. `stored_bytes` is the size of one of them on flash; a read over two stripes needs
/// two dies.
#[must_use]
pub fn reads_per_s(flash: &FlashGeometry, host: &HostLimits, bytes: u64, stored_bytes: u64) -> f64 {
    let fetched_bytes = fetched_bytes(stored_bytes);
    let dies_each = 1.0 + (fetched_bytes - BLOCK_BYTES) as f64 / flash.stripe_bytes() as f64;
    let dies = flash.dies() as f64 / flash.read_time.as_s() / dies_each;
    let channels = f64::from(flash.channels) * flash.bus_bytes_per_s.0 / fetched_bytes as f64;
    least([dies, channels, host_operations_per_s(host, bytes)])
}

/// Most bytes of flash programmed a second: the least of what dies and channels allow.
#[must_use]
pub fn program_bytes_per_s(flash: &FlashGeometry) -> f64 {
    let stripe = flash.stripe_bytes() as f64;
    let dies = flash.dies() as f64 * stripe / flash.program_time.as_s();
    // One erase of every die for `pages_per_block` programs of each.
    let erases =
        flash.erase_time.as_s() / (f64::from(flash.pages_per_block) * flash.program_time.as_s());
    let channels = f64::from(flash.channels) * flash.bus_bytes_per_s.0;
    (dies / (1.0 + erases)).min(channels)
}

/// Writes of `bytes` a second in the long run: what flash, controller, engine and link allow if
/// every byte of the host becomes `flash_bytes_per_byte` on flash (compression and write
/// amplification together).
#[must_use]
pub fn writes_per_s(
    flash: &FlashGeometry,
    host: &HostLimits,
    bytes: u64,
    flash_bytes_per_byte: f64,
) -> f64 {
    let programs = program_bytes_per_s(flash) / (bytes as f64 * flash_bytes_per_byte);
    programs.min(host_operations_per_s(host, bytes))
}

fn host_operations_per_s(host: &HostLimits, bytes: u64) -> f64 {
    let controller = host.operations_per_s.map_or(f64::INFINITY, |rate| rate.0);
    let engine =
        host.engine.map_or(f64::INFINITY, |engine| engine.cap_bytes_per_s.0 / bytes as f64);
    let Rate(link) = host.link_cap_bytes_per_s;
    least([controller, engine, link / bytes as f64])
}

fn least<const N: usize>(rates: [f64; N]) -> f64 {
    rates.into_iter().fold(f64::INFINITY, f64::min)
}

/// Write amplification of greedy collection under uniform random writes, when `live_share` of the
/// media is live: with α = 1 / `live_share`, α / (α + W(−α e^−α)), W being Lambert's function
/// (Luojie and Kurkoski, "An improved analytic expression for write amplification in NAND flash",
/// ICNC 2012).
#[must_use]
pub fn write_amplification(live_share: f64) -> f64 {
    let alpha = 1.0 / live_share;
    alpha / (alpha + lambert_w(-alpha * (-alpha).exp()))
}

/// The principal branch of Lambert's W for −1/e ≤ x ≤ 0, by Halley's iteration (Corless et al., "On
/// the Lambert W function", 1996).
fn lambert_w(x: f64) -> f64 {
    // The branch point's expansion to the first order is close enough to begin with.
    let mut w = -1.0 + (2.0 * (std::f64::consts::E * x + 1.0)).max(0.0).sqrt();
    for _ in 0..50 {
        let e = w.exp();
        let f = w * e - x;
        let step = f / (e * (w + 1.0) - (w + 2.0) * f / (2.0 * w + 2.0));
        if !step.is_finite() || step.abs() < 1e-14 {
            break;
        }
        w -= step;
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_amplification_is_the_published_curve() {
        // Computed from the formula in the reference above for these shares, to two digits.
        for (share, published) in [(0.5, 1.26), (0.6, 1.48), (0.7, 1.88), (0.8, 2.69), (0.9, 5.18)]
        {
            let computed = write_amplification(share);
            assert!((computed - published).abs() < 0.011, "{share}: {computed} for {published}");
        }
    }
}
