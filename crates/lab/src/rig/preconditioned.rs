//! Preconditioned devices: the media of a model that has been filled and overwritten until that
//! costs what it will go on to cost.
//!
//! Made once and kept in the cache, under a name that tells everything it was made from; each rig
//! gets a copy. A new device is faster than it will ever be again, so results on one would flatter
//! it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use assay_models::{Preconditioned, Preconditioning};
use assay_ports::copy;
use serde_json::json;

use assay_base::text::size;
use assay_plan::PlannedModel;
use assay_presets::{Device, WEAR_SEED};
use assay_serve::provide;
use assay_study::fingerprint;
use assay_system::cache::CacheLock;
use assay_system::cache_entry;

/// Changed when what wears a device in changes, so that what is kept is made anew.
const METHOD: u32 = 1;

/// The media, in their directory of the cache.
const MEDIA_FILE: &str = "media.img";

/// The preconditioned media of a model, in the cache.
#[derive(Debug)]
pub struct PreconditionedMedia {
    path: PathBuf,
}

impl PreconditionedMedia {
    /// Provides the media of a model, made now if the cache has none; `say` gets the progress.
    ///
    /// # Errors
    /// No room, or what the drive said; what is half made is removed.
    pub fn provide(model: &PlannedModel, say: &dyn Fn(&str)) -> Result<PreconditionedMedia> {
        let (preset, device) = (&model.preset, &model.device);
        let made_from = json!({
            "method": METHOD, "preset": preset.text,
            "scale": model.scale_of_one, "ratio": model.ratio,
            "logical": model.logical_bytes(), "filled": model.filled_bytes(), "seed": WEAR_SEED,
        });
        let shelf = CacheLock::open("preconditioned", || {
            say("waiting for another device to be preconditioned")
        })?;
        let name = format!("{}-{}", preset.name, fingerprint(&made_from.to_string()));
        let entry = shelf.entry(&name);
        if !is_whole(&entry, device) {
            clear(&shelf, &entry, say)?;
            let staging = shelf.stage()?;
            let made = staging.path().join("made");
            std::fs::create_dir(&made).context("cannot use the cache")?;
            make(model, &made.join(MEDIA_FILE), say)?;
            staging.publish("made", &entry)?;
            cache_entry::hold(&entry)?;
            drop_old(&shelf, say)?;
        }
        cache_entry::hold(&entry)?;
        Ok(PreconditionedMedia { path: entry.join(MEDIA_FILE) })
    }

    /// Says what to do where `error` is of `copy`, a copy of them: they are of the right size, and
    /// nothing else was looked at.
    #[must_use]
    pub fn explain(&self, error: anyhow::Error, copy: &Path) -> anyhow::Error {
        let entry = self.path.parent().unwrap_or(&self.path).display();
        let said = format!("{error:#}");
        match said.contains(&copy.display().to_string()) {
            true => anyhow!("{said}; it is a copy of {entry}; delete that to have it made again"),
            false => error,
        }
    }

    /// Copies them to the new file `target`, holes kept as holes.
    ///
    /// # Errors
    /// What `cp` said.
    pub fn copy_to(&self, target: &Path) -> Result<()> {
        copy::file(&self.path, target).context("cannot copy the preconditioned device")
    }
}

/// Returns true if the media are a file of the device's size.
fn is_whole(entry: &Path, device: &Device) -> bool {
    let file = entry.join(MEDIA_FILE).symlink_metadata();
    file.is_ok_and(|file| file.is_file() && file.len() == device.media_bytes())
}

/// Removes what lies where the entry should, whatever it is.
fn clear(shelf: &CacheLock, entry: &Path, say: &dyn Fn(&str)) -> Result<()> {
    if entry.symlink_metadata().is_ok() {
        cache_entry::clear(shelf, entry)?;
        say(&format!("{} was damaged; making it again", entry.display()));
    }
    Ok(())
}

/// Only where another one was made, so that what is kept stays bounded without anybody asking.
fn drop_old(shelf: &CacheLock, say: &dyn Fn(&str)) -> Result<()> {
    for one in cache_entry::drop_old_preconditioned(shelf)? {
        let name = one.path.file_name().unwrap_or_default().to_string_lossy();
        say(&format!(
            "dropped the preconditioned device {name} ({}) from the cache",
            size(one.bytes as f64)
        ));
    }
    Ok(())
}

fn make(model: &PlannedModel, path: &Path, say: &dyn Fn(&str)) -> Result<()> {
    provide(&model.device, path, model.logical)?;
    let plan = Preconditioning {
        bytes: model.filled_bytes(),
        stored_share: 1.0 / model.ratio,
        seed: WEAR_SEED,
        stands_in: false,
    };
    let mut told = 0;
    let preconditioned = assay_serve::precondition(&model.device, path, &plan, &mut |share| {
        let percent = (share * 100.0) as u32;
        if percent >= told + 10 {
            told = percent - percent % 10;
            say(&format!(
                "{}: preconditioning (overwritten until garbage collection is steady), {told} % \
                of the longest that may take",
                model.named
            ));
        }
    })?;
    if let Some(preconditioned) = preconditioned {
        tell(model, &preconditioned, say);
    }
    Ok(())
}

fn tell(model: &PlannedModel, preconditioned: &Preconditioned, say: &dyn Fn(&str)) {
    let settled = if preconditioned.is_steady { "settled" } else { "had not settled" };
    say(&format!(
        "{}: random overwrites have a write amplification of {:.2}, which {settled}; kept for \
        next time",
        model.named, preconditioned.write_amplification
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_presets::{Preset, Scale};

    #[test]
    fn only_a_file_of_the_devices_size_is_whole_and_anything_else_is_cleared() {
        let preset = Preset::find("gp3").unwrap();
        let device = Device::new(&preset, Scale { capacity: 4096.0, parallel: 1.0 }).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let shelf = CacheLock::open_at(directory.path().to_owned(), || {}).unwrap();
        let entry = shelf.entry("gp3");
        let media = entry.join(MEDIA_FILE);
        assert!(!is_whole(&entry, &device), "missing");
        std::fs::create_dir_all(&media).unwrap();
        assert!(!is_whole(&entry, &device), "a directory");
        clear(&shelf, &entry, &|_| ()).unwrap();
        std::fs::create_dir(&entry).unwrap();
        let file = std::fs::File::create(&media).unwrap();
        for (bytes, wanted) in [(0, true), (4096, false)] {
            file.set_len(device.media_bytes() + bytes).unwrap();
            assert_eq!(is_whole(&entry, &device), wanted, "{bytes} too many");
        }
        clear(&shelf, &entry, &|_| ()).unwrap();
        std::fs::write(&entry, "a file").unwrap();
        clear(&shelf, &entry, &|_| ()).unwrap();
        assert!(!entry.exists());
        clear(&shelf, &entry, &|_| ()).unwrap();
    }

    #[test]
    fn damage_of_a_copy_names_what_is_kept() {
        let preconditioned =
            PreconditionedMedia { path: "/cache/preconditioned/gp3-1/media.img".into() };
        let explain = |said: &'static str| {
            preconditioned.explain(anyhow!(said), Path::new("/rig/media.img")).to_string()
        };
        let wanted = "/rig/media.img: damaged; it is a copy of /cache/preconditioned/gp3-1; \
            delete that to have it made again";
        assert_eq!(explain("/rig/media.img: damaged"), wanted);
        assert_eq!(explain("no room"), "no room");
    }
}
