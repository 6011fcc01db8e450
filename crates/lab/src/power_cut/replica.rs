//! A replica of the server whose power goes: on a directory of its own, whose power stays. After a
//! cut it takes over.
//!
//! Replication is by global transaction identifiers. A semi-synchronous primary answers a commit
//! when the replica has it in its relay log (MySQL reference manual, "Semisynchronous Replication":
//! `AFTER_SYNC`, which is the default), and waits for it as long as it takes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use assay_mysql::ClientSession;
use assay_ports::copy;
use assay_study::power_cut::Replication;

use super::Cutting;
use super::link::Link;
use super::running::{Place, RECOVERY_LIMIT, Running};
use crate::rig::server::{Flavour, Server, Settings, TcpPort};
use crate::run::ConfigSetup;

/// Time that a replica may take to follow its primary.
const FOLLOW_LIMIT: Duration = Duration::from_secs(60);

/// Interval between looks at a replica.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// For how long a primary waits for its replica, in milliseconds: longer than anything here takes,
/// so that it never goes on alone.
const WAITS_MS: u32 = 3_600_000;

/// Plugins of both sides (MySQL reference manual, "Semisynchronous Replication Installation and
/// Configuration"; names since 8.0.26).
const PLUGINS: [(&str, &str); 2] = [
    ("rpl_semi_sync_source", "semisync_source.so"),
    ("rpl_semi_sync_replica", "semisync_replica.so"),
];

/// Role of a server in a pair: its `server_id`.
#[derive(Debug, Clone, Copy)]
enum Role {
    Primary = 1,
    Replica = 2,
}

/// The replica of a configuration's server.
pub(super) struct Replica<'a> {
    cutting: &'a Cutting<'a>,
    config: &'a ConfigSetup,
    how: Replication,
    port: TcpPort,
    link: Option<Link>,
    alone_since: Option<Instant>,
    running: Option<Running>,
    directory: PathBuf,
}

