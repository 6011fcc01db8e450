//! How long configurations take to come up again after a power cut, judged as any other figure is.
//!
//! Configurations are cut in turn, each once a block, so what drifts on the machine meets both
//! alike: Student's paired interval of the logarithms, and a permutation test over the blocks. Cuts
//! that were made one configuration after another are samples by themselves (Welch's interval) and
//! get no verdict: in them a slow drift looks like a difference. A configuration that lost
//! something has no recovery time to compare: what came up is less than what was there.

use assay_study::{PowerCut, Study};

use super::PowerCuts;
use crate::difference::compare::{Basis, Difference, between_blocks, between_samples};
use crate::difference::comparison::{JudgedComparison, SEED, baseline_of};
use crate::difference::family::Correction;
use crate::difference::reason::Reason;
use crate::difference::verdict::{Verdict, p_of, verdict};
use crate::papers::improvement_factor;
use crate::trial::metric::Metric;

const METRIC: Metric = Metric::Recovery;

/// The name that stands where a workload's does.
const UNDER: &str = "power cut";

/// The recovery time of every configuration with power cuts against that of the baseline, or, if
/// that has none, of the first that has; in the order of the study.
#[must_use]
pub fn recoveries(study: &Study) -> Vec<JudgedComparison> {
    let all = PowerCuts::of_all(&study.power_cuts);
    let mut its = study
        .configs
        .iter()
        .filter_map(|config| all.iter().find(|one| one.config == config.name))
        .collect::<Vec<_>>();
    let baseline = baseline_of(study);
    let place = its.iter().position(|one| Some(one.config) == baseline.as_deref()).unwrap_or(0);
    if its.is_empty() {
        return Vec::new();
    }
    let base = its.remove(place);
    its.into_iter().map(|one| against(study, base, one)).collect()
}

fn against(study: &Study, base: &PowerCuts<'_>, one: &PowerCuts<'_>) -> JudgedComparison {
    let margin = study.judging.margin();
    let found = compared(&study.power_cuts, base, one);
    let p = found.as_ref().ok().map(|found| p_of(found, 1));
    let verdict = match &found {
        Ok(found) if found.basis == Basis::PowerCuts => Verdict::none(Reason::CutsNotInTurn),
        Ok(found) => verdict(METRIC, found, (p.unwrap_or(1.0), Correction::None), margin, None),
        Err(why) => Verdict::none(why.clone()),
    };
    let difference = found.ok();
    let factor = |one: &Difference| improvement_factor(1.0, one.ratio, METRIC.is_better_higher());
    JudgedComparison {
        workload: UNDER.to_owned(),
        threads: None,
        baseline: base.config.to_owned(),
        config: one.config.to_owned(),
        against_workload: None,
        question: None,
        metric: METRIC,
        improvement_factor: difference.as_ref().and_then(factor),
        difference,
        p,
        p_corrected: p,
        correction: Correction::None,
        margin,
        verdict,
        left_out: Vec::new(),
        doubtful: Vec::new(),
        ratio_without_doubtful: None,
        is_despite_doubtful: false,
    }
}

fn compared(
    cuts: &[PowerCut],
    base: &PowerCuts<'_>,
    one: &PowerCuts<'_>,
) -> Result<Difference, Reason> {
    if let Some(lossy) = [base, one].into_iter().find(|one| one.with_loss > 0) {
        return Err(Reason::LostInPowerCuts(lossy.config.to_owned()));
    }
    let [base, one] = [base, one].map(|side| times(cuts, side.config));
    let in_block = |block: u64| one.iter().find(|(its, _)| *its == Some(block));
    let pairs: Vec<[f64; 2]> =
        base.iter().filter_map(|(block, ms)| Some([*ms, in_block((*block)?)?.1])).collect();
    let alone = |side: &[(Option<u64>, f64)]| side.iter().map(|(_, ms)| *ms).collect::<Vec<f64>>();
    between_blocks(&pairs, SEED)
        .or_else(|| between_samples(&alone(&base), &alone(&one), SEED))
        .ok_or(Reason::TooFewPowerCuts)
}

/// Block and recovery time of each cut of a configuration.
fn times(cuts: &[PowerCut], config: &str) -> Vec<(Option<u64>, f64)> {
    let its = cuts.iter().filter(|cut| cut.config == config);
    its.filter_map(|cut| Some((cut.block_began_ms, cut.recovery_ms()?))).collect()
}

#[cfg(test)]
mod tests {
    use assay_study::Config;
    use assay_study::power_cut::{Loss, RecoveryTime};
    use assay_testing::count;

    use super::*;
    use crate::difference::verdict::Conclusion;
    use crate::power_cuts::tests::cut;
    use crate::statistics::simulated::Noise;

    /// A study of these configurations, each with as many cuts as there are times.
    fn study(all: &[(&str, &[f64])]) -> Study {
        let mut study = crate::simulated::study(&[], &[]);
        for (name, times) in all {
            study.configs.push(Config {
                name: (*name).into(),
                rig: assay_study::RigRecord::default(),
                settings: [].into(),
            });
            study.power_cuts.extend((1..).zip(*times).map(|(number, ms)| PowerCut {
                block_began_ms: Some(u64::from(number)),
                recovery: Some(RecoveryTime { server_ms: *ms, ..RecoveryTime::default() }),
                ..cut(name, number, vec![])
            }));
        }
        study
    }

    fn word(study: &Study) -> (Conclusion, Option<Reason>) {
        let [one] = &recoveries(study)[..] else { panic!("one pair") };
        assert_eq!((one.baseline.as_str(), one.config.as_str()), ("base", "other"));
        (one.verdict.conclusion, one.verdict.reason.clone())
    }

