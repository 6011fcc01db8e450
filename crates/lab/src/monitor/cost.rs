//! CPU time of the monitor itself.

use rustix::time::{ClockId, clock_gettime};

use super::probe::{Notes, Probe};
use super::sheet::{Field, Sheet};
use assay_study::metrics::MetricEntry;

/// CPU time of the thread that reads this probe (`clock_gettime(2)`, `CLOCK_THREAD_CPUTIME_ID`).
pub(super) struct CostProbe {
    sheet: Sheet,
    used: Field,
}

impl CostProbe {
    pub(super) fn new(metric: &'static MetricEntry) -> CostProbe {
        let mut sheet = Sheet::default();
        let used = sheet.seconds(metric);
        CostProbe { sheet, used }
    }
}

impl Probe for CostProbe {
    fn sheet(&self) -> &Sheet {
        &self.sheet
    }

    fn read(&mut self, reading: &mut [f64], _notes: &mut Notes) {
        let used = clock_gettime(ClockId::ThreadCPUTime);
        reading[self.used] = used.tv_sec as f64 + used.tv_nsec as f64 / 1e9;
    }
}

#[cfg(test)]
pub(super) fn whole_sheet(metric: &'static MetricEntry) -> Sheet {
    CostProbe::new(metric).sheet
}
