//! What an arm's speed is bought with: whether a power cut can break a page, and whether it can take commits back.
//!
//! From the server's variables as they were read (or the plan's settings, where no cell has run) and from what the disk
//! promises. A class and a short label stand beside every throughput figure; arms of different classes are not compared without
//! the difference being said.
//!
//! What settings mean is from the MySQL manual, "InnoDB Startup Options and System Variables" (`innodb_doublewrite`,
//! `innodb_flush_log_at_trx_commit`, `innodb_flush_log_at_timeout`, `innodb_flush_method`, `innodb_checksum_algorithm`,
//! `innodb_log_checksums`), "Doublewrite Buffer" and "Binary Logging Options and Variables" (`sync_binlog`); of MariaDB from its
//! documentation and from MDEV-33545 (`innodb_doublewrite=fast`). That a transaction which the binary log has lost is rolled
//! back although the redo log holds it: MySQL bug 75519.

mod read;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub(crate) use read::{of_arm, of_stored};

/// How well an arm keeps what it was given, in one word; the later the better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Class {
    /// What is stored does not tell.
    Unknown,
    /// A power cut may leave pages half written that nothing mends.
    PagesAtRisk,
    /// Pages survive; commits that were answered may not.
    CommitsAtRisk,
    /// Both survive if the device keeps a promise that nobody here could check.
    Promised,
    /// Both survive.
    Safe,
}

/// What keeps a page whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Pages {
    /// What is stored does not tell.
    Unknown,
    /// Nothing.
    Single,
    /// A disk that writes whole what it gets at once, below a file system or a page cache that may split a page.
    MaySplit,
    /// A doublewrite buffer whose copies nobody could tell from torn pages, or that data files are not flushed after.
    TwiceInVain,
    /// The device's word that it writes pages whole, and a file system that splits none.
    Promised,
    /// Our own drive's format, and a file system that splits none.
    WrittenWhole,
    /// The doublewrite buffer.
    WrittenTwice,
}

/// When a commit is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Commits {
    /// What is stored does not tell.
    Unknown,
    /// When the operating system writes its cache out: `sync_binlog = 0`.
    LeftToSystem,
    /// With every so many groups of commits: `sync_binlog` above 1.
    EachGroups(u64),
    /// Every so many seconds, and lost when the server dies: `innodb_flush_log_at_trx_commit = 0`.
    EachSeconds(u64),
    /// Every so many seconds; the operating system has it before: `innodb_flush_log_at_trx_commit = 2`.
    WrittenThenEachSeconds(u64),
    /// Before it is answered.
    AtCommit,
}

/// What becomes of a flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Flushes {
    /// It is not sent, by a mount option or by the server.
    Lost,
    /// What is stored does not tell.
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
pub(crate) enum Checks {
    /// It has checksums.
    On,
    /// It has none.
    Off,
}

/// What one arm keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Durability {
    /// All of it in one word.
    pub(crate) class: Class,
    /// Pages and commits in a few words, to stand beside a figure.
    pub(crate) label: String,
    /// What keeps a page whole.
    pub(crate) pages: Pages,
    /// When a commit is on the disk.
    pub(crate) commits: Commits,
    /// What becomes of a flush.
    pub(crate) flushes: Flushes,
    /// Checksums of pages.
    pub(crate) page_checksums: Checks,
    /// Checksums of the redo log.
    pub(crate) log_checksums: Checks,
    /// What else should be known, in sentences.
    pub(crate) notes: Vec<String>,
}

/// How far something can be relied upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Unknown,
    AtRisk,
    Promised,
    Safe,
}

impl Durability {
    /// Puts the parts together: class and label follow from them.
    fn of(
        (pages, commits, flushes): (Pages, Commits, Flushes),
        (page_checksums, log_checksums): (Checks, Checks),
        notes: Vec<String>,
    ) -> Durability {
        Durability {
            class: class(pages, commits, flushes),
            label: label(pages, commits, flushes),
            pages,
            commits,
            flushes,
            page_checksums,
            log_checksums,
            notes,
        }
    }

