//! Closed forms of an array.

use super::ArrayGeometry;
use super::seek::{ImpossibleSeek, SeekCurve};

/// Mean latency of random reads of `bytes` at depth 1, drawn evenly from the first `span` of the
/// disks (a share of all tracks), in microseconds: command + mean seek + half a revolution +
/// transfer under the head and over the link.
///
/// The arms of a mirrored pair are in two places, and the one that is there sooner reads, so the
/// mean is that of the lesser of two positioning times: `E[min(T1, T2)]` = ∫ P(T > t)² dt for T =
/// seek + rotation, with d of density 2 (1 − d) and an even rotation. The two are assumed to be
/// independent; the arm that serves less often is a little nearer to its last place.
///
/// # Errors
/// [`ImpossibleSeek`].
pub fn read_latency_us(
    array: &ArrayGeometry,
    bytes: u64,
    span: f64,
) -> Result<f64, ImpossibleSeek> {
    let spindle = &array.spindle;
    let curve = SeekCurve::fit(&spindle.read_seek)?;
    let rotation_s = spindle.rotation_time.as_s();
    let position_s = match array.mirrored {
        true => sooner_of_two_s(&curve, rotation_s, span),
        false => curve.mean_evenly_s(span) + rotation_s / 2.0,
    };
    Ok(position_s * 1e6 + unpositioned_us(array, bytes))
}

/// Steps of the integral, and samples of the distance's distribution: more than the figures need.
const STEPS: u32 = 1000;
const PLACES: u32 = 200;

fn sooner_of_two_s(curve: &SeekCurve, rotation_s: f64, span: f64) -> f64 {
    // The distance that a share u of all do not exceed: u = 2 d − d².
    let distance = |u: f64| span * (1.0 - (1.0 - u).sqrt());
    let seeks_s: Vec<f64> = (0..PLACES)
        .map(|place| distance((f64::from(place) + 0.5) / f64::from(PLACES)))
        .map(|distance| curve.mean_s(distance.sqrt(), distance))
        .collect();
    let later = |t: f64| {
        let shares = seeks_s.iter().map(|seek| (1.0 - (t - seek) / rotation_s).clamp(0.0, 1.0));
        shares.sum::<f64>() / f64::from(PLACES)
    };
    let longest_s = curve.mean_s(span.sqrt(), span) + rotation_s;
    let step_s = longest_s / f64::from(STEPS);
    (0..STEPS).map(|step| later((f64::from(step) + 0.5) * step_s).powi(2) * step_s).sum()
}

/// Mean latency of random writes of `bytes` at depth 1 that go through to the disks, without reads,
/// in microseconds. As for reads of one disk; the arms of a mirrored pair then move together, and
/// the write waits for the later of two platters, two thirds of a revolution.
///
/// # Errors
/// [`ImpossibleSeek`].
pub fn write_latency_us(
    array: &ArrayGeometry,
    bytes: u64,
    span: f64,
) -> Result<f64, ImpossibleSeek> {
    let spindle = &array.spindle;
    let revolutions = if array.mirrored { 2.0 / 3.0 } else { 0.5 };
    let rotation = spindle.rotation_time.as_us() * revolutions;
    let seek = SeekCurve::fit(&spindle.write_seek)?.mean_evenly_s(span) * 1e6;
    Ok(seek + rotation + unpositioned_us(array, bytes))
}

fn unpositioned_us(array: &ArrayGeometry, bytes: u64) -> f64 {
    array.command_time.as_us()
        + array.spindle.media_bytes_per_s.time_for(bytes).as_us()
        + array.link_bytes_per_s.time_for(bytes).as_us()
}

/// Random reads of `bytes` a second, drawn evenly from the first `span` of a disk, that it serves
/// by its elevator with `depth` always in flight: while it serves one, n = `depth` − 1 wait.
///
/// Join the ends of the disk, so that the arm goes round a ring of length 1. A new request lies
/// anywhere ahead of the arm and is met after 1/2 on the mean; n wait, so (Little's law) 2n are met
/// on one way round, and the distance to the next is 1 / 2n on the mean. As Beta(1, m) with m = 2n
/// − 1, it has the density m (1 − g)^(m − 1). With the probability g the end of the disk lies
/// between, and the arm comes back over 1 − g. So `E[√d]` = m (B(3/2, m + 1) + B(2, m + 1/2)) and
/// `E[d]` = 2m / ((m + 1) (m + 2)). At n = 1, and if nothing waits, these are 8/15 and 1/3: those
/// of places drawn evenly.
///
/// # Errors
/// [`ImpossibleSeek`].
pub fn reads_per_s(
    array: &ArrayGeometry,
    bytes: u64,
    depth: u32,
    span: f64,
) -> Result<f64, ImpossibleSeek> {
    let curve = SeekCurve::fit(&array.spindle.read_seek)?;
    let m = (2 * u64::from(depth)).saturating_sub(3).max(1);
    // B(3/2, i + 1) = B(3/2, i) i / (i + 3/2), from B(3/2, 1) = 2/3.
    let beta = (1..=m).fold(2.0 / 3.0, |beta, i| beta * i as f64 / (i as f64 + 1.5));
    let m = m as f64;
    let root = m * (beta + 1.0 / ((m + 0.5) * (m + 1.5)));
    let distance = 2.0 * m / ((m + 1.0) * (m + 2.0));
    let rotation_s = array.spindle.rotation_time.as_s() / 2.0;
    let transfer_s = array.spindle.media_bytes_per_s.time_for(bytes).as_s();
    Ok(1.0 / (curve.mean_s(root * span.sqrt(), distance * span) + rotation_s + transfer_s))
}

/// Bytes a second of one stream of large sequential reads, from one disk of each side. Writes reach
/// the same if enough of them are in flight or a cache takes them.
#[must_use]
pub fn sequential_bytes_per_s(array: &ArrayGeometry) -> f64 {
    let media = array.spindle.media_bytes_per_s.0 * array.sides() as f64;
    media.min(array.link_bytes_per_s.0)
}
