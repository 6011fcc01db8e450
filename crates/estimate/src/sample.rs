//! The sample: two clusters of every stratum, drawn at random.
//!
//! Clusters are lined up, file after file, and cut into strata of about equal size: a large file
//! into several, small neighbours together into one. Two draws from each stratum are the minimum
//! that shows its variance, and keep every large file and every part of it in the sample (Cochran,
//! "Sampling Techniques", 5.A).

use std::ops::Range;

use assay_load::random::Rng;

/// Number of clusters in a stratum that is read in full.
const FULL_STRATUM: u64 = 64;

/// Neighbouring clusters, some or all of which are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stratum {
    /// Runs of clusters: the file's position, and the range of clusters within its data.
    pub pieces: Vec<(usize, Range<u64>)>,
    /// Number of clusters that are read: all of them, or two.
    pub draws: u64,
}

/// A cluster to read: the file's position, and the cluster's within its data.
pub type Pick = (usize, u64);

impl Stratum {
    /// Number of clusters in the stratum.
    #[must_use]
    pub fn clusters(&self) -> u64 {
        self.pieces.iter().map(|(_, clusters)| clusters.end - clusters.start).sum()
    }

    /// The file of all clusters, if they belong to only one.
    #[must_use]
    pub fn only_file(&self) -> Option<usize> {
        let (first, _) = self.pieces.first()?;
        self.pieces.iter().all(|(file, _)| file == first).then_some(*first)
    }

    /// The clusters to read, in the order of files and offsets. The seed and the stratum's position
    /// `place` determine them.
    #[must_use]
    pub fn picks(&self, seed: u64, place: usize) -> Vec<Pick> {
        let clusters = self.clusters();
        let mut chosen: Vec<u64> = (0..clusters).collect();
        if self.draws < clusters {
            let mut random = Rng::new(seed, place as u64);
            let first = random.below(clusters);
            let second = (first + 1 + random.below(clusters - 1)) % clusters;
            chosen = vec![first.min(second), first.max(second)];
        }
        chosen.into_iter().filter_map(|number| self.nth(number)).collect()
    }

    fn nth(&self, mut number: u64) -> Option<Pick> {
        for (file, clusters) in &self.pieces {
            let length = clusters.end - clusters.start;
            if number < length {
                return Some((*file, clusters.start + number));
            }
            number -= length;
        }
        None
    }
}

/// Cuts files, given by their numbers of clusters, into strata with about `budget` draws.
#[must_use]
pub fn strata(clusters: &[u64], budget: u64) -> Vec<Stratum> {
    let all: u64 = clusters.iter().sum();
    if all <= budget {
        return cut(clusters, FULL_STRATUM, |clusters| clusters);
    }
    let size = (2 * all).div_ceil(budget.max(2)).max(3);
    cut(clusters, size, |clusters| clusters.min(2))
}

/// Cuts files into strata of about `size` clusters. `draws` maps a stratum's size to its draws.
fn cut(clusters: &[u64], size: u64, draws: impl Fn(u64) -> u64) -> Vec<Stratum> {
    let mut strata: Vec<Stratum> = Vec::new();
    let mut small = Vec::new();
    let mut small_clusters = 0;
    let finished = |pieces: Vec<(usize, Range<u64>)>| {
        let mut stratum = Stratum { pieces, draws: 0 };
        stratum.draws = draws(stratum.clusters());
        stratum
    };
    for (file, &clusters) in clusters.iter().enumerate().filter(|(_, clusters)| **clusters > 0) {
        if clusters >= size {
            strata.extend(even_parts(clusters, size).map(|part| finished(vec![(file, part)])));
            continue;
        }
        small.push((file, 0..clusters));
        small_clusters += clusters;
        if small_clusters >= size {
            strata.push(finished(std::mem::take(&mut small)));
            small_clusters = 0;
        }
    }
    if !small.is_empty() {
        strata.push(finished(small));
    }
    strata
}

/// Parts of nearly equal size, none smaller than `size`.
fn even_parts(clusters: u64, size: u64) -> impl Iterator<Item = Range<u64>> {
    let parts = clusters / size;
    (0..parts).map(move |part| {
        let edge = |part: u64| (u128::from(part) * u128::from(clusters) / u128::from(parts)) as u64;
        edge(part)..edge(part + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(strata: &[Stratum], clusters: &[u64]) {
        let mut all: Vec<Pick> = strata
            .iter()
            .flat_map(|stratum| &stratum.pieces)
            .flat_map(|(file, range)| range.clone().map(|cluster| (*file, cluster)))
            .collect();
        all.sort();
        let files = clusters.iter().enumerate();
        let expected: Vec<Pick> = files
            .flat_map(|(file, &count)| (0..count).map(move |cluster| (file, cluster)))
            .collect();
        assert_eq!(all, expected, "each cluster lies in one stratum");
    }

    #[test]
    fn strata_hold_every_cluster_once() {
        let clusters = [1000, 0, 1, 3, 70, 1, 5000, 2];
        for budget in [2, 10, 100, 1000, 100_000] {
            covered(&strata(&clusters, budget), &clusters);
        }
    }

    #[test]
    fn about_as_much_is_read_as_the_budget_says() {
        let clusters = [10_000, 3, 3, 3, 500, 1];
        for budget in [50, 400, 4000] {
            let picked: u64 = strata(&clusters, budget).iter().map(|stratum| stratum.draws).sum();
            assert!(picked <= budget + 2 && picked * 10 >= budget * 8, "{picked} of {budget}");
        }
        let all = strata(&clusters, 10_510);
        assert!(all.iter().all(|stratum| stratum.draws == stratum.clusters()));
    }

    #[test]
    fn picks_are_two_different_clusters_of_the_stratum_and_repeat() {
        let stratum = Stratum { pieces: vec![(3, 10..12), (5, 0..3)], draws: 2 };
        let all = [(3, 10), (3, 11), (5, 0), (5, 1), (5, 2)];
        let mut drawn = [0; 5];
        for place in 0..5000 {
            let picks = stratum.picks(1, place);
            assert!(picks.len() == 2 && picks[0] < picks[1]);
            assert_eq!(picks, stratum.picks(1, place));
            picks.iter().for_each(|pick| {
                drawn[all.iter().position(|cluster| cluster == pick).unwrap()] += 1
            });
        }
        // 2000 ± 5 standard deviations of a binomial.
        assert!(drawn.iter().all(|&count| (1827..2173).contains(&count)), "{drawn:?}");
        assert_ne!(stratum.picks(1, 0), stratum.picks(2, 0));
        let whole = Stratum { pieces: vec![(3, 10..12), (5, 0..3)], draws: 5 };
        assert_eq!(whole.picks(1, 0), all);
    }
}