    /// What is not the same in another, in words; nothing where speeds of both may be compared as they are. Whoever compares two
    /// arms prints it.
    pub(crate) fn differs(&self, other: &Durability) -> Option<String> {
        let aspects = [
            ("pages", self.pages.words(), other.pages.words()),
            ("commits", self.commits.words(), other.commits.words()),
            ("flushes", self.flushes.words().into(), other.flushes.words().into()),
            ("checksums of pages", self.page_checksums.words(), other.page_checksums.words()),
            ("checksums of the log", self.log_checksums.words(), other.log_checksums.words()),
        ];
        let different = aspects.into_iter().filter(|(_, one, other)| one != other);
        let told: Vec<String> = different
            .map(|(aspect, one, other)| format!("{aspect}: {one}, against {other}"))
            .collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// Why the two are no answers to one question: one keeps less than the other, or by another's word; nothing where they keep the
    /// same, by whatever means.
    pub(crate) fn unlike(&self, other: &Durability) -> Option<String> {
        let differs = self.differs(other).filter(|_| self.label != other.label)?;
        Some(format!("they are not equally safe, {differs}"))
    }

    /// Everything, a sentence each.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut sentences = vec![
            format!("pages: {}", self.pages.words()),
            format!("commits: {}", self.commits.words()),
            format!("flushes: {}", self.flushes.words()),
        ];
        for (what, checks) in [("pages", self.page_checksums), ("the log", self.log_checksums)] {
            sentences.push(format!("checksums of {what}: {}", checks.words()));
        }
        sentences.extend(self.notes.iter().cloned());
        sentences
    }
}

fn class(pages: Pages, commits: Commits, flushes: Flushes) -> Class {
    match (pages.standing(), commits.standing()) {
        _ if flushes == Flushes::Lost => Class::PagesAtRisk,
        (Standing::AtRisk, _) => Class::PagesAtRisk,
        (Standing::Unknown, _) | (_, Standing::Unknown) => Class::Unknown,
        (_, Standing::AtRisk) => Class::CommitsAtRisk,
        (Standing::Promised, _) | (_, Standing::Promised) => Class::Promised,
        (Standing::Safe, Standing::Safe) => Class::Safe,
    }
}

fn label(pages: Pages, commits: Commits, flushes: Flushes) -> String {
    if flushes == Flushes::Lost {
        return "pages at risk · commits at risk".into();
    }
    let pages = match pages.standing() {
        Standing::Unknown => "pages not known",
        Standing::AtRisk => "pages at risk",
        Standing::Promised => "pages safe if the device keeps its word",
        Standing::Safe => "pages safe",
    };
    let commits = match commits {
        Commits::Unknown => "commits not known".into(),
        Commits::LeftToSystem => "commits left to the system".into(),
        Commits::EachGroups(groups) => format!("commits each {groups} groups"),
        Commits::EachSeconds(1) | Commits::WrittenThenEachSeconds(1) => {
            "commits each second".into()
        }
        Commits::EachSeconds(seconds) | Commits::WrittenThenEachSeconds(seconds) => {
            format!("commits each {seconds} s")
        }
        Commits::AtCommit => "commits safe".into(),
    };
    format!("{pages} · {commits}")
}

impl Pages {
    fn standing(self) -> Standing {
        match self {
            Pages::Unknown => Standing::Unknown,
            Pages::Single | Pages::MaySplit | Pages::TwiceInVain => Standing::AtRisk,
            Pages::Promised => Standing::Promised,
            Pages::WrittenWhole | Pages::WrittenTwice => Standing::Safe,
        }
    }

    fn words(self) -> String {
        match self {
            Pages::Unknown => "written once, on a disk of which nothing was kept",
            Pages::Single => "written once, on a disk that does not promise to write them whole",
            Pages::MaySplit => {
                "written once, where the file system or the page cache may split them"
            }
            Pages::TwiceInVain => "written twice, in a way that does not help",
            Pages::Promised => "written once, whole by the device's word",
            Pages::WrittenWhole => "written once, whole by the drive's format",
            Pages::WrittenTwice => "written twice, by the doublewrite buffer",
        }
        .into()
    }
}

impl Commits {
    fn standing(self) -> Standing {
        match self {
            Commits::Unknown => Standing::Unknown,
            Commits::AtCommit => Standing::Safe,
            _ => Standing::AtRisk,
        }
    }

    fn words(self) -> String {
        match self {
            Commits::Unknown => "not known".into(),
            Commits::LeftToSystem => "flushed when the operating system does".into(),
            Commits::EachGroups(groups) => format!("flushed with every {groups} groups of commits"),
            Commits::EachSeconds(seconds) => {
                format!("written and flushed every {seconds} s, lost with the server before")
            }
            Commits::WrittenThenEachSeconds(seconds) => {
                format!("written at commit, flushed every {seconds} s")
            }
            Commits::AtCommit => "flushed before they are answered".into(),
        }
    }
}

impl Flushes {
    fn words(self) -> &'static str {
        match self {
            Flushes::Lost => "not sent",
            Flushes::Unknown => "not known",
            Flushes::AsTheDeviceSays => "as the device says",
            Flushes::Honoured => "honoured by the model",
            Flushes::NotNeeded => "not needed by the modelled device",
        }
    }
}

impl Checks {
    fn words(self) -> String {
        match self {
            Checks::On => "on",
            Checks::Off => "off",
        }
        .into()
    }
}
