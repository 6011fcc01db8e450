//! Results of power cuts.

pub use assay_models::power::{Moment, PageName, Survival, TornPage};
use serde::{Deserialize, Serialize};

/// A power cut under load, and the state after the restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PowerCut {
    pub config: String,
    /// Number of the cut within its configuration, from 1.
    pub number: u32,
    /// Fingerprint of the conditions: cuts under different ones are not counted together.
    pub fingerprint: String,
    /// Seed of the moment and of the surviving writes.
    pub seed: u64,
    /// Start of the block in which the power of each configuration was cut once, in random order,
    /// in ms since 1970; `None` if this configuration was cut alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_began_ms: Option<u64>,
    /// The moment of the cut, from the end of `loaded_ms`.
    pub moment: Moment,
    /// Duration of the load before, in ms.
    pub loaded_ms: f64,
    /// The writes that survived of those that were not durable.
    pub survival: Survival,
    /// Mode of the replica that took over; `None` if the server itself was restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica: Option<Replication>,
    /// `None` if the server did not start.
    pub commits: Option<Commits>,
    /// `None` if the server did not start.
    pub recovery: Option<RecoveryTime>,
    /// Losses, and states that must not occur.
    pub losses: Vec<Loss>,
    /// Directory in the study's that keeps the media as the cut left them.
    pub kept_in: Option<String>,
    /// Torn pages, recorded if something was lost and the pages could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aftermath: Option<Aftermath>,
}

/// Torn pages on a disk after a cut with losses, and the value of their newest copies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aftermath {
    pub page_bytes: u64,
    /// The torn pages before the first server start.
    pub pages: Vec<PageLeft>,
    /// Losses that remain with the newest copies in place of the torn pages; `None` if no torn page
    /// has an intact copy.
    pub put_back: Option<Vec<Loss>>,
}

/// A page that a power cut tore, or that a server restored from a copy other than the newest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLeft {
    pub name: PageName,
    /// File relative to the data directory, and offset.
    pub at: FilePlace,
    pub is_torn: bool,
    /// LSN in the header.
    pub lsn: u64,
    /// Lower half of the LSN, in the trailer.
    pub lsn_tail: u32,
    /// Newest intact copy.
    pub newest: Option<CopyLeft>,
    /// An older intact copy that the server finds first.
    pub older_first: Option<CopyLeft>,
}

/// A copy in a doublewrite buffer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyLeft {
    pub at: FilePlace,
    pub lsn: u64,
}

/// Position in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePlace {
    /// Path, relative to the data directory if inside it.
    pub file: String,
    pub offset: u64,
}

impl PowerCut {
    /// Time until the server accepted connections, in ms; `None` if it did not.
    #[must_use]
    pub fn recovery_ms(&self) -> Option<f64> {
        self.recovery.map(|recovery| recovery.file_system_ms + recovery.server_ms)
    }
}

/// Replication mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replication {
    /// Commits are acknowledged when the replica has them.
    SemiSync,
    /// Commits are acknowledged without waiting for the replica.
    Async,
}

/// Transactions between the last check and the power cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commits {
    /// Transactions with an acknowledged commit.
    pub acknowledged: u64,
    /// Acknowledged transactions that are missing.
    pub lost: u64,
    /// Transactions that are present without an acknowledgement.
    pub unanswered: u64,
}

/// Duration of the recovery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RecoveryTime {
    /// Drive, device and file system, in ms.
    pub file_system_ms: f64,
    /// The server, until it accepted connections, in ms.
    pub server_ms: f64,
    /// Bytes of redo log that the server scanned, by its error log.
    pub redo_bytes: Option<u64>,
    /// Pages that the server restored from the doublewrite buffer, by its error log.
    pub doublewrite_pages: u64,
}

/// A loss, or a state that must not occur.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The drive did not open.
    Drive { reason: String },
    /// The file system was not mounted.
    FileSystem { reason: String },
    /// The server did not start.
    Server { reason: String },
    /// The replica could not take over.
    TakeOver { reason: String },
    /// The server ended while it was checked.
    ServerEnded { reason: String },
    /// All checks passed and the server shut down cleanly, but did not start again on the same
    /// files.
    NextStart { reason: String },
    /// The server ended under load before the next power cut.
    EndedUnderLoad { reason: String },
    /// `innochecksum` reports an error in a file.
    File {
        /// Path relative to the data directory.
        file: String,
        reason: String,
    },
    /// `CHECK TABLE` reports an error.
    Table {
        /// Name with its database.
        table: String,
        reason: String,
    },
    /// Acknowledged commits are missing.
    Commits {
        writer: u32,
        /// Last acknowledged commit.
        acknowledged: u64,
        /// Last commit found.
        found: u64,
    },
    /// A writer's number was never written, or was present after an earlier cut and is missing.
    WriterWrong {
        writer: u32,
        found: u64,
        /// Smallest possible number.
        least: u64,
        /// Largest possible number.
        most: u64,
    },
    /// The row with a writer's number is missing.
    WriterMissing { writer: u32 },
    /// A row belongs to another transaction than the last that wrote it.
    RowOfOtherCommit { id: u32, expected: u64, found: u64 },
    /// A row belongs to the right transaction and has other contents.
    RowChanged { id: u32, commit: u64 },
    /// A row is missing.
    RowMissing { id: u32 },
    /// A row exists that was never written.
    RowUnknown { id: u32 },
    /// More rows are wrong than are listed.
    MoreRows { rows: u64 },
}

impl PowerCut {
    /// Returns true if nothing was lost.
    #[must_use]
    pub fn is_survived(&self) -> bool {
        self.losses.is_empty()
    }
}
