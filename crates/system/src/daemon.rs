//! The connection to a daemon of this program: it receives its job, and answers, one line each.
//!
//! A daemon either depends on the process that started it or outlives that process; in the latter
//! case it has a session, a ledger and a log of its own.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assay_ports::child::{self, Child, describe};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::state;

/// A daemon to start: its arguments, its job, and its name in errors.
#[derive(Debug)]
pub struct Daemon<'a, J> {
    /// Arguments of this program.
    pub words: [&'a OsStr; 3],
    /// Sent to the daemon's standard input as one line of JSON.
    pub job: &'a J,
    /// E.g. `the serving process`.
    pub name: &'static str,
    /// Follows the exit status in the error for a daemon that ended without an answer.
    pub remedy: &'static str,
}

impl<J: Serialize> Daemon<'_, J> {
    /// Starts the daemon, which outlives this process. `read` receives each answer until it returns
    /// a value.
    pub fn start<A: DeserializeOwned, T>(
        &self,
        read: impl FnMut(A) -> Result<Option<T>>,
    ) -> Result<T> {
        let (mut command, mut connection) = self.command()?;
        // systemd does not kill processes whose name begins with `@` before their file systems are
        // unmounted at shutdown (systemd, "Storage Daemons for the Root File System").
        command.arg0("@assay").current_dir("/").env("ASSAY_STATE", state::directory()?);
        let mut process = command.spawn().with_context(|| format!("cannot start {}", self.name))?;
        // Closes this process's copies of the daemon's ends of the pipes.
        drop(command);
        self.converse(&mut connection, read, || Ok(process.wait()?))
    }

    /// Starts the daemon as a child that ends with this process, on the given CPUs (empty: any).
    /// `read` receives each answer until it returns a value. A daemon that fails has `patience` to
    /// end before it is killed.
    pub fn start_tied<A: DeserializeOwned, T>(
        &self,
        cpus: &[usize],
        patience: Duration,
        read: impl FnMut(A) -> Result<Option<T>>,
    ) -> Result<(T, Child, DaemonConnection)> {
        let (mut command, mut connection) = self.command()?;
        command.arg0("assay");
        let started = child::spawn(command, cpus);
        let mut process = started.with_context(|| format!("cannot start {}", self.name))?;
        let end = || match process.wait(patience)? {
            Some(status) => Ok(status),
            None => Ok(process.kill()?),
        };
        let value = self.converse(&mut connection, read, end)?;
        Ok((value, process, connection))
    }

    /// The command that runs this program, and the connection to it.
    fn command(&self) -> Result<(Command, DaemonConnection)> {
        // A daemon must not inherit open files: others may wait for their end.
        child::hand_nothing_down().context("cannot list open files")?;
        let ((input, sender), (receiver, output)) = (pipe()?, pipe()?);
        // The same program, even if its file was replaced since.
        let mut command = Command::new("/proc/self/exe");
        command.args(self.words).stdin(Stdio::from(input)).stdout(Stdio::from(output));
        Ok((command, DaemonConnection { sender, receiver: BufReader::new(receiver) }))
    }

    /// Sends the job and reads the answers. After a failure, `end` waits for the daemon's end.
    fn converse<A: DeserializeOwned, T>(
        &self,
        connection: &mut DaemonConnection,
        read: impl FnMut(A) -> Result<Option<T>>,
        end: impl FnOnce() -> Result<ExitStatus>,
    ) -> Result<T> {
        let answered = connection.send_job(self.job, read);
        if let Ok(Some(value)) = answered {
            return Ok(value);
        }
        let status = end()?;
        answered?;
        bail!("{} ended immediately with {}{}", self.name, describe(status), self.remedy)
    }
}

/// The connection to a daemon.
#[derive(Debug)]
pub struct DaemonConnection {
    sender: PipeWriter,
    receiver: BufReader<PipeReader>,
}

impl DaemonConnection {
    /// Sends `job` and hands each answer to `read` until it returns a value; `None` if the daemon
    /// ended before.
    fn send_job<A: DeserializeOwned, T>(
        &mut self,
        job: &impl Serialize,
        mut read: impl FnMut(A) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let mut answer = self.ask(&serde_json::to_string(job)?)?;
        while let Some(answered) = answer {
            if let Some(value) = read(answered)? {
                return Ok(Some(value));
            }
            answer = self.receive()?;
        }
        Ok(None)
    }

    /// Sends a line and returns the answer; `None` if the daemon ended without one.
    pub fn ask<A: DeserializeOwned>(&mut self, line: &str) -> Result<Option<A>> {
        // If the daemon has ended, reading its answer reports that.
        let _ = self.sender.write_all(format!("{line}\n").as_bytes());
        self.receive()
    }

    /// Returns the next answer; `None` if the daemon ended without one.
    fn receive<A: DeserializeOwned>(&mut self) -> Result<Option<A>> {
        let mut answer = String::new();
        self.receiver.read_line(&mut answer)?;
        if answer.is_empty() { Ok(None) } else { Ok(Some(serde_json::from_str(&answer)?)) }
    }
}

/// Answers the process that started this one.
pub fn answer<A: Serialize>(answer: &A) -> Result<()> {
    let line = serde_json::to_string(answer)? + "\n";
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes())?;
    Ok(out.flush()?)
}
