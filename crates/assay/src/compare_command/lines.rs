//! Prints a comparison's result as text.

use super::{ComparisonEntry, ComparisonResult};
use crate::print;
use assay_base::text::counted;
use assay_judge::{Circumstance, JudgedComparison};
use assay_report::words::{circumstance, reason, verdict};
use assay_study::Events;

impl ComparisonResult {
    pub(super) fn print(&self) {
        self.lines().iter().for_each(print::line);
    }

    /// Lines of the output. Differences between the sides are repeated at the top, below each
    /// table's heading and at the end, so that an excerpt still has them. The last line names what
    /// decided the exit code.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.not_alike.iter().map(|text| unlike("", text)).collect();
        lines.extend(self.differs.iter().map(|circumstance| differs("", circumstance)));
        let mut head = String::new();
        for entry in &self.comparisons {
            let next = entry.head();
            if next != head {
                lines.push(next.clone());
                lines.extend(entry.not_alike.iter().map(|text| unlike("  ", text)));
                let own = entry.differs.iter().filter(|each| !self.differs.contains(each));
                lines.extend(own.map(|circumstance| differs("  ", circumstance)));
                head = next;
            }
            lines.extend(of(&entry.comparison));
            lines.extend(entry.closed_loop.iter().map(|text| format!("      {text}")));
        }
        lines.extend(self.not_compared.iter().map(|text| format!("not compared: {text}")));
        lines.extend(self.not_alike.iter().map(|text| unlike("", text)));
        let percent = self.fail_if_worse_by_percent;
        lines.extend(self.are_runs_limited.then(|| {
            format!(
                "runs of one day were tested against a loss of {percent} %; this is not a verdict"
            )
        }));
        lines.push(self.decision().line(self.comparisons.len()));
        lines
    }
}

impl ComparisonEntry {
    fn head(&self) -> String {
        format!("{} against {}, {}", self.b, self.a, self.comparison.workload)
    }

    /// Name that is unique among the comparisons.
    pub(super) fn name(&self) -> String {
        let JudgedComparison { metric, .. } = &self.comparison;
        format!("{}, {}, {}", self.head(), threads(&self.comparison), metric.label())
    }
}

fn unlike(indent: &str, text: &str) -> String {
    format!("{indent}not alike: {text}")
}

fn differs(indent: &str, differing: &Circumstance) -> String {
    format!("{indent}differs: {}", circumstance::text(differing))
}

fn threads(comparison: &JudgedComparison) -> String {
    counted(u64::from(comparison.threads.unwrap_or_default()), "thread")
}

/// The verdict, and its reason on a line of its own if it has one.
fn of(comparison: &JudgedComparison) -> Vec<String> {
    let verdict = verdict::text_with_word(comparison);
    let line = format!("  {}, {}: {verdict}", threads(comparison), comparison.metric.label());
    let because =
        reason::because(Events::Transactions, comparison).map(|because| format!("      {because}"));
    std::iter::once(line).chain(because).collect()
}
