//! The share of cases in which something happens, from how often it did.

use statrs::distribution::{Beta, ContinuousCDF};

/// Bounds on the share behind `hits` of `of` independent cases, each of which is wrong with a
/// probability of at most `tail`: quantiles of beta distributions (Clopper and Pearson, "The use of
/// confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26, 1934).
/// `None` without cases, or for more hits than cases.
#[must_use]
pub fn clopper_pearson(hits: u64, of: u64, tail: f64) -> Option<[f64; 2]> {
    if of == 0 || hits > of {
        return None;
    }
    let (some, all) = (hits as f64, of as f64);
    let quantile = |share, a, b| Some(Beta::new(a, b).ok()?.inverse_cdf(share));
    Some([
        if hits == 0 { 0.0 } else { quantile(tail, some, all - some + 1.0)? },
        if hits == of { 1.0 } else { quantile(1.0 - tail, some + 1.0, all - some)? },
    ])
}
