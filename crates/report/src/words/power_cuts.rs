//! Power cuts in words: what a series of them shows, when the power went, and what was lost.

use assay_base::text::{counted, size};
use assay_innodb::page::TRANSACTION_SYSTEM;
use assay_judge::JudgedComparison;
use assay_judge::power_cuts::{CONFIDENCE, PowerCuts};
use assay_study::PowerCut;
use assay_study::power_cut::{Aftermath, CopyLeft, Loss, Moment, PageLeft, Replication};

use super::{reason, verdict};

/// Result of the cuts of a configuration, in a sentence.
#[must_use]
pub fn result(cuts: &PowerCuts<'_>) -> String {
    match cuts.one_in_at_least() {
        Some(one_in) => {
            let (told, sure) = (short(cuts), CONFIDENCE * 100.0);
            format!(
                "{told} (of cuts drawn like these at most 1 in {one_in} loses something, at \
                {sure:.0} % confidence)"
            )
        }
        None => match cuts.share_with_loss() {
            Some([from, to]) => format!(
                "{} (of cuts drawn like these {:.1} to {:.1} % lose something, at {:.0} % \
                confidence)",
                short(cuts),
                from * 100.0,
                to * 100.0,
                CONFIDENCE * 100.0
            ),
            None => short(cuts),
        },
    }
}

/// The same, for a label.
#[must_use]
pub fn short(cuts: &PowerCuts<'_>) -> String {
    let told = lost_of(cuts.with_loss, cuts.cuts, cuts.replica);
    match cuts.lost_commits {
        0 => told,
        _ if cuts.with_loss > 0 => told,
        lost => format!("{told} but {} that it may lose", counted(lost, "commit")),
    }
}

/// How a replica follows its primary, as the manual calls it.
#[must_use]
pub const fn replication(kind: Replication) -> &'static str {
    match kind {
        Replication::SemiSync => "semi-synchronous",
        Replication::Async => "asynchronous",
    }
}

/// In how many of how many cuts something was lost, and with which replica.
#[must_use]
pub fn lost_of(with_loss: u64, cuts: u64, replica: Option<Replication>) -> String {
    let of = counted(cuts, "power cut");
    let with = match replica {
        None => "",
        Some(Replication::SemiSync) => " with a semi-synchronous replica",
        Some(Replication::Async) => " with an asynchronous replica",
    };
    match with_loss {
        0 => format!("no loss in {of}{with}"),
        lost => format!("LOSS in {lost} of {of}{with}"),
    }
}

/// A verdict on the time to recover: `better: 30 % shorter (95 % interval 27 to 33 %) than base`,
/// or why there is none.
#[must_use]
pub fn recovery(one: &JudgedComparison) -> String {
    let because = reason::because(assay_study::Events::Transactions, one)
        .map_or_else(String::new, |because| format!("; {because}"));
    let than = match one.difference {
        Some(_) => format!(", against {}", one.baseline),
        None => String::new(),
    };
    format!("{}{than}{because}", verdict::text_with_word(one))
}

/// Further observations, for a line of its own.
#[must_use]
pub fn seen(cuts: &PowerCuts<'_>) -> String {
    let mut parts = vec![format!("{} torn", counted(cuts.torn_writes, "write"))];
    if cuts.torn_pages > 0 {
        parts.push(format!("{} among them", counted(cuts.torn_pages, "InnoDB page")));
    }
    if cuts.doublewrite_pages > 0 {
        parts.push(format!("{} repaired by the doublewrite buffer", cuts.doublewrite_pages));
    }
    parts.push(format!(
        "{} of {} lost",
        cuts.lost_commits,
        counted(cuts.acknowledged, "acknowledged commit")
    ));
    if let Some([least, middle, most]) = cuts.recovery_ms {
        let s = |ms: f64| ms / 1e3;
        parts.push(format!("recovered in {:.1} s ({:.1} to {:.1})", s(middle), s(least), s(most)));
    }
    parts.join(", ")
}

/// When the power went.
#[must_use]
pub fn moment(cut: &PowerCut) -> String {
    let nth = |n: u64, what: &str| format!("in {what} {n}");
    let moment = match cut.moment {
        Moment::PageWrite(n) => nth(n, "page write"),
        Moment::Flush(n) => nth(n, "flush"),
        Moment::Write(n) => nth(n, "write"),
        Moment::MediaWrite(n) => nth(n, "media write"),
    };
    format!("{moment} after {:.1} s", cut.loaded_ms / 1e3)
}

