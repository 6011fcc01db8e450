//! A running server: started on a data directory, waited for, asked, stopped or killed.
//!
//! Guarantees: it listens on a Unix socket in a directory of mode 0700, on TCP only when asked,
//! with a password; it dies with us and with the value that stands for it; a start that fails says
//! why in the server's own words; sockets and directories made here go with it, the log stays.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use assay_mysql::{ClientConnect, ClientSession, Endpoint, SessionError};
use assay_ports::child::{Child, Identity, describe, identity, spawn};
use assay_system::ledger::{Ledger, LedgerGuard};
use assay_system::resource::Resource;

use super::binary::{Binary, Flavour, Origin, option};
use super::error_log::{self, Repaired};
use super::places::{self, SocketPlace};
use super::settings::{self, Settings};
use super::tcp_port::TcpPort;
use super::template;

/// Interval between attempts to connect to a starting server: no notification works for every make
/// and build. A death in between is noticed at once.
const KNOCK_EVERY: Duration = Duration::from_millis(20);

/// Time that such an attempt waits for an answer.
const KNOCK_PATIENCE: Duration = Duration::from_secs(5);

/// Time that a server which no longer answers may take to end.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// Lines of the log that go into an error.
const TAIL_LINES: usize = 12;

/// Options with which a server is started.
#[derive(Debug, Clone)]
pub struct Start {
    /// An initialised data directory; see [`super::make_datadir`].
    pub datadir: PathBuf,
    /// Directory of socket, log and process number: created with mode 0700, or there already and
    /// open to nobody else.
    pub run_dir: PathBuf,
    /// Server variables.
    pub settings: Settings,
    /// Lists the process, and a directory for its socket where it needs one.
    pub ledger: Arc<Ledger>,
    /// CPUs it may use; empty: all.
    pub cpus: Vec<usize>,
    /// A TCP port to listen on beside the socket.
    pub port: Option<TcpPort>,
    /// Time that it may take to be ready, recovery included.
    pub ready_within: Duration,
    /// Time that it may take after its first error in the log: a server that cannot read a page it
    /// needs logs that and waits for ever.
    pub ready_after_error_within: Duration,
}

impl Start {
    /// On that data directory, with that run directory, all else at its default and five minutes to
    /// be ready.
    pub fn new(datadir: &Path, run_dir: &Path, ledger: &Arc<Ledger>) -> Start {
        Start {
            datadir: datadir.to_path_buf(),
            run_dir: run_dir.to_path_buf(),
            settings: Settings::new(),
            ledger: Arc::clone(ledger),
            cpus: Vec::new(),
            port: None,
            ready_within: Duration::from_secs(300),
            ready_after_error_within: Duration::from_secs(300),
        }
    }
}

/// A running server; dropping it kills it.
#[derive(Debug)]
pub struct Server {
    child: Child,
    // Struck out once it has ended.
    listed: LedgerGuard,
    socket: SocketPlace,
    log: PathBuf,
    log_start: u64,
}

/// Result of a restart.
#[derive(Debug, Clone, Copy)]
pub struct Restarted {
    /// Duration of the shutdown.
    pub stop: Duration,
    /// Time from then on until the server answered, to within [`KNOCK_EVERY`].
    pub answer: Duration,
    /// Whether the shutdown was orderly; otherwise the server was killed for taking too long.
    pub is_orderly: bool,
}

/// Time that a server is waited for.
#[derive(Clone, Copy)]
struct Patience {
    whole: Duration,
    after_error: Duration,
}

/// Starts a server and waits until it answers.
///
/// # Errors
/// Socket, port or data directory in use; a setting refused, with the server's log line; a server
/// that ended before it was ready or was not ready in time, with the last lines of its log.
pub fn start(binary: &Binary, start: &Start) -> Result<Server> {
    let settings = settings::checked(&start.settings)?;
    places::make_private(&start.run_dir)?;
    places::check_datadir(&start.datadir)?;
    let socket = SocketPlace::choose(&start.run_dir, &start.ledger)?;
    if let Some(port) = &start.port {
        port.check()?;
    }
    let log = start.run_dir.join("mysqld.log");
    let Launched { child, listed, log_start } = launch(binary, start, &settings, &socket, &log)?;
    let mut server = Server { child, listed, socket, log, log_start };
    let patience =
        Patience { whole: start.ready_within, after_error: start.ready_after_error_within };
    server.wait_until_ready(binary, &settings, patience)?;
    if let Some(port) = &start.port {
        server.open_to(port)?;
    }
    Ok(server)
}

/// A process that was started.
struct Launched {
    child: Child,
    listed: LedgerGuard,
    /// Length of its log before.
    log_start: u64,
}

