//! Durability of a configuration: whether a power cut can tear a page, and whether it can lose
//! commits.
//!
//! Derived from the server's variables as read (or the plan's settings if no run has run) and from
//! the guarantees of the disk. A class and a short label stand beside every throughput figure; a
//! comparison of configurations of different classes names the difference.
//!
//! Meanings of settings: MySQL manual, "InnoDB Startup Options and System Variables"
//! (`innodb_doublewrite`, `innodb_flush_log_at_trx_commit`, `innodb_flush_log_at_timeout`,
//! `innodb_flush_method`, `innodb_checksum_algorithm`, `innodb_log_checksums`), "Doublewrite
//! Buffer" and "Binary Logging Options and Variables" (`sync_binlog`); MariaDB's documentation and
//! MDEV-33545 (`innodb_doublewrite=fast`). A transaction that the binary log has lost is rolled
//! back although the redo log holds it: MySQL bug 75519.

mod settings;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub use settings::{of_config, of_files, of_stored};

/// How well a configuration keeps what it was given, in one word; the later the better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The stored facts do not tell.
    Unknown,
    /// A power cut may leave pages half written that nothing mends.
    PagesAtRisk,
    /// Pages survive; commits that were answered may not.
    CommitsAtRisk,
    /// Both survive if the server's recovery restores torn pages rightly, which was not tried with
    /// its version.
    ReliesOnRecovery,
    /// Both survive if the device keeps a guarantee that nobody here could check.
    ReliesOnDevice,
    /// Both survive.
    Safe,
}

/// The mechanism that prevents torn pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pages {
    /// The stored facts do not tell.
    Unknown,
    /// Nothing.
    Single,
    /// A disk that writes whole what it gets at once, below a file system or a page cache that may
    /// split a page.
    MaySplit,
    /// A doublewrite buffer whose copies nobody could tell from torn pages, or that data files are
    /// not flushed after.
    TwiceInVain,
    /// A doublewrite buffer on a disk that tears pages, below a server whose recovery has faults
    /// ([`assay_innodb::recovery`]): torn pages may come back old, or the server does not start.
    TwiceRestoredWrong,
    /// The same, below a server whose recovery was not tried.
    TwiceNotTried,
    /// The device's word that it writes pages whole, and a file system that splits none.
    AtomicByDevice,
    /// Our own drive's format, and a file system that splits none.
    WrittenWhole,
    /// The doublewrite buffer.
    WrittenTwice,
}

/// When a commit is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitDurability {
    /// The stored facts do not tell.
    Unknown,
    /// When the operating system writes its cache out: `sync_binlog = 0`.
    LeftToSystem,
    /// With every so many groups of commits: `sync_binlog` above 1.
    EachGroups(u64),
    /// Every so many seconds, and lost when the server dies: `innodb_flush_log_at_trx_commit = 0`.
    EachSeconds(u64),
    /// Every so many seconds; the operating system has it before: `innodb_flush_log_at_trx_commit =
    /// 2`.
    WrittenThenEachSeconds(u64),
    /// Before it is answered.
    AtCommit,
    /// There are none: files were loaded without a server.
    None,
}

/// The effect of a flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Flushes {
    /// It is not sent, by a mount option or by the server.
    Lost,
    /// The stored facts do not tell.
    Unknown,
    /// The device alone knows whether it keeps its word.
    AsTheDeviceSays,
    /// The model does what it is for.
    Honoured,
    /// The modelled device keeps what it has answered without it.
    NotNeeded,
}

/// Whether something is told from damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Checks {
    /// It has checksums.
    On,
    /// It has none.
    Off,
}

/// Further facts that matter for durability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurabilityNote {
    /// `DETECT_ONLY`: torn pages are detected but not repaired.
    TornPagesNotMended,
    /// Without checksums recovery cannot tell a torn page from a whole one.
    TornPagesNotFound,
    /// MariaDB's `fast` flushes no data files; the log's flush covers them on one device.
    DataFilesNotFlushed,
    /// And they are not written past the page cache either.
    DataFilesNotFlushedNorDirect,
    /// With `O_DIRECT` the copy of a page is not flushed before the page.
    CopyNotFlushed,
    /// `innodb_flush_method` for tests of the server only, which flushes little or not at all.
    FlushMethodForTests,
    /// `innodb_flush_method` leaves data files unflushed; the log's flush covers them on one
    /// device.
    FlushMethodWithoutDataFiles,
    /// The file system is mounted without barriers.
    NoBarriers,
    /// Without checksums recovery cannot find the end of a truncated redo log.
    LogEndNotFound,
}

/// Durability of one configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Durability {
    /// All of it in one word.
    pub class: Class,
    /// The mechanism that prevents torn pages.
    pub pages: Pages,
    /// When a commit is on the disk.
    pub commits: CommitDurability,
    /// The effect of a flush.
    pub flushes: Flushes,
    /// Checksums of pages.
    pub page_checksums: Checks,
    /// Checksums of the redo log.
    pub log_checksums: Checks,
    /// Further facts that matter for durability.
    pub notes: Vec<DurabilityNote>,
}

/// How far something can be relied upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageSafety {
    /// The stored facts do not tell.
    Unknown,
    /// A power cut may take it.
    AtRisk,
    /// A power cut leaves what is needed, and the server may make the wrong thing of it.
    AtRiskInRecovery,
    /// It survives if the server recovers it rightly.
    ReliesOnRecovery,
    /// It survives if the device keeps its word.
    ReliesOnDevice,
    /// It survives.
    Safe,
}

/// Pages and commits that survive a power cut, by whatever mechanism: the label beside a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Flushes are lost, and with them whatever hangs on those.
    Nothing,
    /// How far pages can be relied upon, and by how much commits may be late.
    Of(PageSafety, Lag),
    /// Flushed file data, as far as flushes do what they say: there is no server.
    Files(Flushes),
}

