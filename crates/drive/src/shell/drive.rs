//! The drive: a disk made of a codec, a log, a map and garbage collection over another disk, its media.
//!
//! Many host commands run at once. Each compresses in its own thread; giving records their places in the log, and
//! telling the map, is the one serial part and takes memory copies only. Locks are taken in this order: maintenance,
//! log, map. No lock but maintenance is held during input or output.
//!
//! It spawns nothing: [`Drive::maintain`] is called from outside, as often as the caller likes. A host write that finds
//! no free segment does the collecting itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::codec::{Codec, Dictionary};
use crate::core::chunks::Chunks;
use crate::core::log::Log;
use crate::core::maintenance::Maintenance;
use crate::core::map::Map;
use crate::core::space::Space;
use crate::core::victims::Policy;
use crate::format::{
    CHUNK_BYTES_MAX, Cursor, Identity, Location, OtherSuperblock, STREAMS, Superblock,
};
use crate::shell::bad_places::Unreadable;
use crate::shell::readahead::ReadAhead;
use crate::shell::worker::Workers;
use crate::status::{Counters, Recovery};
use crate::sync::{
    AtomicBool, AtomicU32, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
    whole,
};
use assay_disk::{BLOCK_BYTES, Disk, DiskError, Result};

/// When a completed write is on stable media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cache {
    /// At the next completed flush, as in a drive with a volatile write cache.
    #[default]
    Volatile,
    /// When it completes, as in a drive without one.
    Writethrough,
}

/// Why a drive takes no writes that was asked not to.
pub(crate) const OPENED_READ_ONLY: &str = "it was opened for reading only";

/// How a drive works while it is open; nothing of this is on media.
#[derive(Debug, Clone)]
pub struct DriveOptions {
    /// Memory for the map, in bytes, beyond which clean parts of it are read again when needed; none: no limit.
    pub map_bytes: Option<u64>,
    /// How collection chooses its next segment.
    pub policy: Policy,
    /// When a completed write is on stable media.
    pub cache: Cache,
    /// Bytes of log between checkpoints; none: as much as keeps their cost at some percent.
    pub checkpoint_bytes: Option<u64>,
    /// Least length of a read of media for the host, in bytes; what it brings beyond what was asked for is kept for a
    /// while. For media that are paid by the operation; zero: no more is read than is needed.
    pub read_ahead_bytes: u32,
    /// Whether freed segments are discarded on media.
    pub discard_media: bool,
    /// Opens without writing anything.
    pub read_only: bool,
    /// Lets fresh data have most of what a full drive keeps for overwriting: for a file system that must replay its log
    /// and delete.
    pub rescue: bool,
}

impl Default for DriveOptions {
    fn default() -> DriveOptions {
        DriveOptions {
            map_bytes: None,
            policy: Policy::CostBenefit,
            cache: Cache::Volatile,
            checkpoint_bytes: None,
            read_ahead_bytes: 0,
            discard_media: false,
            read_only: false,
            rescue: false,
        }
    }
}

/// Told what a host write comes to when it is stored, by the thread that writes.
pub trait StoredSizes: Send + Sync {
    /// A record of `blocks` blocks takes `payload_bytes`: none for zeroes.
    fn stored(&self, blocks: u64, payload_bytes: u64);
}

/// How a drive works that is the inside of a device's model; nothing of it is for data that must last.
#[derive(Clone, Default)]
pub struct Emulation {
    /// Stores blocks of zeroes like any others, as a device does that does not look at its data.
    pub stores_zeroes: bool,
    /// Bytes of a chunk at which it is written; none: as many as a chunk can have. A device that writes less at once
    /// takes what it is given more evenly.
    pub chunk_bytes: Option<u32>,
    /// A flush has nothing to do, as in a device whose write buffer survives a power cut. The memory that stands in for
    /// that buffer is ours and survives nothing.
    pub keeps_cache: bool,
    /// Who wants to know what is stored.
    pub observer: Option<Arc<dyn StoredSizes>>,
}

/// Commits that were asked for and those that are done.
#[derive(Debug, Default)]
pub(crate) struct Commit {
    pub(crate) asked: u64,
    pub(crate) done: u64,
    /// Whether any of those asked for wants all streams.
    pub(crate) wants_all: bool,
    pub(crate) has_leader: bool,
}

