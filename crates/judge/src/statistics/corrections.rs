//! Corrections for several tests at once.

/// The p values of a family, each adjusted so that rejecting those at most α keeps the chance of
/// any false rejection at most α, however the tests depend on one another: the sorted p are
/// multiplied by m, m − 1, …, 1 and made monotone (Holm, "A simple sequentially rejective multiple
/// test procedure", Scandinavian Journal of Statistics 6, 1979).
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least = 0.0_f64;
    for (place, &which) in order.iter().enumerate() {
        least = least.max((p.len() - place) as f64 * p[which]).min(1.0);
        adjusted[which] = least;
    }
    adjusted
}

/// The q values of a family: those at most α are a choice of which on average at most the share α
/// is false, if the tests are independent or depend on one another positively. The sorted p are
/// multiplied by m ÷ rank and made monotone from the largest (Benjamini and Hochberg, "Controlling
/// the false discovery rate", Journal of the Royal Statistical Society B 57, 1995; Benjamini and
/// Yekutieli, Annals of Statistics 29, 2001).
#[must_use]
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut most = 1.0_f64;
    for (place, &which) in order.iter().enumerate().rev() {
        most = most.min(p.len() as f64 / (place + 1) as f64 * p[which]);
        adjusted[which] = most;
    }
    adjusted
}
