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

/// Random reads of `bytes` a second that one disk serves by its elevator out of a queue of `depth`, which is full again at
/// once.
///
/// The arm meets a queue that is dense before it and empty behind it: each place has been filling since the arm last
/// passed. Taking the end of the disk for its beginning, requests lie at a distance of x before the arm with the density
/// 2 (1 − x), and the nearest of n at one of g with the density 2n (1 − g)^(2n − 1). With the probability g the end of the disk
/// lies between, and the arm comes back over 1 − g. So E[√d] = 2n (B(3/2, 2n + 1) + B(2, 2n + 1/2)) and
/// E[d] = 4n / ((2n + 1) (2n + 2)); at depth 1 these are 8/15 and 1/3, those of places drawn evenly.
///
/// # Errors
/// [`ImpossibleSeek`].
pub fn reads_per_s(array: &ArrayGeometry, bytes: u64, depth: u32) -> Result<f64, ImpossibleSeek> {
    let curve = SeekCurve::fit(&array.spindle.read_seek)?;
    let twice = f64::from(2 * depth.max(1));
    // B(3/2, m + 1) = B(3/2, m) m / (m + 3/2), from B(3/2, 1) = 2/3.
    let beta = (1..=2 * depth.max(1))
        .fold(2.0 / 3.0, |beta, m| beta * f64::from(m) / (f64::from(m) + 1.5));
    let root = twice * (beta + 1.0 / ((twice + 0.5) * (twice + 1.5)));
    let distance = 2.0 * twice / ((twice + 1.0) * (twice + 2.0));
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
