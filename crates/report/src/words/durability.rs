//! Durability of a configuration in a power cut: the label beside its figures, its parts in
//! sentences, and the differences between two.

use serde::Serialize;

use assay_judge::durability::{
    Checks, Class, CommitDurability, Durability, DurabilityDifference, DurabilityNote, Flushes,
    Kept, Lag, PageSafety, Pages,
};

/// Pages and commits in a few words, to stand beside a figure.
pub fn label(durability: &Durability) -> String {
    match durability.kept() {
        Kept::Nothing => "pages at risk · commits at risk".into(),
        Kept::Files(flushes) => format!("fsyncs {}", self::flushes(flushes)),
        Kept::Of(standing, lag) => format!("{} · {}", pages_kept(standing), commits_kept(lag)),
    }
}

fn pages_kept(standing: PageSafety) -> &'static str {
    match standing {
        PageSafety::Unknown => "pages unknown",
        PageSafety::AtRisk => "pages at risk",
        PageSafety::AtRiskInRecovery => "pages at risk in recovery",
        PageSafety::ReliesOnRecovery => "pages rely on untried recovery",
        PageSafety::ReliesOnDevice => "pages safe if the device writes atomically",
        PageSafety::Safe => "pages safe",
    }
}

fn commits_kept(lag: Lag) -> String {
    match lag {
        Lag::Unknown => "commits unknown".into(),
        Lag::LeftToSystem => "commits flushed by the system".into(),
        Lag::Groups(groups) => format!("commits flushed every {groups} groups"),
        Lag::Seconds(1) => "commits flushed every second".into(),
        Lag::Seconds(seconds) => format!("commits flushed every {seconds} s"),
        Lag::None => "commits safe".into(),
    }
}

/// Everything, a sentence each.
pub fn sentences(durability: &Durability) -> Vec<String> {
    let mut sentences = match durability.commits {
        CommitDurability::None => vec![format!("flushes: {}", flushes(durability.flushes))],
        _ => of_server(durability),
    };
    sentences.extend(durability.notes.iter().map(|one| note(*one).to_owned()));
    sentences
}

fn of_server(durability: &Durability) -> Vec<String> {
    vec![
        format!("pages: {}", pages(durability.pages)),
        format!("commits: {}", commits(durability.commits)),
        format!("flushes: {}", flushes(durability.flushes)),
        format!("checksums of pages: {}", checks(durability.page_checksums)),
        format!("checksums of the log: {}", checks(durability.log_checksums)),
    ]
}

/// Differences in one line; `None` without differences.
pub fn differences(all: &[DurabilityDifference]) -> Option<String> {
    let told: Vec<String> = all.iter().map(|one| difference(*one)).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

fn difference(one: DurabilityDifference) -> String {
    let (aspect, one, other) = match one {
        DurabilityDifference::Pages(one, other) => {
            ("pages", pages(one).to_owned(), pages(other).to_owned())
        }
        DurabilityDifference::Commits(one, other) => ("commits", commits(one), commits(other)),
        DurabilityDifference::Flushes(one, other) => {
            ("flushes", flushes(one).into(), flushes(other).into())
        }
        DurabilityDifference::PageChecksums(one, other) => {
            ("checksums of pages", checks(one).into(), checks(other).into())
        }
        DurabilityDifference::LogChecksums(one, other) => {
            ("checksums of the log", checks(one).into(), checks(other).into())
        }
    };
    format!("{aspect}: {one}, against {other}")
}

fn pages(pages: Pages) -> &'static str {
    match pages {
        Pages::Unknown => "written once, on an unknown disk",
        Pages::Single => "written once, on a disk without atomic writes",
        Pages::MaySplit => "written once, where the file system or the page cache may split them",
        Pages::TwiceInVain => "written twice, ineffectively",
        Pages::TwiceRestoredWrong => {
            "written twice, by the doublewrite buffer, on a disk that can tear pages; this \
            version of the server may restore a torn page from an older copy, or not start \
            (docs/powercut.md)"
        }
        Pages::TwiceNotTried => {
            "written twice, by the doublewrite buffer, on a disk that can tear pages; whether \
            this version of the server restores torn pages rightly was not tried (docs/powercut.md)"
        }
        Pages::AtomicByDevice => "written once, atomically according to the device",
        Pages::WrittenWhole => "written once, atomically by the drive's format",
        Pages::WrittenTwice => "written twice, by the doublewrite buffer",
    }
}

fn commits(commits: CommitDurability) -> String {
    match commits {
        CommitDurability::Unknown => "not known".into(),
        CommitDurability::None => "none".into(),
        CommitDurability::LeftToSystem => "flushed by the operating system".into(),
        CommitDurability::EachGroups(groups) => format!("flushed every {groups} groups of commits"),
        CommitDurability::EachSeconds(seconds) => {
            format!("written and flushed every {seconds} s, until then lost if the server dies")
        }
        CommitDurability::WrittenThenEachSeconds(seconds) => {
            format!("written at commit, flushed every {seconds} s")
        }
        CommitDurability::AtCommit => "flushed before they return".into(),
    }
}

