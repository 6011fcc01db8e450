//! What was found, line by line.

use super::{Found, Told};
use crate::judge::{Circumstance, Comparison};
use crate::print::{self, counted};

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
            lines.extend(verdict(&told.comparison));
        }
        lines.extend(self.not_compared.iter().map(|text| format!("not compared: {text}")));
        lines.extend(self.not_alike.iter().map(|text| unlike("", text)));
        let percent = self.fail_if_worse_by_percent;
        lines.extend(self.are_runs_limited.then(|| {
            format!("single runs are held against a loss of {percent} %, as was asked; that is no verdict")
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
    format!("{indent}differs: {}: {} and {}", one.what, one.a, one.b)
}

fn threads(one: &Comparison) -> String {
    counted(u64::from(one.threads.unwrap_or_default()), "thread")
}

/// The verdict, and what it is said of only.
fn verdict(one: &Comparison) -> Vec<String> {
    let word = one.verdict.verdict.text();
    let text = &one.verdict.text;
    // A verdict that begins with its word needs it no second time.
    let is_said = text.starts_with(word);
    let said = if is_said { text.clone() } else { format!("{word}: {text}") };
    let line = format!("  {}, {}: {said}", threads(one), one.metric.label());
    let because = one.verdict.because.as_ref().map(|because| format!("      {because}"));
    std::iter::once(line).chain(because).collect()
}
