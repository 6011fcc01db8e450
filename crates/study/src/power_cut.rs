//! Power cuts: the findings of each, as values.

pub use assay_models::power::{Moment, PageName, Survival, TornPage};
use serde::{Deserialize, Serialize};

/// One power cut under load, and what came up again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PowerCut {
    /// The configuration.
    pub config: String,
    /// Which of its cuts, from 1.
    pub number: u32,
    /// Under which conditions it was made: cuts under others are not counted together.
    pub fingerprint: String,
    /// Chose the moment, and what survived.
    pub seed: u64,
    /// The moment that was set, counted from the end of `loaded_ms`.
    pub moment: Moment,
    /// How long the load ran before, in milliseconds.
    pub loaded_ms: f64,
    /// What survived of the writes that were not durable.
    pub survival: Survival,
    /// How a replica followed the server, which took over from it; nothing where the server itself came up again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica: Option<Replication>,
    /// What became of the transactions; nothing where the server did not come up.
    pub commits: Option<Commits>,
    /// How long it took to come up again; nothing where it did not.
    pub recovery: Option<Recovery>,
    /// What was lost that must not be.
    pub losses: Vec<Loss>,
    /// Where the media are kept as the power cut left them, if they are: a directory in the study's.
    pub kept_in: Option<String>,
    /// The torn pages that the cut left, where something was lost and they could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aftermath: Option<Aftermath>,
}

/// The torn pages on a disk after a power cut that lost something, and what their newest copies are good for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aftermath {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// The torn pages, before any server has started.
    pub pages: Vec<PageLeft>,
    /// Losses that remain once the newest copies are put over the torn pages; `None` if no torn page has a whole copy.
    pub put_back: Option<Vec<Loss>>,
}

/// A page that a power cut left torn, or that a server has restored from a copy that is not the newest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLeft {
    /// Its name.
    pub name: PageName,
    /// Where it is: the file relative to the data directory, and the byte.
    pub at: FilePlace,
    /// Whether it is torn.
    pub is_torn: bool,
    /// LSN at its head.
    pub lsn: u64,
    /// The lower half of the LSN at its end.
    pub lsn_tail: u32,
    /// The newest whole copy.
    pub newest: Option<CopyLeft>,
    /// A whole copy that is older and that the server finds first.
    pub older_first: Option<CopyLeft>,
}

/// A copy in a doublewrite buffer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyLeft {
    /// Where it is.
    pub at: FilePlace,
    /// Its LSN.
    pub lsn: u64,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePlace {
    /// The file, relative to the data directory unless it is elsewhere.
    pub file: String,
    /// The byte.
    pub offset: u64,
}

impl PowerCut {
    /// How long it took until the server let somebody in, in milliseconds; nothing where it did not.
    #[must_use]
    pub fn recovery_ms(&self) -> Option<f64> {
        self.recovery.map(|recovery| recovery.file_system_ms + recovery.server_ms)
    }
}

/// How a replica follows its primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replication {
    /// A commit is acknowledged when the replica has it.
    SemiSync,
    /// A commit is acknowledged whether the replica has it or not.
    Async,
}

/// Transactions between the last check and the power cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commits {
    /// Those whose commit was acknowledged.
    pub acknowledged: u64,
    /// Those of them that are gone.
    pub lost: u64,
    /// Those that are there though nobody had heard so.
    pub unanswered: u64,
}

/// How everything came up again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Drive, device and file system, in milliseconds.
    pub file_system_ms: f64,
    /// The server, until it let somebody in; milliseconds.
    pub server_ms: f64,
    /// Bytes of redo log that it scanned, where its log says so.
    pub redo_bytes: Option<u64>,
    /// Pages that it took from the doublewrite buffer, where its log says so.
    pub doublewrite_pages: u64,
}

/// Something that must not be lost and is, or that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The drive did not open.
    Drive {
        /// In its words.
        reason: String,
    },
    /// The file system was not mounted.
    FileSystem {
        /// In the system's words.
        reason: String,
    },
    /// The server did not start.
    Server {
        /// In its log's words.
        reason: String,
    },
    /// The replica could not take over.
    TakeOver {
        /// In its words.
        reason: String,
    },
    /// The server ended while it was asked.
    ServerEnded {
        /// In its log's words.
        reason: String,
    },
    /// All checks passed, the server shut down in order, and did not start on the same files afterwards.
    NextStart {
        /// In its log's words.
        reason: String,
    },
    /// The server ended under load before the next power cut, which found it gone.
    EndedUnderLoad {
        /// In its log's words.
        reason: String,
    },
    /// `innochecksum` refuses a file.
    File {
        /// Relative to the data directory.
        file: String,
        /// What it said.
        reason: String,
    },
    /// `CHECK TABLE` finds an error.
    Table {
        /// With its database.
        table: String,
        /// What it said.
        reason: String,
    },
    /// Commits were acknowledged and are gone.
    Commits {
        /// Whose.
        writer: u32,
        /// The last that was acknowledged.
        acknowledged: u64,
        /// The last that is there.
        found: u64,
    },
    /// A writer's number can never have been written, or was there after an earlier power cut and is gone.
    WriterWrong {
        /// Whose.
        writer: u32,
        /// The number.
        found: u64,
        /// The least that it can be.
        least: u64,
        /// The most.
        most: u64,
    },
    /// The row with a writer's number is gone.
    WriterMissing {
        /// Whose.
        writer: u32,
    },
    /// A row is not of the transaction that wrote it last.
    RowOfOtherCommit {
        /// Its number.
        id: u32,
        /// That transaction.
        expected: u64,
        /// The one that it is of.
        found: u64,
    },
    /// A row is of the right transaction, and not what that wrote.
    RowChanged {
        /// Its number.
        id: u32,
        /// The transaction.
        commit: u64,
    },
    /// A row is gone.
    RowMissing {
        /// Its number.
        id: u32,
    },
    /// A row is there that nobody wrote.
    RowUnknown {
        /// Its number.
        id: u32,
    },
    /// More rows are wrong than are told one by one.
    MoreRows {
        /// How many more.
        rows: u64,
    },
}

impl PowerCut {
    /// Whether nothing was lost.
    #[must_use]
    pub fn is_survived(&self) -> bool {
        self.losses.is_empty()
    }
}
