//! Extrapolates from the clusters read to all data: how far they shrink, and the error of that.
//!
//! The estimate is a ratio of two stratified totals, its variance the linearised one (Cochran,
//! "Sampling Techniques", 6.11 and 5A.11). With two clusters drawn from N, a stratum adds
//! N × (N − 2) ÷ 4 × (difference of residuals)², which is zero for a stratum of two. The residuals
//! depend on the ratio itself, so squares and products are summed.

use super::schemes::{PerScheme, SCHEME_COUNT};
use super::shrink::MeasuredBytes;

/// Sums over strata.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Estimated totals.
    pub total: MeasuredBytes,
    /// Bytes of data that were read.
    pub read_bytes: f64,
    /// Number of strata that were read in part.
    sampled_strata: u64,
    /// True if some strata were read in part with a single draw, so that their variance is unknown.
    has_unknown_variance: bool,
    data_data: f64,
    data_stored: PerScheme<f64>,
    stored_stored: PerScheme<f64>,
}

/// Shrinkage of data under one scheme.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shrinkage {
    /// Stored bytes per byte of data.
    pub share: f64,
    /// Half the width of the 95 % confidence interval; `None` if it is unknown.
    pub share_plus_minus: Option<f64>,
}

impl Shrinkage {
    /// Bytes of data per stored byte.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        1.0 / self.share
    }

    /// Half the width of the interval around the ratio.
    #[must_use]
    pub fn ratio_plus_minus(&self) -> Option<f64> {
        self.share_plus_minus.map(|half| half / (self.share * self.share))
    }
}

impl Tally {
    /// Adds a stratum of `clusters` clusters, of which `read` were read.
    pub fn add(&mut self, clusters: u64, read: &[MeasuredBytes]) {
        if read.is_empty() {
            return;
        }
        self.add_share(clusters as f64 / read.len() as f64, read);
        match read {
            _ if read.len() as u64 == clusters => {}
            [first, second] => self.add_variance(clusters as f64, first, second),
            _ => self.has_unknown_variance = true,
        }
    }

    /// Adds a file's part of a stratum that several files share. Each cluster read stands for
    /// `weight` clusters.
    pub fn add_part(&mut self, weight: f64, read: &[MeasuredBytes]) {
        self.add_share(weight, read);
        self.has_unknown_variance |= weight > 1.0;
    }

    /// Adds the strata of another tally.
    pub fn add_all(&mut self, other: &Tally) {
        add_scaled(&mut self.total, 1.0, &other.total);
        self.read_bytes += other.read_bytes;
        self.sampled_strata += other.sampled_strata;
        self.has_unknown_variance |= other.has_unknown_variance;
        self.data_data += other.data_data;
        for scheme in 0..SCHEME_COUNT {
            self.data_stored[scheme] += other.data_stored[scheme];
            self.stored_stored[scheme] += other.stored_stored[scheme];
        }
    }

    /// The shrinkage under the scheme at this position; `None` if nothing was read.
    #[must_use]
    pub fn shrinkage(&self, scheme: usize) -> Option<Shrinkage> {
        let data = self.total.data_bytes;
        if data <= 0.0 {
            return None;
        }
        let share = self.total.stored_bytes[scheme] / data;
        let variance = self.stored_stored[scheme] - 2.0 * share * self.data_stored[scheme]
            + share * share * self.data_data;
        let error = variance.max(0.0).sqrt() / data;
        let is_known = !self.has_unknown_variance;
        let share_plus_minus = is_known.then(|| match self.sampled_strata {
            0 => 0.0,
            strata => error * student_95(strata),
        });
        Some(Shrinkage { share, share_plus_minus })
    }

    /// Returns true if everything was read.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.sampled_strata == 0 && !self.has_unknown_variance
    }

    fn add_share(&mut self, weight: f64, read: &[MeasuredBytes]) {
        for found in read {
            add_scaled(&mut self.total, weight, found);
            self.read_bytes += found.data_bytes;
        }
    }

    fn add_variance(&mut self, clusters: f64, first: &MeasuredBytes, second: &MeasuredBytes) {
        let factor = clusters * (clusters - 2.0) / 4.0;
        let data = first.data_bytes - second.data_bytes;
        self.sampled_strata += 1;
        self.data_data += factor * data * data;
        for scheme in 0..SCHEME_COUNT {
            let stored = first.stored_bytes[scheme] - second.stored_bytes[scheme];
            self.data_stored[scheme] += factor * data * stored;
            self.stored_stored[scheme] += factor * stored * stored;
        }
    }
}

fn add_scaled(to: &mut MeasuredBytes, weight: f64, from: &MeasuredBytes) {
    to.data_bytes += weight * from.data_bytes;
    to.zero_bytes += weight * from.zero_bytes;
    to.incompressible_bytes += weight * from.incompressible_bytes;
    to.encrypted_bytes += weight * from.encrypted_bytes;
    to.page_compressed_bytes += weight * from.page_compressed_bytes;
    for scheme in 0..SCHEME_COUNT {
        to.stored_bytes[scheme] += weight * from.stored_bytes[scheme];
    }
}

