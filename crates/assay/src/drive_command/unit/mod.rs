//! `assay drive unit`: prints the systemd unit and the fstab line that attach and mount a drive at
//! boot.

pub(super) mod escape;
mod file_system;
mod text;

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use assay_drive::DriveOptions;
use assay_ports::rbd::ImageName;
use clap::Args;

use self::file_system::FileSystemKind;
use self::text::{Mount, Unit};
use crate::print;
use assay_serve::open::{ensure_tellable, open};
use assay_serve::registry::{self, FoundDrive};
use assay_system::state;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay drive unit vol.img --mount /var/lib/mysql
  assay drive unit vol.img --service > /etc/systemd/system/assay-drive@.service
  assay drive unit vol.img --mount /var/lib/mysql --fstab >> /etc/fstab

Prints only; writes nothing. One template unit serves all drives as instances. Make the file \
system first: fstab names it by UUID, since loop device numbers change.")]
pub(super) struct UnitArgs {
    /// The file or block device with the drive
    media: PathBuf,
    /// Mount point of its file system
    #[arg(long, value_name = "DIR")]
    mount: Option<PathBuf>,
    /// Type of its file system [default: detected]
    #[arg(long, value_enum, requires = "mount")]
    fs: Option<FileSystemKind>,
    /// Print only the unit file
    #[arg(long, conflicts_with = "fstab")]
    service: bool,
    /// Print only the line for fstab
    #[arg(long, requires = "mount")]
    fstab: bool,
}

/// Prints the unit, the fstab line, or both.
pub(super) fn run(args: &UnitArgs) -> Result<ExitCode> {
    let (media, is_device) = lasting_name(&args.media)?;
    let (program, state) = (program()?, state::directory()?);
    let unit = Unit { program, state, media, is_device };
    let mount = args.mount.as_deref().map(|target| mount(&unit.media, target, args)).transpose()?;
    print::line(match (args.service, args.fstab, mount) {
        (true, ..) => unit.service(),
        (_, true, Some(mount)) => unit.fstab(&mount)?,
        (_, _, mount) => unit.whole(mount.as_ref())?,
    });
    Ok(ExitCode::SUCCESS)
}

/// Returns the media's path, and whether it is a block device. A device keeps the given name: what
/// a link in /dev/disk points to changes.
fn lasting_name(named: &Path) -> Result<(PathBuf, bool)> {
    let what = || named.display().to_string();
    ensure!(
        !ImageName::is_meant(named),
        "units are written for files and block devices; attach {} in a unit of your own that waits \
         for the network",
        named.display()
    );
    let is_device = named.metadata().with_context(what)?.file_type().is_block_device();
    let media = if is_device { std::path::absolute(named) } else { named.canonicalize() };
    let media = media.with_context(what)?;
    ensure_tellable(&media)?;
    Ok((media, is_device))
}

/// Path of this program.
fn program() -> Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    ensure_tellable(&program)?;
    Ok(program)
}

fn mount(media: &Path, target: &Path, args: &UnitArgs) -> Result<Mount> {
    let target = std::path::absolute(target).context("give the mount point with --mount")?;
    ensure_tellable(&target)?;
    let name = media.display();
    let (kind, uuid) = match (args.fs, file_system(media)?) {
        (Some(wanted), Some((kind, _))) if wanted != kind => {
            bail!("{name} holds {}, not {}; omit --fs", kind.name(), wanted.name())
        }
        (_, Some((kind, uuid))) => (kind, Some(uuid)),
        (Some(wanted), None) => (wanted, None),
        (None, None) => bail!(
            "{name} holds neither ext4 nor XFS; attach it and make a file system first, or give \
             the planned one with --fs"
        ),
    };
    Ok(Mount { target, kind, uuid })
}

/// The file system on the drive, attached or not.
fn file_system(media: &Path) -> Result<Option<(FileSystemKind, String)>> {
    let found = match registry::look_up(media)? {
        FoundDrive::Served(attached) => {
            let shown = attached.shown_as()?;
            file_system::find_in(&shown).with_context(|| shown.display().to_string())?
        }
        other => {
            let path = other.media_at_rest().unwrap_or(media);
            let (drive, _) =
                open(path, DriveOptions { read_only: true, ..DriveOptions::default() })?;
            file_system::find(&drive)?
        }
    };
    Ok(found)
}
