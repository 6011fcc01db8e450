//! `assay drive check --repair`: prints the repair's result, lost ranges by address, and commands
//! that find the files in them.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use assay_drive::{Disk, Drive, DriveOptions, LossReason, Lost, Repair, UnreadableBlocks};
use assay_ports::media::Access;
use serde_json::json;

use super::check::{LINES_MAX, Progress};
use crate::print;
use assay_base::text::counted;
use assay_serve::health_text::human;
use assay_serve::open::{in_words, open, open_media};
use assay_serve::place;

/// Repairs the drive on `path`. Exit code 1 if data are lost.
pub(super) fn run(path: &Path, discards: bool, as_json: bool) -> Result<ExitCode> {
    let unreadable = if discards { UnreadableBlocks::Discarded } else { UnreadableBlocks::Kept };
    let (media, options, _) = open_media(path, Access::ReadWrite, DriveOptions::default())?;
    let mut progress = Progress::new("repairing");
    let repaired = Drive::repair(media, options, unreadable, &mut |done, all| {
        progress.show(done, all);
    });
    progress.end();
    let repaired = repaired.map_err(|error| in_words(path, error));
    let repaired = repaired.with_context(|| path.display().to_string())?;
    match as_json {
        true => print::line(in_json(&place::resolved(path)?, &repaired)),
        false => print_result(path, discards, &repaired)?,
    }
    Ok(if repaired.lost.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_result(path: &Path, discards: bool, repaired: &Repair) -> Result<()> {
    let opened = &repaired.recovery;
    for problem in opened.problems.iter().chain(&opened.mended) {
        print::line(format_args!("found: {problem}"));
    }
    if let Some(given_up) = &opened.given_up {
        let behind = counted(given_up.chunks, "later chunk");
        print::line(format_args!(
            "given up: the log from chunk {} on, with {behind}; what chunk {0} contained is \
             unknown",
            given_up.seq
        ));
    }
    for lost in repaired.lost.iter().take(LINES_MAX) {
        print::line(in_words_lost(lost));
    }
    if repaired.lost.len() > LINES_MAX {
        let more = counted((repaired.lost.len() - LINES_MAX) as u64, "more range");
        print::line(format_args!("lost: {more}; --json names them all"));
    }
    // Doubtful ranges are left out: they cover everything that a lost part of the map located.
    if let Some(lost) = repaired.lost.iter().find(|lost| lost.loss != LossReason::Doubtful)
        && let Some(way) = way_to_files(path, lost)?
    {
        print::line(way);
    }
    print::line(summary(path, repaired));
    if !discards && repaired.lost.iter().any(|lost| is_kept(lost.loss)) {
        print::line(
            "reads of lost blocks fail until the blocks are overwritten or discarded; --discard \
             discards them at once",
        );
    }
    Ok(())
}

/// Whether reads of the lost range fail, instead of returning older contents.
fn is_kept(loss: LossReason) -> bool {
    matches!(loss, LossReason::Unreadable | LossReason::Unmapped)
}

fn in_words_lost(Lost { range, loss }: &Lost) -> String {
    let why = match loss {
        LossReason::Unreadable => "it could not be read",
        LossReason::Unmapped => "its location is lost",
        LossReason::Reverted => {
            "it was written in the part of the log that is given up; the previous contents are back"
        }
        LossReason::Doubtful => {
            "it may hold old data: the part of the map that located it was lost"
        }
    };
    let bytes = range.end - range.start;
    format!("lost from byte {} to {}, {}: {why}", range.start, range.end - 1, human(bytes))
}

fn summary(path: &Path, repaired: &Repair) -> String {
    let [lost, doubtful] = [false, true].map(|is_doubtful| extent(repaired, is_doubtful));
    let in_ranges = |(bytes, ranges): (u64, u64), what| {
        format!("{} {what} in {}", human(bytes), counted(ranges, "range"))
    };
    let mut parts = Vec::new();
    if lost.1 > 0 || doubtful.1 == 0 {
        parts.push(match lost.1 {
            0 => "nothing is lost".into(),
            _ => in_ranges(lost, "lost"),
        });
    }
    if doubtful.1 > 0 {
        parts.push(in_ranges(doubtful, "may hold old data,"));
    }
    let lost = parts.join(", ");
    let done = [
        (repaired.nodes_restored, "part of the map restored", "parts of the map restored"),
        (repaired.blocks_moved, "block moved", "blocks moved"),
        (repaired.segments_returned, "segment returned to use", "segments returned to use"),
        (repaired.segments_retired, "segment out of use", "segments out of use"),
        (
            repaired.segments_left,
            "segment skipped for lack of space",
            "segments skipped for lack of space",
        ),
    ];
    let done = done.iter().filter(|(count, ..)| *count > 0);
    let done: Vec<_> = done
        .map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }))
        .collect();
    let done = if done.is_empty() { "nothing to move".into() } else { done.join(", ") };
    format!("{}: repaired: {done}; {lost}", path.display())
}

