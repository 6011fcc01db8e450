//! The end of a warm-up that lasts until throughput is steady: the change that is still to come, by
//! a fitted exponential approach, with its error.

/// The largest share of the throughput at rest that may still be to come.
const REMAINDER_MAX: f64 = 0.05;
/// Seconds before the first decision. In fewer, noise that lasts for seconds hides an approach over
/// minutes.
const SECONDS_MIN: usize = 30;
/// Ratio of the times of successive decisions: each decision is another chance to be wrong, so they
/// are few.
const GROWTH: f64 = 1.2;
/// Ratio of successive time constants of the fitted approaches.
const TAU_RATIO: f64 = std::f64::consts::SQRT_2;
/// Shortest time constant that is fitted, in seconds.
const TAU_MIN: f64 = 2.0;
/// Standard errors between an estimate and its bound.
const ERRORS: f64 = 2.0;
/// Time constants are possible if they fit worse than the best by no more than this many error
/// variances (likelihood ratio; three standard errors of one parameter).
const POSSIBLE: f64 = 9.0;

/// Watches throughput until it is steady.
#[derive(Debug)]
pub(super) struct Steady {
    tps: Vec<f64>,
    cap_seconds: f64,
    /// Seconds at the next decision.
    next: usize,
}

impl Steady {
    pub(super) fn new(cap_seconds: f64) -> Steady {
        Steady { tps: Vec::new(), cap_seconds, next: SECONDS_MIN }
    }

    pub(super) fn push(&mut self, tps: f64) {
        self.tps.push(tps);
    }

    /// True once throughput is steady, false once the cap is reached before that, `None` until
    /// then. One more second passes between the verdict and the window; the cap includes it.
    pub(super) fn verdict(&mut self) -> Option<bool> {
        if self.tps.len() >= self.next {
            self.next = (self.tps.len() as f64 * GROWTH).ceil() as usize;
            if remainder_most(&self.tps) <= REMAINDER_MAX {
                return Some(true);
            }
        }
        (self.tps.len() as f64 + 1.0 >= self.cap_seconds).then_some(false)
    }
}

/// An upper bound of the change that is still to come, as a share of the throughput at rest: the
/// largest over all possible time constants, at most as long as the time waited.
///
/// For each time constant the rest and the remainder are linear in the seconds (least squares with
/// separable parameters: Golub and Pereyra, SIAM Journal on Numerical Analysis 10, 1973).
fn remainder_most(tps: &[f64]) -> f64 {
    let constants = std::iter::successors(Some(tps.len() as f64), |tau| Some(tau / TAU_RATIO));
    let fits: Vec<Approach> =
        constants.take_while(|tau| *tau >= TAU_MIN).map(|tau| Approach::fitted(tps, tau)).collect();
    let Some(best) = fits.iter().min_by(|a, b| a.squares.total_cmp(&b.squares)) else {
        return f64::INFINITY;
    };
    let variance = long_run_variance(&best.residuals);
    let possible = fits.iter().filter(|fit| fit.squares - best.squares <= POSSIBLE * variance);
    possible.map(|fit| fit.bound(variance)).fold(0.0, f64::max)
}

/// Throughput that approaches its rest exponentially, with a given time constant.
struct Approach {
    rest: f64,
    /// Throughput at the end of the seconds less that at rest.
    remainder: f64,
    /// Sum of squares of the regressor around its mean.
    regressor: f64,
    residuals: Vec<f64>,
    squares: f64,
}

impl Approach {
    fn fitted(tps: &[f64], tau: f64) -> Approach {
        let n = tps.len() as f64;
        let left: Vec<f64> =
            (0..tps.len()).map(|second| ((n - second as f64 - 0.5) / tau).exp()).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
        let (level, centre) = (mean(tps), mean(&left));
        let regressor: f64 = left.iter().map(|x| (x - centre).powi(2)).sum();
        let product: f64 = left.iter().zip(tps).map(|(x, y)| (x - centre) * (y - level)).sum();
        let remainder = product / regressor;
        let rest = level - remainder * centre;
        let residuals: Vec<f64> =
            left.iter().zip(tps).map(|(x, y)| y - rest - remainder * x).collect();
        let squares = residuals.iter().map(|one| one * one).sum();
        Approach { rest, remainder, regressor, residuals, squares }
    }

    /// Upper bound of the remainder as a share of the rest, with this variance of the seconds.
    fn bound(&self, variance: f64) -> f64 {
        if self.rest <= 0.0 {
            return f64::INFINITY;
        }
        (self.remainder.abs() + ERRORS * (variance / self.regressor).sqrt()) / self.rest
    }
}

/// The long-run variance of a fit's residuals, if they are a first-order autoregression: its first
/// autocorrelation, corrected for the bias that a fitted trend leaves ((2 + 4ρ) ÷ n: Shaman and
/// Stine, Journal of the American Statistical Association 83, 1988). It is enlarged as the variance
/// of t is for as many degrees of freedom as there are independent seconds.
fn long_run_variance(residuals: &[f64]) -> f64 {
    let n = residuals.len() as f64;
    let squares: f64 = residuals.iter().map(|one| one * one).sum();
    if squares <= 0.0 {
        return 0.0;
    }
    let product: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let found = product / squares;
    let rho = (found + (2.0 + 4.0 * found) / n).clamp(0.0, 0.97);
    let times = (1.0 + rho) / (1.0 - rho);
    let df = (n / times - 2.0).max(1.0);
    // Three fitted parameters: rest, remainder, time constant.
    squares / (n - 3.0) * times * (1.0 + 2.0 / df)
}

