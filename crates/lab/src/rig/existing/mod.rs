//! A server that somebody else runs: looked at before anything is made there, given a database of
//! our own, brought back to the same start before each run.
//!
//! Guarantees: nothing but that database is changed; it is in the ledger before it exists, bears
//! our mark, and is removed however a study ends; no password is kept, printed or handed to a
//! child.

mod account;
mod preflight;
mod process;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assay_load::{Endpoint, PrepareOptions, PrepareProgress, Schema};
use assay_mysql::ClientSession;
use assay_mysql::account::Account;
use assay_mysql::cutting::cut_by;
use assay_ports::child::{describe, spawn};
use assay_ports::program::first_lines;
use assay_system::database;
use assay_system::interrupt::Interrupt;
use assay_system::ledger::{Ledger, LedgerGuard};
use assay_system::resource::Resource;
use parking_lot::Mutex;

use super::snapshot::LoadProgress;
use assay_plan::{PlannedEndpoint, RestoreCommand, RestoreWay};
use assay_study::fingerprint;

pub use account::{account, accounts};
pub use preflight::check;

/// Interval between looks at a program that restores.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A server that somebody else runs, with a database of our own on it.
#[derive(Debug)]
pub struct Existing {
    planned: PlannedEndpoint,
    account: Account,
    mark: String,
    version: String,
    /// Its process, where it is found to run on this machine.
    process: Option<u32>,
    made: Mutex<Option<LedgerGuard>>,
    /// Fingerprint of the schema and the seed that the tables were loaded from.
    loaded: Mutex<Option<String>>,
}

/// With what tables are loaded.
#[derive(Clone, Copy)]
pub struct Loading<'a> {
    pub schema: &'a Schema,
    /// Connections that load.
    pub threads: u32,
    /// Seed of the rows.
    pub seed: u64,
    /// A directory of the study's own, for what a program says.
    pub directory: &'a Path,
    pub interrupt: &'a Interrupt,
}

impl Existing {
    /// Makes the database, after everything about the server has been looked at by [`check`].
    ///
    /// # Errors
    /// One line: there is one already, or the user may not do what runs need; nothing is left then.
    pub fn make(planned: &PlannedEndpoint, ledger: &Arc<Ledger>) -> Result<Existing> {
        let account = account(planned)?;
        let mut session = preflight::open(&account)?;
        let version = preflight::version(&mut session)?;
        let process = process::of(&account, &mut session);
        let (name, mark) = (planned.database.clone(), new_mark()?);
        let (account_too, mark_too) = (account.clone(), mark.clone());
        let resource =
            Resource::Database { account: account_too, name: name.clone(), mark: mark_too };
        let make = || {
            preflight::refuse_taken(&mut session, planned, &account)?;
            database::make(&mut session, &name, &mark)
                .map_err(|error| preflight::right(error, &name))?;
            preflight::try_rights(&mut session, &name)
        };
        let (made, ()) = ledger.make(resource, make)?;
        Ok(Existing {
            planned: planned.clone(),
            account,
            mark,
            version,
            process,
            made: Mutex::new(Some(made)),
            loaded: Mutex::default(),
        })
    }

    /// Returns true if it is the planned server.
    #[must_use]
    pub fn is_of(&self, planned: &PlannedEndpoint) -> bool {
        self.planned == *planned
    }

    /// The way in which each run comes back to the same start.
    #[must_use]
    pub fn restore_way(&self) -> &RestoreWay {
        &self.planned.restore
    }

    #[must_use]
    pub fn address(&self) -> String {
        self.account.address.to_string()
    }

    /// Its version, in its own words.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The number of its process, where it is found to run on this machine.
    #[must_use]
    pub fn process(&self) -> Option<u32> {
        self.process
    }

    /// Endpoint of our database, not to be stored: it holds the password.
    ///
    /// # Errors
    /// There is no password where it should be any more.
    pub fn endpoint(&self) -> Result<Endpoint> {
        Ok(self.account.endpoint(&self.planned.database)?)
    }

    /// A connection for questions and small statements.
    ///
    /// # Errors
    /// One line: it cannot be reached, or refuses us.
    pub fn open(&self) -> Result<ClientSession> {
        preflight::open(&self.account)
    }

    /// Brings it back to the start of a run: loads the tables, or has the user's program do what it
    /// does.
    ///
    /// # Errors
    /// What the server, the load or the program said.
    pub fn restore(&self, loading: &Loading<'_>, progress: &dyn LoadProgress) -> Result<()> {
        let wanted = fingerprint(&serde_json::to_string(&(loading.schema, loading.seed))?);
        let mut loaded = self.loaded.lock();
        let is_loaded = loaded.as_ref() == Some(&wanted);
        match &self.planned.restore {
            RestoreWay::Command(command) if is_loaded => return self.command(command, loading),
            RestoreWay::Nothing if is_loaded => return Ok(()),
            RestoreWay::Command(_) | RestoreWay::Nothing | RestoreWay::Reload => {}
        }
        *loaded = None;
        self.load(loading, progress)?;
        *loaded = Some(wanted);
        Ok(())
    }

    fn load(&self, loading: &Loading<'_>, progress: &dyn LoadProgress) -> Result<()> {
        let Loading { schema, threads, seed, interrupt, .. } = *loading;
        let emptied = cut_by(interrupt.flag(), |cutting| {
            let mut session = self.open()?;
            cutting.watch(&session);
            // Dropping large tables takes long.
            session.set_patience(None);
            database::empty(&mut session, &self.planned.database, &self.mark)
        });
        interrupt.check()?;
        emptied??;
        let options = PrepareOptions { threads, seed, ..PrepareOptions::default() };
        let show = |state: &PrepareProgress| progress.loading(state);
        assay_load::prepare(&self.endpoint()?, schema, &options, &show, interrupt.flag())
            .context("loading the tables failed")?;
        interrupt.check()
    }

    /// Runs the user's program; its output goes into the study's directory, and into the error if
    /// it fails.
    fn command(&self, restore: &RestoreCommand, loading: &Loading<'_>) -> Result<()> {
        let RestoreCommand { program, arguments } = restore;
        let said = loading.directory.join("restore.log");
        let log = std::fs::File::create(&said)
            .with_context(|| format!("cannot write {}", said.display()))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        command.env("ASSAY_ADDRESS", self.address()).env("ASSAY_DATABASE", &self.planned.database);
        let mut child = spawn(command, &[])
            .with_context(|| format!("restore.command: cannot start {program}"))?;
        let status = loop {
            loading.interrupt.check()?;
            if let Some(status) = child.wait(LOOK_EVERY)? {
                break status;
            }
        };
        if status.success() {
            return Ok(());
        }
        let said = std::fs::read(&said).unwrap_or_default();
        let words = first_lines(&String::from_utf8_lossy(&said));
        bail!("restore.command failed: {}", words.unwrap_or_else(|| describe(status)))
    }

    /// Removes the database.
    ///
    /// # Errors
    /// What the server said; it then stays in the ledger for `assay clean`.
    pub fn take_down(&self) -> Result<()> {
        self.made.lock().take().map_or(Ok(()), LedgerGuard::remove)
    }
}

/// 128 bits of the kernel's, as hexadecimal digits.
fn new_mark() -> Result<String> {
    use std::io::Read;
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("cannot read /dev/urandom")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
