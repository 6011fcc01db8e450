//! Phases of a run: what each asked of the load, and what happened in it. A happening is as the plan writes it.
//!
//! What is not known is absent: a happening without an end was still going on when the load ended.

use assay_load::PhasePace;
use serde::{Deserialize, Serialize};

use super::metrics::Window;

/// A phase as it was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// From when to when, on the run's clock.
    #[serde(rename = "window_s")]
    pub window: Window,
    /// How events were started.
    pub pace: PhasePace,
    /// The workload whose mix it had, if not the run's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// What happened in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub happened: Option<Happened>,
}

/// What is to happen while a load goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    /// All rows of all tables are read in one consistent snapshot, as `mysqldump --single-transaction` reads them.
    Scan,
    /// Dirty pages are written until the checkpoint has passed where the redo log ended at its beginning.
    Checkpoint,
    /// The kernel's cache forgets the server's files.
    DropPageCache,
    /// The server is shut down in order, and started again on the same data.
    Restart,
    /// A store of the pool below the server is killed, as a crash would; by its number, from 0.
    KillStore(u16),
    /// A store that was killed is started again; it ends when every object has all its copies or parts again.
    ReturnStore(u16),
    /// A statement, such as an `ALTER TABLE`.
    Sql(String),
}

impl Happening {
    /// Whether the server does less for a while, or nothing, and it is asked when it is back at what it did before.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        matches!(self, Happening::Restart | Happening::KillStore(_))
    }

    /// The word of the plan for its kind.
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

/// What happened, when, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Happened {
    /// What.
    pub happening: Happening,
    /// When it began, in seconds of the run's clock.
    pub began_s: f64,
    /// When it ended; nothing if it had not when the load had.
    pub ended_s: Option<f64>,
    /// Why it failed, in the words of whoever refused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was done until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<Done>,
}

/// What came of a happening.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    /// Of a scan.
    Scan {
        /// Rows read.
        rows: u64,
        /// Bytes of their fields.
        bytes: u64,
    },
    /// Of a checkpoint.
    Checkpoint {
        /// Redo log between the last checkpoint and the log's end when it began.
        redo_bytes: u64,
    },
    /// Of files that left the page cache.
    DropPageCache {
        /// How many files.
        files: u64,
    },
    /// Of a store that came back, which ends when every object has all its copies or parts again.
    ReturnStore {
        /// How long it took until the cluster counted on it again.
        up_s: f64,
    },
    /// Of a restart, which ends when the server answers.
    Restart {
        /// How long the shutdown took.
        stop_s: f64,
        /// How long it took from then on until the server answered.
        answer_s: f64,
        /// Whether it was shut down in order; else it was killed for taking too long.
        is_orderly: bool,
    },
}

impl Happened {
    /// How long it took; nothing if it had not ended.
    #[must_use]
    pub fn took_s(&self) -> Option<f64> {
        self.ended_s.map(|ended| ended - self.began_s)
    }
}
