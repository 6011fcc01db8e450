//! Page writes as they arrive at a block device, from the kernel's own tracepoints: which pages came whole, and which in pieces.
//!
//! The event `block_rq_issue` is told when a request goes to a device's driver, after everything that splits and merges. Its place is
//! held against the extents of the files, so that each request is known by the pages that it covers.
//!
//! Guarantees: nothing is written to the device, and no file's contents are read; what the kernel lost is counted, and the trace is taken
//! down however it ends.

mod line;
mod pages;
mod tracefs;

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assay_system::ledger::Ledger;
use serde::{Deserialize, Serialize};

use crate::files::Looked;
use crate::layers::LayerKind;
use crate::seen::Seen;
use line::Event;
use pages::{Arrivals, Places};
use tracefs::Tracing;

pub use pages::InPieces;

/// How soon it is seen that the time is up.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What was seen of page writes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Traced {
    /// The device, by its name.
    pub device: String,
    /// For how long, in seconds.
    pub length_s: f64,
    /// Writes that reached the device.
    pub writes: u64,
    /// Of these, writes to pages of the files.
    pub writes_of_pages: u64,
    /// How often a page came whole.
    pub pages_whole: u64,
    /// Pages that came in pieces, each with how many, most often first; not more than a few.
    pub in_pieces: Vec<InPieces>,
    /// How many pages came in pieces.
    pub pages_in_pieces: u64,
    /// Events that the kernel could not keep.
    pub events_lost: u64,
}

/// Watches the device below a data directory until the time is up, or somebody wants it to end.
///
/// # Errors
/// There is no block device to watch, or tracing is not allowed.
pub fn watch(
    seen: &Seen,
    length: Duration,
    ledger: &Arc<Ledger>,
    stop: &AtomicBool,
) -> Result<Traced> {
    let stack = seen.stacks.first().context("there is nothing below the directory")?;
    let mut layers = stack.layers.iter();
    // Requests to a partition are told as the disk's.
    let disk = layers.find(|layer| !matches!(layer.kind, LayerKind::Partition { .. }));
    let disk = disk.with_context(|| {
        format!("{} has no block device below it that could be watched", stack.file_system.name)
    })?;
    let start = stack.start_bytes();
    let mut tracing = Tracing::start(ledger, &disk.name)?;
    let places = Places::of(&files_on(seen)?, start, seen.page_bytes)?;
    let mut arrivals = Arrivals::default();
    let began = Instant::now();
    let mut traced = Traced { device: disk.name.clone(), ..Traced::default() };
    while began.elapsed() < length && !stop.load(Ordering::Relaxed) {
        tracing.read(LOOK_EVERY, &mut |event| note(event, &places, &mut arrivals, &mut traced))?;
    }
    traced.length_s = began.elapsed().as_secs_f64();
    tracing.pause()?;
    // What was told until then.
    while tracing.read(Duration::ZERO, &mut |event| {
        note(event, &places, &mut arrivals, &mut traced);
    })? {}
    tracing.take_down()?;
    traced.pages_whole = arrivals.whole();
    traced.pages_in_pieces = arrivals.pages_in_pieces();
    traced.in_pieces = arrivals.worst(&places);
    Ok(traced)
}

/// The files that lie on the device that is watched: that of the directory.
fn files_on(seen: &Seen) -> Result<Vec<&Looked>> {
    let directory = std::fs::metadata(&seen.directory);
    let device = directory.context("the directory is gone")?.dev();
    let looked = seen.files.looked.iter();
    Ok(looked.filter(|one| one.device == device && one.kind.holds_pages()).collect())
}

fn note(event: Event, places: &Places, arrivals: &mut Arrivals, traced: &mut Traced) {
    match event {
        Event::Write { from_bytes, to_bytes } => {
            traced.writes += 1;
            if places.arrive(from_bytes, to_bytes, arrivals) {
                traced.writes_of_pages += 1;
            }
        }
        Event::Lost(events) => traced.events_lost += events,
    }
}
