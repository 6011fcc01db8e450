//! What follows from an array's numbers in closed form.

use super::ArrayGeometry;
use super::seek::{ImpossibleSeek, SeekCurve};

/// Mean latency of random reads of `bytes` at depth 1 on disks without mirrors, in microseconds: command + mean seek + half a
/// revolution + what passes under the head and over the link. A mirrored pair, which chooses, is faster.
#[must_use]
pub fn read_latency_us(array: &ArrayGeometry, bytes: u64) -> f64 {
    let spindle = &array.spindle;
    let position = spindle.read_seek.mean.as_us() + spindle.rotation_time.as_us() / 2.0;
    position + unpositioned_us(array, bytes)
}

/// Mean latency of random writes of `bytes` at depth 1 that go through to the disks, when nothing is read, in microseconds:
/// as for reads; a mirrored pair, whose arms then move together, waits for the later of two platters, two thirds of a revolution.
#[must_use]
pub fn write_latency_us(array: &ArrayGeometry, bytes: u64) -> f64 {
    let spindle = &array.spindle;
    let revolutions = if array.mirrored { 2.0 / 3.0 } else { 0.5 };
    let rotation = spindle.rotation_time.as_us() * revolutions;
    spindle.write_seek.mean.as_us() + rotation + unpositioned_us(array, bytes)
}

fn unpositioned_us(array: &ArrayGeometry, bytes: u64) -> f64 {
    array.command_time.as_us()
        + array.spindle.media_bytes_per_s.time_for(bytes).as_us()
        + array.link_bytes_per_s.time_for(bytes).as_us()
}

/// Random reads of `bytes` a second that one disk serves by its elevator when `depth` are always in flight: while it serves
/// one, n = `depth` − 1 wait for it to choose.
///
/// Take the end of the disk for its beginning, so that the arm goes round a ring of length 1. A new request lies anywhere before
/// the arm and is met after 1/2 on the mean; n wait, so (Little's law) 2n are met on one way round, and the distance to the
/// next is 1 / 2n on the mean. Taken as Beta(1, m) with m = 2n − 1, it has the density m (1 − g)^(m − 1). With the probability g
/// the end of the disk lies between, and the arm comes back over 1 − g. So `E[√d]` = m (B(3/2, m + 1) + B(2, m + 1/2)) and
/// `E[d]` = 2m / ((m + 1) (m + 2)). At n = 1, and where nothing waits, these are 8/15 and 1/3: those of places drawn evenly.
///
/// # Errors
/// [`ImpossibleSeek`].
pub fn reads_per_s(array: &ArrayGeometry, bytes: u64, depth: u32) -> Result<f64, ImpossibleSeek> {
    let curve = SeekCurve::fit(&array.spindle.read_seek)?;
    let m = (2 * u64::from(depth)).saturating_sub(3).max(1);
    // B(3/2, i + 1) = B(3/2, i) i / (i + 3/2), from B(3/2, 1) = 2/3.
    let beta = (1..=m).fold(2.0 / 3.0, |beta, i| beta * i as f64 / (i as f64 + 1.5));
    let m = m as f64;
    let root = m * (beta + 1.0 / ((m + 0.5) * (m + 1.5)));
    let distance = 2.0 * m / ((m + 1.0) * (m + 2.0));
    let rotation_s = array.spindle.rotation_time.as_s() / 2.0;
    let transfer_s = array.spindle.media_bytes_per_s.time_for(bytes).as_s();
    Ok(1.0 / (curve.mean_s(root, distance) + rotation_s + transfer_s))
}

/// Bytes a second of one stream of large reads in sequence, read from one disk of each side; writes the same, where enough
/// of them are in flight or a cache takes them.
#[must_use]
pub fn sequential_bytes_per_s(array: &ArrayGeometry) -> f64 {
    let media = array.spindle.media_bytes_per_s.0 * array.sides() as f64;
    media.min(array.link_bytes_per_s.0)
}
