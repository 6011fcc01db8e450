//! Phases of a run: their load, and the event that took place in each.
//!
//! Unknown values are absent: an event without an end was still in progress when the load ended.

use assay_load::PhasePace;
use serde::{Deserialize, Serialize};

use super::metrics::Window;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    pub name: String,
    #[serde(rename = "window_s")]
    pub window: Window,
    /// Pacing of the load's events.
    pub pace: PhasePace,
    /// Workload that supplies the mix, if not the run's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub happened: Option<Happened>,
}

/// An event that takes place under load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    /// Reads all rows of all tables in one consistent snapshot, as `mysqldump --single-transaction`
    /// does.
    Scan,
    /// Writes dirty pages until the checkpoint passes the end that the redo log had at the
    /// beginning.
    Checkpoint,
    /// Drops the server's files from the kernel's page cache.
    DropPageCache,
    /// Shuts the server down cleanly and starts it again on the same data.
    Restart,
    /// Kills a store of the pool below the server, as a crash would; by its number, from 0.
    KillStore(u16),
    /// Starts a killed store again; ends when every object has all copies or parts again.
    ReturnStore(u16),
    /// Executes a statement, such as `ALTER TABLE`.
    Sql(String),
}

impl Happening {
    /// Returns true if the event interrupts or slows the server, so that the time to recover is
    /// reported.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        matches!(self, Happening::Restart | Happening::KillStore(_))
    }

    /// Name of the event's kind in plans.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Happening::Scan => "scan",
            Happening::Checkpoint => "checkpoint",
            Happening::DropPageCache => "drop_page_cache",
            Happening::Restart => "restart",
            Happening::KillStore(_) => "kill_store",
            Happening::ReturnStore(_) => "return_store",
            Happening::Sql(_) => "sql",
        }
    }
}

/// An event that took place, with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Happened {
    pub happening: Happening,
    /// Start in seconds of the run's clock.
    pub began_s: f64,
    /// End; `None` if the load ended first.
    pub ended_s: Option<f64>,
    /// Error message, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<Done>,
}

/// Result of an event.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    Scan {
        /// Number of rows read.
        rows: u64,
        /// Total size of their fields.
        bytes: u64,
    },
    Checkpoint {
        /// Redo log from the last checkpoint to the log's end, at the beginning.
        redo_bytes: u64,
    },
    DropPageCache {
        /// Number of files that left the page cache.
        files: u64,
    },
    ReturnStore {
        /// Time until the cluster counted the store as up.
        up_s: f64,
    },
    Restart {
        /// Duration of the shutdown.
        stop_s: f64,
        /// Time from the shutdown until the server answered.
        answer_s: f64,
        /// True for a clean shutdown; false if the server was killed for taking too long.
        is_orderly: bool,
    },
}

impl Happened {
    /// Duration; `None` if the event did not end.
    #[must_use]
    pub fn took_s(&self) -> Option<f64> {
        self.ended_s.map(|ended| ended - self.began_s)
    }
}
