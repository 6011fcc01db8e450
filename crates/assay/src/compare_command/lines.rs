//! What was found, line by line.

use super::{Found, Told};
use crate::print;
use assay_base::text::counted;
use assay_judge::{Circumstance, Comparison};
use assay_report::words::{circumstance, reason, verdict};

impl Found {
    pub(super) fn print(&self) {
        self.lines().iter().for_each(print::line);
    }

    /// What the sides differ in stands at the head, below the head of each table, and at the foot: whatever is cut off, the rest
    /// says it. The last line says what decided the exit code.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.not_alike.iter().map(|text| unlike("", text)).collect();
        lines.extend(self.differs.iter().map(|one| differs("", one)));
        let mut head = String::new();
        for told in &self.comparisons {
            let next = told.head();
            if next != head {
                lines.push(next.clone());
                lines.extend(told.not_alike.iter().map(|text| unlike("  ", text)));
                let own = told.differs.iter().filter(|one| !self.differs.contains(one));
                lines.extend(own.map(|one| differs("  ", one)));
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

    /// Which of all comparisons it is.
    pub(super) fn name(&self) -> String {
        let one = &self.comparison;
        format!("{}, {}, {}", self.head(), threads(one), one.metric.label())
    }
}

fn unlike(indent: &str, text: &str) -> String {
    format!("{indent}not alike: {text}")
}

fn differs(indent: &str, one: &Circumstance) -> String {
    format!("{indent}differs: {}", circumstance::text(one))
}

fn threads(one: &Comparison) -> String {
    counted(u64::from(one.threads.unwrap_or_default()), "thread")
}

/// The verdict, and what it is said of only.
fn of(one: &Comparison) -> Vec<String> {
    let said = verdict::text_with_word(one);
    let line = format!("  {}, {}: {said}", threads(one), one.metric.label());
    let because = reason::because(one).map(|because| format!("      {because}"));
    std::iter::once(line).chain(because).collect()
}