/// The loss, in a sentence.
#[must_use]
pub fn loss(loss: &Loss) -> String {
    match loss {
        Loss::Drive { reason } => format!("the drive did not open: {reason}"),
        Loss::FileSystem { reason } => format!("the file system did not mount: {reason}"),
        Loss::Server { reason } => format!("the server did not start: {reason}"),
        Loss::TakeOver { reason } => format!("the replica did not take over: {reason}"),
        Loss::ServerEnded { reason } => format!("the server ended while it was checked: {reason}"),
        Loss::NextStart { reason } => {
            format!("all checks passed, but the server did not start again afterwards: {reason}")
        }
        Loss::EndedUnderLoad { reason } => {
            format!("the server ended before the power was cut: {reason}")
        }
        Loss::File { file, reason } => format!("innochecksum refuses {file}: {reason}"),
        Loss::Table { table, reason } => format!("CHECK TABLE {table}: {reason}"),
        Loss::Commits { writer, acknowledged, found } => format!(
            "the server acknowledged commit {acknowledged} to writer {writer}, but has only \
            commit {found}: {} lost",
            counted(acknowledged - found, "commit")
        ),
        Loss::WriterWrong { writer, found, least, most } => format!(
            "the server has commit {found} of writer {writer}, where only {least} to {most} are \
            possible"
        ),
        Loss::WriterMissing { writer } => format!("the row of writer {writer} is gone"),
        Loss::RowOfOtherCommit { id, expected, found } => {
            format!("row {id} is from commit {found} instead of commit {expected}")
        }
        Loss::RowChanged { id, commit } => format!("row {id} is not what commit {commit} wrote"),
        Loss::RowMissing { id } => format!("row {id} is gone"),
        Loss::RowUnknown { id } => format!("row {id} was never written"),
        Loss::MoreRows { rows } => format!("further wrong rows: {rows}"),
    }
}

/// A cut that lost something, in a line.
#[must_use]
pub fn lost(cut: &PowerCut) -> String {
    let first = cut.losses.first().map(loss).unwrap_or_default();
    let more = cut.losses.len().saturating_sub(1);
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    format!("cut {}, {}: {first}{more}", cut.number, moment(cut))
}

