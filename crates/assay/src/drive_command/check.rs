//! `assay drive check`: reads and verifies a drive and lists damage by address; `--repair` repairs
//! it.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use assay_drive::{BLOCK_BYTES, CheckReport, Damage, Drive, DriveOptions};
use clap::Args;
use serde_json::json;

use super::repair;
use crate::print::{self, Living};
use assay_base::text::counted;
use assay_base::text::time;
use assay_serve::health_text::human;
use assay_serve::open::open;
use assay_serve::{place, registry};

/// Interval of progress reports: on a terminal, elsewhere.
const SHOWN_EVERY: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(10)];

/// Number of damaged places that the text output lists.
pub(super) const LINES_MAX: usize = 50;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay drive check vol.img
  assay drive check vol.img --json
  assay drive check vol.img --repair

Without --repair, nothing is written. Addresses are byte offsets on the attached device.

Repair moves readable data out of segments with bad sectors, returns segments that work again to \
use, rewrites damaged parts of the map, and gives up what cannot be read. Lost blocks return I/O \
errors until they are overwritten or discarded, so that zeroes are not mistaken for data; \
--discard makes them read as zeroes at once. Back up the media first if you can.

Exit codes: 0 no damage, 1 damage found or data lost, 2 error.")]
pub(super) struct CheckArgs {
    /// The file or block device with the drive; it must not be attached
    #[arg(value_name = "PATH")]
    drive: PathBuf,
    /// Repair what can be repaired, and list what is lost
    #[arg(long)]
    repair: bool,
    /// With --repair: discard lost blocks, so that they read as zeroes instead of returning I/O
    /// errors
    #[arg(long, requires = "repair")]
    discard: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Checks or repairs the drive. Exit code 1 if data are damaged or lost.
pub(super) fn run(args: &CheckArgs) -> Result<ExitCode> {
    let found = registry::look_up(&args.drive)?;
    if let registry::FoundDrive::Served(attached) = &found {
        let (media, place) = (attached.media.display(), attached.shown_as()?);
        bail!("{media} is attached as {}; detach it first", place.display())
    }
    let media = found.media_at_rest().unwrap_or(&args.drive).to_owned();
    if args.repair {
        return repair::run(&media, args.discard, args.json);
    }
    let (drive, _) = open(&media, DriveOptions { read_only: true, ..DriveOptions::default() })?;
    // Taken before the check, whose reads would add the same damage to the status.
    let opening = drive.status().problems;
    let mut check = checked(&drive, &media)?;
    check.damages.extend(opening.into_iter().map(|what| Damage { offset: None, bytes: 0, what }));
    match args.json {
        true => print::line(as_json(&place::resolved(&media)?, &check)),
        false => print_result(&media, &check),
    }
    Ok(if check.damages.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn checked(drive: &Drive, path: &Path) -> Result<CheckReport> {
    let mut progress = Progress::new("checking");
    let check = drive.check(&mut |done, all| progress.show(done, all));
    progress.end();
    check.with_context(|| path.display().to_string())
}

/// A progress line with the estimated time left.
pub(super) struct Progress {
    action: &'static str,
    line: Living,
    is_terminal: bool,
    began: Instant,
    shown: Instant,
}

impl Progress {
    pub(super) fn new(action: &'static str) -> Progress {
        let (now, is_terminal) = (Instant::now(), std::io::stderr().is_terminal());
        Progress { action, line: Living::new(), is_terminal, began: now, shown: now }
    }

    pub(super) fn end(self) {
        self.line.end();
    }

    pub(super) fn show(&mut self, done: u64, all: u64) {
        let now = Instant::now();
        if now - self.shown < SHOWN_EVERY[usize::from(!self.is_terminal)] || done == 0 {
            return;
        }
        self.shown = now;
        let seconds = (now - self.began).as_secs_f64();
        let left = seconds * (all - done) as f64 / done as f64;
        let percent = 100.0 * done as f64 / all as f64;
        let text = format!("{}: {percent:.0} %, {} left", self.action, time(left));
        match self.is_terminal {
            true => self.line.live(text),
            false => self.line.say(text),
        }
    }
}

fn print_result(path: &Path, check: &CheckReport) {
    for damage in check.damages.iter().take(LINES_MAX) {
        print::line(in_words(damage));
    }
    if check.damages.len() > LINES_MAX {
        let more = counted((check.damages.len() - LINES_MAX) as u64, "more place");
        print::line(format_args!("damaged: {more}; --json names them all"));
    }
    print::line(summary(path, check));
}

fn in_words(Damage { offset, bytes, what }: &Damage) -> String {
    match offset {
        None => format!("damaged: {what}"),
        Some(offset) if *bytes <= BLOCK_BYTES => format!("damaged at byte {offset}: {what}"),
        Some(offset) => {
            let last = offset + bytes - 1;
            format!("damaged from byte {offset} to {last}, {}: {what}", human(*bytes))
        }
    }
}

fn summary(path: &Path, check: &CheckReport) -> String {
    let bytes = damaged_bytes(check);
    let found = match (check.damages.len() as u64, bytes) {
        (0, _) => "no damage".into(),
        (places, 0) => format!("damage in {}", counted(places, "place")),
        (places, _) => format!("damage in {}, {}", counted(places, "place"), human(bytes)),
    };
    format!(
        "{}: verified {} in {}, {}; {found}",
        path.display(),
        human(check.blocks * BLOCK_BYTES),
        counted(check.blocks, "block"),
        counted(check.segments, "segment"),
    )
}

fn damaged_bytes(check: &CheckReport) -> u64 {
    check.damages.iter().map(|damage| damage.bytes).sum()
}

fn as_json(path: &Path, check: &CheckReport) -> serde_json::Value {
    let mut damages = Vec::new();
    for Damage { offset, bytes, what } in &check.damages {
        damages.push(json!({ "offset": offset, "bytes": bytes, "what": what }));
    }
    json!({
        "media": path,
        "blocks": check.blocks,
        "segments": check.segments,
        "damaged_bytes": damaged_bytes(check),
        "damages": damages,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damage(offset: Option<u64>, bytes: u64) -> Damage {
        Damage { offset, bytes, what: "its checksum is wrong".into() }
    }

    #[test]
    fn damage_is_told_with_its_extent_and_numbers_agree_with_their_nouns() {
        let mut check = CheckReport { blocks: 1, segments: 1, damages: Vec::new() };
        let path = Path::new("vol.img");
        let text = summary(path, &check);
        assert_eq!(text, "vol.img: verified 4.0 KiB in 1 block, 1 segment; no damage");
        check.damages = vec![damage(None, 0)];
        assert!(summary(path, &check).ends_with("; damage in 1 place"));
        check.damages = vec![damage(Some(0), 4096), damage(Some(1 << 20), 1 << 20)];
        check.blocks = 2;
        let text = summary(path, &check);
        assert!(text.contains("2 blocks, 1 segment; damage in 2 places, 1.0 MiB"), "{text}");
        assert_eq!(in_words(&check.damages[0]), "damaged at byte 0: its checksum is wrong");
        assert_eq!(
            in_words(&check.damages[1]),
            "damaged from byte 1048576 to 2097151, 1.0 MiB: its checksum is wrong"
        );
        assert_eq!(as_json(path, &check)["damaged_bytes"], (1 << 20) + 4096);
    }
}
