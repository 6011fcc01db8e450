//! How long configurations take to come up again after a power cut, judged as any other figure is.
//!
//! The cuts of two configurations share nothing, so each is a sample by itself: Welch's interval of
//! the logarithms, and a permutation test over the cuts. A configuration that lost something has no
//! recovery time to compare: what came up is less than what was there.

use assay_study::{PowerCut, Study};

use super::PowerCuts;
use crate::difference::compare::{Difference, between_samples};
use crate::difference::comparison::{JudgedComparison, SEED, baseline_of};
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
        Ok(found) => verdict(METRIC, found, p.unwrap_or(1.0), margin, None),
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
        p_corrected: p,
        margin,
        verdict,
        left_out: Vec::new(),
        doubtful: Vec::new(),
        ratio_without_doubtful: None,
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
    let of = |config: &str| -> Vec<f64> {
        cuts.iter().filter(|cut| cut.config == config).filter_map(PowerCut::recovery_ms).collect()
    };
    between_samples(&of(base.config), &of(one.config), SEED).ok_or(Reason::TooFewPowerCuts)
}

#[cfg(test)]
mod tests {
    use assay_study::Config;
    use assay_study::power_cut::{Loss, RecoveryTime};

    use super::*;
    use crate::difference::verdict::Conclusion;
    use crate::power_cuts::tests::cut;

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
}
