//! Attaching: what must hold before a server of a drive, or of a model, is started.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::attached;
use super::health::Health;
use super::job::AttachOptions;
use super::{place, registry};
use assay_base::text::shell_word;
use assay_ports::lacks::{Needs, lacks};
use assay_presets::marked;
use assay_system::ledger;

/// Has the drive, or the model, on `media` served by a process that outlives this one.
///
/// # Errors
/// One line, and nothing is attached.
pub fn attach(media: &Path, options: &AttachOptions) -> Result<Health> {
    attached::start(&free_media(media, options)?, options)
}

/// Whether who asks may attach so.
///
/// # Errors
/// One line: what else can be done.
pub fn check_right(options: &AttachOptions) -> Result<()> {
    let served = Needs { fuse: true, ..Needs::default() };
    let needs = Needs { loop_device: options.directory.is_none(), ..served };
    let Some(missing) = lacks(needs) else { return Ok(()) };
    match lacks(served) {
        None => bail!(
            "{missing}; or give an empty directory with --directory DIR, in which the disk is a file"
        ),
        Some(_) => Err(missing.into()),
    }
}

/// The media without links, when nothing keeps it from being attached so.
///
/// # Errors
/// One line: who asks may not, it is not there, is a model's, or attached already.
pub fn free_media(named: &Path, options: &AttachOptions) -> Result<PathBuf> {
    check_right(options)?;
    let media = place::resolved(named)?;
    if let Some(model) = marked(&media).filter(|_| options.model.is_none()) {
        bail!(
            "{} is the media of a model and would be served without its timing; use `assay models {model} --attach {}`",
            named.display(),
            shell_word(&named.to_string_lossy())
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
            let media = former.media.display();
            if former.is_ending() {
                bail!(
                    "the server of {media} (process {}) was killed and has not ended yet; check its media, and try again",
                    former.owner.unwrap_or_default()
                );
            }
            bail!("{media} is already attached, as {}", former.shown_as()?.display());
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
