//! Exact zipf draws by rejection from an inverted hat.
//!
//! Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 6(3), 1996. No table and no zeta sum, so a billion keys cost as
//! little to set up as ten; less than 1.1 uniform numbers a draw.

use crate::random::Rng;

/// Ranks 0..n, rank r with probability in proportion to (r + 1)^-θ.
#[derive(Debug, Clone)]
pub(super) struct Zipf {
    exponent: f64,
    low: f64,
    high: f64,
    accept: f64,
    count: f64,
}

impl Zipf {
    pub(super) fn new(count: u64, exponent: f64) -> Zipf {
        let count = count.max(1) as f64;
        let mut zipf = Zipf { exponent, low: 0.0, high: 0.0, accept: 0.0, count };
        zipf.low = zipf.area(1.5) - 1.0;
        zipf.high = zipf.area(count + 0.5);
        zipf.accept = 2.0 - zipf.inverse_area(zipf.area(2.5) - zipf.weight(2.0));
        zipf
    }

    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.high + rng.unit() * (self.low - self.high);
            let x = self.inverse_area(area);
            let rank = (x + 0.5).floor().clamp(1.0, self.count);
            if rank - x <= self.accept || area >= self.area(rank + 0.5) - self.weight(rank) {
                return rank as u64 - 1;
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of x^-θ from 1 to x.
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = (1.0 - self.exponent) * log;
        if t.abs() < 1e-8 { log * (1.0 + t / 2.0) } else { log * t.exp_m1() / t }
    }

    fn inverse_area(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        if t.abs() < 1e-8 { (area * (1.0 - t / 2.0)).exp() } else { (area * t.ln_1p() / t).exp() }
    }
}
