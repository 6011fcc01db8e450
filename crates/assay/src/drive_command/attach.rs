//! `assay drive attach`: attaches a drive as a block device.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use assay_pool::locate;
use assay_ports::child::Process;
use clap::Args;
use rustix::process::Signal;

use super::needed;
use crate::print;
use assay_serve::Attached;
use assay_serve::health::Health;
use assay_serve::health_text;
use assay_serve::job::{AttachOptions, Export};
use assay_serve::{attach, free_media};
use assay_system::interrupt;
use assay_system::ledger::Ledger;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay drive attach vol.img                  prints the device, e.g. /dev/loop0
  assay drive attach vol.img --directory ./vol   no root: as file ./vol/disk
  assay drive attach vol.img --memory 256M --threads 8
  assay drive attach rbd:rep/vol              a drive on an image of a Ceph pool
  assay drive attach vol.img --foreground     serves until Ctrl-C
  assay drive attach vol.img --if-needed      for scripts and units: succeeds if
                                              it is attached already
  assay drive attach vol.img --rescue         full and unmountable: mount now,
                                              delete files, run fstrim

After a crash of its server or of the machine, attach a drive as usual: everything that was \
flushed is there. If only its server died, unmount the stale device first; `assay drive status` \
names it.")]
pub(super) struct AttachArgs {
    /// The file, block device or image (rbd:POOL/IMAGE) with the drive
    media: PathBuf,
    /// The image's cluster: its configuration file, or the name of a private one
    #[arg(long, value_name = "FILE|NAME")]
    ceph_conf: Option<PathBuf>,
    #[command(flatten)]
    options: AttachOptions,
    /// Serve in the foreground, until Ctrl-C or `detach`
    #[arg(long)]
    foreground: bool,
    /// If the drive is already attached, print its device instead of failing; other options are
    /// ignored then
    #[arg(long, conflicts_with = "foreground")]
    if_needed: bool,
    /// Print the drive's health as one JSON object
    #[arg(long)]
    json: bool,
}

/// Attaches the drive and prints its device or file. Details go to standard error.
pub(super) fn run(args: &AttachArgs) -> Result<ExitCode> {
    let named = media(&args.media, args.ceph_conf.as_deref())?;
    if args.foreground {
        return serve_here(&free_media(&named, &args.options, &Export::Drive)?, args);
    }
    let health = match args.if_needed {
        true => needed::attach(&named, &args.options)?,
        false => attach(&named, &args.options, &Export::Drive)?,
    };
    show(&health, args.json)?;
    Ok(ExitCode::SUCCESS)
}

/// Resolves an image's name to its path with the cluster; other paths stay as they are.
pub(super) fn media(named: &Path, ceph_conf: Option<&Path>) -> Result<PathBuf> {
    let image = locate::image(named, ceph_conf)?;
    Ok(image.map_or_else(|| named.to_owned(), |image| image.path()))
}

fn serve_here(media: &Path, args: &AttachArgs) -> Result<ExitCode> {
    let attached = Attached::start(media, &args.options, &Export::Drive, &Ledger::open()?, &[])?;
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

/// Prints the drive's health, its device or file last.
///
/// # Errors
/// The drive has neither a device nor a file.
pub(crate) fn show(health: &Health, as_json: bool) -> Result<()> {
    if as_json {
        print::line(health.to_json()?);
        return Ok(());
    }
    health_text::opened(health).iter().for_each(|line| print::note(format_args!("assay: {line}")));
    let attachment = &health.attachment;
    let place = attachment.device.as_ref().or(attachment.file.as_ref());
    print::line(place.context("the drive is attached, but has no device")?.display());
    Ok(())
}