/// Starts the process, which ends with this one until it is listed.
fn launch(
    binary: &Binary,
    start: &Start,
    settings: &Settings,
    socket: &SocketPlace,
    log: &Path,
) -> Result<Launched> {
    let log_file = File::options().create(true).append(true).open(log);
    let log_file = log_file.with_context(|| format!("cannot write {}", log.display()))?;
    let log_start = log_file.metadata()?.len();
    let mut command = command(binary, start, socket, log)?;
    // Messages before the log is open, above all the loader's, belong into the log too.
    command.args(settings::arguments(settings)).stdin(std::process::Stdio::null());
    command.stdout(log_file.try_clone()?).stderr(log_file);
    let child = spawn(command, &start.cpus).with_context(|| format!("cannot start {binary}"))?;
    let process = Identity { pid: child.pid(), start_ticks: 0 };
    let Identity { pid, start_ticks } = identity(child.pid()).unwrap_or(process);
    let (listed, ()) = start.ledger.make(Resource::Process { pid, start_ticks }, || Ok(()))?;
    Ok(Launched { child, listed, log_start })
}

fn command(binary: &Binary, start: &Start, socket: &SocketPlace, log: &Path) -> Result<Command> {
    let temporary = start.datadir.join(places::TEMPORARY);
    fs::create_dir_all(&temporary)
        .with_context(|| format!("cannot create {}", temporary.display()))?;
    let mut command = binary.command();
    command.args(template::user_argument()).args([
        option("datadir", &start.datadir),
        option("tmpdir", &temporary),
        option("socket", socket.path()),
        option("pid-file", &start.run_dir.join("mysqld.pid")),
        option("log-error", log),
        option("secure-file-priv", &start.run_dir),
    ]);
    match &start.port {
        Some(port) => {
            command.arg(format!("--bind-address={}", port.bind_address()));
            command.args(["--skip-name-resolve".into(), format!("--port={}", port.number)]);
        }
        None => {
            command.arg("--skip-networking");
        }
    }
    command.arg(match binary.flavour {
        // The X protocol would open a second socket and a port of its own.
        Flavour::Mysql | Flavour::Percona => "--loose-mysqlx=OFF".into(),
        // MariaDB takes every directory for a database.
        Flavour::Mariadb => format!("--ignore-db-dirs={}", places::TEMPORARY),
    });
    Ok(command)
}

impl Server {
    fn wait_until_ready(
        &mut self,
        binary: &Binary,
        settings: &Settings,
        patience: Patience,
    ) -> Result<()> {
        let began = Instant::now();
        let mut deadline = began + patience.whole;
        let mut has_error = false;
        loop {
            if let Some(status) = self.child.wait(KNOCK_EVERY)? {
                return Err(self.explain_death(binary, settings, status));
            }
            if !has_error && self.first_error().is_some() {
                has_error = true;
                deadline = deadline.min(Instant::now() + patience.after_error);
            }
            match self.knock() {
                Ok(()) => return Ok(()),
                Err(refusal @ SessionError::Server { .. }) => bail!(
                    "{binary} does not let root in over its socket ({refusal}); use a data \
                    directory made by assay"
                ),
                Err(_) if Instant::now() < deadline => {}
                Err(_) if has_error => bail!(
                    "{binary} was not ready after {} s: {}",
                    began.elapsed().as_secs(),
                    self.first_error().unwrap_or_default()
                ),
                Err(error) => bail!(
                    "{binary} was not ready after {} s ({error}); its log ends:{}",
                    began.elapsed().as_secs(),
                    self.indented_tail()
                ),
            }
        }
    }

    fn knock(&self) -> Result<(), SessionError> {
        let connect = ClientConnect::new(&self.endpoint())?.with_patience(KNOCK_PATIENCE);
        connect.connect().map(drop)
    }

    fn explain_death(
        &self,
        binary: &Binary,
        settings: &Settings,
        status: ExitStatus,
    ) -> anyhow::Error {
        let log = error_log::read_from(&self.log, self.log_start);
        if let Some(line) = error_log::refused_setting(&log, settings) {
            return anyhow!("{binary} refused a setting: {line}");
        }
        let mut text = format!("{binary} ended at start with {}", describe(status));
        if let Some(line) = error_log::first_error(&log) {
            let _ = write!(text, ": {line}");
        }
        if binary.origin == Origin::Path && places::is_confined(&binary.program) {
            text.push_str(
                "; AppArmor confines this program to its usual directories; `assay \
                server fetch` downloads an unconfined one",
            );
        }
        anyhow!("{text}; its log ends:{}", self.indented_tail())
    }

    fn first_error(&self) -> Option<String> {
        let log = error_log::read_from(&self.log, self.log_start);
        error_log::first_error(&log).map(str::to_owned)
    }

    fn indented_tail(&self) -> String {
        self.log_tail(TAIL_LINES).iter().fold(String::new(), |text, line| text + "\n  " + line)
    }

    /// Makes the account that may come in over TCP.
    fn open_to(&self, port: &TcpPort) -> Result<()> {
        let mut session = self.connect()?;
        let quoted = format!("'{}'", port.password.replace('\\', "\\\\").replace('\'', "''"));
        let account = format!("'{}'@'{}'", TcpPort::USER, port.from());
        for statement in [
            "SET SESSION sql_log_bin = 0, SESSION sql_mode = ''".to_string(),
            format!("CREATE USER IF NOT EXISTS {account}"),
            format!("ALTER USER {account} IDENTIFIED BY {quoted}"),
            format!("GRANT ALL PRIVILEGES ON *.* TO {account} WITH GRANT OPTION"),
        ] {
            let done = session.query(statement.as_bytes());
            done.context("cannot make the account for the TCP port")?;
        }
        Ok(())
    }