impl<'a> Replica<'a> {
    /// Makes the replica of a configuration below an existing directory.
    ///
    /// # Errors
    /// There is no free port, or its server cannot have a replica.
    pub(super) fn new(
        cutting: &'a Cutting<'a>,
        config: &'a ConfigSetup,
        how: Replication,
        directory: &Path,
    ) -> Result<Replica<'a>> {
        let flavour = config.server()?.flavour;
        ensure!(
            flavour != Flavour::Mariadb,
            "a replica needs MySQL or Percona Server 8.0.26 or later, and this is MariaDB"
        );
        let directory = directory.join("replica");
        std::fs::create_dir_all(&directory)?;
        Ok(Replica {
            cutting,
            config,
            how,
            port: free_port()?,
            link: None,
            alone_since: None,
            running: None,
            directory,
        })
    }

    /// Takes another port for a primary that is about to start: nobody held the last one since.
    ///
    /// # Errors
    /// There is no free port.
    pub(super) fn renew_port(&mut self) -> Result<()> {
        self.port = free_port()?;
        Ok(())
    }

    /// Settings and port of the primary, in addition to its own.
    pub(super) fn of_primary(&self) -> (Settings, TcpPort) {
        (settings(Role::Primary), self.port.clone())
    }

    /// Makes the primary fit to have a replica, once.
    ///
    /// # Errors
    /// Its package lacks the plugins.
    pub(super) fn prepare(&self, primary: &Server) -> Result<()> {
        if self.how == Replication::Async {
            return Ok(());
        }
        for (plugin, file) in PLUGINS {
            primary.execute(&format!("INSTALL PLUGIN {plugin} SONAME '{file}'"))?;
        }
        Ok(())
    }

    /// Takes a copy of the primary's data, which no server is on: what the replica begins with.
    ///
    /// # Errors
    /// What `cp` said.
    pub(super) fn copy(&self, data_dir: &Path) -> Result<()> {
        copy::tree(data_dir, &self.base())?;
        // A server makes its UUID anew where it has none; two of a pair must differ.
        Ok(std::fs::remove_file(self.base().join("auto.cnf"))?)
    }

    /// Starts the replica on what it begins with, and waits until it follows the primary.
    ///
    /// # Errors
    /// It does not.
    pub(super) fn follow(&mut self, primary: &Server) -> Result<()> {
        self.throw_away()?;
        copy::tree(&self.base(), &self.data_dir())?;
        let (data_dir, run_dir) = (self.data_dir(), self.directory.join("run"));
        let mut settings = settings(Role::Replica);
        // Its tables say what was received.
        settings.insert("performance_schema".into(), "ON".into());
        let place = Place { data_dir: &data_dir, run_dir: &run_dir, settings, port: None };
        let running = Running::start(self.cutting, self.config, place).context("the replica")?;
        let link = Link::to(self.port.number, self.cutting.experiment.power_cut.replica_delay())?;
        let mut replica = session(&running.server)?;
        for statement in self.beginning(&link) {
            // The statement has a password in it.
            replica.query(statement.as_bytes()).context("the replica cannot follow the primary")?;
        }
        if self.how == Replication::SemiSync {
            primary.execute(&format!("SET GLOBAL rpl_semi_sync_source_timeout = {WAITS_MS}"))?;
            primary.execute("SET GLOBAL rpl_semi_sync_source_enabled = ON")?;
        }
        let mut sessions = [session(primary)?, replica];
        self.running = Some(running);
        self.link = Some(link);
        let deadline = Instant::now() + FOLLOW_LIMIT;
        while !self.follows(&mut sessions)? {
            self.cutting.interrupt.check()?;
            if Instant::now() > deadline {
                bail!(
                    "the replica does not follow: {}",
                    ask(&mut sessions[1], CONNECTION_TROUBLE)?
                );
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Statements that make it follow the primary.
    fn beginning(&self, link: &Link) -> Vec<String> {
        let TcpPort { host, password, .. } = &self.port;
        let (user, port) = (TcpPort::USER, link.port());
        let mut statements = vec![format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{host}', SOURCE_PORT = {port}, \
             SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1"
        )];
        if self.how == Replication::SemiSync {
            statements.push("SET GLOBAL rpl_semi_sync_replica_enabled = ON".into());
        }
        // Given here it goes into no file.
        statements.push(format!("START REPLICA USER = '{user}' PASSWORD = '{password}'"));
        statements
    }

    /// Returns true if the primary waits for the replica, or, if it never waits, if the replica is
    /// connected.
    fn follows(&self, [primary, replica]: &mut [ClientSession; 2]) -> Result<bool> {
        let (session, question, yes) = match self.how {
            Replication::SemiSync => {
                (primary, "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_source_clients'", "1")
            }
            Replication::Async => (
                replica,
                "SELECT 1, SERVICE_STATE FROM performance_schema.replication_connection_status",
                "ON",
            ),
        };
        let answer = session.rows(question).context("the replica's state")?;
        let state = answer.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten());
        Ok(state.as_deref() == Some(yes))
    }

    /// Cuts the line to the primary, as a power cut does: what is on its way is lost.
    pub(super) fn cut_off(&mut self) {
        self.link = None;
        self.alone_since = Some(Instant::now());
    }

    /// Lets it take over from a primary that is gone: it carries out all that it has received.
    /// Tells how long that took since the line was cut, or why the replica cannot.
    ///
    /// # Errors
    /// The replica cannot be reached.
    pub(super) fn take_over(&self) -> Result<Result<Duration, String>> {
        let began = self.alone_since.context("the primary has its power")?;
        let server = &self.running.as_ref().context("no replica runs")?.server;
        server.execute("STOP REPLICA IO_THREAD")?;
        let mut session = session(server)?;
        let received = ask(
            &mut session,
            "SELECT RECEIVED_TRANSACTION_SET FROM performance_schema.replication_connection_status",
        )?;
        // 0: all were carried out; 1: not within the second (MySQL reference manual, "Functions
        // Used with GTIDs").
        let carry_out = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{received}', 1)");
        while ask(&mut session, &carry_out)? != "0" {
            self.cutting.interrupt.check()?;
            let trouble = ask(&mut session, APPLIER_TROUBLE)?;
            if !trouble.is_empty() {
                return Ok(Err(trouble));
            }
            if began.elapsed() > RECOVERY_LIMIT {
                let limit_s = RECOVERY_LIMIT.as_secs();
                return Ok(Err(format!("it did not carry out {received} within {limit_s} s")));
            }
        }
        let took = began.elapsed();
        server.execute("STOP REPLICA")?;
        server.execute("RESET REPLICA ALL")?;
        Ok(Ok(took))
    }

    /// The server that took over.
    pub(super) fn running(&mut self) -> Option<&mut Running> {
        self.running.as_mut()
    }

    /// Shuts it down.
    ///
    /// # Errors
    /// It did not shut down in order.
    pub(super) fn stop_in_order(&mut self) -> Result<()> {
        self.running.take().map_or(Ok(()), Running::stop_in_order)
    }

    /// Kills it and takes its data away, but for what it begins with.
    ///
    /// # Errors
    /// What cannot be taken away.
    pub(super) fn throw_away(&mut self) -> Result<()> {
        self.cut_off();
        if let Some(running) = self.running.take() {
            running.kill()?;
        }
        match std::fs::remove_dir_all(self.data_dir()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    pub(super) fn data_dir(&self) -> PathBuf {
        self.directory.join("data")
    }

    fn base(&self) -> PathBuf {
        self.directory.join("base")
    }
}

/// Error of a replica's connection to its primary, in MySQL's words.
const CONNECTION_TROUBLE: &str =
    "SELECT LAST_ERROR_MESSAGE FROM performance_schema.replication_connection_status";

/// Error of a replica's applier, in MySQL's words; empty without one.
const APPLIER_TROUBLE: &str = "SELECT LAST_ERROR_MESSAGE FROM \
    performance_schema.replication_applier_status_by_worker WHERE LAST_ERROR_NUMBER <> 0";

/// The first field of an answer; nothing of none.
fn ask(session: &mut ClientSession, sql: &str) -> Result<String> {
    let rows = session.rows(sql).context("the replica does not answer")?;
    Ok(rows.into_iter().flatten().flatten().next().unwrap_or_default())
}

fn free_port() -> Result<TcpPort> {
    TcpPort::for_others("127.0.0.1")
}

fn settings(role: Role) -> Settings {
    let server_id = (role as u32).to_string();
    let pairs = [
        ("server_id", server_id.as_str()),
        ("gtid_mode", "ON"),
        ("enforce_gtid_consistency", "ON"),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn session(server: &Server) -> Result<ClientSession> {
    ClientSession::open(&server.endpoint()).context("cannot connect to the server's socket")
}
