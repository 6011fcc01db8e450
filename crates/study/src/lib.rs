//! The store of a study: an SQLite file with every result and everything needed to repeat it.
//!
//! Guarantees: results, series, histograms and variables of a run are written in one transaction
//! when the run ends, so that after a crash a run is stored completely or not at all, and nothing
//! is written during measured seconds. Other programs (sqlite3, pandas, DuckDB) can read the file;
//! its tables have the names of the records.

mod aggregate;
mod calibration;
mod days;
pub mod effective;
mod events;
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
mod sessions;
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
pub use assay_load::capacity::{Capacity, CapacityFound, Objective, Purpose, Tried};
pub use calibration::{Calibration, Port, TooFast};
pub use days::{Day, HOURS_APART};
pub use events::Events;
pub use guarded::check_directory;
pub use in_effect::{Asked, Differing, InEffect};
pub use judging::{AskedPair, Design, Judging, LookMade, MARGIN_PERCENT, PlannedFactor};
pub use limits::{LISTED_MAX, RUNS_MAX};
pub use overlay::{Overlay, OverlayChange};
pub use paper::{Comparison, Paper, Printed};
pub use phases::{Done, Happened, Happening, Phase};
pub use power_cut::PowerCut;
pub use prices::Prices;
pub use records::{
    Config, Discarded, Histogram, LatencyClock, Note, RunState, Series, Study, Timed, Trial,
    TrialKey, WorkloadRecord,
};
pub use rig::{
    Atomic, CacheDurability, Count, Data, DeviceDivisors, DiskRecord, DriveRecord, ExistingServer,
    Fault, FileSystem, Fill, Media, Model, PeriodicStall, Pool, PoolCluster, Restored, RigLayer,
    RigRecord, ScaledResource, Servers, Tables, Worth,
};
pub use seconds::{BUCKET_WIDTH, SecondLatencies, SecondLatency, bucket_of, longest_ns};
pub use servers::{OfServer, fairness};
pub use sessions::Sessions;
pub use sides::{ExplainedWrites, Sides};
pub use warning::{Below, CpuUse, LOSS_PERCENT_MIN, Program, Role, Unmonitored, Warning};
pub use write::{Outcome, StudyHead, fingerprint};

pub const FILE_NAME: &str = "study.sqlite";

/// Version of the tables below, which this program writes.
const SCHEMA_VERSION: i64 = 8;

/// The first version that every later program reads.
///
/// A change of the tables adds one function that makes the records of the version before it
/// readable (in memory, or by another query): a stored file is never written to for that. It also
/// adds `golden/format-N.sqlite.zst`, a study of the version it leaves, and a test that reads it.
const OLDEST_READ: i64 = 8;

/// A reader refuses tables that were created with other text than this.
const TABLES: &str = include_str!("schema.sql");

/// Longest wait for another process's lock on the study.
const PATIENCE: Duration =
    if cfg!(test) { Duration::from_millis(50) } else { Duration::from_secs(10) };

#[derive(Debug)]
pub struct Store {
    db: Connection,
    path: PathBuf,
    /// Start times of runs that are repeated: their previous results stay until they end again.
    again: BTreeMap<TrialKey, String>,
    /// Bytes that the current query may still read, see `read::Store::allow`.
    allowance: Cell<u64>,
}

impl Store {
    /// Opens the study in `directory` and creates both if missing.
    ///
    /// Fails if the directory cannot be created, or the file is not a study of this version.
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

    /// Opens an existing study, which may come from anybody, for reading.
    ///
    /// Fails if there is no study, or the file is not a study of this version.
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

    /// Opens the study in `directory` read-only; `None` if there is none.
    ///
    /// Fails if the file is not a study of this version.
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

    fn cannot(&self, do_it: &str, error: rusqlite::Error) -> anyhow::Error {
        in_use::explain(error, &self.path, || {
            format!("cannot {do_it} the study {}", self.path.display())
        })
    }

    /// Applies a change of several steps in a transaction.
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

    /// Executes a writing statement. Returns the number of changed rows.
    fn execute(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<usize> {
        self.db.execute(sql, parameters).map_err(|error| self.cannot("write", error))
    }

    fn create_tables(&self) -> Result<()> {
        self.db
            .execute_batch(&format!("BEGIN;{TABLES}PRAGMA user_version = {SCHEMA_VERSION};COMMIT;"))
            .map_err(|error| self.cannot("write", error))
    }

    /// Refuses a file of another version, and one with other tables, before anything in it is read.
    fn check_tables(&self) -> Result<()> {
        let not_one = || format!("{} is not a study", self.path.display());
        let explain = |error| in_use::explain(error, &self.path, not_one);
        let version = guarded::version(&self.db).map_err(explain)?;
        if version != SCHEMA_VERSION {
            bail!("{}", refusal(&self.path, version));
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

/// The reason why a file of this version is not read.
fn refusal(path: &Path, version: i64) -> String {
    let reads = match version < OLDEST_READ {
        true => format!("format {OLDEST_READ} and later are read"),
        false => format!("this one reads up to {SCHEMA_VERSION}"),
    };
    format!(
        "{} was written by another version of Assay (format {version}; {reads}): run its plan \
        again with another --out, or use that version",
        path.display()
    )
}

/// Returns true if there is no store, or an empty file left by a command that ended before its
/// first write.
fn is_empty(path: &Path) -> bool {
    std::fs::symlink_metadata(path).map_or(true, |file| file.is_file() && file.len() == 0)
}

#[cfg(test)]
mod tests;
