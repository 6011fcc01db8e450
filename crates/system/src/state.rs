//! Where this program keeps what must outlive it: `$ASSAY_STATE`, else `$XDG_STATE_HOME/assay`, else `~/.local/state/assay`
//! (XDG Base Directory Specification).
//!
//! Guarantees: it is this user's alone, or nothing in it is read; there is none where the environment names no home.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};

use crate::private::{self, NotPrivate};

/// What to do about one that cannot be used.
const REMEDY: &str = "set ASSAY_STATE to a directory of your own";

/// The state directory, absolute; it need not exist yet.
///
/// # Errors
/// The environment names no home, or what is there is not this user's alone.
pub fn directory() -> Result<PathBuf> {
    let path = named()?;
    private::check_directory(&path).map_err(cannot)?;
    Ok(path)
}

/// The directory `name` within it, made where there is none.
///
/// # Errors
/// As [`directory`]; it cannot be made.
pub fn below(name: &str) -> Result<PathBuf> {
    let state = named()?;
    private::make_directory(&state).map_err(cannot)?;
    // Absolute and without links: names of what lies there are compared.
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
    // A slash at its end would lead through a link.
    Ok(path.components().collect())
}
