//! Guarantees and worth of a configuration's disk, from the plan and the machine, as the study
//! stores them.

use std::path::Path;

use assay_ports::filesystem;

use super::machine;
use assay_models::PAGE_BYTES;

use assay_base::Size;
use assay_plan::{DiskBase, FileSystemKind, PlannedFileSystem, PlannedModel, PlannedRig};
use assay_presets::{CacheName, Preset};
use assay_study::{Atomic, CacheDurability, DiskRecord, InEffect, Media, Worth};

/// The largest write that the software drive makes whole or not at all (`docs/on-media.md`).
const DRIVE_ATOMIC_BYTES: u64 = 256 << 10;

/// The disk of a rig on these `media` in `location`.
#[must_use]
pub fn disk(rig: &PlannedRig, media: Media, location: &Path) -> DiskRecord {
    let of_model = rig.model().map(of_model).unwrap_or_default();
    DiskRecord {
        media,
        atomic_write_bytes: atomic(rig),
        keeps_pages_together: rig
            .disk()
            .is_some_and(|disk| keeps_pages_together(&disk.file_system)),
        kernel_cache: kernel_cache(rig, location),
        mount_options: mount_options(rig, location),
        ..of_model
    }
}

/// Puts what was read back from the mounted file system in the place of what was asked for.
pub(crate) fn as_in_effect(disk: &mut DiskRecord, in_effect: &InEffect) {
    if !in_effect.mount_options.is_empty() {
        disk.mount_options.clone_from(&in_effect.mount_options);
    }
    // `dumpe2fs` tells it of ext4 with bigalloc alone.
    let cluster = in_effect.made.get("Cluster size").and_then(|text| Size::parse(text).ok());
    if in_effect.made.contains_key("Filesystem features") {
        disk.keeps_pages_together = cluster.is_some_and(|size| size.0 >= PAGE_BYTES);
    }
}

/// The largest write that the disk makes whole or not at all, and who guarantees it; `None` if
/// nobody does, or if it tears on purpose.
fn atomic(rig: &PlannedRig) -> Option<Atomic> {
    match &rig.disk()?.base {
        DiskBase::Drive(_) => Some(Atomic { bytes: DRIVE_ATOMIC_BYTES, by_format: true }),
        DiskBase::Model(model) => {
            let document = &model.preset.document;
            let bytes = document.guarantees.atomic_write_bytes.as_ref()?.value;
            let tears = document.fault.tears.as_ref().is_some_and(|tears| tears.value);
            (!tears).then_some(Atomic { bytes, by_format: false })
        }
        DiskBase::Image { .. } | DiskBase::Device(_) | DiskBase::Pool(..) => None,
    }
}

/// The disk of a preset, for whole devices.
fn of_model(model: &PlannedModel) -> DiskRecord {
    let behind = behind(&model.preset);
    let document = &behind.document;
    let capacity = document.capacity.as_ref();
    let worth = document.worth.iter().map(|(name, figure)| {
        let mark = figure.mark.name().to_owned();
        (name.clone(), Worth { value: figure.value, mark, source: figure.source.clone() })
    });
    DiskRecord {
        cache: cache(&behind),
        user_bytes: capacity
            .map(|capacity| capacity.user_bytes.value as f64 * f64::from(model.devices)),
        raw_per_user: capacity.and_then(|capacity| Some(capacity.raw_per_user.as_ref()?.value)),
        worth: worth.collect(),
        ..DiskRecord::default()
    }
}

/// The device that stores: behind a network the one there, of a mirror a side, with what the mirror
/// says of its own worth.
fn behind(preset: &Preset) -> Preset {
    if let Some(mirror) = &preset.document.mirror
        && let Ok(mut side) = Preset::find(&mirror.over.value)
    {
        side.document.worth.extend(preset.document.worth.clone());
        return side;
    }
    let over = preset.document.network.as_ref().and_then(|network| {
        let over = Preset::find(&network.over.value).ok()?;
        Some(behind(&over))
    });
    over.unwrap_or_else(|| preset.clone())
}

fn cache(preset: &Preset) -> Option<CacheDurability> {
    let document = &preset.document;
    let of_host = document.host.as_ref().map(|host| host.cache.value);
    let named = of_host.or_else(|| document.array.as_ref().map(|array| array.cache.value))?;
    Some(match named {
        CacheName::Volatile => CacheDurability::Volatile,
        CacheName::Protected => CacheDurability::Protected,
        CacheName::Writethrough => CacheDurability::Writethrough,
    })
}

/// Returns true if the file system keeps every page in one piece, later ones included, so that a
/// page arrives as one write: ext4 with clusters of a page or more (`mkfs.ext4(8)`, `-O bigalloc
/// -C`). An extent size hint of XFS keeps nothing, see `assay_audit::verdict`.
fn keeps_pages_together(file_system: &PlannedFileSystem) -> bool {
    let options = &file_system.mkfs_options;
    match file_system.kind {
        FileSystemKind::Ext4 => {
            let features = options.iter().flat_map(|option| option.split([',', ' ']));
            let has_clusters = features
                .map(|feature| feature.trim_start_matches("-O"))
                .any(|feature| feature == "bigalloc");
            // 16 blocks, 64 KiB of the usual ones, where nothing is said.
            has_clusters && cluster_bytes(options).is_none_or(|bytes| bytes >= PAGE_BYTES)
        }
        FileSystemKind::Btrfs | FileSystemKind::Xfs => false,
    }
}

