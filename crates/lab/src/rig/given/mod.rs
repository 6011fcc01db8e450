//! The effective options of a rig, read back from the kernel and the file system once it is
//! mounted.
//!
//! Guarantees: only reads. What cannot be read is left out and not called different.

mod mkfs;
mod mount;
mod pool;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use assay_base::Size;
use assay_plan::{PlannedDisk, PlannedFileSystem};
use assay_ports::{blockdev, extents, filesystem, made};
use assay_study::{Asked, Differing, InEffect};

/// The device below a rig's file system.
#[derive(Debug, Clone, Default)]
pub(super) struct Ground {
    /// The device that it is made on; none of a directory.
    pub(super) device: Option<PathBuf>,
    /// Whether its loop device bypasses the page cache, if the rig is an image.
    pub(super) is_direct: Option<bool>,
}

/// Effective options of a rig whose data go into `data_dir`, on a file system that is mounted on or
/// above `directory`.
pub(super) fn in_effect(
    disk: Option<&PlannedDisk>,
    (ground, pool): (&Ground, BTreeMap<String, String>),
    directory: &Path,
    data_dir: &Path,
) -> InEffect {
    let (Some(device), Some(disk)) = (&ground.device, disk) else {
        return of_directory(directory);
    };
    let asked = &disk.file_system;
    let kind = asked.kind;
    let (mount_options, has_defaults) = mount_options(device, directory);
    let made = made::facts(kind.name(), device, directory).unwrap_or_else(|error| {
        log::debug!("how {} was made is not known: {error}", kind.name());
        made::FileSystemFacts::new()
    });
    let mut differing = Vec::new();
    if !mount_options.is_empty() {
        let told = mount::Told { kind, options: &mount_options, has_defaults };
        differing.extend(mount::differing(&asked.mount_options, &told));
    }
    differing.extend(discards(asked, device));
    let mount_options = as_if_unasked(mount_options, &differing, has_defaults);
    differing.extend(mkfs::differing(kind, &asked.mkfs_options, &made));
    let is_direct = ground.is_direct != Some(false);
    differing.extend((!is_direct).then(|| Differing::new(Asked::DirectIo, "direct", None)));
    let extsize_bytes = extsize(data_dir).or_else(|| extsize(directory));
    differing.extend(asked.extsize.and_then(|asked| hint(asked, extsize_bytes)));
    differing.extend(disk.pool().into_iter().flat_map(|asked| pool::differing(asked, &pool)));
    InEffect { mount_options, made, extsize_bytes, pool, differing }
}

/// Nothing is asked of a file system that was there.
fn of_directory(directory: &Path) -> InEffect {
    let mount = filesystem::mount_of(directory).ok().flatten();
    let options = mount.map_or_else(Vec::new, |mount| sorted(&mount.options, ','));
    InEffect { mount_options: options, ..InEffect::default() }
}

/// All that the kernel tells, and whether it tells what is the default too, as of ext4
/// (`/proc/fs/ext4/DEVICE/options`).
fn mount_options(device: &Path, mount: &Path) -> (Vec<String>, bool) {
    let Ok(Some(told)) = filesystem::mount_of(mount) else { return (Vec::new(), false) };
    let resolved = device.canonicalize().unwrap_or_else(|_| device.to_owned());
    let name = resolved.file_name().unwrap_or_default();
    let all = std::fs::read_to_string(Path::new("/proc/fs/ext4").join(name).join("options"));
    let all = all.ok().filter(|_| told.file_system == "ext4");
    let has_defaults = all.is_some();
    let text = format!("{},{}", told.options, all.unwrap_or_default().replace('\n', ","));
    (sorted(&text, ','), has_defaults)
}

fn sorted(text: &str, between: char) -> Vec<String> {
    let mut all: Vec<String> = text.split(between).map(str::to_owned).collect();
    all.retain(|one| !one.is_empty());
    all.sort_unstable();
    all.dedup();
    all
}

/// File systems take `discard` for any device, and send none to one that takes none
/// (`queue/discard_max_bytes`, `Documentation/ABI/stable/sysfs-block`).
fn discards(asked: &PlannedFileSystem, device: &Path) -> Option<Differing> {
    let words = || asked.mount_options.iter().flat_map(|option| option.split(','));
    let asked = words().find(|option| *option == "discard" || option.starts_with("discard="))?;
    let takes_none = blockdev::discard_max_bytes(device) == Some(0);
    takes_none.then(|| Differing::new(Asked::Discards, asked, None))
}

/// Reported options without those that the device does not allow, as if they had not been asked
/// for: `discard` stays among the options, and XFS reports `dax=never` only if DAX was asked for.
fn as_if_unasked(told: Vec<String>, differing: &[Differing], has_defaults: bool) -> Vec<String> {
    let has_no_discards = differing.iter().any(|one| one.what == Asked::Discards);
    let has_no_dax = differing.iter().any(|one| one.effective.as_deref() == Some("dax=never"));
    let is_without_effect = |option: &String| {
        let is_discard = option == "discard" || option.starts_with("discard=");
        (has_no_discards && is_discard) || (has_no_dax && option == "dax=never")
    };
    let kept = told.into_iter().filter(|option| !is_without_effect(option));
    let instead = (has_no_discards && has_defaults).then(|| "nodiscard".to_owned());
    let mut all: Vec<String> = kept.chain(instead).collect();
    all.sort_unstable();
    all
}

fn extsize(directory: &Path) -> Option<u64> {
    extents::extent_size_hint(&File::open(directory).ok()?).ok()?.map(u64::from)
}

fn hint(asked: Size, effective: Option<u64>) -> Option<Differing> {
    let told = effective.map(|bytes| Size(bytes).to_string());
    (effective != Some(asked.0))
        .then(|| Differing::new(Asked::ExtentSizeHint, asked.to_string(), told))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_that_files_do_not_get_is_told() {
        assert_eq!(hint(Size(16 << 10), Some(16 << 10)), None);
        let none = hint(Size(16 << 10), None).unwrap();
        assert_eq!((none.asked.as_str(), none.effective), ("16K", None));
        let other = hint(Size(16 << 10), Some(4096)).unwrap();
        assert_eq!(other.effective.as_deref(), Some("4K"));
    }

    #[test]
    fn options_that_the_device_does_not_allow_are_as_if_nobody_had_asked() {
        let told = |all: &str| -> Vec<String> { all.split(' ').map(str::to_owned).collect() };
        let dax = Differing::new(Asked::MountOption, "dax=always", Some("dax=never".into()));
        let discard = Differing::new(Asked::Discards, "discard", None);
        let xfs = || told("dax=never inode64 rw");
        assert_eq!(as_if_unasked(xfs(), &[dax], false), told("inode64 rw"));
        assert_eq!(as_if_unasked(xfs(), &[], false), xfs(), "asked for and given");
        let ext4 = || told("discard rw");
        assert_eq!(as_if_unasked(ext4(), &[discard], true), told("nodiscard rw"));
        assert_eq!(as_if_unasked(ext4(), &[], true), ext4());
    }

    #[test]
    fn of_a_directory_is_told_what_the_kernel_tells() {
        let found = in_effect(
            None,
            (&Ground::default(), BTreeMap::new()),
            Path::new("/"),
            Path::new("/nonexistent"),
        );
        assert!(!found.mount_options.is_empty() && found.differing.is_empty(), "{found:?}");
    }
}