    const BASE: [f64; 8] = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0, 998.0, 1000.0];

    #[test]
    fn a_slower_recovery_is_worse_and_the_same_is_equivalent() {
        let slower = BASE.map(|ms| ms * 1.5);
        assert_eq!(word(&study(&[("base", &BASE), ("other", &slower)])), (Conclusion::Worse, None));
        assert_eq!(
            word(&study(&[("base", &slower), ("other", &BASE)])),
            (Conclusion::Better, None)
        );
        assert_eq!(
            word(&study(&[("base", &BASE), ("other", &BASE)])),
            (Conclusion::Equivalent, None)
        );
        let difference =
            recoveries(&study(&[("base", &BASE), ("other", &slower)]))[0].difference.clone();
        assert!((difference.unwrap().ratio - 1.5).abs() < 1e-9);
    }

    #[test]
    fn what_scatters_widely_is_told_to_be_inconclusive() {
        let wide = [500.0, 2100.0, 700.0, 1500.0];
        let (word, reason) = word(&study(&[("base", &BASE), ("other", &wide)]));
        assert_eq!((word, reason), (Conclusion::Inconclusive, Some(Reason::IntervalHasBothSigns)));
    }

    #[test]
    fn a_configuration_that_lost_something_is_not_compared() {
        let mut study = study(&[("base", &BASE), ("other", &BASE)]);
        study.power_cuts[9].losses = vec![Loss::RowMissing { id: 1 }];
        let lossy = Some(Reason::LostInPowerCuts("other".into()));
        assert_eq!(word(&study), (Conclusion::Inconclusive, lossy));
        assert_eq!(recoveries(&study)[0].difference, None);
    }

    #[test]
    fn one_cut_shows_no_spread() {
        let few = study(&[("base", &BASE), ("other", &BASE[..1])]);
        assert_eq!(word(&few), (Conclusion::Inconclusive, Some(Reason::TooFewPowerCuts)));
        assert_eq!(recoveries(&study(&[])), []);
    }

    #[test]
    fn cuts_made_one_configuration_after_another_get_no_direction() {
        let slower = BASE.map(|ms| ms * 1.5);
        let mut one = study(&[("base", &BASE), ("other", &slower)]);
        one.power_cuts.iter_mut().for_each(|cut| cut.block_began_ms = None);
        let no_turns = (Conclusion::Inconclusive, Some(Reason::CutsNotInTurn));
        assert_eq!(word(&one), no_turns);
        let difference = recoveries(&one)[0].difference.clone().unwrap();
        assert_eq!(difference.basis, Basis::PowerCuts);
        // Cut in turn at other times, they are no pairs either.
        let mut one = study(&[("base", &BASE), ("other", &slower)]);
        for cut in one.power_cuts.iter_mut().filter(|cut| cut.config == "other") {
            cut.block_began_ms = cut.block_began_ms.map(|block| block + 100);
        }
        assert_eq!(word(&one), no_turns);
    }

    /// Recovery times of two configurations that are alike, cut this often, on a machine that
    /// becomes slower by a share `drift` over the whole; by blocks in random order, or one after
    /// the other.
    fn drifting(noise: &mut Noise, cuts: u32, drift: f64, in_turn: bool) -> Study {
        let mut times = [Vec::new(), Vec::new()];
        let whole = f64::from(2 * cuts);
        for number in 0..cuts {
            let first = usize::from(noise.uniform() < 0.5);
            for (place, side) in [first, 1 - first].into_iter().enumerate() {
                let at = match in_turn {
                    true => f64::from(2 * number) + place as f64,
                    false => f64::from(number) + side as f64 * f64::from(cuts),
                };
                times[side].push(1000.0 * (drift * at / whole + 0.1 * noise.normal()).exp());
            }
        }
        let mut study = study(&[("base", &times[0]), ("other", &times[1])]);
        if !in_turn {
            study.power_cuts.iter_mut().for_each(|cut| cut.block_began_ms = None);
        }
        study
    }

    /// Negative control: cuts one after the other, judged as if nothing drifted.
    fn as_if_still(study: &Study) -> Conclusion {
        let of = |name: &str| -> Vec<f64> {
            let its = study.power_cuts.iter().filter(|cut| cut.config == name);
            its.filter_map(PowerCut::recovery_ms).collect()
        };
        let found = between_samples(&of("base"), &of("other"), SEED).unwrap();
        verdict(METRIC, &found, (p_of(&found, 1), Correction::None), study.judging.margin(), None)
            .conclusion
    }

    #[test]
    fn a_machine_that_drifts_gives_recoveries_no_direction() {
        let cases = count(60, 600);
        for (cuts, drift) in [(20, 0.0), (20, 0.1), (100, 0.05)] {
            let mut noise = Noise::new(u64::from(cuts));
            let has_direction = |word| matches!(word, Conclusion::Better | Conclusion::Worse);
            let (mut control, mut turns) = (0, 0);
            for _ in 0..cases {
                let after = drifting(&mut noise, cuts, drift, false);
                control += u32::from(has_direction(as_if_still(&after)));
                let in_turn = drifting(&mut noise, cuts, drift, true);
                turns += u32::from(has_direction(word(&in_turn).0));
            }
            let share = |n: u32| f64::from(n) / f64::from(cases);
            println!(
                "{cuts} cuts, drift {drift}: false directions {:.3} one after the other, {:.3} in \
                 turn",
                share(control),
                share(turns)
            );
            let tolerance = 3.0 * (0.05 * 0.95 / f64::from(cases)).sqrt();
            assert!(share(turns) < 0.05 + tolerance, "{cuts}, {drift}: {}", share(turns));
            if cuts == 100 && drift > 0.0 {
                assert!(share(control) > 0.25, "the control: {}", share(control));
            }
        }
    }
}
