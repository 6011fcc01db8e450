//! A disk over a disk that goes wrong where and when it is told to.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use assay_drive::{Disk, DiskError, Guarantees, Result};

/// The fault.
#[derive(Clone)]
pub enum Fault {
    /// The write is answered and never done.
    LostWrite,
    /// The write goes this many bytes further, or as many back where that is beyond the end.
    MisdirectedWrite(u64),
    /// The write fails, as when a sparse backing file finds no space.
    FailedWrite(std::io::ErrorKind),
    /// The media say themselves that they are full.
    Full,
    /// The read fails.
    FailedRead,
    /// The read gives fewer bytes than asked for.
    ShortRead,
    /// The read gives what another disk, an older copy, holds there.
    StaleRead(Arc<dyn Disk>),
    /// The flush fails; what it was for stays in the cache.
    FailedFlush,
}

impl Fault {
    fn kind(&self) -> Kind {
        match self {
            Fault::LostWrite | Fault::MisdirectedWrite(_) | Fault::FailedWrite(_) | Fault::Full => {
                Kind::Write
            }
            Fault::FailedRead | Fault::ShortRead | Fault::StaleRead(_) => Kind::Read,
            Fault::FailedFlush => Kind::Flush,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Flush,
}

/// A fault with its occasion.
struct Rule {
    fault: Fault,
    range: Range<u64>,
    /// Commands that pass before it strikes, and how often it does then.
    passes: u64,
    times: u64,
}

/// The disk.
pub struct FaultyDisk {
    inner: Arc<dyn Disk>,
    rules: Mutex<Vec<Rule>>,
    hits: AtomicU64,
    writes: AtomicU64,
}

impl FaultyDisk {
    pub fn new(inner: Arc<dyn Disk>) -> FaultyDisk {
        let (hits, writes) = (AtomicU64::new(0), AtomicU64::new(0));
        FaultyDisk { inner, rules: Mutex::default(), hits, writes }
    }

    /// Strikes the command of its kind that touches `range` after `passes` others did, and each
    /// later one up to `times`.
    pub fn inject(&self, fault: Fault, range: Range<u64>, passes: u64, times: u64) {
        self.rules.lock().unwrap().push(Rule { fault, range, passes, times });
    }

    /// The next command of the fault's kind, wherever, after `passes` others.
    pub fn inject_once(&self, fault: Fault, passes: u64) {
        self.inject(fault, 0..u64::MAX, passes, 1);
    }

    /// Nothing goes wrong any more.
    pub fn heal(&self) {
        self.rules.lock().unwrap().clear();
    }

    /// Number of times that the fault struck.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::SeqCst)
    }

    /// Writes and discards that came, whatever became of them.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }

    fn strike(&self, kind: Kind, offset: u64, length: u64) -> Option<Fault> {
        let mut rules = self.rules.lock().unwrap();
        for rule in rules.iter_mut().filter(|rule| rule.fault.kind() == kind) {
            let meets = kind == Kind::Flush
                || (offset < rule.range.end && offset + length > rule.range.start);
            if !meets || rule.times == 0 {
                continue;
            }
            if rule.passes > 0 {
                rule.passes -= 1;
                continue;
            }
            rule.times -= 1;
            self.hits.fetch_add(1, Ordering::SeqCst);
            return Some(rule.fault.clone());
        }
        None
    }
}

fn failed(what: &str) -> DiskError {
    DiskError::Io(std::io::Error::other(what.to_string()))
}

impl Disk for FaultyDisk {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn guarantees(&self) -> Guarantees {
        self.inner.guarantees()
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        match self.strike(Kind::Read, offset, data.len() as u64) {
            Some(Fault::FailedRead) => Err(failed("the media cannot be read here")),
            Some(Fault::ShortRead) => {
                let half = data.len() / 2 / 4096 * 4096;
                self.inner.read(offset, &mut data[..half])?;
                Err(DiskError::Io(std::io::ErrorKind::UnexpectedEof.into()))
            }
            Some(Fault::StaleRead(older)) => older.read(offset, data),
            _ => self.inner.read(offset, data),
        }
    }

    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        let length = data.len() as u64;
        match self.strike(Kind::Write, offset, length) {
            Some(Fault::LostWrite) => Ok(()),
            Some(Fault::MisdirectedWrite(by)) => {
                let further = offset + by + length <= self.size();
                let place = if further { offset + by } else { offset - by };
                self.inner.write(place, data, force_unit_access)
            }
            Some(Fault::FailedWrite(kind)) => Err(DiskError::Io(kind.into())),
            Some(Fault::Full) => Err(DiskError::Full),
            _ => self.inner.write(offset, data, force_unit_access),
        }
    }

    fn flush(&self) -> Result<()> {
        match self.strike(Kind::Flush, 0, 0) {
            Some(_) => Err(failed("the cache could not be written out")),
            None => self.inner.flush(),
        }
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        self.inner.discard(offset, length)
    }
}
