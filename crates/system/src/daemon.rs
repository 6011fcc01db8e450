//! The connection to a daemon of this program: it receives its job, and answers, one line each.
//!
//! A daemon either depends on the process that started it or outlives that process; in the latter
//! case it has a session, a ledger and a log of its own.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use assay_ports::child;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::state;

/// Whether a daemon outlives the process that starts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// The daemon outlives it.
    Independent,
    /// The daemon ends with it.
    Tied,
}

/// The connection to a daemon.
#[derive(Debug)]
pub struct Line {
    tell: PipeWriter,
    hear: BufReader<PipeReader>,
}

impl Line {
    /// A connection, and the command that runs this program with the arguments `words` at its other
    /// end, not started yet.
    pub fn to_server(words: &[&OsStr], life: Life) -> Result<(Command, Line)> {
        // A daemon must not inherit open files: others may wait for their end.
        child::hand_nothing_down().context("cannot list open files")?;
        let ((told, tell), (hear, said)) = (pipe()?, pipe()?);
        // The same program, even if its file was replaced since.
        let mut command = Command::new("/proc/self/exe");
        // systemd does not kill processes whose name begins with `@` before their file systems are
        // unmounted at shutdown (systemd, "Storage Daemons for the Root File System").
        command.arg0(if life == Life::Independent { "@assay" } else { "assay" }).args(words);
        command.stdin(Stdio::from(told)).stdout(Stdio::from(said));
        if life == Life::Independent {
            command.current_dir("/").env("ASSAY_STATE", state::directory()?);
        }
        Ok((command, Line { tell, hear: BufReader::new(hear) }))
    }

    /// Sends a line and returns the answer; `None` if the daemon ended without one.
    pub fn ask<A: DeserializeOwned>(&mut self, line: &str) -> Result<Option<A>> {
        // If the daemon has ended, reading its answer reports that.
        let _ = self.tell.write_all(format!("{line}\n").as_bytes());
        self.hear()
    }

    /// Returns the next answer; `None` if the daemon ended without one.
    pub fn hear<A: DeserializeOwned>(&mut self) -> Result<Option<A>> {
        let mut answer = String::new();
        self.hear.read_line(&mut answer)?;
        if answer.is_empty() { Ok(None) } else { Ok(Some(serde_json::from_str(&answer)?)) }
    }
}

/// Answers the process that started this one, which calls [`DaemonConnection::hear`].
pub fn answer<A: Serialize>(answer: &A) -> Result<()> {
    let line = serde_json::to_string(answer)? + "\n";
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes())?;
    Ok(out.flush()?)
}
