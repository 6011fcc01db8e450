//! Counts of rare events.

use assay_drive::Status;

#[derive(Debug, Clone, Copy, Default)]
pub struct Coverage {
    pub gc_segments: u64,
    pub checkpoints: u64,
    pub stalls: u64,
    pub refused: u64,
    pub cuts: u64,
    pub replayed: u64,
    pub torn: u64,
    pub closed: u64,
    pub troubles: u64,
    pub unreadable: u64,
    pub dictionaries: u64,
}

impl Coverage {
    pub fn add(mut self, other: Coverage) -> Coverage {
        self.gc_segments += other.gc_segments;
        self.checkpoints += other.checkpoints;
        self.stalls += other.stalls;
        self.refused += other.refused;
        self.cuts += other.cuts;
        self.replayed += other.replayed;
        self.torn += other.torn;
        self.closed += other.closed;
        self.troubles += other.troubles;
        self.unreadable += other.unreadable;
        self.dictionaries += other.dictionaries;
        self
    }

    /// The rarest of what may not be missing.
    pub fn least(&self) -> u64 {
        self.least_of_few().min(self.troubles).min(self.unreadable)
    }

    /// The same over few seeds, which include no faults of the media.
    pub fn least_of_few(&self) -> u64 {
        let all = [
            self.gc_segments,
            self.checkpoints,
            self.stalls,
            self.refused,
            self.cuts,
            self.replayed,
            self.torn,
            self.closed,
        ];
        all.into_iter().min().unwrap_or(0)
    }

    /// Counts what a drive has done.
    pub fn count(&mut self, status: &Status) {
        self.gc_segments += status.counts.gc_segments;
        self.checkpoints += status.counts.checkpoints;
        self.stalls += status.counts.gc_stalls;
        self.refused += status.counts.refused_writes;
        self.dictionaries += u64::from(status.dictionary_versions > 0);
    }
}