/// The software drive.
pub struct Drive {
    pub(crate) media: Arc<dyn Disk>,
    pub(crate) options: DriveOptions,
    pub(crate) emulation: Emulation,
    pub(crate) identity: Identity,
    pub(crate) logical_bytes: AtomicU64,
    log: Mutex<Log>,
    /// Commits in progress, see `commit`.
    pub(crate) commit: Mutex<Commit>,
    /// Told when a chunk was written or a commit ended.
    pub(crate) progress: Condvar,
    map: RwLock<Map>,
    pub(crate) chunks: Chunks,
    pub(crate) read_ahead: ReadAhead,
    /// Readers of each segment.
    pub(crate) pins: Box<[AtomicU32]>,
    pub(crate) unreadable: Unreadable,
    /// Whether somebody waits until a segment has no readers.
    pub(crate) readers_awaited: AtomicBool,
    /// Version that the next dictionary gets; none was ever used twice.
    pub(crate) next_dictionary: AtomicU64,
    pub(crate) workers: Workers,
    pub(crate) dictionaries: RwLock<Vec<(u8, Location, Arc<Dictionary>)>>,
    pub(crate) counters: Counters,
    pub(crate) superblock: Mutex<Superblock>,
    /// Whether both copies have been written since the drive was opened.
    pub(crate) superblocks_written: AtomicBool,
    /// Which of both the drive was opened with: it is written last.
    pub(crate) superblock_in_use: usize,
    /// The state of the other one when the drive was opened.
    pub(crate) other_superblock: OtherSuperblock,
    /// Where the log ended when the drive was opened: what was numbered from here on is lost.
    pub(crate) log_stop_seq: AtomicU64,
    /// Whether this incarnation has its own sequence numbers, so that the log may grow.
    pub(crate) is_begun: AtomicBool,
    pub(crate) maintenance: Mutex<Maintenance>,
    pub(crate) stopped: OnceLock<String>,
    pub(crate) read_only: Option<String>,
    /// Whether what is missing of the log is given up, in place of opening for reading only.
    pub(crate) gives_up_log: bool,
    pub(crate) recovery: Recovery,
    pub(crate) problems: Mutex<Vec<String>>,
}

/// What a drive is put together from, by format and by recovery.
pub(crate) struct Parts {
    pub(crate) superblock: Superblock,
    pub(crate) map: Map,
    pub(crate) space: Space,
    pub(crate) cursors: [Cursor; STREAMS],
    pub(crate) next_seq: u64,
    pub(crate) counters: Counters,
    pub(crate) dictionaries: Vec<(u8, Location, Arc<Dictionary>)>,
    pub(crate) next_dictionary: u64,
    pub(crate) recovery: Recovery,
    pub(crate) read_only: Option<String>,
}

impl Drive {
    pub(crate) fn assemble(media: Arc<dyn Disk>, options: DriveOptions, parts: Parts) -> Drive {
        let identity = parts.superblock.identity;
        let opened = parts.space.iter().map(|(_, segment)| segment.opened_seq);
        let chunks = Chunks::new(opened, identity.segment_bytes);
        let pins = (0..identity.segments).map(|_| AtomicU32::new(0)).collect();
        let mut space = parts.space;
        if options.rescue {
            space.open_reserve();
        }
        space.note_nodes(parts.map.nodes());
        let mut log = Log::new(identity, space, parts.cursors, parts.next_seq);
        log.limits.chunk_bytes = CHUNK_BYTES_MAX;
        log.log_bytes = parts.counters.log_bytes.load(Ordering::Relaxed);
        let maintenance = Maintenance::new(parts.superblock.checkpoint_seq, log.log_bytes);
        Drive {
            media,
            read_ahead: ReadAhead::new(options.read_ahead_bytes),
            options,
            emulation: Emulation::default(),
            identity,
            logical_bytes: AtomicU64::new(identity.logical_bytes),
            log: Mutex::new(log),
            commit: Mutex::default(),
            progress: Condvar::new(),
            map: RwLock::new(parts.map),
            chunks,
            pins,
            unreadable: Unreadable::default(),
            readers_awaited: AtomicBool::new(false),
            next_dictionary: AtomicU64::new(parts.next_dictionary),
            workers: Workers::new(identity.codec),
            dictionaries: RwLock::new(parts.dictionaries),
            counters: parts.counters,
            superblock: Mutex::new(parts.superblock),
            superblocks_written: AtomicBool::new(false),
            superblock_in_use: 1,
            other_superblock: OtherSuperblock::Whole,
            log_stop_seq: AtomicU64::new(parts.next_seq),
            is_begun: AtomicBool::new(false),
            maintenance: Mutex::new(maintenance),
            stopped: OnceLock::new(),
            read_only: parts.read_only,
            gives_up_log: false,
            recovery: parts.recovery,
            problems: Mutex::default(),
        }
    }

