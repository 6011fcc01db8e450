//! The study's SQLite file: every result as soon as it exists, with what is needed to repeat it.
//!
//! A run's results, series, histograms and variables are written in one transaction when the run ends, so a
//! crash leaves a run either whole or not there, and the measured seconds carry no write of ours. Other
//! programs (sqlite3, pandas, DuckDB) can read the file; the tables are named as the records are.

mod aggregate;
mod calibration;
pub mod effective;
mod guarded;
mod in_effect;
mod in_use;
mod judging;
mod limits;
pub mod metrics;
mod overlay;
mod paper;
mod phases;
pub mod power_cut;
pub mod prices;
mod read;
mod records;
mod rig;
mod seconds;
mod servers;
mod sides;
pub mod switches;
mod unmonitored;
mod warning;
mod write;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assay_base::text::shell_word;
use guarded::Access;
use rusqlite::{Connection, Transaction};

pub use aggregate::{Results, over_window, quotients};
pub use assay_load::PhasePace;
pub use assay_load::capacity::{Capacity, Found, Objective, Purpose, Tried};
pub use calibration::{Calibration, Port, TooFast};
pub use guarded::check_directory;
pub use in_effect::{Asked, Differing, InEffect};
pub use judging::{AskedPair, Judging, MARGIN_PERCENT};
pub use limits::{LISTED_MAX, RUNS_MAX};
pub use overlay::{Overlay, OverlayChange};
pub use paper::{Comparison, Paper, Printed};
pub use phases::{Done, Happened, Happening, Phase};
pub use power_cut::PowerCut;
pub use prices::Prices;
pub use records::{
    Clock, Config, Discarded, Histogram, Note, Series, State, Study, Timed, Trial, TrialKey,
    Workload,
};
pub use rig::{
    Atomic, Cache, Count, Data, Disk, Drive, ExistingServer, Fault, FileSystem, Fill, Media, Model,
    Pool, PoolCluster, Resource, Restored, Rig, RigLayer, Scale, Servers, Stall, Tables, Worth,
};
pub use seconds::{SecondLatencies, SecondLatency, bucket_of, longest_ns};
pub use servers::{OfServer, fairness};
pub use sides::{ExplainedWrites, Sides};
pub use warning::{Below, CpuUse, LOSS_PERCENT_MIN, Program, Role, Unmonitored, Warning};
pub use write::{Outcome, StudyHead, fingerprint};

/// Name of the store's file inside a study's directory.
pub const FILE_NAME: &str = "study.sqlite";

/// Version of the tables below; a file with another one is refused.
const SCHEMA_VERSION: i64 = 8;