/// Value of `-C`, joined to it or after it.
fn cluster_bytes(options: &[String]) -> Option<u64> {
    let at = options.iter().position(|option| option.starts_with("-C"))?;
    let together = options[at].trim_start_matches("-C");
    let value = if together.is_empty() { options.get(at + 1)? } else { together };
    Size::parse(value).ok().map(|size| size.0)
}

/// The write cache of the device at the bottom, as the kernel knows it; `None` for a model and for
/// somebody's pool.
fn kernel_cache(rig: &PlannedRig, location: &Path) -> Option<String> {
    // The stores of a private cluster lie on a device of this machine.
    let is_elsewhere = rig.pool().is_some_and(|pool| pool.private().is_none());
    if is_elsewhere || rig.model().is_some() {
        return None;
    }
    machine::write_cache(rig.device().unwrap_or(location))
}

fn mount_options(rig: &PlannedRig, location: &Path) -> Vec<String> {
    if let Some(disk) = rig.disk() {
        return disk.file_system.mount_options.clone();
    }
    let mount = filesystem::mount_of(location).ok().flatten();
    mount.map_or_else(Vec::new, |mount| mount.options.split(',').map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::planned_rig as rig;

    #[test]
    fn a_model_is_kept_with_what_its_preset_says_of_the_whole_device() {
        let model = |preset: &str| {
            let model = format!(
                "kind = \"model\"\nmodel = {{ preset = \"{preset}\", capacity_scale = 800, \
                parallel_scale = 36 }}"
            );
            disk(&rig(&model), Media::default(), Path::new("/"))
        };
        let p4610 = model("p4610-3.2");
        assert_eq!(p4610.cache, Some(CacheDurability::Protected));
        assert_eq!(p4610.user_bytes, Some(3.2e12));
        assert_eq!(p4610.worth["endurance_bytes"].value, 17.52e15);
        assert_eq!(p4610.worth["endurance_bytes"].mark, "computed");
        assert!(p4610.atomic_write_bytes.is_none_or(|atomic| atomic.bytes < PAGE_BYTES));
        let csd = model("csd2000-3.2");
        assert_eq!(
            csd.atomic_write_bytes,
            Some(Atomic { bytes: 256 << 10, by_format: false }),
            "its makers say so"
        );
        assert_eq!(model("gp3").cache, None, "a volume tells of none");
        let remote = model("nvme-tcp-rf2");
        assert!(remote.cache.is_some() && remote.user_bytes.is_some(), "of what lies behind");
    }

    #[test]
    fn a_drive_keeps_pages_by_its_format_and_a_plain_disk_tells_of_nothing() {
        let told = |text: &str| disk(&rig(text), Media::default(), Path::new("/"));
        let drive = told("kind = \"drive\"\ncapacity = \"1G\"");
        assert!(drive.atomic_write_bytes.is_some_and(|atomic| atomic.by_format));
        assert_eq!(drive.cache, None, "its flushes go to a device that alone knows");
        let plain = told("kind = \"image\"\nsize = \"1G\"\nmount_options = [\"nobarrier\"]");
        assert_eq!(
            (plain.atomic_write_bytes, plain.mount_options),
            (None, vec!["nobarrier".into()])
        );
        let directory = told("kind = \"directory\"");
        assert!(!directory.mount_options.is_empty(), "as the kernel tells of /");
    }

    #[test]
    fn what_was_read_back_goes_before_what_was_asked_for() {
        let text = "kind = \"image\"\nsize = \"1G\"\nmount_options = \
            [\"nobarrier\"]\nmkfs_options = [\"-O\", \"bigalloc\"]";
        let asked = disk(&rig(text), Media::default(), Path::new("/"));
        assert!(asked.keeps_pages_together && asked.mount_options == ["nobarrier"]);
        let made = |pairs: &[(&str, &str)]| -> DiskRecord {
            let made = pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
            let mount_options = vec!["barrier".into()];
            let mut disk = asked.clone();
            as_in_effect(&mut disk, &InEffect { mount_options, made, ..InEffect::default() });
            disk
        };
        let features = ("Filesystem features", "extent");
        let plain = made(&[features]);
        assert!(!plain.keeps_pages_together && plain.mount_options == ["barrier"]);
        assert!(!made(&[features, ("Cluster size", "8192")]).keeps_pages_together);
        assert!(made(&[features, ("Cluster size", "16384")]).keeps_pages_together);
        let mut same = asked.clone();
        as_in_effect(&mut same, &InEffect::default());
        assert_eq!(same, asked, "nothing was read back");
    }

    #[test]
    fn pages_stay_together_where_the_file_system_gives_them_room_in_one_piece() {
        let keeps = |file_system: FileSystemKind, mkfs: &str, extsize: Option<u64>| {
            keeps_pages_together(&PlannedFileSystem {
                kind: file_system,
                mkfs_options: mkfs.split_whitespace().map(str::to_owned).collect(),
                mount_options: Vec::new(),
                extsize: extsize.map(Size),
            })
        };
        for (mkfs, does) in [
            ("-O bigalloc -C 16384", true),
            ("-O bigalloc -C16k", true),
            ("-O bigalloc -C 65536", true),
            ("-O bigalloc", true),
            ("-O bigalloc -C 8192", false),
            ("-C 16384", false),
            ("-O ^bigalloc", false),
            ("-Obigalloc,quota", true),
            ("", false),
        ] {
            assert_eq!(keeps(FileSystemKind::Ext4, mkfs, None), does, "{mkfs}");
        }
        assert!(!keeps(FileSystemKind::Xfs, "", Some(16 << 10)), "a hint");
        assert!(!keeps(FileSystemKind::Xfs, "", None));
        assert!(!keeps(FileSystemKind::Btrfs, "", None));
    }
}