    /// The drive as the inside of a device's model, before it is used.
    #[must_use]
    pub fn emulating(mut self, emulation: Emulation) -> Drive {
        if let Ok(log) = self.log.get_mut() {
            log.limits.chunk_bytes = emulation.chunk_bytes.unwrap_or(CHUNK_BYTES_MAX);
        }
        self.emulation = emulation;
        self
    }

    /// What it compresses with.
    #[must_use]
    pub fn codec(&self) -> Codec {
        self.identity.codec
    }

    /// The log, unless the drive has stopped.
    pub(crate) fn log(&self) -> Result<MutexGuard<'_, Log>> {
        self.running()?;
        self.log.lock().map_err(|_| self.broken())
    }

    pub(crate) fn map(&self) -> Result<RwLockReadGuard<'_, Map>> {
        self.map.read().map_err(|_| self.broken())
    }

    pub(crate) fn map_mut(&self) -> Result<RwLockWriteGuard<'_, Map>> {
        self.map.write().map_err(|_| self.broken())
    }

    /// The log, for looking only, also of a drive that has stopped.
    pub(crate) fn log_at_any_time(&self) -> MutexGuard<'_, Log> {
        whole(self.log.lock())
    }

    /// The map, likewise.
    pub(crate) fn map_at_any_time(&self) -> RwLockReadGuard<'_, Map> {
        whole(self.map.read())
    }

    pub(crate) fn running(&self) -> Result<()> {
        match self.stopped.get() {
            Some(reason) => Err(DiskError::Stopped { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// Stops the drive for good; the first reason stays.
    pub(crate) fn stop(&self, reason: String) -> DiskError {
        let reason = self.stopped.get_or_init(|| reason).clone();
        // Who waits has looked whether the drive runs with the commits' lock held.
        drop(self.commits());
        self.progress.notify_all();
        DiskError::Stopped { reason }
    }

    fn broken(&self) -> DiskError {
        self.stop("a thread failed while it changed the drive's state".into())
    }

    /// What must always hold: there is room for a checkpoint. Where it does not, that is told long before one is due.
    pub(crate) fn check_room(&self, space: &Space) {
        if !space.fits() {
            let (free, needed) = (space.free_segments(), space.kept_free());
            debug_assert!(false, "{free} segments are free, {needed} are needed");
            self.report(format!(
                "only {free} of the {needed} segments that checkpoints need are free: new data waits until more are free"
            ));
        }
    }

    /// Keeps a line for the health log.
    pub(crate) fn report(&self, problem: String) {
        let mut problems = whole(self.problems.lock());
        if problems.len() < PROBLEMS_KEPT && !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    /// Whether the drive may be written to.
    pub(crate) fn writable(&self) -> Result<()> {
        self.running()?;
        match &self.read_only {
            Some(reason) => Err(DiskError::ReadOnly { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    pub(crate) fn superblock(&self) -> MutexGuard<'_, Superblock> {
        whole(self.superblock.lock())
    }

    /// Blocks that the host sees.
    pub(crate) fn blocks(&self) -> u64 {
        self.logical_bytes.load(Ordering::Acquire) / BLOCK_BYTES
    }

    /// Takes a reader off a segment, and tells who waits for that.
    pub(crate) fn unpin(&self, location: Location) {
        let before = self.pins[location.segment() as usize].fetch_sub(1, Ordering::SeqCst);
        if before == 1 && self.readers_awaited.load(Ordering::SeqCst) {
            drop(self.commits());
            self.progress.notify_all();
        }
    }

    /// Keeps a segment from being used again while it is read; called with the map's lock held.
    pub(crate) fn pin(&self, location: Location) {
        self.pins[location.segment() as usize].fetch_add(1, Ordering::SeqCst);
    }

    /// Whether anyone reads a segment.
    pub(crate) fn is_read(&self, segment: u32) -> bool {
        self.pins[segment as usize].load(Ordering::SeqCst) > 0
    }
}

/// Lines of the health log that are kept in memory.
const PROBLEMS_KEPT: usize = 100;
