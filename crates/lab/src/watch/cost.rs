//! What watching costs, so that nobody need wonder.

use rustix::time::{ClockId, clock_gettime};

use super::probe::{Notes, Probe};
use super::series::Layer;
use super::sheet::{Field, Sheet};

/// Processor time of the thread that reads it (`clock_gettime(2)`, `CLOCK_THREAD_CPUTIME_ID`).
pub(super) struct CostProbe {
    sheet: Sheet,
    used: Field,
}

impl CostProbe {
    /// For the thread that is called `name` in the series `watch_NAME_cpu_percent`.
    pub(super) fn new(name: &str) -> CostProbe {
        let mut sheet = Sheet::new(Layer::Watch);
        let label = format!("CPU time of the watch, {name} thread (100 = one CPU)");
        let used = sheet.seconds(&format!("watch_{name}_cpu"), label);
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
