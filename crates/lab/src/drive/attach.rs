//! `assay drive attach`: shows a drive as a block device.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use assay_ports::child::Process;
use clap::Args;
use rustix::process::Signal;

use super::attached::{self, Attached};
use super::health::Health;
use super::job::AttachOptions;
use super::{needed, registry, text};
use crate::print;
use assay_devices::marked;
use assay_system::interrupt;
use assay_system::ledger::{self, Ledger};

/// What was typed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay drive attach vol.img                  prints the device, e.g. /dev/loop0
  assay drive attach vol.img --folder ./vol   without root: as file ./vol/disk
  assay drive attach vol.img --memory 256M --threads 8
  assay drive attach vol.img --foreground     serves until Ctrl-C
  assay drive attach vol.img --if-needed      for scripts and units: attached
                                              already is as good
  assay drive attach vol.img --rescue         full, and its file system does not
                                              mount: mount it now, delete, trim

A drive whose server was killed, or whose machine has crashed, is attached like any other: what was \
flushed is there. After a kill unmount the device that is left over first; `assay drive status` \
names it.")]
pub(super) struct AttachArgs {
    /// The file or block device that the drive lies on
    media: PathBuf,
    #[command(flatten)]
    options: AttachOptions,
    /// Serve in the foreground, until Ctrl-C or `detach`
    #[arg(long)]
    foreground: bool,
    /// Print the device of a drive that is attached already, in place of refusing; other options change nothing of it
    #[arg(long, conflicts_with = "foreground")]
    if_needed: bool,
    /// Print the drive's health as one JSON object in place of lines
    #[arg(long)]
    json: bool,
}

/// Attaches the drive and prints its device, or file; what was found goes to standard error.
///
/// # Errors
/// One line, and nothing is attached.
pub(super) fn run(args: &AttachArgs) -> Result<ExitCode> {
    if args.foreground {
        return serve_here(&free_media(&args.media, &args.options)?, args);
    }
    let health = match args.if_needed {
        true => needed::attach(&args.media, &args.options)?,
        false => attach(&args.media, &args.options)?,
    };
    show(&health, args.json)?;
    Ok(ExitCode::SUCCESS)
}

/// Has the drive, or the model, on `media` served by a process that outlives this one.
///
/// # Errors
/// One line, and nothing is attached.
pub(crate) fn attach(media: &Path, options: &AttachOptions) -> Result<Health> {
    attached::start(&free_media(media, options)?, options)
}

/// Whether who asks may attach so.
///
/// # Errors
/// One line: what else can be done.
pub(crate) fn check_right(options: &AttachOptions) -> Result<()> {
    ensure!(
        options.folder.is_some() || rustix::process::geteuid().is_root(),
        "only root may attach a block device; become root, or name an empty folder with --folder DIR"
    );
    Ok(())
}

/// The media without links, when nothing keeps it from being attached so.
fn free_media(named: &Path, options: &AttachOptions) -> Result<PathBuf> {
    check_right(options)?;
    let media = named.canonicalize().with_context(|| named.display().to_string())?;
    if let Some(model) = marked(&media).filter(|_| options.model.is_none()) {
        bail!(
            "{0} is a model's, and would be served without its timing; `assay models {model} --attach {0}`",
            named.display()
        );
    }
    make_way(&media)?;
    Ok(media)
}

/// Removes what a server of this drive has left that died; one that lives stays.
fn make_way(media: &Path) -> Result<()> {
    ledger::sweep()?;
    if let Some(former) = registry::find_media(media)? {
        if !former.has_died()? {
            let shown_as = former.shown_as()?;
            bail!("{} is attached already, as {}", former.media.display(), shown_as.display());
        }
        former.clear()?;
        log::info!("removed what the former server of {} left", media.display());
    }
    // Of other media that had this name nothing is in the way; what cannot be removed now `assay clean` finds.
    for former in registry::died_under_name(media)? {
        former.clear().unwrap_or_else(|error| log::warn!("{error:#}"));
    }
    Ok(())
}

fn serve_here(media: &Path, args: &AttachArgs) -> Result<ExitCode> {
    let attached = Attached::start(media, &args.options, &Ledger::open()?, &[])?;
    let server = Process::open(attached.pid())?.context("the server has ended")?;
    interrupt::on_signal(move || {
        server.signal(Signal::TERM).unwrap_or_else(|error| log::error!("{error}"));
    })?;
    show(&attached.health, args.json)?;
    let server = Process::open(attached.pid())?;
    server.map_or(Ok(true), |server| server.wait(None))?;
    attached.stop()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints what was found, where it is shown last.
///
/// # Errors
/// It is shown nowhere.
pub(crate) fn show(health: &Health, as_json: bool) -> Result<()> {
    if as_json {
        print::line(health.to_json()?);
        return Ok(());
    }
    text::opened(health).iter().for_each(|line| print::note(format_args!("assay: {line}")));
    let attachment = &health.attachment;
    let place = attachment.device.as_ref().or(attachment.file.as_ref());
    print::line(place.context("the drive is attached, but nowhere")?.display());
    Ok(())
}
