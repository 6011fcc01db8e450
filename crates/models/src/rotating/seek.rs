//! Seek times of an arm.

use thiserror::Error;

use crate::time::Time;

/// Seek times as in data sheets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeekTimes {
    /// To the next track.
    pub track_to_track: Time,
    /// Mean over the distances between places drawn evenly; data sheets call it average or typical.
    pub mean: Time,
    /// From the first track to the last, if it is published.
    pub full_stroke: Option<Time>,
}

/// Seek times that no arm can have.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error(
    "seek times of {track_to_track_us} µs to the next track, {mean_us} µs on average and \
     {full_stroke_us} µs over all tracks do not grow with the distance; \
     check them, or leave the full stroke out"
)]
pub struct ImpossibleSeek {
    track_to_track_us: f64,
    mean_us: f64,
    full_stroke_us: f64,
}

/// Time = a + b √d + c d for a distance of d tracks beyond the next one, as a share of all tracks
/// (Lee and Katz, "An analytic performance model of disk arrays", SIGMETRICS 1993).
///
/// The times for d = 0 and d = 1 and the mean are the published ones. Between places drawn evenly,
/// d has the density 2 (1 − d), so `E[√d]` = 8/15 and `E[d]` = 1/3. If no full stroke is published,
/// c = 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeekCurve {
    a_s: f64,
    b_s: f64,
    c_s: f64,
}

const MEAN_ROOT: f64 = 8.0 / 15.0;
const MEAN_DISTANCE: f64 = 1.0 / 3.0;

impl SeekCurve {
    pub(super) fn fit(times: &SeekTimes) -> Result<SeekCurve, ImpossibleSeek> {
        let a_s = times.track_to_track.as_s();
        let mean = times.mean.as_s() - a_s;
        let (b_s, c_s) = match times.full_stroke {
            None => (mean / MEAN_ROOT, 0.0),
            Some(full) => {
                let full = full.as_s() - a_s;
                let b_s = (mean - full * MEAN_DISTANCE) / (MEAN_ROOT - MEAN_DISTANCE);
                (b_s, full - b_s)
            }
        };
        // The slope b / (2 √d) + c is least at one of the ends, and at the first it has the sign of
        // b.
        let grows = b_s >= 0.0 && b_s / 2.0 + c_s >= 0.0;
        grows.then_some(SeekCurve { a_s, b_s, c_s }).ok_or(ImpossibleSeek {
            track_to_track_us: times.track_to_track.as_us(),
            mean_us: times.mean.as_us(),
            full_stroke_us: Time::from_s(a_s + b_s + c_s).as_us(),
        })
    }

    /// Time for a distance, as a share of all tracks.
    pub(super) fn time(&self, distance: f64) -> Time {
        Time::from_s(self.mean_s(distance.sqrt(), distance))
    }

    /// Mean in seconds over distances between places drawn evenly from the first `span` of all
    /// tracks.
    pub(super) fn mean_evenly_s(&self, span: f64) -> f64 {
        self.mean_s(MEAN_ROOT * span.sqrt(), MEAN_DISTANCE * span)
    }

    /// Mean in seconds over distances with these means of their square root and of themselves.
    pub(super) fn mean_s(&self, root: f64, distance: f64) -> f64 {
        self.a_s + self.b_s * root + self.c_s * distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::testing::assert_near;

    /// Hitachi Ultrastar 15K450, reads.
    fn times() -> SeekTimes {
        let full_stroke = Some(Time::from_us(5000.0));
        SeekTimes { track_to_track: Time::from_us(300.0), mean: Time::from_us(3300.0), full_stroke }
    }

    #[test]
    fn the_published_times_come_out() {
        let without = SeekTimes { full_stroke: None, ..times() };
        for times in [times(), without] {
            let curve = SeekCurve::fit(&times).unwrap();
            let mut random = Random::new(5);
            let mut draw = || curve.time((random.unit() - random.unit()).abs()).as_us();
            let mean = (0..1_000_000).map(|_| draw()).sum::<f64>() / 1e6;
            assert_near(mean, 3300.0, 0.002);
            assert_near(curve.time(0.0).as_us(), 300.0, 1e-6);
            if times.full_stroke.is_some() {
                assert_near(curve.time(1.0).as_us(), 5000.0, 1e-6);
            }
            let grows =
                |i: u32| curve.time(f64::from(i) / 1e3) <= curve.time(f64::from(i + 1) / 1e3);
            assert!((0..1000).all(grows));
        }
    }

    #[test]
    fn times_that_do_not_grow_with_the_distance_are_refused() {
        let ms = |ms: f64| Time::from_us(1000.0 * ms);
        for (track_to_track, mean, full_stroke) in
            [(4.0, 3.3, None), (0.3, 3.3, Some(3.4)), (0.3, 3.3, Some(20.0))]
        {
            let times = SeekTimes {
                track_to_track: ms(track_to_track),
                mean: ms(mean),
                full_stroke: full_stroke.map(ms),
            };
            let error = SeekCurve::fit(&times).unwrap_err();
            assert!(error.to_string().contains("3300 µs on average"), "{error}");
        }
    }
}
