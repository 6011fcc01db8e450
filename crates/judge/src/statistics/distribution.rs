//! Student's t and the normal distribution, for any real number of degrees of freedom.

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

/// The value that a t variable with `df` degrees of freedom stays below with probability `p`.
/// Infinite for no degrees of freedom.
#[must_use]
pub fn t_quantile(p: f64, df: f64) -> f64 {
    let Ok(t) = StudentsT::new(0.0, 1.0, df) else { return f64::INFINITY };
    if p < 0.5 {
        return -t_quantile(1.0 - p, df);
    }
    // Above zero the distribution function is concave: Newton's steps from zero approach the value
    // from below, until rounding turns one back.
    let mut value = 0.0;
    for _ in 0..200 {
        let next = value + (p - t.cdf(value)) / t.pdf(value);
        if !(next > value && next < 1e12) {
            break;
        }
        value = next;
    }
    value
}

/// The probability that a t variable with `df` degrees of freedom is at least as far from zero as
/// `t`; 1 where there are none.
#[must_use]
pub fn t_two_sided_p(t: f64, df: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, df) {
        Ok(_) if t.is_infinite() => 0.0,
        Ok(distribution) if t.is_finite() => (2.0 * distribution.cdf(-t.abs())).min(1.0),
        _ => 1.0,
    }
}

/// The probability that a standard normal variable is at most `x`.
#[must_use]
pub fn normal_cdf(x: f64) -> f64 {
    Normal::standard().cdf(x)
}
