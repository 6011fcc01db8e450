//! Results of a series of power cuts of a configuration.

mod recovery;

use assay_study::power_cut::{Commits, Replication};
use assay_study::{Config, PowerCut, Study};

use crate::difference::alike::{CutsOfSide, Unlike};
use crate::statistics::clopper_pearson;

pub use recovery::recoveries;

/// How sure the bound is.
pub const CONFIDENCE: f64 = 0.95;

/// The power cuts of one configuration, counted.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerCuts<'a> {
    /// The configuration.
    pub config: &'a str,
    /// How the replica followed that took over; nothing where the server itself came up again.
    pub replica: Option<Replication>,
    /// Cuts.
    pub cuts: u64,
    /// Those that lost something that must not be lost.
    pub with_loss: u64,
    /// Writes that a power cut tore, in all.
    pub torn_writes: u64,
    /// InnoDB pages among them, as far as they were seen as such.
    pub torn_pages: u64,
    /// Commits that were acknowledged under load.
    pub acknowledged: u64,
    /// Those of them that were gone, whether they may be or not.
    pub lost_commits: u64,
    /// Pages that servers took from the doublewrite buffer.
    pub doublewrite_pages: u64,
    /// How long servers took to come up again: the least, the median and the most, in milliseconds.
    pub recovery_ms: Option<[f64; 3]>,
    /// The first cut that lost something.
    pub first_loss: Option<&'a PowerCut>,
}

