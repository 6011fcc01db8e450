//! Decides the exit code of a comparison.

use super::ComparisonEntry;
use assay_base::text::counted;
use assay_judge::{Basis, Conclusion};

/// Exit code, with the comparisons (or sides without a counterpart) that decided it.
#[derive(Debug, PartialEq)]
pub(super) struct Decision {
    pub(super) code: u8,
    pub(super) by: Vec<String>,
}

/// Smallest loss that fails the comparison, as a share; `is_asked_for` if the user gave it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Margin {
    pub(super) share: f64,
    pub(super) is_asked_for: bool,
}

/// Returns 1 if a comparison is worse by the margin, else 2 if one may be or was not made, else 0.
pub(super) fn decide(
    entries: &[ComparisonEntry],
    not_compared: &[String],
    margin: Margin,
) -> Decision {
    let codes: Vec<u8> = entries.iter().map(|entry| code(entry, margin)).collect();
    let of = |wanted: u8| -> Vec<String> {
        let its = entries.iter().zip(&codes).filter(|(_, code)| **code == wanted);
        its.map(|(entry, _)| entry.name()).collect()
    };
    let (worse, mut open) = (of(1), of(2));
    open.extend(not_compared.iter().cloned());
    match (worse.is_empty(), open.is_empty()) {
        (false, _) => Decision { code: 1, by: worse },
        (true, false) => Decision { code: 2, by: open },
        (true, true) => Decision { code: 0, by: Vec::new() },
    }
}

fn code(entry: &ComparisonEntry, margin: Margin) -> u8 {
    let comparison = &entry.comparison;
    let Some(found) = &comparison.difference else { return 2 };
    let margin_share = margin.share;
    // Ratios as if higher were better: a rate has lost 3 % at 97 of 100, a latency at 103.
    let (low, high) = found.ratio_interval;
    let (low, middle, high, least) = match comparison.metric.is_better_higher() {
        true => (low, found.ratio, high, 1.0 - margin_share),
        false => (1.0 / high, 1.0 / found.ratio, 1.0 / low, 1.0 / (1.0 + margin_share)),
    };
    // Runs of one day get no verdict, but are tested against a limit that the user gave.
    if entry.rests_on_runs() {
        return match margin.is_asked_for {
            true if middle <= least && high < 1.0 => 1,
            true if low > least => 0,
            _ => 2,
        };
    }
    match comparison.verdict.conclusion {
        Conclusion::Worse if middle <= least => 1,
        _ if low > least && !found.rests_on_seconds_alone() => 0,
        Conclusion::Better => 0,
        _ => 2,
    }
}

impl ComparisonEntry {
    /// Whether it compares two studies of which one is of a single day, which get no verdict.
    pub(super) fn rests_on_runs(&self) -> bool {
        let basis = self.comparison.difference.as_ref().map(|difference| difference.basis);
        basis == Some(Basis::SeparateRuns)
    }
}

impl Decision {
    /// The last line of the output.
    pub(super) fn line(&self, comparisons: usize) -> String {
        let word = ["not worse", "worse", "inconclusive"][usize::from(self.code.min(2))];
        let by = match self.by.as_slice() {
            [] => match comparisons {
                1 => "the only comparison".to_owned(),
                all => format!("all {all} comparisons"),
            },
            [one] => one.clone(),
            [one, rest @ ..] => format!("{one}; and {}", counted(rest.len() as u64, "more thing")),
        };
        format!("exit code {}, {word}: {by}", self.code)
    }
}
