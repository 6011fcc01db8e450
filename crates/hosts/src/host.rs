//! A host with an open login and with this program on it.

use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use assay_base::HostSpec;
use assay_ports::child;
use assay_system::interrupt::Interrupt;
use assay_system::ledger::Ledger;

use crate::connection::{Connection, LOST, no_client, quoted};
use crate::failure::{FailureReason, Result};
use crate::program::{self, Placed};
use crate::session::HostSession;

/// Steps of connecting that take time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectStep {
    /// The program is copied to the host.
    Copying { bytes: u64 },
}

/// Patience for steps that only the connection's loss ends.
const FOREVER: Duration = Duration::from_secs(1 << 30);

#[derive(Debug)]
pub struct RemoteHost {
    connection: Arc<Connection>,
    placed: Placed,
}

impl RemoteHost {
    /// Logs in, and copies the program to the host if it is missing. `tell` is called for each step
    /// that takes time. After an error or an interrupt the host is as it was.
    pub fn connect(
        spec: &HostSpec,
        ledger: &Arc<Ledger>,
        interrupt: &Interrupt,
        tell: &dyn Fn(ConnectStep),
    ) -> Result<RemoteHost> {
        let of_host = |reason: FailureReason| reason.of(&spec.ssh);
        let connection = Connection::open(spec, ledger, interrupt).map_err(of_host)?;
        let copying = |bytes| tell(ConnectStep::Copying { bytes });
        let placed = program::place(&connection, &copying).map_err(of_host)?;
        Ok(RemoteHost { connection: Arc::new(connection), placed })
    }

    /// The host's name, as given by the user.
    #[must_use]
    pub fn name(&self) -> &str {
        self.connection.name()
    }

    /// Number of bytes copied; `None` if the program was already there.
    #[must_use]
    pub fn copied_bytes(&self) -> Option<u64> {
        self.placed.copied_bytes
    }

    /// Starts the program on the host in a session.
    pub fn session(&self) -> Result<HostSession> {
        let words = self.shell_words(&["host", "serve"]);
        let session = HostSession::begin(&self.connection, &self.placed.path, &words);
        session.map_err(|reason| reason.of(self.name()))
    }

    /// Runs the program on the host with these arguments until it ends. Its output appears here.
    pub fn run(&self, words: &[&str]) -> Result<ExitStatus> {
        let of_host = |reason: FailureReason| reason.of(self.name());
        let mut command: Command = self.connection.command(&self.shell_words(words));
        command.stdin(Stdio::null());
        let mut client = child::spawn(command, &[]).map_err(|error| of_host(no_client(error)))?;
        match self.connection.await_end(&mut client, FOREVER).map_err(of_host)? {
            Some(status) if status.code() != Some(LOST) => Ok(status),
            _ => Err(of_host(FailureReason::Lost(self.connection.last_words()))),
        }
    }

    /// The command line for the host's shell.
    fn shell_words(&self, words: &[&str]) -> String {
        let directory = self.connection.spec().directory.as_ref();
        let variable = |name, part| {
            directory.map(|directory| format!("{name}={}", directory.join(part).display()))
        };
        let variables = [variable("ASSAY_CACHE", "cache"), variable("ASSAY_STATE", "state")];
        let words = words.iter().map(|word| quoted(word));
        let all: Vec<String> = std::iter::once("exec env".to_owned())
            .chain(variables.into_iter().flatten().map(|variable| quoted(&variable)))
            .chain(std::iter::once(quoted(&self.placed.path)))
            .chain(words)
            .collect();
        all.join(" ")
    }
}