#[cfg(test)]
mod tests {
    use assay_testing::count;

    use super::*;
    use crate::random::Rng;

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
        assert_eq!(seconds_until(|_| 100.0, 60.0), (30, true));
        let warming = |second: usize| if second < 10 { second as f64 * 10.0 } else { 100.0 };
        let (second, verdict) = seconds_until(warming, 120.0);
        assert!(verdict && second <= 80, "{second}");
        assert_eq!(seconds_until(|second| 1.3f64.powi(second as i32), 60.0), (59, false));
        let falling = |second: usize| 1e6 * 0.97f64.powi(second as i32);
        assert_eq!(seconds_until(falling, 60.0), (59, false), "a cache that fills is no rest");
        assert_eq!(seconds_until(|_| 0.0, 60.0), (59, false), "no throughput is no rest");
        assert_eq!(seconds_until(|_| 100.0, 20.0), (19, false), "20 s show nothing");
    }

    /// Negative control: two spans of five seconds whose means are within 5 %.
    fn by_two_spans(tps: &[f64]) -> Option<bool> {
        let mean = |span: &[f64]| span.iter().sum::<f64>() / 5.0;
        let tail = &tps[tps.len().checked_sub(10)?..];
        let (before, now) = (mean(&tail[..5]), mean(&tail[5..]));
        ((now - before).abs() <= 0.05 * before).then_some(true)
    }

    /// Seconds that approach 100 from (1 - `depth`) of it, with noise of a first-order
    /// autoregression.
    fn approach(rng: &mut Rng, depth: f64, tau: f64, deviation: f64, rho: f64) -> Vec<f64> {
        // Standard normal (Box and Muller, 1958).
        let mut normal = || {
            let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
            radius * (std::f64::consts::TAU * rng.unit()).cos()
        };
        let mut state = normal();
        let mut tps = |second: usize| {
            state = rho * state + (1.0 - rho * rho).sqrt() * normal();
            let gone = (-(second as f64 + 0.5) / tau).exp();
            100.0 * (1.0 - depth * gone) * (1.0 + deviation * state)
        };
        (0..CAP).map(&mut tps).collect()
    }

    const CAP: usize = 300;

    /// Counts of simulated warm-ups.
    #[derive(Default)]
    struct Counted {
        /// Called steady with more than 5 % to come.
        early: u32,
        settled: u32,
        seconds: usize,
    }

    impl Counted {
        fn note(&mut self, (seconds, is_steady): (usize, bool), depth: f64, tau: f64) {
            // The window begins a second after the decision.
            let left = depth.abs() * (-(seconds as f64 + 1.0) / tau).exp();
            self.early += u32::from(is_steady && left > REMAINDER_MAX);
            self.settled += u32::from(is_steady);
            self.seconds += seconds;
        }
    }

    #[test]
    fn a_slow_warm_up_is_waited_for_or_said_not_to_have_settled() {
        let cases = count(100, 600);
        println!("depth tau noise rho  seconds of an exact clock: two spans, too early | now");
        for (depth, tau) in [0.5, -0.5]
            .iter()
            .flat_map(|depth| [5.0, 10.0, 20.0, 40.0, 80.0].map(|tau| (*depth, tau)))
            .chain([(0.0, 5.0)])
        {
            for (deviation, rho) in [(0.02, 0.0), (0.02, 0.8), (0.05, 0.5), (0.05, 0.8), (0.1, 0.5)]
            {
                let mut rng = Rng::new(41, 0);
                let (mut spans, mut fitted) = (Counted::default(), Counted::default());
                for _ in 0..cases {
                    let tps = approach(&mut rng, depth, tau, deviation, rho);
                    let until = (1..CAP).find(|n| by_two_spans(&tps[..*n]) == Some(true));
                    spans.note((until.unwrap_or(CAP - 1), until.is_some()), depth, tau);
                    fitted.note(seconds_until(|second| tps[second], CAP as f64), depth, tau);
                }
                let share = |n: u32| 100.0 * f64::from(n) / f64::from(cases);
                let exact = if depth == 0.0 { 0.0 } else { tau * 10.0_f64.ln() };
                println!(
                    "{depth:5} {tau:3} {deviation:5} {rho:3}  {exact:3.0}: {:3.0} s, {:5.1} % | \
                     {:3.0} s, {:4.1} %, settled {:5.1} %",
                    spans.seconds as f64 / f64::from(cases),
                    share(spans.early),
                    fitted.seconds as f64 / f64::from(cases),
                    share(fitted.early),
                    share(fitted.settled),
                );
                // Three standard errors of 5 %.
                let most = 0.05 + 3.0 * (0.05 * 0.95 / f64::from(cases)).sqrt();
                assert!(f64::from(fitted.early) <= most * f64::from(cases), "{}", fitted.early);
                if tau >= 20.0 {
                    assert!(share(spans.early) > 90.0, "the control: {}", share(spans.early));
                }
                if deviation == 0.02 {
                    assert!(share(fitted.settled) > 80.0, "it settles: {}", fitted.settled);
                }
            }
        }
    }
}
