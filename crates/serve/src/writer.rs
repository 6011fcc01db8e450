//! Records which process of this machine last opened an image for writing, so that its lock can be
//! broken once the process has died.
//!
//! The cluster needs half a minute to notice a dead client. A recorded process that is gone is
//! certainly dead; locks of unrecorded or living processes are left alone.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_ports::child::{Identity, identity};
use assay_system::{ledger, private, state};
use serde::{Deserialize, Serialize};

use super::log;

/// Directory of these records in the state directory.
const WRITERS: &str = "writers";

/// Largest record that is read: a process, a boot, an address.
const NOTE_BYTES_MAX: u64 = 4096;

#[derive(Debug, Serialize, Deserialize)]
struct Writer {
    pid: u32,
    start_ticks: u64,
    boot_id: String,
    /// The client's address, by which the cluster knows it.
    address: String,
}

/// The address of the last writer of `image`, if that process has died.
pub fn died(image: &Path) -> Option<String> {
    let note = private::read(&note_of(image).ok()?, NOTE_BYTES_MAX).ok()??;
    let writer: Writer = serde_json::from_slice(&note).ok()?;
    let Writer { pid, start_ticks, boot_id, address } = writer;
    let lives = boot_id == this_boot() && identity(pid) == Some(Identity { pid, start_ticks });
    (!lives).then_some(address)
}

/// Records that this process has opened `image` for writing, under that address.
pub fn note(image: &Path, address: String) -> Result<()> {
    let me = identity(std::process::id()).context("cannot read /proc/self/stat")?;
    let Identity { pid, start_ticks } = me;
    let writer = Writer { pid, start_ticks, boot_id: this_boot(), address };
    state::below(WRITERS)?;
    let path = note_of(image)?;
    private::write(&path, &serde_json::to_vec(&writer)?)
        .map(drop)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Deletes the record after `image` was closed. A missing record is no error.
pub fn forget(image: &Path) {
    if let Err(error) = note_of(image).and_then(|note| ledger::delete(&note)) {
        ::log::debug!("the note on {} stays: {error:#}", image.display());
    }
}

fn note_of(image: &Path) -> Result<PathBuf> {
    Ok(state::directory()?.join(WRITERS).join(log::name_of(image)).with_extension("json"))
}

fn this_boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}
