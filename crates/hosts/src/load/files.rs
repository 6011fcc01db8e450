//! Files that a load names: read on this machine, and there for as long as the load is on the other.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_load::{Endpoint, Schema};
use assay_system::ledger::{Ledger, Made};
use serde::{Deserialize, Serialize};

use crate::directory::new_session_directory;

/// A file on its way: it is text, a certificate or what tables are filled from.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Carried {
    path: PathBuf,
    text: String,
}

/// Where a load names files.
fn places<'a>(endpoint: &'a mut Endpoint, schema: &'a mut Schema) -> Vec<&'a mut PathBuf> {
    endpoint.tls.ca_mut().into_iter().chain(schema.text.as_mut()).collect()
}

/// Reads what a load names.
///
/// # Errors
/// One cannot be read.
pub(super) fn read(endpoint: &Endpoint, schema: &Schema) -> Result<Vec<Carried>> {
    let (mut endpoint, mut schema) = (endpoint.clone(), schema.clone());
    let read = |path: &mut PathBuf| {
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Carried { path: path.clone(), text })
    };
    places(&mut endpoint, &mut schema).into_iter().map(read).collect()
}

/// Puts the files in a directory of this session's own and has the load name them there; they go with what is given back.
///
/// # Errors
/// They cannot be written; nothing is left then.
pub(super) fn put(
    files: &[Carried],
    endpoint: &mut Endpoint,
    schema: &mut Schema,
) -> Result<Option<Made>> {
    if files.is_empty() {
        return Ok(None);
    }
    let ledger: Arc<Ledger> = Ledger::open()?;
    let directory = new_session_directory()?;
    let made = ledger.make_directory(&directory)?;
    write(files, &directory)?;
    for place in places(endpoint, schema) {
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
