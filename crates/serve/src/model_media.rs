//! Makes the file of a model's media, or checks an existing one.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use assay_ports::media::{Allocation, FileMedia};

use super::look::look_at;
use super::make::NewDrive;
use assay_base::Size;
use assay_base::text::size;
use assay_presets::CompressionUnit;
use assay_presets::{Device, Nand};
use assay_system::free_bytes;

/// Makes the sparse media file `path` for `device`, unless it exists with such contents. `logical`
/// is the host's size of a device that compresses. After an error nothing has changed.
pub fn provide(device: &Device, path: &Path, logical: Option<Size>) -> Result<()> {
    let is_new = !path.exists();
    make_or_check(device, path, logical)?;
    if is_new {
        warn_of_little_room(device, path);
    }
    Ok(())
}

/// A device of terabytes fits a small disk until the written data no longer do.
fn warn_of_little_room(device: &Device, path: &Path) {
    let bytes = device.nand().map_or(device.user_bytes(), |nand| nand.raw_bytes);
    let Ok(free) = free_bytes(path) else { return };
    if bytes > free {
        log::warn!(
            "{} may grow to {}, and only {} are free there: when they run out, writes fail; \
             --capacity-scale makes it smaller",
            path.display(),
            size(bytes as f64),
            size(free as f64)
        );
    }
}

fn make_or_check(device: &Device, path: &Path, logical: Option<Size>) -> Result<()> {
    match device.nand() {
        Some(nand) if path.exists() => check_flash(nand, path, logical),
        Some(nand) => make_flash(nand, path, logical),
        None => {
            let bytes = device.user_bytes();
            let shown = logical.is_none_or(|logical| logical.0 == bytes);
            ensure!(
                shown,
                "only a device that compresses has a separate logical size; omit --logical"
            );
            provide_plain(path, bytes)
        }
    }
}

fn make_flash(nand: &Nand, path: &Path, logical: Option<Size>) -> Result<()> {
    let larger = logical.filter(|logical| logical.0 > nand.user_bytes);
    if let Some(logical) = larger {
        ensure!(
            nand.compresses(),
            "a device that does not compress cannot have a logical size of {logical}; use \
             --logical {} or less",
            nand.user_bytes
        );
    }
    let drive = NewDrive {
        logical: Some(logical.unwrap_or(Size(nand.user_bytes))),
        codec: nand.codec,
        unit: CompressionUnit::Block,
        dictionary: false,
        segment_bytes: None,
    };
    drive.in_file(path, Size(nand.raw_bytes), Allocation::Sparse)?;
    Ok(())
}

fn check_flash(nand: &Nand, path: &Path, logical: Option<Size>) -> Result<()> {
    let status = look_at(path)?.status;
    let name = path.display();
    let wanted = (nand.raw_bytes, nand.codec.name());
    let found = (status.capacity_bytes, status.codec);
    if wanted != found {
        bail!(
            "{name} is a drive of {} with codec {}, but this model has {} with codec {}; give \
             another file",
            size(found.0 as f64),
            found.1,
            size(wanted.0 as f64),
            wanted.1
        );
    }
    let wanted = logical.map_or(status.logical_bytes, |logical| logical.0);
    ensure!(
        wanted == status.logical_bytes,
        "{name} has a logical size of {}, not {wanted}; omit --logical, or give another file",
        status.logical_bytes
    );
    Ok(())
}

/// The same for a device that stores blocks in place.
fn provide_plain(path: &Path, bytes: u64) -> Result<()> {
    if !path.exists() {
        FileMedia::create(path, bytes, Allocation::Sparse)?;
        return Ok(());
    }
    let there = path.metadata().with_context(|| path.display().to_string())?.len();
    ensure!(
        there == bytes,
        "{} has {there} bytes, but this model needs {bytes}; give another file",
        path.display()
    );
    Ok(())
}
