//! What a person sees while an estimate is made.

use std::time::Instant;

use super::source::CLUSTER_BYTES;
use crate::print::Living;
use assay_base::text::{size, time};

/// Progress of the measuring.
pub struct Progress {
    line: Living,
    began: Instant,
    clusters: u64,
}

impl Progress {
    /// With so many clusters to go.
    pub fn new(clusters: u64) -> Progress {
        Progress { line: Living::new(), began: Instant::now(), clusters }
    }

    /// So many are done.
    pub fn done(&self, clusters: u64) {
        let elapsed = self.began.elapsed().as_secs_f64();
        let left =
            elapsed * (self.clusters.saturating_sub(clusters)) as f64 / clusters.max(1) as f64;
        let bytes = |clusters: u64| size((clusters * CLUSTER_BYTES) as f64);
        let (done, all) = (bytes(clusters), bytes(self.clusters));
        self.line.live(format_args!("measured {done} of {all}, {} left", time(left)));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.line.end();
    }
}