/// Bytes and number of lost or doubtful ranges; a doubtful range may overlap a lost one.
fn extent(repaired: &Repair, is_doubtful: bool) -> (u64, u64) {
    let its =
        repaired.lost.iter().filter(|lost| (lost.loss == LossReason::Doubtful) == is_doubtful);
    its.fold((0, 0), |(bytes, ranges), lost| {
        (bytes + lost.range.end - lost.range.start, ranges + 1)
    })
}

fn in_json(path: &Path, repaired: &Repair) -> serde_json::Value {
    let loss = |loss| match loss {
        LossReason::Unreadable => "unreadable",
        LossReason::Unmapped => "unmapped",
        LossReason::Reverted => "reverted",
        LossReason::Doubtful => "doubtful",
    };
    let lost: Vec<_> = repaired
        .lost
        .iter()
        .map(|lost| {
            let bytes = lost.range.end - lost.range.start;
            json!({ "offset": lost.range.start, "bytes": bytes, "loss": loss(lost.loss) })
        })
        .collect();
    json!({
        "media": path,
        "log_given_up_from": repaired.recovery.given_up.as_ref().map(|given_up| given_up.seq),
        "map_rebuilt": repaired.recovery.rebuilt,
        "nodes_restored": repaired.nodes_restored,
        "blocks_moved": repaired.blocks_moved,
        "segments_returned": repaired.segments_returned,
        "segments_retired": repaired.segments_retired,
        "segments_left": repaired.segments_left,
        "lost": lost,
        "lost_bytes": extent(repaired, false).0,
        "doubtful_bytes": extent(repaired, true).0,
        "damages": repaired.check.damages.len(),
    })
}

/// Commands that find the files in a range, if a known file system begins at the drive's first
/// byte.
fn way_to_files(path: &Path, lost: &Lost) -> Result<Option<String>> {
    let (drive, _) = open(path, DriveOptions { read_only: true, ..DriveOptions::default() })?;
    let mut head = [0; 4096];
    // If the superblock cannot be read, the file system is unknown.
    Ok(drive.read(0, &mut head).ok().and_then(|()| way_by_head(&head, lost.range.start)))
}

/// Recognizes a superblock: ext4 has its magic number at byte 1024 + 56 and its block size at 1024
/// + 24, XFS its name at byte 0.
fn way_by_head(head: &[u8], offset: u64) -> Option<String> {
    let is_ext = head.get(1080..1082) == Some(&[0x53, 0xEF]);
    let is_xfs = head.starts_with(b"XFSB");
    let commands = match (is_ext, is_xfs) {
        (true, _) => {
            let shift = u32::from_le_bytes(*head.get(1048..)?.first_chunk()?);
            let block = offset / 1024_u64.checked_shl(shift).filter(|bytes| *bytes > 0)?;
            format!(
                "`debugfs -R \"icheck {block}\" DEVICE`, then `debugfs -R \"ncheck INODE\" DEVICE`"
            )
        }
        (_, true) => format!(
            "`xfs_db -r -c \"blockget -n\" -c \"daddr {}\" -c \"blockuse -n\" DEVICE`, unmounted",
            offset / 512
        ),
        _ => return None,
    };
    Some(format!("to find the file of the first range, attach the drive and run {commands}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_told_with_its_extent_and_reason() {
        let lost = |start: u64, end: u64, loss| Lost { range: start..end, loss };
        let text = in_words_lost(&lost(4096, 12288, LossReason::Unreadable));
        assert_eq!(text, "lost from byte 4096 to 12287, 8.0 KiB: it could not be read");
        let mut repaired = Repair { blocks_moved: 1, segments_retired: 2, ..Repair::default() };
        let path = Path::new("vol.img");
        let text = summary(path, &repaired);
        assert_eq!(
            text,
            "vol.img: repaired: 1 block moved, 2 segments out of use; nothing is lost"
        );
        repaired.lost =
            vec![lost(0, 4096, LossReason::Reverted), lost(8192, 12288, LossReason::Doubtful)];
        let text = summary(path, &repaired);
        assert!(
            text.ends_with("4.0 KiB lost in 1 range, 4.0 KiB may hold old data, in 1 range"),
            "{text}"
        );
        let found = in_json(path, &repaired);
        assert_eq!(
            (found["lost_bytes"].as_u64(), found["doubtful_bytes"].as_u64()),
            (Some(4096), Some(4096))
        );
        assert_eq!(in_json(path, &repaired)["lost"][1]["loss"], "doubtful");
    }

    #[test]
    fn files_are_found_by_the_file_system_s_own_blocks() {
        let mut head = [0; 4096];
        assert_eq!(way_by_head(&head, 1 << 20), None);
        head[1080..1082].copy_from_slice(&[0x53, 0xEF]);
        head[1048] = 2;
        assert!(way_by_head(&head, 1 << 20).unwrap().contains("icheck 256"));
        head[1048] = 200;
        assert_eq!(way_by_head(&head, 1 << 20), None);
        let mut head = [0; 4096];
        head[..4].copy_from_slice(b"XFSB");
        assert!(way_by_head(&head, 1 << 20).unwrap().contains("daddr 2048"));
    }
}
