//! Checks the conditions for attaching a drive or a model, and starts its server.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::attached;
use super::health::Health;
use super::job::{AttachOptions, Export};
use super::{place, registry};
use assay_base::text::shell_word;
use assay_ports::lacks::{Needs, lacks};
use assay_presets::marked;
use assay_system::ledger;

/// Starts a server for the drive or model on `media` that outlives this process. After an error
/// nothing is attached.
pub fn attach(media: &Path, options: &AttachOptions, export: &Export) -> Result<Health> {
    attached::start(&free_media(media, options, export)?, options, export)
}

/// Checks that this user may attach a disk. An error names the alternative.
pub fn check_right(options: &AttachOptions) -> Result<()> {
    let served = Needs { fuse: true, ..Needs::default() };
    let needs = Needs { loop_device: options.directory.is_none(), ..served };
    let Some(missing) = lacks(needs) else { return Ok(()) };
    match lacks(served) {
        None => bail!(
            "{missing}; or give an empty directory with --directory DIR, in which the disk is a \
             file"
        ),
        Some(_) => Err(missing.into()),
    }
}

/// The media without links, after checking that they can be attached: they exist, are not in use,
/// and are not a model's unless a model is attached.
pub fn free_media(named: &Path, options: &AttachOptions, export: &Export) -> Result<PathBuf> {
    check_right(options)?;
    let media = place::resolved(named)?;
    if let Some(model) = marked(&media).filter(|_| export.modelled().is_none()) {
        bail!(
            "{} is the media of a model and would be served without its timing; use `assay models \
             {model} --attach {}`",
            named.display(),
            shell_word(&named.to_string_lossy())
        );
    }
    make_way(&media)?;
    Ok(media)
}

/// Removes the remains of a dead server of this drive. Fails if a server lives.
fn make_way(media: &Path) -> Result<()> {
    ledger::sweep()?;
    if let Some(former) = registry::find_media(media)? {
        if !former.has_died()? {
            let media = former.media.display();
            if former.is_ending() {
                bail!(
                    "the server of {media} (process {}) was killed and has not ended yet; check \
                     its media, and try again",
                    former.owner.unwrap_or_default()
                );
            }
            bail!("{media} is already attached, as {}", former.shown_as()?.display());
        }
        former.clear()?;
        log::info!("removed what the former server of {} left", media.display());
    }
    // Remains of other media that had this name are not in the way; if removing them fails, `assay
    // clean` finds them.
    for former in registry::died_under_name(media)? {
        former.clear().unwrap_or_else(|error| log::warn!("{error:#}"));
    }
    Ok(())
}
