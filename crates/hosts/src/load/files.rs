//! Files that a load names: read on this machine, and written on the other for the duration of the
//! load.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_load::LoadSpec;
use assay_system::ledger::{Ledger, LedgerGuard};
use serde::{Deserialize, Serialize};

use crate::directory::new_session_directory;

/// A text file sent with a load: a certificate, or the text that tables are filled with.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Carried {
    path: PathBuf,
    text: String,
}

/// The places where a load names files.
fn places(load: &mut LoadSpec) -> Vec<&mut PathBuf> {
    let LoadSpec { endpoint, schema, .. } = load;
    endpoint.tls.ca_mut().into_iter().chain(schema.text.as_mut()).collect()
}

/// Reads the files that a load names.
pub(super) fn read(load: &LoadSpec) -> Result<Vec<Carried>> {
    let read = |path: &mut PathBuf| {
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Carried { path: path.clone(), text })
    };
    places(&mut load.clone()).into_iter().map(read).collect()
}

/// Writes the files to a new directory of this session and makes the load name them there. Dropping
/// the returned handle removes them. An error leaves nothing behind.
pub(super) fn put(files: &[Carried], load: &mut LoadSpec) -> Result<Option<LedgerGuard>> {
    if files.is_empty() {
        return Ok(None);
    }
    let ledger: Arc<Ledger> = Ledger::open()?;
    let directory = new_session_directory()?;
    let made = ledger.make_directory(&directory)?;
    write(files, &directory)?;
    for place in places(load) {
        if let Some(number) = files.iter().position(|file| file.path == *place) {
            *place = directory.join(number.to_string());
        }
    }
    Ok(Some(made))
}

fn write(files: &[Carried], directory: &Path) -> Result<()> {
    let cannot = || format!("cannot write to {}", directory.display());
    for (number, file) in files.iter().enumerate() {
        std::fs::write(directory.join(number.to_string()), &file.text).with_context(cannot)?;
    }
    Ok(())
}
