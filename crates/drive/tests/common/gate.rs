//! Media that hold a command back until a test lets it go: interleavings that threads meet once in
//! a blue moon.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use assay_drive::{Disk, Guarantees, Result};

/// After so long a test has gone wrong, and fails rather than hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// The kind of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    Flush,
    Discard,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Waiting,
    Reached,
    Released,
}

struct Hold {
    kind: Kind,
    /// Any byte of it must be touched.
    range: std::ops::Range<u64>,
    step: Mutex<Step>,
    changed: Condvar,
}

impl Hold {
    fn matches(&self, kind: Kind, offset: u64, length: u64) -> bool {
        let meets = offset < self.range.end && offset + length.max(1) > self.range.start;
        self.kind == kind && meets && *self.step.lock().unwrap() == Step::Waiting
    }

    fn set(&self, step: Step) {
        *self.step.lock().unwrap() = step;
        self.changed.notify_all();
    }

    fn wait_for(&self, step: Step) {
        let now = self.step.lock().unwrap();
        let waiting = |now: &mut Step| *now != step;
        let (now, _) = self.changed.wait_timeout_while(now, LIMIT, waiting).unwrap();
        assert_eq!(*now, step, "a command of media never came, or was never let go");
    }
}

/// A command that is held back, or will be; let go when this is dropped.
pub struct Held(Arc<Hold>);

impl Held {
    /// Waits until the command has come.
    pub fn wait(&self) {
        self.0.wait_for(Step::Reached);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.set(Step::Released);
    }
}

/// The media.
pub struct GatedMedia {
    inner: Arc<dyn Disk>,
    holds: Mutex<Vec<Arc<Hold>>>,
}

impl GatedMedia {
    pub fn new(inner: Arc<dyn Disk>) -> GatedMedia {
        GatedMedia { inner, holds: Mutex::default() }
    }

    /// Holds back the next command of this kind that touches `range`; later ones pass.
    pub fn hold(&self, kind: Kind, range: std::ops::Range<u64>) -> Held {
        let (step, changed) = (Mutex::new(Step::Waiting), Condvar::new());
        let hold = Arc::new(Hold { kind, range, step, changed });
        self.holds.lock().unwrap().push(hold.clone());
        Held(hold)
    }

    fn pass(&self, kind: Kind, offset: u64, length: u64) {
        let hold = {
            let holds = self.holds.lock().unwrap();
            let hold = holds.iter().find(|hold| hold.matches(kind, offset, length)).cloned();
            if let Some(hold) = &hold {
                hold.set(Step::Reached);
            }
            hold
        };
        if let Some(hold) = hold {
            hold.wait_for(Step::Released);
        }
    }
}

impl Disk for GatedMedia {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn guarantees(&self) -> Guarantees {
        self.inner.guarantees()
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.pass(Kind::Read, offset, data.len() as u64);
        self.inner.read(offset, data)
    }

    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        self.pass(Kind::Write, offset, data.len() as u64);
        self.inner.write(offset, data, force_unit_access)
    }

    fn flush(&self) -> Result<()> {
        self.pass(Kind::Flush, 0, 0);
        self.inner.flush()
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        self.pass(Kind::Discard, offset, length);
        self.inner.discard(offset, length)
    }
}