/// The 97.5 % point of Student's distribution: exact for few degrees of freedom, else Fisher's
/// expansion in their reciprocal (Abramowitz and Stegun, 26.7.5).
fn student_95(degrees: u64) -> f64 {
    const FEW: [f64; 4] = [12.706, 4.303, 3.182, 2.776];
    const NORMAL: f64 = 1.959_964;
    if let Some(point) = FEW.get(degrees as usize - 1) {
        return *point;
    }
    let (n, x) = (degrees as f64, NORMAL);
    x + (x.powi(3) + x) / (4.0 * n)
        + (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / (96.0 * n * n)
        + (3.0 * x.powi(7) + 19.0 * x.powi(5) + 17.0 * x.powi(3) - 15.0 * x) / (384.0 * n.powi(3))
}

#[cfg(test)]
mod tests {
    use super::super::sample::{Pick, Stratum, strata};
    use super::*;
    use assay_load::random::Rng;

    fn found(data: f64, stored: f64) -> MeasuredBytes {
        MeasuredBytes {
            data_bytes: data,
            stored_bytes: [stored; SCHEME_COUNT],
            ..MeasuredBytes::default()
        }
    }

    #[test]
    fn what_was_read_in_full_is_exact() {
        let mut tally = Tally::default();
        tally.add(3, &[found(10.0, 5.0), found(10.0, 4.0), found(20.0, 1.0)]);
        tally.add(1, &[found(60.0, 40.0)]);
        let shrinkage = tally.shrinkage(0).unwrap();
        assert_eq!((shrinkage.share, shrinkage.share_plus_minus), (0.5, Some(0.0)));
        assert_eq!((shrinkage.ratio(), shrinkage.ratio_plus_minus()), (2.0, Some(0.0)));
        assert!(tally.is_exact());
        assert_eq!(Tally::default().shrinkage(0), None);
    }

    #[test]
    fn a_stratum_of_two_draws_counts_as_all_of_it() {
        let mut tally = Tally::default();
        tally.add(10, &[found(10.0, 5.0), found(10.0, 7.0)]);
        tally.add(2, &[found(10.0, 6.0), found(10.0, 6.0)]);
        let shrinkage = tally.shrinkage(0).unwrap();
        assert!((shrinkage.share - 0.6).abs() < 1e-12);
        // s² = 2, variance of the total = 10² × (1 − 2 ÷ 10) × 2 ÷ 2, one degree of freedom.
        let expected = 80f64.sqrt() / 120.0 * 12.706;
        assert!((shrinkage.share_plus_minus.unwrap() - expected).abs() < 1e-9);
        assert!(!tally.is_exact());
    }

    #[test]
    fn one_draw_of_several_says_nothing_of_the_error() {
        let mut tally = Tally::default();
        tally.add(10, &[found(10.0, 5.0)]);
        assert_eq!(tally.shrinkage(0).unwrap().share_plus_minus, None);
    }

    #[test]
    fn students_points_are_right() {
        for (degrees, point) in [(1, 12.706), (4, 2.776), (5, 2.571), (10, 2.228), (120, 1.980)] {
            assert!((student_95(degrees) - point).abs() < 0.004, "{degrees}");
        }
    }

    /// Files whose stored bytes by cluster trend, jump and vary; the third has holes.
    fn population() -> Vec<Vec<MeasuredBytes>> {
        let mut random = Rng::new(1, 1);
        let mut noise = move |size: f64| size * (random.unit() - 0.5);
        vec![
            (0..3000).map(|n| found(128.0, 40.0 + f64::from(n) / 60.0 + noise(20.0))).collect(),
            (0..2000)
                .map(|n| found(128.0, if n % 10 == 0 { 1.0 } else { 70.0 + noise(9.0) }))
                .collect(),
            (0..900)
                .map(|n| found(f64::from(1 + n % 32) * 4.0, 2.0 * f64::from(1 + n % 32)))
                .collect(),
            (0..7).map(|_| found(128.0, 128.0)).collect(),
        ]
    }

    /// Number of samples, out of 300, whose interval holds the truth.
    fn covered(pick: impl Fn(&Stratum, u64, usize) -> Vec<Pick>) -> usize {
        let files = population();
        let counts: Vec<u64> = files.iter().map(|file| file.len() as u64).collect();
        let strata = strata(&counts, 120);
        let all = |of: fn(&MeasuredBytes) -> f64| files.iter().flatten().map(of).sum::<f64>();
        let truth = all(|read| read.stored_bytes[0]) / all(|read| read.data_bytes);
        (0..300)
            .filter(|&seed| {
                let mut tally = Tally::default();
                for (place, stratum) in strata.iter().enumerate() {
                    let picks = pick(stratum, seed, place);
                    let read: Vec<MeasuredBytes> = picks
                        .iter()
                        .map(|&(file, cluster)| files[file][cluster as usize])
                        .collect();
                    tally.add(stratum.clusters(), &read);
                }
                let found = tally.shrinkage(0).unwrap();
                (found.share - truth).abs() <= found.share_plus_minus.unwrap()
            })
            .count()
    }

    #[test]
    fn the_interval_holds_the_truth_as_often_as_it_says() {
        let hits = covered(|stratum, seed, place| stratum.picks(seed, place));
        assert!((270..=297).contains(&hits), "{hits} of 300 intervals of 95 %");
    }

    /// Negative control: the coverage of samples that are not random (the first clusters of each
    /// stratum) is too low.
    #[test]
    fn a_biased_sample_is_found_out() {
        let hits = covered(|stratum, _, _| {
            let (file, clusters) = stratum.pieces[0].clone();
            vec![(file, clusters.start), (file, clusters.start + 1)]
        });
        assert!(hits < 150, "{hits} of 300");
    }
}