fn flushes(flushes: Flushes) -> &'static str {
    match flushes {
        Flushes::Lost => "not sent",
        Flushes::Unknown => "not known",
        Flushes::AsTheDeviceSays => "as the device reports",
        Flushes::Honoured => "honoured by the model",
        Flushes::NotNeeded => "not needed by the modelled device",
    }
}

fn checks(checks: Checks) -> &'static str {
    match checks {
        Checks::On => "on",
        Checks::Off => "off",
    }
}

fn note(note: DurabilityNote) -> &'static str {
    match note {
        DurabilityNote::TornPagesNotMended => "torn pages are detected but not repaired",
        DurabilityNote::TornPagesNotFound => {
            "without checksums recovery cannot tell a torn page from a whole one"
        }
        DurabilityNote::DataFilesNotFlushed => {
            "data files are not flushed: all files are on one device, whose flush for the log \
            covers them"
        }
        DurabilityNote::DataFilesNotFlushedNorDirect => {
            "data files are neither flushed nor written past the page cache"
        }
        DurabilityNote::CopyNotFlushed => {
            "with O_DIRECT the server does not flush the copy before the page: both are lost \
             together if the device's cache is \
             volatile and keeps no order"
        }
        DurabilityNote::FlushMethodForTests => {
            "innodb_flush_method disables most flushes; it is meant for server tests only"
        }
        DurabilityNote::FlushMethodWithoutDataFiles => {
            "innodb_flush_method leaves data files unflushed: all files are on one device, whose \
            flush for the log covers them"
        }
        DurabilityNote::NoBarriers => "the file system is mounted without barriers",
        DurabilityNote::LogEndNotFound => "recovery cannot find the end of a truncated redo log",
    }
}

/// Durability as JSON has it.
#[derive(Debug, Serialize)]
pub struct DurabilityView {
    class: Class,
    label: String,
    pages: Pages,
    commits: CommitDurability,
    flushes: Flushes,
    page_checksums: Checks,
    log_checksums: Checks,
    notes: Vec<&'static str>,
}

impl DurabilityView {
    pub fn of(durability: &Durability) -> DurabilityView {
        DurabilityView {
            class: durability.class,
            label: label(durability),
            pages: durability.pages,
            commits: durability.commits,
            flushes: durability.flushes,
            page_checksums: durability.page_checksums,
            log_checksums: durability.log_checksums,
            notes: durability.notes.iter().map(|one| note(*one)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(pages: Pages, commits: CommitDurability, flushes: Flushes) -> Durability {
        Durability {
            class: Class::Safe,
            pages,
            commits,
            flushes,
            page_checksums: Checks::On,
            log_checksums: Checks::Off,
            notes: vec![DurabilityNote::LogEndNotFound],
        }
    }

    #[test]
    fn a_label_says_what_of_pages_and_commits_survives() {
        let of = |pages, commits| label(&kept(pages, commits, Flushes::Honoured));
        assert_eq!(
            of(Pages::WrittenTwice, CommitDurability::AtCommit),
            "pages safe · commits safe"
        );
        assert_eq!(of(Pages::Single, CommitDurability::AtCommit), "pages at risk · commits safe");
        assert_eq!(
            of(Pages::AtomicByDevice, CommitDurability::AtCommit),
            "pages safe if the device writes atomically · commits safe"
        );
        assert_eq!(
            of(Pages::TwiceRestoredWrong, CommitDurability::AtCommit),
            "pages at risk in recovery · commits safe"
        );
        for (commits, told) in [
            (CommitDurability::EachSeconds(1), "commits flushed every second"),
            (CommitDurability::WrittenThenEachSeconds(1), "commits flushed every second"),
            (CommitDurability::WrittenThenEachSeconds(5), "commits flushed every 5 s"),
            (CommitDurability::LeftToSystem, "commits flushed by the system"),
            (CommitDurability::EachGroups(100), "commits flushed every 100 groups"),
            (CommitDurability::Unknown, "commits unknown"),
        ] {
            assert_eq!(of(Pages::Unknown, commits), format!("pages unknown · {told}"));
        }
        let lost = kept(Pages::WrittenTwice, CommitDurability::AtCommit, Flushes::Lost);
        assert_eq!(label(&lost), "pages at risk · commits at risk");
    }

    #[test]
    fn everything_has_a_sentence() {
        let sentences = sentences(&kept(
            Pages::AtomicByDevice,
            CommitDurability::EachSeconds(1),
            Flushes::Unknown,
        ));
        assert_eq!(
            sentences,
            [
                "pages: written once, atomically according to the device",
                "commits: written and flushed every 1 s, until then lost if the server dies",
                "flushes: not known",
                "checksums of pages: on",
                "checksums of the log: off",
                "recovery cannot find the end of a truncated redo log",
            ]
        );
    }

    #[test]
    fn what_two_do_not_keep_alike_is_named_with_both() {
        assert_eq!(differences(&[]), None);
        let pages = DurabilityDifference::Pages(Pages::WrittenTwice, Pages::Single);
        let flushes = DurabilityDifference::Flushes(Flushes::AsTheDeviceSays, Flushes::NotNeeded);
        assert_eq!(
            differences(&[pages, flushes]).unwrap(),
            "pages: written twice, by the doublewrite buffer, against written once, on a disk \
            without atomic writes; flushes: as the device reports, against not needed by the \
            modelled device"
        );
    }
}
