//! An image of a pool in a rig: served as it is for as long as the rig stands.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use assay_serve::job::CacheMode;
use assay_serve::{AttachOptions, Attached, Export};
use assay_system::ledger::Ledger;

/// Serves an image by a child on these CPUs (empty: all). A write is on all copies when it is
/// answered.
///
/// # Errors
/// One line, the serving process's own.
pub fn serve(threads: u16, image: &Path, ledger: &Arc<Ledger>, cpus: &[usize]) -> Result<Attached> {
    let options =
        AttachOptions { cache: CacheMode::Writethrough, threads, ..AttachOptions::default() };
    Attached::start(image, &options, &Export::Image, ledger, cpus)
}