    fn connect(&self) -> Result<ClientSession> {
        ClientSession::open(&self.endpoint()).context("cannot connect to the server's socket")
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Its Unix socket.
    pub fn socket(&self) -> &Path {
        self.socket.path()
    }

    /// Endpoint: `root` without a password over the socket.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::root_over(self.socket.path(), "")
    }

    /// All global variables by name, as `SHOW GLOBAL VARIABLES` prints them.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn variables(&self) -> Result<Settings> {
        let rows = self.connect()?.rows("SHOW GLOBAL VARIABLES");
        let pair = |row: Vec<Option<String>>| {
            let mut fields = row.into_iter();
            Some((fields.next()??, fields.next()??))
        };
        Ok(rows.context("cannot read the variables")?.into_iter().filter_map(pair).collect())
    }

    /// Carries out one statement as `root`.
    ///
    /// # Errors
    /// What the server answered.
    pub fn execute(&self, statement: &str) -> Result<()> {
        let done = self.connect()?.query(statement.as_bytes());
        done.map(drop).with_context(|| format!("the server refused `{statement}`"))
    }

    /// Settings that the server took with another value than was asked for, in its log's words.
    pub fn adjusted_settings(&self) -> Vec<String> {
        error_log::adjusted_settings(&error_log::read_from(&self.log, self.log_start))
    }

    /// Repairs of recovery at this start, as far as the log reports them.
    pub fn repaired(&self) -> Repaired {
        error_log::repaired(&error_log::read_from(&self.log, self.log_start))
    }

    /// The last lines of its log since this start.
    pub fn log_tail(&self, lines: usize) -> Vec<String> {
        error_log::tail(&error_log::read_from(&self.log, self.log_start), lines)
    }

    /// End of the server, with the last lines of its log; `None` while it runs. A server that no
    /// longer answers is given a while to end.
    ///
    /// # Errors
    /// What `waitpid` answered.
    pub fn ended(&mut self) -> Result<Option<String>> {
        let Some(status) = self.child.wait(self.end_patience())? else { return Ok(None) };
        Ok(Some(format!("{}; its log ends:{}", describe(status), self.indented_tail())))
    }

    /// Returns true while the server runs. Never blocks.
    ///
    /// # Errors
    /// What `waitpid` answered.
    pub fn is_running(&mut self) -> Result<bool> {
        Ok(self.child.ended()?.is_none())
    }

    /// Like [`Server::ended`], with the current activity and only the last line of the log.
    ///
    /// # Errors
    /// What `waitpid` answered.
    pub fn ended_while(&mut self, what: &str) -> Result<Option<String>> {
        let Some(status) = self.child.wait(self.end_patience())? else { return Ok(None) };
        let line = self.log_tail(1).pop().unwrap_or_else(|| "with nothing in it".into());
        Ok(Some(format!("{} while {what}; its log ends: {line}", describe(status))))
    }

    fn end_patience(&self) -> Duration {
        match self.knock() {
            Ok(()) | Err(SessionError::Server { .. }) => Duration::ZERO,
            Err(_) => END_PATIENCE,
        }
    }

    /// Asks it to shut down, waits up to `grace`, then kills. A status that is no success is a
    /// server that did not shut down cleanly.
    ///
    /// # Errors
    /// What the system calls answered.
    pub fn stop(mut self, grace: Duration) -> Result<ExitStatus> {
        Ok(self.child.stop(grace)?)
    }

    /// Shuts it down in order and starts it again as it was, both until then: a shutdown that takes
    /// longer is ended, and a start that does is an error.
    ///
    /// # Errors
    /// As of [`start`].
    pub fn restart(&mut self, binary: &Binary, start: &Start, until: Instant) -> Result<Restarted> {
        let settings = settings::checked(&start.settings)?;
        let left = || until.saturating_duration_since(Instant::now());
        let began = Instant::now();
        let status = self.child.stop(left())?;
        let stopped = Instant::now();
        ensure!(stopped < until, "it had not shut down within {} s", (stopped - began).as_secs());
        let launched = launch(binary, start, &settings, &self.socket, &self.log)?;
        let Launched { child, listed, log_start } = launched;
        (self.child, self.listed, self.log_start) = (child, listed, log_start);
        let patience = Patience { whole: left(), after_error: left() };
        self.wait_until_ready(binary, &settings, patience)?;
        Ok(Restarted {
            stop: stopped - began,
            answer: stopped.elapsed(),
            is_orderly: status.success(),
        })
    }

    /// Kills it with `SIGKILL`, as a crash would.
    ///
    /// # Errors
    /// What the system calls answered.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        Ok(())
    }
}
