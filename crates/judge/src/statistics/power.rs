//! How likely a difference is to be found, and how many repeats that takes.

use statrs::function::gamma::ln_gamma;

use super::{normal_cdf, t_quantile};

/// Steps of the integral over the chance of the estimated deviation.
const STEPS: usize = 400;

/// The chance that the interval of a paired t at `level` leaves zero out on either side, if pairs
/// truly differ by `effect` with the standard deviation `deviation`: the power of the t test, by
/// its definition, P(|Z + δ| > t·√(χ²/ν)) integrated over χ² (Student's noncentral t; Johnson, Kotz
/// and Balakrishnan, "Continuous univariate distributions" 2, chapter 31).
#[must_use]
pub fn power(effect: f64, deviation: f64, repeats: u32, level: f64) -> f64 {
    if repeats < 2 {
        return 0.0;
    }
    if deviation <= 0.0 {
        return if effect == 0.0 { 1.0 - level } else { 1.0 };
    }
    let t = t_quantile(0.5 + level / 2.0, f64::from(repeats - 1));
    let shift = effect / deviation * f64::from(repeats).sqrt();
    let found = |u: f64| normal_cdf(shift - t * u) + normal_cdf(-shift - t * u);
    over_deviations(found, repeats)
}

/// The mean of `of` over what the estimated deviation may be, as a multiple u of the true one:
/// u = √(χ²/ν) has the density 2 (ν/2)^(ν/2) ÷ Γ(ν/2) · u^(ν−1) · e^(−ν u²/2). Simpson's rule over
/// all u but those that come once in ten thousand million, its places closest near the least u: of
/// two repeats `of` may fall within a thousandth.
fn over_deviations(of: impl Fn(f64) -> f64, repeats: u32) -> f64 {
    let df = f64::from(repeats - 1);
    let scale = std::f64::consts::LN_2 + df / 2.0 * (df / 2.0).ln() - ln_gamma(df / 2.0);
    // Density at zero: only of one degree of freedom is it not zero there.
    let at_zero = if df == 1.0 { scale.exp() } else { 0.0 };
    let density = |u: f64| match u {
        0.0 => at_zero,
        _ => (scale + (df - 1.0) * u.ln() - df * u * u / 2.0).exp(),
    };
    let reach = 6.5 / df.sqrt();
    let from = (1.0 - reach).max(0.0);
    let wide = 1.0 + reach - from;
    let step = 1.0 / STEPS as f64;
    let weight = |place: usize| match place {
        0 | STEPS => 1.0,
        _ if place % 2 == 1 => 4.0,
        _ => 2.0,
    };
    let at = |place: usize| {
        let part = place as f64 * step;
        let u = from + wide * part * part;
        weight(place) * of(u) * density(u) * 2.0 * wide * part
    };
    (0..=STEPS).map(at).sum::<f64>() * step / 3.0
}

/// Power with which a planned number of repeats should find a difference.
const POWER_WANTED: f64 = 0.8;

/// With less power than this a decision is unlikely.
const POWER_UNLIKELY: f64 = 0.2;

/// More repeats than this are no advice.
const REPEATS_MOST: u32 = 1000;

/// The fewest repeats that settle a difference that is what it looks like in one case of five or
/// more: either the interval leaves zero out, or it lies within `margin` on both sides. `None` if a
/// thousand do not.
///
/// Few repeats know neither the difference nor its deviation well. The number of repeats that would
/// decide with a chance of 80 %, if both were as they look, decides in 42 to 67 % of cases after
/// two repeats; before this number, at most 18 % are decided (`tests::verdicts`).
#[must_use]
pub fn unlikely_before(effect: f64, deviation: f64, margin: f64, level: f64) -> Option<u32> {
    let settles = |repeats: &u32| {
        power(effect, deviation, *repeats, level) >= POWER_UNLIKELY
            || fits(effect, deviation, margin, *repeats, level) >= POWER_UNLIKELY
    };
    // Power grows with repeats: halving finds the first.
    let (mut low, mut high) = (1, REPEATS_MOST);
    if !settles(&high) {
        return None;
    }
    while high - low > 1 {
        let middle = u32::midpoint(low, high);
        if settles(&middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// The smallest difference that so many repeats find with the chance that is wanted of a plan, if
/// pairs of repeats differ with the standard deviation `deviation`; in the same unit, of
/// logarithms. Nothing where repeats are too few to tell.
#[must_use]
pub fn detectable(deviation: f64, repeats: u32, level: f64) -> Option<f64> {
    // The effect in units of the deviation does not depend on the deviation.
    let lacks = |effect: f64| POWER_WANTED - power(effect, 1.0, repeats, level);
    // Two repeats find a difference of some 17 deviations.
    let beyond = (0..10).map(|doubled| f64::from(1 << doubled)).find(|far| lacks(*far) <= 0.0)?;
    Some(deviation.max(f64::MIN_POSITIVE) * zero_between(lacks, beyond))
}

/// The place between 0 and `high` where a function that falls from above zero to below it is zero,
/// by the Illinois algorithm (Dowell and Jarratt, "A modified regula falsi method for computing the
/// root of an equation", BIT 11, 1971).
fn zero_between(of: impl Fn(f64) -> f64, high: f64) -> f64 {
    let (mut low, mut high) = ([0.0, of(0.0)], [high, of(high)]);
    let mut last_was_low = None;
    for _ in 0..60 {
        let place = (low[0] * high[1] - high[0] * low[1]) / (high[1] - low[1]);
        let value = of(place);
        let is_low = value > 0.0;
        let (moved, other) = if is_low { (&mut low, &mut high) } else { (&mut high, &mut low) };
        let is_there = (place - moved[0]).abs() <= 1e-9 * place;
        *moved = [place, value];
        if is_there {
            return place;
        }
        if last_was_low == Some(is_low) {
            other[1] /= 2.0;
        }
        last_was_low = Some(is_low);
    }
    high[0]
}

/// The chance that the interval lies within ±`margin` (Schuirmann, "A comparison of the two
/// one-sided tests procedure and the power approach", Journal of Pharmacokinetics and
/// Biopharmaceutics 15, 1987), integrated over the estimated deviation like [`power`].
fn fits(effect: f64, deviation: f64, margin: f64, repeats: u32, level: f64) -> f64 {
    if repeats < 2 {
        return 0.0;
    }
    let error = deviation / f64::from(repeats).sqrt();
    if error <= 0.0 {
        return if effect.abs() < margin { 1.0 } else { 0.0 };
    }
    let t = t_quantile(0.5 + level / 2.0, f64::from(repeats - 1));
    let within = |u: f64| {
        let below = normal_cdf((margin - effect) / error - t * u);
        (below - normal_cdf((-margin - effect) / error + t * u)).max(0.0)
    };
    over_deviations(within, repeats)
}
