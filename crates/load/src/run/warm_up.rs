//! The end of a warm-up that lasts until throughput is steady: the last five seconds against the
//! five before.

/// Seconds in each of the two spans compared.
const SPAN: usize = 5;
/// The largest relative difference between them that counts as steady.
const DIFFERENCE_MAX: f64 = 0.05;

/// Watches throughput until it is steady.
#[derive(Debug)]
pub(super) struct Steady {
    tps: Vec<f64>,
    cap_seconds: f64,
}

impl Steady {
    pub(super) fn new(cap_seconds: f64) -> Steady {
        Steady { tps: Vec::new(), cap_seconds }
    }

    pub(super) fn push(&mut self, tps: f64) {
        self.tps.push(tps);
    }

    /// True once throughput is steady, false once the cap is reached before that, `None` until
    /// then. One more second passes between the verdict and the window; the cap includes it.
    pub(super) fn verdict(&self) -> Option<bool> {
        let mean = |span: &[f64]| span.iter().sum::<f64>() / SPAN as f64;
        if let Some(tail) = self.tps.len().checked_sub(2 * SPAN).map(|from| &self.tps[from..]) {
            let (before, now) = (mean(&tail[..SPAN]), mean(&tail[SPAN..]));
            if (now - before).abs() <= DIFFERENCE_MAX * before && now > 0.0 {
                return Some(true);
            }
        }
        (self.tps.len() as f64 + 1.0 >= self.cap_seconds).then_some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds_until(tps: impl Fn(usize) -> f64, cap_seconds: f64) -> (usize, bool) {
        let mut steady = Steady::new(cap_seconds);
        for second in 0.. {
            steady.push(tps(second));
            if let Some(verdict) = steady.verdict() {
                return (second + 1, verdict);
            }
        }
        unreachable!()
    }

    #[test]
    fn rest_is_found_and_the_cap_holds() {
        assert_eq!(seconds_until(|_| 100.0, 60.0), (10, true));
        let warming = |second: usize| if second < 10 { second as f64 * 10.0 } else { 100.0 };
        let (second, verdict) = seconds_until(warming, 60.0);
        assert!(verdict && (14..=20).contains(&second), "{second}");
        assert_eq!(seconds_until(|second| 1.3f64.powi(second as i32), 30.0), (29, false));
        let falling = |second: usize| 1e6 * 0.8f64.powi(second as i32);
        assert_eq!(seconds_until(falling, 30.0), (29, false), "a cache that fills is no rest");
        assert_eq!(seconds_until(|_| 0.0, 20.0), (19, false), "no throughput is no rest");
    }
}
