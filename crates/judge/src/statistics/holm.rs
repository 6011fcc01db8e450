//! Holm's correction for several tests at once.

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