/// A cut that lost something, in a line, with the torn page that tells most and what its newest
/// copy is good for.
#[must_use]
pub fn explained(cut: &PowerCut) -> String {
    let Some(aftermath) = &cut.aftermath else { return lost(cut) };
    let page = aftermath.pages.iter().max_by_key(|page| {
        (page.name == TRANSACTION_SYSTEM, page.older_first.is_some(), page.is_torn)
    });
    let parts = [Some(lost(cut)), page.map(page_left), Some(put_back(aftermath))];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// A torn page after a loss, and what the doublewrite buffer has of it.
#[must_use]
pub fn page_left(page: &PageLeft) -> String {
    let (name, high) = (page.name, page.lsn >> 32 << 32);
    let place = format!("page {} of tablespace {} ({})", name.page, name.space, page.at.file);
    let state = match page.lsn as u32 == page.lsn_tail {
        _ if !page.is_torn => format!("whole, LSN {} as an older copy", page.lsn),
        true => format!("torn, LSN {} at both ends", page.lsn),
        false => {
            format!(
                "torn, LSN {} at its head, {} at its end",
                page.lsn,
                high + u64::from(page.lsn_tail)
            )
        }
    };
    let copy =
        |copy: &CopyLeft| format!("LSN {} ({}, byte {})", copy.lsn, copy.at.file, copy.at.offset);
    let copies = match (&page.newest, &page.older_first) {
        (None, _) => "no whole copy".into(),
        (Some(newest), None) => format!("newest copy whole, {}", copy(newest)),
        (Some(newest), Some(older)) => format!(
            "newest copy whole, {}; an older copy comes first, {}",
            copy(newest),
            copy(older)
        ),
    };
    format!("{place}: {state}; {copies}")
}

/// The result of putting back the newest copies.
#[must_use]
pub fn put_back(aftermath: &Aftermath) -> String {
    match aftermath.put_back.as_deref() {
        None if aftermath.pages.is_empty() => "no page is torn".into(),
        None => "no torn page has a whole copy".into(),
        Some([]) => "with the newest copies put back, nothing is lost".into(),
        Some([first, ..]) => format!("with the newest copies put back: {}", loss(first)),
    }
}

/// A page of which the power cut left a part: what is new and what is old of it, drawn part by
/// part.
#[must_use]
pub fn torn_page(page: &assay_study::power_cut::TornPage) -> String {
    let parts: String = page.is_new.iter().map(|is_new| if *is_new { '█' } else { '░' }).collect();
    let (space, number) = (page.name.space, page.name.page);
    format!(
        "page {number} of tablespace {space}: {parts} (█ new, ░ old, {} each)",
        size(page.unit_bytes as f64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::power_cut::Commits;

    fn survived(lost: u64) -> PowerCut {
        PowerCut {
            config: "a".into(),
            number: 1,
            fingerprint: String::new(),
            seed: 0,
            block_began_ms: None,
            moment: Moment::Flush(1),
            loaded_ms: 1.0,
            survival: assay_study::power_cut::Survival::default(),
            replica: None,
            commits: Some(Commits { acknowledged: 9, lost, unanswered: 0 }),
            recovery: None,
            losses: Vec::new(),
            kept_in: None,
            aftermath: None,
        }
    }

    #[test]
    fn commits_that_may_be_lost_are_no_loss_and_are_told() {
        let cut = survived;
        let of = |cut| short(&PowerCuts::of_all(&[cut])[0]);
        let told = |lost| of(cut(lost));
        assert_eq!(told(0), "no loss in 1 power cut");
        assert_eq!(
            of(PowerCut { replica: Some(Replication::SemiSync), ..cut(0) }),
            "no loss in 1 power cut with a semi-synchronous replica"
        );
        assert_eq!(told(3), "no loss in 1 power cut but 3 commits that it may lose");
    }

    #[test]
    fn a_page_that_was_left_torn_is_told_with_its_copies() {
        use assay_study::power_cut::{FilePlace, PageName};
        let at = |file: &str, offset| FilePlace { file: file.into(), offset };
        let copy = |lsn, file, offset| Some(CopyLeft { at: at(file, offset), lsn });
        let page = PageLeft {
            name: PageName { space: 0, page: 5 },
            at: at("ibdata1", 81_920),
            is_torn: true,
            lsn: 54_753_971,
            lsn_tail: 55_318_941,
            newest: copy(55_318_941, "#ib_16384_1.dblwr", 1_785_856),
            older_first: None,
        };
        assert_eq!(
            page_left(&page),
            "page 5 of tablespace 0 (ibdata1): torn, LSN 54753971 at its head, 55318941 at its \
            end; newest copy whole, LSN 55318941 (#ib_16384_1.dblwr, byte 1785856)"
        );
        let older = PageLeft { older_first: copy(7, "#ib_16384_0.dblwr", 0), ..page.clone() };
        assert!(
            page_left(&older)
                .ends_with("an older copy comes first, LSN 7 (#ib_16384_0.dblwr, byte 0)")
        );
        let none = PageLeft { newest: None, ..page.clone() };
        assert!(page_left(&none).ends_with("; no whole copy"));
        let lost = PowerCut {
            losses: vec![Loss::Server { reason: "page corruption".into() }],
            aftermath: Some(Aftermath {
                page_bytes: 16384,
                pages: vec![none.clone(), page.clone()],
                put_back: Some(vec![]),
            }),
            ..survived(0)
        };
        let told = explained(&lost);
        assert!(told.contains("the server did not start: page corruption; page 5 of tablespace 0"));
        assert!(told.ends_with("; with the newest copies put back, nothing is lost"), "{told}");
        let after = |put_back| Aftermath { page_bytes: 16384, pages: vec![page.clone()], put_back };
        assert_eq!(put_back(&after(None)), "no torn page has a whole copy");
        assert_eq!(
            put_back(&after(Some(vec![]))),
            "with the newest copies put back, nothing is lost"
        );
        let still = put_back(&after(Some(vec![Loss::RowMissing { id: 1 }])));
        assert_eq!(still, "with the newest copies put back: row 1 is gone");
    }

    #[test]
    fn every_loss_is_a_sentence() {
        let reason = || "why".to_owned();
        let told = [
            loss(&Loss::Drive { reason: reason() }),
            loss(&Loss::Commits { writer: 1, acknowledged: 10, found: 8 }),
            loss(&Loss::MoreRows { rows: 1 }),
        ];
        assert_eq!(told[0], "the drive did not open: why");
        assert_eq!(
            told[1],
            "the server acknowledged commit 10 to writer 1, but has only commit 8: 2 commits lost"
        );
        assert_eq!(told[2], "further wrong rows: 1");
    }
}
