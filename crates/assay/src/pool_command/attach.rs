//! `assay pool attach` and `detach`: attaches a Ceph image as a block device, without a drive on
//! it.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use assay_pool::locate;
use assay_ports::fuse::DEFAULT_THREADS;
use assay_serve::job::{AttachOptions, CacheMode, Export};
use clap::Args;

use crate::drive_command::show_attached;
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay pool attach rbd:rep/vol                    prints the device
  assay pool attach rbd:rep/vol --threads 64       for many requests at once
  assay pool attach rbd:db/vol --ceph-conf /etc/ceph/ceph.conf

The image is served by a process of its own, through FUSE and a loop device; no kernel module is \
needed. A write is acknowledged once it is on all copies. After a crash of that process attach it \
again; `assay drive list` shows attached images.")]
pub(super) struct AttachArgs {
    /// The image, rbd:POOL/IMAGE
    image: PathBuf,
    /// The cluster: its configuration file, or the name of a private one
    #[arg(long, value_name = "FILE|NAME")]
    ceph_conf: Option<PathBuf>,
    /// Show it as the file `disk` in this empty directory, without a loop device; works without
    /// root
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// The maximum number of concurrent requests
    #[arg(long, default_value_t = DEFAULT_THREADS as u16, value_parser = parse_threads())]
    threads: u16,
    /// Refuse writes
    #[arg(long)]
    read_only: bool,
    /// Print its health as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay pool detach rbd:rep/vol
  assay pool detach /dev/loop0

A device that is mounted or open is refused, with its users; nothing changes then.")]
pub(super) struct DetachArgs {
    /// The image, or its attached device or directory
    #[arg(value_name = "IMAGE|DEVICE")]
    image: PathBuf,
}

fn parse_threads() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(1..=1024)
}

/// Attaches the image and prints its device or file.
pub(super) fn run(args: &AttachArgs) -> Result<ExitCode> {
    let image = locate::image(&args.image, args.ceph_conf.as_deref())?;
    let image = image.with_context(|| {
        format!("{} names no image; write rbd:POOL/IMAGE", args.image.display())
    })?;
    let options = AttachOptions {
        directory: args.directory.clone(),
        threads: args.threads,
        read_only: args.read_only,
        cache: CacheMode::Writethrough,
        ..AttachOptions::default()
    };
    show_attached(&assay_serve::attach(&image.path(), &options, &Export::Image)?, args.json)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn detach(args: &DetachArgs) -> Result<ExitCode> {
    print::line(assay_serve::detach(&args.image)?);
    Ok(ExitCode::SUCCESS)
}
