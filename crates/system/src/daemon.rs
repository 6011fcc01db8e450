//! The connection to a process of this program that serves something: it is told its job, and answers, a line each.
//!
//! Such a process belongs to whoever starts it, or outlives them: then it has a session, a ledger and a log of its own.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use assay_ports::child;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::state;

/// Whether a serving process outlives whoever started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It does.
    Independent,
    /// It belongs to this process.
    Tied,
}

/// The connection to a server.
#[derive(Debug)]
pub struct Line {
    tell: PipeWriter,
    hear: BufReader<PipeReader>,
}

impl Line {
    /// A line, and this program at its other end with `words` on its command line, not started yet.
    ///
    /// # Errors
    /// What the system answered.
    pub fn to_server(words: &[&OsStr], life: Life) -> Result<(Command, Line)> {
        // What may outlive us must hold nothing that others wait for.
        child::hand_nothing_down().context("cannot list open files")?;
        let ((told, tell), (hear, said)) = (pipe()?, pipe()?);
        // The same program, also when its file was replaced since.
        let mut command = Command::new("/proc/self/exe");
        // What outlives us may have mounted file systems on it: that mark keeps systemd from killing it before they are
        // unmounted at shutdown (systemd, "Storage Daemons for the Root File System").
        command.arg0(if life == Life::Independent { "@assay" } else { "assay" }).args(words);
        command.stdin(Stdio::from(told)).stdout(Stdio::from(said));
        if life == Life::Independent {
            command.current_dir("/").env("ASSAY_STATE", state::directory()?);
        }
        Ok((command, Line { tell, hear: BufReader::new(hear) }))
    }

    /// Tells it a line and hears what it answers; nothing when it has ended without a word.
    ///
    /// # Errors
    /// What it answers is not as it should be.
    pub fn ask<A: DeserializeOwned>(&mut self, line: &str) -> Result<Option<A>> {
        // A server that has ended already is known by its silence.
        let _ = self.tell.write_all(format!("{line}\n").as_bytes());
        self.hear()
    }

    /// Hears the next answer; nothing when it has ended without one.
    ///
    /// # Errors
    /// What it answers is not as it should be.
    pub fn hear<A: DeserializeOwned>(&mut self) -> Result<Option<A>> {
        let mut answer = String::new();
        self.hear.read_line(&mut answer)?;
        if answer.is_empty() { Ok(None) } else { Ok(Some(serde_json::from_str(&answer)?)) }
    }
}

/// Answers whoever started this process, which [`Line::hear`]s it.
///
/// # Errors
/// Nobody hears it any more.
pub fn answer<A: Serialize>(answer: &A) -> Result<()> {
    let line = serde_json::to_string(answer)? + "\n";
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes())?;
    Ok(out.flush()?)
}
