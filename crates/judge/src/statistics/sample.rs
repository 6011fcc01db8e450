//! Means, medians, quantiles and deviations of plain samples.

/// The arithmetic mean; not a number of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation with n − 1; not a number of fewer than two.
#[must_use]
pub fn standard_deviation(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    if values.len() < 2 { f64::NAN } else { (squares / (values.len() - 1) as f64).sqrt() }
}

/// The quantile `p` (0 to 1) with linear interpolation between ranks, definition 7 of Hyndman and
/// Fan ("Sample quantiles in statistical packages", The American Statistician 50, 1996), as R and
/// numpy have it; not a number of nothing.
#[must_use]
pub fn quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = p.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let above = sorted[(below + 1).min(last)];
    sorted[below] + (place - below as f64) * (above - sorted[below])
}

/// The median; not a number of nothing.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The median of the distances from the median, times 1.4826, which makes it the standard deviation
/// of a normal sample (Hampel, "The influence curve and its role in robust estimation", JASA 69,
/// 1974).
#[must_use]
pub fn median_deviation(values: &[f64]) -> f64 {
    let centre = median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median(&distances) * 1.4826
}
