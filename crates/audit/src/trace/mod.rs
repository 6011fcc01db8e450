//! Watches page writes arrive at a block device, through the kernel's tracepoints: which pages
//! arrive whole, and which in pieces.
//!
//! The event `block_rq_issue` occurs when a request goes to a device's driver, after all splitting
//! and merging. Its position is compared with the extents of the files, which yields the pages of
//! each request.
//!
//! Guarantees: nothing is written to the device, and no file's contents are read; events lost by
//! the kernel are counted, and the trace is removed however it ends.

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

use crate::files::ExaminedFile;
use crate::findings::AuditFindings;
use crate::layers::LayerKind;
use line::Event;
use pages::{Arrivals, Places};
use tracefs::Tracing;

pub use pages::InPieces;

/// Interval between checks of the time limit.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The result of a trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Traced {
    /// Name of the device.
    pub device: String,
    /// Duration of the trace.
    pub length_s: f64,
    /// Writes issued to the device.
    pub writes: u64,
    /// Writes to pages of the files.
    pub writes_of_pages: u64,
    /// Number of page writes that arrived whole.
    pub pages_whole: u64,
    /// Pages that arrived in pieces, those with the most pieces first; a few at most.
    pub in_pieces: Vec<InPieces>,
    /// Number of pages that arrived in pieces.
    pub pages_in_pieces: u64,
    /// Events lost by the kernel.
    pub events_lost: u64,
}

/// Watches the device below a data directory until the time is up or the user interrupts.
pub fn watch(
    findings: &AuditFindings,
    length: Duration,
    ledger: &Arc<Ledger>,
    stop: &AtomicBool,
) -> Result<Traced> {
    let stack = findings.stacks.first().context("there is nothing below the directory")?;
    let mut layers = stack.layers.iter();
    // The trace reports requests to a partition under the disk's number.
    let disk = layers.find(|layer| !matches!(layer.kind, LayerKind::Partition { .. }));
    let disk = disk.with_context(|| {
        format!("{} has no block device below it that could be watched", stack.file_system.name)
    })?;
    let start = stack.start_bytes();
    let mut tracing = Tracing::start(ledger, &disk.name)?;
    let places = Places::of(&files_on(findings)?, start, findings.page_bytes)?;
    let mut arrivals = Arrivals::default();
    let began = Instant::now();
    let mut traced = Traced { device: disk.name.clone(), ..Traced::default() };
    while began.elapsed() < length && !stop.load(Ordering::Relaxed) {
        tracing.read(LOOK_EVERY, &mut |event| note(event, &places, &mut arrivals, &mut traced))?;
    }
    traced.length_s = began.elapsed().as_secs_f64();
    tracing.pause()?;
    // Reads the events up to now.
    while tracing.read(Duration::ZERO, &mut |event| {
        note(event, &places, &mut arrivals, &mut traced);
    })? {}
    tracing.take_down()?;
    traced.pages_whole = arrivals.whole();
    traced.pages_in_pieces = arrivals.pages_in_pieces();
    traced.in_pieces = arrivals.worst(&places);
    Ok(traced)
}

/// The files on the watched device, which is that of the directory.
fn files_on(findings: &AuditFindings) -> Result<Vec<&ExaminedFile>> {
    let directory = std::fs::metadata(&findings.directory);
    let device = directory.context("the directory is gone")?.dev();
    let looked = findings.files.looked.iter();
    Ok(looked.filter(|file| file.device == device && file.kind.holds_pages()).collect())
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
