//! `assay drive status`: the health log of a drive, attached or not.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;

use super::prometheus::{self, Exported};
use crate::print;
use assay_base::clock;
use assay_base::text::shell_word;
use assay_serve::open::is_no_drive;
use assay_serve::registry::{self, FoundDrive, RegisteredDrive};
use assay_serve::{Health, health_of, health_text, look_at, look_at_left};
use assay_system::interrupt;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay drive status vol.img
  assay drive status /dev/loop0 --watch
  assay drive status vol.img --json | jq .compression_ratio
  assay drive status --prometheus > /var/lib/node_exporter/assay.prom.new

Counters cover the drive's lifetime, without what was counted between the last checkpoint and a \
crash. A drive that is not attached is opened read-only. docs/drive.md explains every JSON key.

Exit codes: 0 healthy, attached or not; 1 needs attention: low_space, full, damaged, read_only, \
stopped, or its server died; 2 unknown. With --prometheus, 0 whenever there are metrics to print.")]
pub(super) struct StatusArgs {
    /// The file or device with the drive, or its attached device or directory
    #[arg(value_name = "PATH|DEVICE", required_unless_present = "prometheus")]
    drive: Option<PathBuf>,
    /// Print one JSON object; with --watch one per line
    #[arg(long)]
    json: bool,
    /// Print Prometheus metrics; without a drive, of all attached ones
    #[arg(long, conflicts_with_all = ["json", "watch"])]
    prometheus: bool,
    /// Update every second until Ctrl-C or until the drive is detached
    #[arg(long)]
    watch: bool,
}

/// Prints the health log, in the form that the arguments choose.
pub(super) fn run(args: &StatusArgs) -> Result<ExitCode> {
    if args.prometheus {
        return collect(args.drive.as_deref());
    }
    let drive = args.drive.as_deref().context("name the drive")?;
    let name = drive.display();
    match registry::look_up(drive)? {
        FoundDrive::Served(attached) if args.watch => watch(&attached, args.json)?,
        FoundDrive::Served(attached) => return show(&health_of(&attached)?, args.json),
        FoundDrive::Died(_) if args.watch => {
            bail!("the server of {name} has died, so nothing changes; omit --watch")
        }
        FoundDrive::AtRest { .. } if args.watch => {
            bail!("{name} is not attached, so nothing changes; omit --watch")
        }
        FoundDrive::Died(attached) => return show(&left_by(&attached)?, args.json),
        FoundDrive::AtRest { media } => {
            return show(&look_at(&media).map_err(no_drive_at_rest)?, args.json);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints metrics of the drive `named`, or of all drives in the ledgers.
fn collect(named: Option<&Path>) -> Result<ExitCode> {
    let drives = match named.map(registry::look_up).transpose()? {
        None => registry::all()?.iter().map(exported).collect(),
        Some(FoundDrive::Served(attached) | FoundDrive::Died(attached)) => {
            vec![exported(&attached)]
        }
        Some(FoundDrive::AtRest { media }) => {
            let health = look_at(&media).map_err(no_drive_at_rest)?;
            vec![Exported::new(&health.media.clone(), Some(health))]
        }
    };
    print::line(prometheus::text(&drives));
    Ok(ExitCode::SUCCESS)
}

/// The drive with its health, or without one, and with a warning, if it does not answer.
fn exported(attached: &RegisteredDrive) -> Exported {
    let health = match attached.owner {
        Some(_) => health_of(attached),
        None => left_by(attached),
    };
    let health = health.inspect_err(|error| log::warn!("{error:#}")).ok();
    Exported::new(&attached.media, health)
}

/// Health of a drive whose server has died.
fn left_by(attached: &RegisteredDrive) -> Result<Health> {
    let health = look_at_left(&attached.media, attached.left_over()?);
    health.map_err(|error| no_drive_left(attached, error))
}

/// Explains an error for media in a ledger that hold no drive: those of a model without flash.
fn no_drive_left(attached: &RegisteredDrive, error: anyhow::Error) -> anyhow::Error {
    let (media, shown_as) = (attached.media.display(), attached.shown_as());
    match (is_no_drive(&error), shown_as) {
        (true, Ok(place)) => anyhow!(
            "{media}: the server of this model has died, and {} is stale; run `assay drive detach \
             {}`, or attach it again with `assay models`",
            place.display(),
            shell_word(&media.to_string())
        ),
        _ => error,
    }
}

fn no_drive_at_rest(error: anyhow::Error) -> anyhow::Error {
    match is_no_drive(&error) {
        true => anyhow!(
            "{error:#}; if it is the media of a disk or volume model, attach it with `assay models`"
        ),
        false => error,
    }
}

/// Prints the health. Exit code 1 if the drive needs attention.
fn show(health: &Health, as_json: bool) -> Result<ExitCode> {
    print::line(if as_json { health.to_json()? } else { health_text::whole(health) });
    Ok(ExitCode::from(u8::from(health.needs_attention())))
}

fn watch(attached: &RegisteredDrive, as_json: bool) -> Result<()> {
    let (sender, stopped) = channel();
    interrupt::on_signal(move || {
        // The receiver is gone once the watch has ended.
        let _ = sender.send(());
    })?;
    let mut watch = Watch::new(as_json);
    let mut next = Instant::now();
    loop {
        let Ok(health) = health_of(attached) else {
            bail!("{} is not attached any more", attached.media.display())
        };
        watch.show(health)?;
        next += Duration::from_secs(1);
        let pause = next.saturating_duration_since(Instant::now());
        match stopped.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return Ok(()),
        }
    }
}

/// Prints the status each second: the whole log on a terminal, a line elsewhere.
struct Watch {
    as_json: bool,
    is_terminal: bool,
    before: Option<(Instant, Health)>,
}

impl Watch {
    fn new(as_json: bool) -> Watch {
        Watch { as_json, is_terminal: std::io::stdout().is_terminal(), before: None }
    }

    fn show(&mut self, health: Health) -> Result<()> {
        let now = Instant::now();
        let seconds = self.before.as_ref().map(|(then, _)| (now - *then).as_secs_f64());
        let before = self.before.take().map_or_else(|| health.clone(), |(_, before)| before);
        let line = health_text::line(&health, &before, seconds.unwrap_or(1.0));
        match (self.as_json, self.is_terminal) {
            (true, _) => print::line(serde_json::to_string(&health)?),
            // Moves to the top left and clears the screen (ECMA-48, CUP and ED).
            (false, true) => print::drawn(format_args!(
                "\x1b[H\x1b[2J{}\n\nlast second  {line}",
                health_text::whole(&health)
            )),
            (false, false) => print::line(format_args!("{} {line}", clock::now())),
        }
        self.before = Some((now, health));
        Ok(())
    }
}
