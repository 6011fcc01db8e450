//! The printed lines of a comparison.

use super::{Found, Told};
use crate::print;
use assay_base::text::counted;
use assay_judge::{Circumstance, Comparison};
use assay_report::words::{circumstance, reason, verdict};

impl Found {
    pub(super) fn print(&self) {
        self.lines().iter().for_each(print::line);
    }

    /// The differences between the sides are printed at the head, below the head of each table, and
    /// at the foot, so that an excerpt contains them. The last line names the reason for the exit
    /// code.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.not_alike.iter().map(|text| unlike("", text)).collect();
        lines.extend(self.differs.iter().map(|circumstance| differs("", circumstance)));
        let mut head = String::new();
        for told in &self.comparisons {
            let next = told.head();
            if next != head {
                lines.push(next.clone());
                lines.extend(told.not_alike.iter().map(|text| unlike("  ", text)));
                let own =
                    told.differs.iter().filter(|circumstance| !self.differs.contains(circumstance));
                lines.extend(own.map(|circumstance| differs("  ", circumstance)));
                head = next;
            }
            lines.extend(of(&told.comparison));
        }
        lines.extend(self.not_compared.iter().map(|text| format!("not compared: {text}")));
        lines.extend(self.not_alike.iter().map(|text| unlike("", text)));
        let percent = self.fail_if_worse_by_percent;
        lines.extend(self.are_runs_limited.then(|| {
            format!("single runs were tested against a loss of {percent} %; this is not a verdict")
        }));
        lines.push(self.decision().line(self.comparisons.len()));
        lines
    }
}

impl Told {
    fn head(&self) -> String {
        format!("{} against {}, {}", self.b, self.a, self.comparison.workload)
    }

    /// The name of this comparison among all.
    pub(super) fn name(&self) -> String {
        let comparison = &self.comparison;
        format!("{}, {}, {}", self.head(), threads(comparison), comparison.metric.label())
    }
}

fn unlike(indent: &str, text: &str) -> String {
    format!("{indent}not alike: {text}")
}

fn differs(indent: &str, circumstance: &Circumstance) -> String {
    format!("{indent}differs: {}", circumstance::text(circumstance))
}

fn threads(comparison: &Comparison) -> String {
    counted(u64::from(comparison.threads.unwrap_or_default()), "thread")
}

/// The verdict, with its scope.
fn of(comparison: &Comparison) -> Vec<String> {
    let said = verdict::text_with_word(comparison);
    let line = format!("  {}, {}: {said}", threads(comparison), comparison.metric.label());
    let because = reason::because(comparison).map(|because| format!("      {because}"));
    std::iter::once(line).chain(because).collect()
}