impl<'a> PowerCuts<'a> {
    /// Each configuration's, in the order in which they come.
    #[must_use]
    pub fn of_all(cuts: &'a [PowerCut]) -> Vec<PowerCuts<'a>> {
        let of_one = cuts.chunk_by(|a, b| a.config == b.config);
        of_one.filter_map(PowerCuts::of).collect()
    }

    /// The cuts of the configuration with that name; `None` if it has none.
    #[must_use]
    pub fn of_config(cuts: &'a [PowerCut], config: &str) -> Option<PowerCuts<'a>> {
        PowerCuts::of_all(cuts).into_iter().find(|one| one.config == config)
    }

    /// The result of one configuration's cuts; `None` without cuts.
    fn of(cuts: &'a [PowerCut]) -> Option<PowerCuts<'a>> {
        let first = cuts.first()?;
        let sum = |figure: &dyn Fn(&PowerCut) -> u64| cuts.iter().map(figure).sum::<u64>();
        let commits = |figure: &dyn Fn(&Commits) -> u64| {
            cuts.iter().filter_map(|cut| cut.commits.as_ref()).map(figure).sum::<u64>()
        };
        let mut recovery: Vec<f64> = cuts.iter().filter_map(PowerCut::recovery_ms).collect();
        recovery.sort_by(f64::total_cmp);
        let middle = recovery.get(recovery.len() / 2);
        Some(PowerCuts {
            config: &first.config,
            replica: first.replica,
            cuts: cuts.len() as u64,
            with_loss: sum(&|cut| u64::from(!cut.is_survived())),
            torn_writes: sum(&|cut| cut.survival.torn),
            torn_pages: sum(&|cut| cut.survival.torn_pages.len() as u64),
            acknowledged: commits(&|commits| commits.acknowledged),
            lost_commits: commits(&|commits| commits.lost),
            doublewrite_pages: sum(&|cut| {
                cut.recovery.as_ref().map_or(0, |it| it.doublewrite_pages)
            }),
            recovery_ms: recovery
                .first()
                .zip(middle)
                .zip(recovery.last())
                .map(|((least, middle), most)| [*least, *middle, *most]),
            first_loss: cuts.iter().find(|cut| !cut.is_survived()),
        })
    }

    /// If no cut lost anything: of how many cuts at most one loses something, at [`CONFIDENCE`].
    /// The share p of cuts with a loss that would show none in n with a probability of 5 % is 1 -
    /// 0.05^(1/n) (Clopper and Pearson, "The use of confidence or fiducial limits illustrated in
    /// the case of the binomial", 1934).
    #[must_use]
    pub fn one_in_at_least(&self) -> Option<u64> {
        let share = 1.0 - (1.0 - CONFIDENCE).powf(1.0 / self.cuts as f64);
        (self.with_loss == 0 && self.cuts > 0).then(|| (1.0 / share) as u64)
    }

    /// Bounds on the share of cuts that lose something, at [`CONFIDENCE`]. Nothing without cuts.
    #[must_use]
    pub fn share_with_loss(&self) -> Option<[f64; 2]> {
        clopper_pearson(self.with_loss, self.cuts, (1.0 - CONFIDENCE) / 2.0)
    }
}

/// That power cuts took something from one of both and nothing from the other, or that the two have
/// not the same kind of replica; nothing where one has no power cuts.
#[must_use]
pub fn power_cut_difference(a: (&Study, &Config), b: (&Study, &Config)) -> Option<Unlike> {
    let its = |(study, config): (&Study, &Config)| {
        let its = PowerCuts::of_config(&study.power_cuts, &config.name)?;
        Some(CutsOfSide { cuts: its.cuts, with_loss: its.with_loss, replica: its.replica })
    };
    let both = [its(a)?, its(b)?];
    let [a, b] = both.map(|one| (one.with_loss == 0, one.replica));
    (a != b).then_some(Unlike::PowerCuts(both))
}

#[cfg(test)]
mod tests {
    use assay_study::power_cut::{Loss, Moment, RecoveryTime, Survival};
    use assay_testing::count;
    use statrs::distribution::{Binomial, Discrete};

    use super::*;

    pub(super) fn cut(config: &str, number: u32, losses: Vec<Loss>) -> PowerCut {
        PowerCut {
            config: config.into(),
            number,
            fingerprint: String::new(),
            seed: 0,
            block_began_ms: None,
            moment: Moment::Flush(1),
            loaded_ms: 100.0,
            survival: Survival { writes: 4, whole: 1, torn: 2, lost: 1, torn_pages: Vec::new() },
            replica: None,
            commits: Some(Commits { acknowledged: 10, lost: u64::from(number), unanswered: 0 }),
            recovery: Some(RecoveryTime {
                server_ms: f64::from(number) * 100.0,
                ..RecoveryTime::default()
            }),
            losses,
            kept_in: None,
            aftermath: None,
        }
    }

    #[test]
    fn cuts_are_counted_configuration_by_configuration() {
        let loss = Loss::Commits { writer: 0, acknowledged: 10, found: 8 };
        let cuts = [
            cut("a", 1, vec![]),
            cut("a", 2, vec![loss]),
            cut("a", 3, vec![]),
            cut("b", 1, vec![]),
        ];
        let all = PowerCuts::of_all(&cuts);
        let counted: Vec<_> = all.iter().map(|one| (one.config, one.cuts, one.with_loss)).collect();
        assert_eq!(counted, [("a", 3, 1), ("b", 1, 0)]);
        assert_eq!((all[0].torn_writes, all[0].acknowledged, all[0].lost_commits), (6, 30, 6));
        assert_eq!(all[0].recovery_ms, Some([100.0, 200.0, 300.0]));
        assert_eq!(all[0].first_loss.map(|cut| cut.number), Some(2));
        assert_eq!(PowerCuts::of_all(&[]), []);
    }

    #[test]
    fn configurations_are_unlike_where_power_cuts_took_something_from_one_alone() {
        let mut study = crate::simulated::study(&["a", "b", "c", "d"], &[]);
        let loss = || vec![Loss::RowMissing { id: 1 }];
        study.power_cuts = vec![
            cut("a", 1, vec![]),
            cut("a", 2, vec![]),
            cut("b", 1, loss()),
            cut("c", 1, vec![]),
        ];
        let between = |a: usize, b: usize| {
            let side = |place: usize| (&study, &study.configs[place]);
            power_cut_difference(side(a), side(b))
        };
        let lost = |cuts, with_loss| CutsOfSide { cuts, with_loss, replica: None };
        assert_eq!(between(0, 1), Some(Unlike::PowerCuts([lost(2, 0), lost(1, 1)])));
        assert_eq!((between(0, 2), between(0, 3), between(1, 1)), (None, None, None));
    }

    #[test]
    fn configurations_are_unlike_where_a_replica_took_over_from_one_alone() {
        let mut study = crate::simulated::study(&["a", "b", "c", "d"], &[]);
        let with = |replica, config| PowerCut { replica: Some(replica), ..cut(config, 1, vec![]) };
        study.power_cuts = vec![
            cut("a", 1, vec![]),
            with(Replication::SemiSync, "b"),
            with(Replication::SemiSync, "c"),
            with(Replication::Async, "d"),
        ];
        let is_unlike = |a: usize, b: usize| {
            let side = |place: usize| (&study, &study.configs[place]);
            power_cut_difference(side(a), side(b)).is_some()
        };
        assert_eq!(
            [is_unlike(0, 1), is_unlike(1, 2), is_unlike(2, 3), is_unlike(0, 3)],
            [true, false, true, true]
        );
    }

    #[test]
    fn the_share_of_cuts_with_a_loss_has_an_interval() {
        let share = |lost: u32, cuts: u32| {
            let losses = |number| match number <= lost {
                true => vec![Loss::RowMissing { id: 1 }],
                false => vec![],
            };
            let cuts: Vec<_> = (1..=cuts).map(|number| cut("a", number, losses(number))).collect();
            PowerCuts::of_all(&cuts)[0].share_with_loss().unwrap()
        };
        // R's binom.test(x, n)$conf.int, whose closed forms for 0 and n are 1 - 0.025^(1/n) and
        // 0.025^(1/n).
        for (lost, cuts, least, most) in [
            (0, 10, 0.0, 1.0 - 0.025_f64.powf(0.1)),
            (10, 10, 0.025_f64.powf(0.1), 1.0),
            (1, 10, 0.002_528_579, 0.445_016_1),
        ] {
            let [from, to] = share(lost, cuts);
            assert!((from - least).abs() < 1e-6 && (to - most).abs() < 1e-6, "{lost}: {from} {to}");
        }
    }

    /// Bounds that are printed after a loss in `lost` of `cuts`.
    fn told(lost: u64, cuts: u64) -> [f64; 2] {
        let one = PowerCuts {
            config: "a",
            replica: None,
            cuts,
            with_loss: lost,
            torn_writes: 0,
            torn_pages: 0,
            acknowledged: 0,
            lost_commits: 0,
            doublewrite_pages: 0,
            recovery_ms: None,
            first_loss: None,
        };
        let at_most = one.one_in_at_least().map(|one_in| [0.0, 1.0 / one_in as f64]);
        at_most.unwrap_or_else(|| one.share_with_loss().unwrap())
    }

    /// Bounds by the normal distribution, which know nothing of what has not been seen.
    fn normal(lost: u64, cuts: u64) -> [f64; 2] {
        let share = lost as f64 / cuts as f64;
        let reach = 1.96 * (share * (1.0 - share) / cuts as f64).sqrt();
        [share - reach, share + reach]
    }

    /// Probabilities that the bounds lie below the true share of cuts with a loss, and above it.
    fn wrong(cuts: u64, share: f64, bounds: fn(u64, u64) -> [f64; 2]) -> [f64; 2] {
        let losses = Binomial::new(share, cuts).unwrap();
        let mut wrong = [0.0; 2];
        for lost in 0..=cuts {
            let [from, to] = bounds(lost, cuts);
            wrong[0] += if to < share { losses.pmf(lost) } else { 0.0 };
            wrong[1] += if from > share { losses.pmf(lost) } else { 0.0 };
        }
        wrong
    }

    #[test]
    fn bounds_seldom_make_a_configuration_better_or_worse_than_it_is() {
        for cuts in [10, 100, 330] {
            let (mut most, mut both, mut control) = ([0.0_f64; 2], 0.0_f64, 0.0_f64);
            for step in 1..count(300, 3000) {
                let share = 0.3 * (f64::from(step) / f64::from(count(300, 3000))).powi(2);
                let [better, worse] = wrong(cuts, share, told);
                most = [most[0].max(better), most[1].max(worse)];
                both = both.max(better + worse);
                control = control.max(wrong(cuts, share, normal)[0]);
            }
            println!(
                "{cuts} cuts: made better in at most {:.4}, worse {:.4}, either {both:.4}; by the \
                 normal distribution better {control:.3}",
                most[0], most[1]
            );
            assert!(most[0] <= 1.0 - CONFIDENCE + 1e-9, "{cuts}: {most:?}");
            assert!(most[1] <= (1.0 - CONFIDENCE) / 2.0 + 1e-9, "{cuts}: {most:?}");
            assert!(control > 0.5, "the control: {control}");
        }
    }

    #[test]
    fn a_thousand_cuts_without_a_loss_show_one_in_334() {
        let bound = |cuts: u32| {
            let cuts: Vec<_> = (1..=cuts).map(|number| cut("a", number, vec![])).collect();
            PowerCuts::of_all(&cuts)[0].one_in_at_least()
        };
        // 1 - 0.05^(1/1000) = 0.0029912…, 1 - 0.05^(1/10) = 0.2588…
        assert_eq!((bound(1000), bound(10), bound(1)), (Some(334), Some(3), Some(1)));
        let with_loss = [cut("a", 1, vec![Loss::RowMissing { id: 1 }])];
        assert_eq!(PowerCuts::of_all(&with_loss)[0].one_in_at_least(), None);
    }
}
