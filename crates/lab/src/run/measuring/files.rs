//! The files of a run without a server, made on the rig before the rig keeps time.

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use assay_load::Fileio;
use assay_load::fileio::{self, TestMode};

use crate::rig::Rig;

/// Makes the files in the rig's data directory, which it makes too, and takes them out of the page
/// cache. A load that makes its files itself gets the directory alone.
///
/// # Errors
/// One line: no room, or what the system said.
pub(super) fn prepare(rig: &Rig, fileio: &Fileio, stop: &AtomicBool) -> Result<()> {
    let directory = rig.data_dir();
    std::fs::create_dir(&directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    if fileio.test_mode()? == TestMode::Seqwr {
        return Ok(());
    }
    fileio::prepare(&directory, fileio, &mut |_, _| {}, stop)?;
    Ok(fileio::forget(&directory, fileio)?)
}
