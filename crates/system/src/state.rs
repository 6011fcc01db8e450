//! The directory of state that outlives the process: `$ASSAY_STATE`, else `$XDG_STATE_HOME/assay`,
//! else `~/.local/state/assay` (XDG Base Directory Specification).
//!
//! Guarantees: the directory belongs to this user alone, or nothing in it is read; there is none if
//! the environment names no home.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};

use crate::private::{self, NotPrivate};

/// Advice for a directory that cannot be used.
const REMEDY: &str = "set ASSAY_STATE to a directory of your own";

/// The absolute path of the state directory, which may not exist yet. Fails if it is not private.
pub fn directory() -> Result<PathBuf> {
    let path = named()?;
    private::check_directory(&path).map_err(cannot)?;
    Ok(path)
}

/// The subdirectory `name`, created if it is missing.
pub fn below(name: &str) -> Result<PathBuf> {
    let state = named()?;
    private::make_directory(&state).map_err(cannot)?;
    // Absolute and without links, because paths below it are compared.
    let path = state.canonicalize().context("the state directory is gone")?.join(name);
    private::make_directory(&path).map_err(cannot)?;
    Ok(path)
}

fn cannot(error: NotPrivate) -> anyhow::Error {
    anyhow!("{error}; {REMEDY}")
}

fn named() -> Result<PathBuf> {
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let named = variable("ASSAY_STATE")
        .or_else(|| Some(variable("XDG_STATE_HOME")?.join("assay")))
        .or_else(|| Some(variable("HOME")?.join(".local/state/assay")))
        .with_context(|| {
            format!("no directory for what is made on this machine: HOME is not set; {REMEDY}")
        })?;
    let path = std::path::absolute(&named).context("cannot determine the state directory")?;
    // Drops a trailing slash, which would follow a link.
    Ok(path.components().collect())
}