/// By how much commits are on the disk later than they are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lag {
    /// The stored facts do not tell.
    Unknown,
    /// As long as the operating system likes.
    LeftToSystem,
    /// So many groups of commits.
    Groups(u64),
    /// So many seconds.
    Seconds(u64),
    /// They are there before.
    None,
}

/// Something that two configurations do not keep alike: how the one does, and how the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurabilityDifference {
    /// Mechanisms that prevent torn pages.
    Pages(Pages, Pages),
    /// When commits are on the disk.
    Commits(CommitDurability, CommitDurability),
    /// Effects of flushes.
    Flushes(Flushes, Flushes),
    /// Checksums of pages.
    PageChecksums(Checks, Checks),
    /// Checksums of the redo log.
    LogChecksums(Checks, Checks),
}

impl Durability {
    /// Puts the parts together: the class follows from them.
    fn of(
        (pages, commits, flushes): (Pages, CommitDurability, Flushes),
        (page_checksums, log_checksums): (Checks, Checks),
        notes: Vec<DurabilityNote>,
    ) -> Durability {
        Durability {
            class: class(pages, commits, flushes),
            pages,
            commits,
            flushes,
            page_checksums,
            log_checksums,
            notes,
        }
    }

    /// Returns what survives a power cut.
    pub fn kept(&self) -> Kept {
        match self.flushes {
            flushes if self.commits == CommitDurability::None => Kept::Files(flushes),
            Flushes::Lost => Kept::Nothing,
            _ => Kept::Of(self.pages.safety(), self.commits.lag()),
        }
    }

    /// Differences from another; empty if the speeds of both may be compared as they are.
    pub fn differs(&self, other: &Durability) -> Vec<DurabilityDifference> {
        let (page_checksums, log_checksums) = (self.page_checksums, self.log_checksums);
        let aspects = [
            (self.pages != other.pages)
                .then_some(DurabilityDifference::Pages(self.pages, other.pages)),
            (self.commits != other.commits)
                .then_some(DurabilityDifference::Commits(self.commits, other.commits)),
            (self.flushes != other.flushes)
                .then_some(DurabilityDifference::Flushes(self.flushes, other.flushes)),
            (page_checksums != other.page_checksums).then_some(
                DurabilityDifference::PageChecksums(page_checksums, other.page_checksums),
            ),
            (log_checksums != other.log_checksums)
                .then_some(DurabilityDifference::LogChecksums(log_checksums, other.log_checksums)),
        ];
        aspects.into_iter().flatten().collect()
    }

    /// Why the two are no answers to one question: one keeps less than the other, or by another's
    /// word; nothing where they keep the same, by whatever means.
    pub fn unlike(&self, other: &Durability) -> Vec<DurabilityDifference> {
        let alike = self.kept().as_meant() == other.kept().as_meant();
        if alike { Vec::new() } else { self.differs(other) }
    }
}

impl Kept {
    /// With a server that recovers as it is meant to. Faults of its recovery are said beside every
    /// figure, but they are no bargain of safety for speed, which alone keeps two configurations
    /// from being compared.
    fn as_meant(self) -> Kept {
        match self {
            Kept::Of(PageSafety::AtRiskInRecovery | PageSafety::ReliesOnRecovery, lag) => {
                Kept::Of(PageSafety::Safe, lag)
            }
            kept => kept,
        }
    }
}

fn class(pages: Pages, commits: CommitDurability, flushes: Flushes) -> Class {
    match (pages.safety(), commits.safety()) {
        _ if flushes == Flushes::Lost => Class::PagesAtRisk,
        (PageSafety::AtRisk | PageSafety::AtRiskInRecovery, _) => Class::PagesAtRisk,
        (PageSafety::Unknown, _) | (_, PageSafety::Unknown) => Class::Unknown,
        (_, PageSafety::AtRisk | PageSafety::AtRiskInRecovery) => Class::CommitsAtRisk,
        (PageSafety::ReliesOnRecovery, _) | (_, PageSafety::ReliesOnRecovery) => {
            Class::ReliesOnRecovery
        }
        (PageSafety::ReliesOnDevice, _) | (_, PageSafety::ReliesOnDevice) => Class::ReliesOnDevice,
        (PageSafety::Safe, PageSafety::Safe) => Class::Safe,
    }
}

impl Pages {
    fn safety(self) -> PageSafety {
        match self {
            Pages::Unknown => PageSafety::Unknown,
            Pages::Single | Pages::MaySplit | Pages::TwiceInVain => PageSafety::AtRisk,
            Pages::TwiceRestoredWrong => PageSafety::AtRiskInRecovery,
            Pages::TwiceNotTried => PageSafety::ReliesOnRecovery,
            Pages::AtomicByDevice => PageSafety::ReliesOnDevice,
            Pages::WrittenWhole | Pages::WrittenTwice => PageSafety::Safe,
        }
    }
}

impl CommitDurability {
    fn safety(self) -> PageSafety {
        match self {
            CommitDurability::Unknown | CommitDurability::None => PageSafety::Unknown,
            CommitDurability::AtCommit => PageSafety::Safe,
            _ => PageSafety::AtRisk,
        }
    }

    fn lag(self) -> Lag {
        match self {
            CommitDurability::Unknown | CommitDurability::None => Lag::Unknown,
            CommitDurability::LeftToSystem => Lag::LeftToSystem,
            CommitDurability::EachGroups(groups) => Lag::Groups(groups),
            CommitDurability::EachSeconds(seconds)
            | CommitDurability::WrittenThenEachSeconds(seconds) => Lag::Seconds(seconds),
            CommitDurability::AtCommit => Lag::None,
        }
    }
}
