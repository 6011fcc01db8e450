//! `assay drive check`: reads and verifies everything, and says what is damaged, by address.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use assay_drive::{BLOCK_BYTES, Check, Damage, Drive, DriveOptions};
use clap::Args;
use serde_json::json;

use super::open::open;
use super::registry;
use super::text::human;
use crate::print::{self, Living, time};

/// How often progress is shown on a terminal, and elsewhere.
const SHOWN_EVERY: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(10)];

/// What was typed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay drive check vol.img
  assay drive check vol.img --json

Nothing is written. Addresses are bytes of the device that the drive is shown as.
Exit codes: 0 all is well, 1 damage was found, 2 could not.")]
pub(super) struct CheckArgs {
    /// What the drive lies on; it must not be attached
    #[arg(value_name = "PATH")]
    drive: PathBuf,
    /// Print one JSON object in place of lines
    #[arg(long)]
    json: bool,
}

/// Checks the drive; exit code 1 when something is damaged.
///
/// # Errors
/// One line: attached, not a drive, the media failed.
pub(super) fn run(args: &CheckArgs) -> Result<ExitCode> {
    let media = match registry::look_up(&args.drive)? {
        registry::Drive::AtRest { media, .. } => media,
        registry::Drive::Served(attached) => {
            let (media, place) = (attached.media.display(), attached.shown_as()?);
            bail!("{media} is attached as {}; detach it first", place.display())
        }
    };
    let drive = open(&media, DriveOptions { read_only: true, ..DriveOptions::default() })?;
    // Before it is read, which finds what the check tells by itself.
    let opening = drive.status().problems;
    let mut check = checked(&drive, &media)?;
    check.damages.extend(opening.into_iter().map(|what| Damage { offset: None, what }));
    match args.json {
        true => print::line(as_json(&media, &check)),
        false => tell(&media, &check),
    }
    Ok(if check.damages.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn checked(drive: &Drive, path: &Path) -> Result<Check> {
    let mut progress = Progress::new();
    let check = drive.check(&mut |done, all| progress.show(done, all));
    progress.line.end();
    check.with_context(|| path.display().to_string())
}

/// How far it has come, and the time left.
struct Progress {
    line: Living,
    is_terminal: bool,
    began: Instant,
    shown: Instant,
}

impl Progress {
    fn new() -> Progress {
        let (now, is_terminal) = (Instant::now(), std::io::stderr().is_terminal());
        Progress { line: Living::new(), is_terminal, began: now, shown: now }
    }

    fn show(&mut self, done: u64, all: u64) {
        let now = Instant::now();
        if now - self.shown < SHOWN_EVERY[usize::from(!self.is_terminal)] || done == 0 {
            return;
        }
        self.shown = now;
        let seconds = (now - self.began).as_secs_f64();
        let left = seconds * (all - done) as f64 / done as f64;
        let text =
            format!("checking: {:.0} %, {} left", 100.0 * done as f64 / all as f64, time(left));
        match self.is_terminal {
            true => self.line.live(text),
            false => self.line.say(text),
        }
    }
}

fn tell(path: &Path, check: &Check) {
    for Damage { offset, what } in &check.damages {
        match offset {
            Some(offset) => print::line(format_args!("damaged at byte {offset}: {what}")),
            None => print::line(format_args!("damaged: {what}")),
        }
    }
    let found = match check.damages.len() {
        0 => "no damage".into(),
        1 => "1 damage".into(),
        number => format!("{number} damages"),
    };
    print::line(format_args!(
        "{}: {} in {} blocks and {} segments are whole; {found}",
        path.display(),
        human(check.blocks * BLOCK_BYTES),
        check.blocks,
        check.segments,
    ));
}

fn as_json(path: &Path, check: &Check) -> serde_json::Value {
    let damage = |found: &Damage| json!({ "offset": found.offset, "what": found.what });
    let damages: Vec<_> = check.damages.iter().map(damage).collect();
    json!({
        "media": path,
        "blocks": check.blocks,
        "segments": check.segments,
        "damages": damages,
    })
}
