//! The progress line of an estimate, and what it skipped or followed.

use std::time::Instant;

use crate::print::{self, Living};
use assay_base::text::{size, time};
use assay_estimate::{CLUSTER_BYTES, EstimateProgress, Findings};

/// A line on the terminal with the data measured and the time left.
pub(crate) struct ProgressLine {
    line: Living,
    began: Instant,
}

impl ProgressLine {
    pub fn new() -> ProgressLine {
        ProgressLine { line: Living::new(), began: Instant::now() }
    }
}

impl EstimateProgress for ProgressLine {
    fn measured(&self, done: u64, all: u64) {
        let elapsed = self.began.elapsed().as_secs_f64();
        let left = elapsed * all.saturating_sub(done) as f64 / done.max(1) as f64;
        let bytes = |clusters: u64| size((clusters * CLUSTER_BYTES) as f64);
        let (done, all) = (bytes(done), bytes(all));
        self.line.live(format_args!("measured {done} of {all}, {} left", time(left)));
    }

    fn found(&self, findings: &Findings) {
        self.line.end();
        for (path, reason) in &findings.skipped {
            print::note(format_args!("assay: skipped {}: {reason}", path.display()));
        }
        for (link, target) in &findings.links {
            print::note(format_args!(
                "assay: {} leads to {}, which is included",
                link.display(),
                target.display()
            ));
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.line.end();
    }
}