const TABLES: &str = "
CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE notes (kind TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE configs (name TEXT PRIMARY KEY, position INTEGER NOT NULL, rig_json TEXT NOT NULL,
  settings_json TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE workloads (name TEXT PRIMARY KEY, position INTEGER NOT NULL, workload TEXT NOT NULL, data_profile TEXT,
  recipe TEXT NOT NULL, options_json TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (id INTEGER PRIMARY KEY, config TEXT NOT NULL, workload TEXT NOT NULL,
  threads INTEGER NOT NULL, repeat INTEGER NOT NULL, position INTEGER NOT NULL,
  fingerprint TEXT NOT NULL, state TEXT NOT NULL, reason TEXT, started_at TEXT, ended_at TEXT,
  window_from_s REAL, window_to_s REAL, facts_json TEXT NOT NULL DEFAULT '{}', variables_hash TEXT, capacity_json TEXT,
  UNIQUE (config, workload, threads, repeat));
CREATE TABLE warnings (id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  kind TEXT NOT NULL, facts_json TEXT);
CREATE TABLE discarded (id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  ended_at TEXT NOT NULL, warnings_json TEXT NOT NULL);
CREATE TABLE results (run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, name TEXT NOT NULL,
  value REAL NOT NULL, PRIMARY KEY (run_id, name)) WITHOUT ROWID;
CREATE TABLE errors (run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, code INTEGER NOT NULL,
  count INTEGER NOT NULL, PRIMARY KEY (run_id, code)) WITHOUT ROWID;
CREATE TABLE series (id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  name TEXT NOT NULL, unit TEXT NOT NULL, label TEXT NOT NULL, layer TEXT NOT NULL, UNIQUE (run_id, name));
CREATE TABLE samples (series_id INTEGER NOT NULL REFERENCES series ON DELETE CASCADE, second INTEGER NOT NULL,
  value REAL NOT NULL, PRIMARY KEY (series_id, second)) WITHOUT ROWID;
CREATE TABLE histograms (run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, kind TEXT NOT NULL,
  clock TEXT NOT NULL, latency_ns INTEGER NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (run_id, kind, clock, latency_ns)) WITHOUT ROWID;
CREATE TABLE second_latencies (run_id INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
  histograms BLOB NOT NULL);
CREATE TABLE phases (run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, position INTEGER NOT NULL,
  name TEXT NOT NULL, from_s REAL NOT NULL, to_s REAL NOT NULL, pace_json TEXT NOT NULL, workload TEXT,
  happened_json TEXT, PRIMARY KEY (run_id, position)) WITHOUT ROWID;
CREATE TABLE servers (run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, server INTEGER NOT NULL,
  neighbour TEXT, results_json TEXT NOT NULL, PRIMARY KEY (run_id, server)) WITHOUT ROWID;
CREATE TABLE power_cuts (config TEXT NOT NULL, number INTEGER NOT NULL, survived INTEGER NOT NULL,
  cut_json TEXT NOT NULL, PRIMARY KEY (config, number)) WITHOUT ROWID;
CREATE TABLE variables (hash TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (hash, name)) WITHOUT ROWID;
";

/// How long another process may hold a study before that is an error.
const PATIENCE: Duration =
    if cfg!(test) { Duration::from_millis(50) } else { Duration::from_secs(10) };

/// An open study.
#[derive(Debug)]
pub struct Store {
    db: Connection,
    path: PathBuf,
    /// When runs that had ended before began once more: what they left stays until they have ended again.
    again: BTreeMap<TrialKey, String>,
    /// Bytes that the question in hand may still read, see `read::Store::allow`.
    allowance: Cell<u64>,
}

impl Store {
    /// Opens the study in `directory`, making both where they are missing.
    ///
    /// # Errors
    /// A directory that cannot be made, a file that is not a study, or one of another version.
    pub fn open_or_create(directory: &Path) -> Result<Store> {
        std::fs::create_dir_all(directory).with_context(|| {
            format!("cannot make the study's directory {}", directory.display())
        })?;
        let path = directory.join(FILE_NAME);
        let is_new = is_empty(&path);
        let store = Store::connect(path, Access::Write)?;
        if is_new {
            store.create_tables()?;
        }
        store.check_tables()?;
        Ok(store)
    }

    /// Opens an existing study to read it; it may be anybody's.
    ///
    /// # Errors
    /// A directory without a study, a file that is not a study, or one of another version.
    pub fn open(directory: &Path) -> Result<Store> {
        let path = directory.join(FILE_NAME);
        if is_empty(&path) {
            let lacks = if path.exists() { "is empty" } else { "is missing" };
            bail!(
                "{} holds no study: {FILE_NAME} {lacks}; make one with `assay run PLAN --out {}`",
                directory.display(),
                shell_word(&directory.to_string_lossy())
            );
        }
        let store = Store::connect(path, Access::Read)?;
        store.check_tables()?;
        Ok(store)
    }

    /// Opens the study in `directory` to look at it: it cannot be changed by this. Nothing where there is none.
    ///
    /// # Errors
    /// A file that is not a study, or one of another version.
    pub fn look(directory: &Path) -> Result<Option<Store>> {
        let path = directory.join(FILE_NAME);
        if is_empty(&path) {
            return Ok(None);
        }
        let store = Store::connect(path, Access::Look)?;
        store.check_tables()?;
        Ok(Some(store))
    }

    fn connect(path: PathBuf, access: Access) -> Result<Store> {
        let what = || format!("cannot open the study {}", path.display());
        let opened = guarded::open(&path, access);
        let db = opened.map_err(|error| match error.downcast::<rusqlite::Error>() {
            Ok(error) => in_use::explain(error, &path, what),
            Err(error) => error,
        })?;
        Ok(Store { db, path, again: BTreeMap::new(), allowance: Cell::new(0) })
    }

    /// An error of reading or writing the study.
    fn cannot(&self, do_it: &str, error: rusqlite::Error) -> anyhow::Error {
        in_use::explain(error, &self.path, || {
            format!("cannot {do_it} the study {}", self.path.display())
        })
    }

    /// Makes a change of several steps: all of it or nothing.
    fn change<T>(&mut self, change: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let changed = self.db.transaction().map_err(anyhow::Error::new).and_then(|transaction| {
            let value = change(&transaction)?;
            transaction.commit()?;
            Ok(value)
        });
        changed.map_err(|error| match error.downcast::<rusqlite::Error>() {
            Ok(error) => self.cannot("write", error),
            Err(error) => error,
        })
    }

    /// Carries out one statement that writes. Returns how many rows it changed.
    fn execute(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<usize> {
        self.db.execute(sql, parameters).map_err(|error| self.cannot("write", error))
    }

    fn create_tables(&self) -> Result<()> {
        self.db
            .execute_batch(&format!("BEGIN;{TABLES}PRAGMA user_version = {SCHEMA_VERSION};COMMIT;"))
            .map_err(|error| self.cannot("write", error))
    }

    /// Refuses a file of another version, and one whose tables are not ours: nothing of it is read.
    fn check_tables(&self) -> Result<()> {
        let not_one = || format!("{} is not a study", self.path.display());
        let explain = |error| in_use::explain(error, &self.path, not_one);
        let version = guarded::version(&self.db).map_err(explain)?;
        if version != SCHEMA_VERSION {
            bail!(
                "{} was written by another version of Assay (format {version}, this one reads {SCHEMA_VERSION}): run its plan again with another --out, or use that version",
                self.path.display()
            );
        }
        match guarded::foreign(&self.db).map_err(explain)? {
            None => Ok(()),
            Some(what) => bail!(
                "{} is not a study as Assay makes it: it has {what}; nothing was read from it",
                self.path.display()
            ),
        }
    }
}

/// Whether there is no store, or one without a byte: a command has ended before it wrote anything.
fn is_empty(path: &Path) -> bool {
    std::fs::symlink_metadata(path).map_or(true, |file| file.is_file() && file.len() == 0)
}

#[cfg(test)]
mod tests;
