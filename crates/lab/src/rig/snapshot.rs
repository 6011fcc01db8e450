//! Base snapshots: the loaded tables that every run of a configuration starts from.
//!
//! Loading is done once for each server, layout and compression of a session, on a plain directory
//! of the measured disk with settings made for loading; the server is then shut down slowly, so
//! that nothing is left to purge or to merge. Runs get a copy, holes kept as holes, with no page of
//! it in the cache.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use assay_load::{Endpoint, PrepareOptions, Schema};
use assay_ports::child::describe;
use assay_ports::copy;
use serde_json::json;

use super::page_cache;
use super::server::{self, Binary, Start};
use assay_study::fingerprint;
use assay_system::interrupt::Interrupt;
use assay_system::ledger::{Ledger, LedgerGuard};

/// Receiver of the progress of loading.
pub trait LoadProgress: Sync {
    /// Reports a step that takes time.
    fn say(&self, text: &str);

    /// Reports the progress of rows and indexes.
    fn loading(&self, loading: &assay_load::PrepareProgress);
}

/// A slow shutdown writes every dirty page and purges all history; on a slow disk that is minutes,
/// not more.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(1800);

/// Bytes of redo log, on MySQL since 8.0.30 (reference manual, "InnoDB Startup Options and System
/// Variables").
const REDO_CAPACITY: &str = "innodb_redo_log_capacity";

/// Database that holds the tables.
pub const DATABASE: &str = "sbtest";

/// Everything that a base snapshot is made from; equal requests are one base snapshot.
#[derive(Debug, Clone)]
pub struct SnapshotRequest<'a> {
    /// The server that loads it.
    pub binary: &'a Binary,
    pub schema: &'a Schema,
    /// The configuration's server variables; those that shape files on disk hold for loading too.
    pub settings: &'a BTreeMap<String, String>,
    /// Threads that load.
    pub threads: u32,
    /// Seed of the rows.
    pub seed: u64,
    /// The configuration that has it alone, for its A/A runs; `None`: all that are alike.
    pub only_of: Option<&'a str>,
}

/// Loaded tables in a directory.
#[derive(Debug)]
pub struct Snapshot {
    directory: PathBuf,
    _made: LedgerGuard,
}

/// The base snapshots of one run, made when first asked for and removed at its end.
#[derive(Debug)]
pub struct Snapshots {
    directory: PathBuf,
    ledger: Arc<Ledger>,
    made: BTreeMap<String, Snapshot>,
}

impl Snapshots {
    /// None yet; they will be made in `directory`.
    #[must_use]
    pub fn new(directory: PathBuf, ledger: Arc<Ledger>) -> Snapshots {
        Snapshots { directory, ledger, made: BTreeMap::new() }
    }

    /// The base snapshot for a request, loaded now if it is not there yet. `progress` is told how
    /// loading goes.
    ///
    /// # Errors
    /// What the server or the load said; a half-loaded base snapshot is removed.
    pub fn get(
        &mut self,
        request: &SnapshotRequest<'_>,
        interrupt: &Interrupt,
        progress: &dyn LoadProgress,
    ) -> Result<&Snapshot> {
        let name = request.name();
        if !self.made.contains_key(&name) {
            let directory = self.directory.join(format!("data-{name}"));
            let made = self.ledger.make_directory(&directory)?;
            load(request, &directory, &self.ledger, interrupt, progress)?;
            self.made.insert(name.clone(), Snapshot { directory, _made: made });
        }
        self.made.get(&name).context("a base snapshot disappeared right after it was made")
    }
}

impl SnapshotRequest<'_> {
    fn name(&self) -> String {
        fingerprint(
            &json!({
                "server": self.binary.version_text,
                "schema": self.schema,
                "layout": shaping_settings(self.settings),
                "seed": self.seed,
                "only_of": self.only_of,
            })
            .to_string(),
        )
    }

    /// Durability is bought with the shutdown at the end, so loading need not pay for it with every
    /// row.
    fn loading_settings(&self) -> BTreeMap<String, String> {
        let mut settings = shaping_settings(self.settings);
        let quick = [
            ("innodb_buffer_pool_size", "512M"),
            ("innodb_doublewrite", "OFF"),
            ("innodb_flush_log_at_trx_commit", "0"),
            ("innodb_flush_method", "O_DIRECT"),
            ("skip_log_bin", "ON"),
        ];
        settings.extend(quick.map(|(name, value)| (name.to_owned(), value.to_owned())));
        settings
    }
}

/// Settings that shape the files a run begins with. The redo log is as large as the configuration
/// has it: else each run would copy files that its server removes at once, which on a drive that
/// compresses leave zeroes where data were.
pub(crate) fn shaping_settings(settings: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut shaping = server::layout_settings(settings);
    let redo = settings.get_key_value(REDO_CAPACITY);
    shaping.extend(redo.map(|(name, size)| (name.clone(), size.clone())));
    shaping
}

impl Snapshot {
    /// Copies it to `target`, which must not exist, and drops both copies from the page cache.
    ///
    /// # Errors
    /// What `cp` said, e.g. that the space ran out.
    pub fn restore(&self, target: &Path) -> Result<()> {
        copy::tree(&self.directory.join("data"), target)
            .context("cannot copy the base snapshot into the rig")?;
        // Buffered writes of the copy would otherwise reach the disk in the measured seconds.
        rustix::fs::syncfs(std::fs::File::open(target)?)
            .context("cannot write the base snapshot into the rig")?;
        // Cached pages would spare a server without direct I/O the reads that are to be measured.
        page_cache::forget(target).map(drop)
    }
}

fn load(
    request: &SnapshotRequest<'_>,
    directory: &Path,
    ledger: &Arc<Ledger>,
    interrupt: &Interrupt,
    progress: &dyn LoadProgress,
) -> Result<()> {
    let data_dir = directory.join("data");
    let settings = request.loading_settings();
    server::make_datadir(request.binary, &settings, &data_dir, &|text| progress.say(text))?;
    let mut start = Start::new(&data_dir, &directory.join("run"), ledger);
    start.settings = settings;
    let mut server = server::start(request.binary, &start)?;
    let endpoint = endpoint(server.socket());
    let options = PrepareOptions {
        threads: request.threads,
        seed: request.seed,
        ..PrepareOptions::default()
    };
    let loading = |state: &assay_load::PrepareProgress| progress.loading(state);
    if let Err(error) =
        assay_load::prepare(&endpoint, request.schema, &options, &loading, interrupt.flag())
    {
        let error = anyhow::Error::from(error).context("loading the tables failed");
        return Err(match server.ended()? {
            Some(how) => error.context(format!("the server ended with {how}")),
            None => error,
        });
    }
    interrupt.check()?;
    server.execute("SET GLOBAL innodb_fast_shutdown = 0")?;
    let status = server.stop(SHUTDOWN_LIMIT)?;
    ensure!(
        status.success(),
        "the server did not shut down cleanly after loading: {}",
        describe(status)
    );
    Ok(())
}

/// Root over the private socket, in the database of the tables.
#[must_use]
pub fn endpoint(socket: &Path) -> Endpoint {
    Endpoint::root_over(socket, DATABASE)
}
