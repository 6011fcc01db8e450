//! The exit code of a comparison, and its reasons.

use super::Told;
use assay_base::text::counted;
use assay_judge::{Basis, Word};

/// An exit code, and the comparisons (or missing counterparts) that decided it.
#[derive(Debug, PartialEq)]
pub(super) struct Decision {
    pub(super) code: u8,
    pub(super) by: Vec<String>,
}

/// The loss to detect, as a share, and whether the user set it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Margin {
    pub(super) share: f64,
    pub(super) is_asked_for: bool,
}

/// 1 if anything is worse by the margin, else 2 if anything may be or was not compared, else 0.
pub(super) fn decide(told: &[Told], not_compared: &[String], margin: Margin) -> Decision {
    let codes: Vec<u8> = told.iter().map(|told| code(told, margin)).collect();
    let of = |wanted: u8| -> Vec<String> {
        let its = told.iter().zip(&codes).filter(|(_, code)| **code == wanted);
        its.map(|(told, _)| told.name()).collect()
    };
    let (worse, mut open) = (of(1), of(2));
    open.extend(not_compared.iter().cloned());
    match (worse.is_empty(), open.is_empty()) {
        (false, _) => Decision { code: 1, by: worse },
        (true, false) => Decision { code: 2, by: open },
        (true, true) => Decision { code: 0, by: Vec::new() },
    }
}

fn code(told: &Told, margin: Margin) -> u8 {
    let comparison = &told.comparison;
    let Some(found) = &comparison.difference else { return 2 };
    let margin_share = margin.share;
    // The interval for the case that more is better. A rate of 97 of 100 is a loss of 3 %, and so
    // is a time of 103.
    let (low, high) = found.ratio_interval;
    let (low, middle, high, least) = match comparison.metric.is_better_higher() {
        true => (low, found.ratio, high, 1.0 - margin_share),
        false => (1.0 / high, 1.0 / found.ratio, 1.0 / low, 1.0 / (1.0 + margin_share)),
    };
    // Single runs of two studies get no verdict; a limit set by the user is applied to these runs.
    if told.rests_on_runs() {
        return match margin.is_asked_for {
            true if middle <= least && high < 1.0 => 1,
            true if low > least => 0,
            _ => 2,
        };
    }
    match comparison.verdict.word {
        Word::Worse if middle <= least => 1,
        _ if low > least && !found.rests_on_seconds_alone() => 0,
        Word::Better => 0,
        _ => 2,
    }
}

impl Told {
    /// Returns true for single runs of two studies, which get no verdict.
    pub(super) fn rests_on_runs(&self) -> bool {
        let basis = self.comparison.difference.as_ref().map(|comparison| comparison.basis);
        basis == Some(Basis::SeparateRuns)
    }
}

impl Decision {
    /// The last line.
    pub(super) fn line(&self, comparisons: usize) -> String {
        let word = ["not worse", "worse", "inconclusive"][usize::from(self.code.min(2))];
        let by = match self.by.as_slice() {
            [] => match comparisons {
                1 => "the only comparison".to_owned(),
                all => format!("all {all} comparisons"),
            },
            [first] => first.clone(),
            [first, rest @ ..] => {
                format!("{first}; and {}", counted(rest.len() as u64, "more thing"))
            }
        };
        format!("exit code {}, {word}: {by}", self.code)
    }
}
