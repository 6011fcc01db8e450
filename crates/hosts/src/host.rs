//! A host that is logged in to and has this program.

use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use assay_base::HostSpec;
use assay_ports::child;
use assay_system::interrupt::Interrupt;
use assay_system::ledger::Ledger;

use crate::connection::{Connection, LOST, no_client, quoted};
use crate::failure::{Reason, Result};
use crate::program::{self, Placed};
use crate::session::Session;

/// What is done with a host that takes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The program is copied there.
    Copying {
        /// Its size, in bytes.
        bytes: u64,
    },
}

/// What has no limit of time but the connection's.
const FOREVER: Duration = Duration::from_secs(1 << 30);

/// A host with this program.
#[derive(Debug)]
pub struct Host {
    connection: Arc<Connection>,
    placed: Placed,
}

impl Host {
    /// Logs in, and brings the program there if it is not. `tell` hears of what takes time.
    ///
    /// # Errors
    /// Whatever is in the way, and that the user interrupts it; the host is then as it was.
    pub fn connect(
        spec: &HostSpec,
        ledger: &Arc<Ledger>,
        interrupt: &Interrupt,
        tell: &dyn Fn(Step),
    ) -> Result<Host> {
        let of_host = |reason: Reason| reason.of(&spec.ssh);
        let connection = Connection::open(spec, ledger, interrupt).map_err(of_host)?;
        let copying = |bytes| tell(Step::Copying { bytes });
        let placed = program::place(&connection, &copying).map_err(of_host)?;
        Ok(Host { connection: Arc::new(connection), placed })
    }

    /// As the user named it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.connection.name()
    }

    /// How many bytes were copied there; nothing where the program was there.
    #[must_use]
    pub fn copied_bytes(&self) -> Option<u64> {
        self.placed.copied_bytes
    }

    /// Begins a session with the program there.
    ///
    /// # Errors
    /// It does not run there, or the connection is lost.
    pub fn session(&self) -> Result<Session> {
        let words = self.shell_words(&["host", "serve"]);
        let session = Session::begin(&self.connection, &self.placed.path, &words);
        session.map_err(|reason| reason.of(self.name()))
    }

    /// Runs the program there with these words, to its end: what it says is said here.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn run(&self, words: &[&str]) -> Result<ExitStatus> {
        let of_host = |reason: Reason| reason.of(self.name());
        let mut command: Command = self.connection.command(&self.shell_words(words));
        command.stdin(Stdio::null());
        let mut client = child::spawn(command, &[]).map_err(|error| of_host(no_client(error)))?;
        match self.connection.await_end(&mut client, FOREVER).map_err(of_host)? {
            Some(status) if status.code() != Some(LOST) => Ok(status),
            _ => Err(of_host(Reason::Lost(self.connection.last_words()))),
        }
    }

    /// The program with these words, for a shell there.
    fn shell_words(&self, words: &[&str]) -> String {
        let directory = self.connection.spec().directory.as_ref();
        let variable = |name, part| {
            directory.map(|directory| format!("{name}={}", directory.join(part).display()))
        };
        let variables = [variable("ASSAY_CACHE", "cache"), variable("ASSAY_STATE", "state")];
        let words = words.iter().map(|word| quoted(word));
        let all: Vec<String> = std::iter::once("exec env".to_owned())
            .chain(variables.into_iter().flatten().map(|one| quoted(&one)))
            .chain(std::iter::once(quoted(&self.placed.path)))
            .chain(words)
            .collect();
        all.join(" ")
    }
}
