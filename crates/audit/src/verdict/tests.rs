//! Each reason alone makes a safe place unsafe or unknown, and only known facts keep it safe.

use super::*;
use crate::file_system::MountedFileSystem;
use crate::files::{ExaminedFile, Files};
use crate::kernel::Kernel;
use crate::layers::Limits;
use crate::pages::PageLayout;

const PAGE: u64 = 16 << 10;

fn nvme_layer() -> DeviceLayer {
    DeviceLayer {
        name: "nvme0n1".into(),
        kind: LayerKind::Nvme,
        limits: Some(Limits { request_bytes_max: 512 << 10, ..Limits::default() }),
    }
}

fn drive() -> Nvme {
    Nvme {
        model: "A DRIVE".into(),
        firmware: "1".into(),
        block_bytes: 4096,
        atomic_bytes: 64 << 10,
        is_of_namespace: true,
        boundary_offset_bytes: 0,
        boundary_bytes: 0,
        transfer_bytes_max: 0,
        has_volatile_cache: false,
    }
}

fn looked(count: u64, whole: u64, aligned: u64) -> ExaminedFile {
    ExaminedFile {
        encrypted: false,
        path: "/data/t.ibd".into(),
        kind: FileKind::Table,
        bytes: count * PAGE,
        device: 1,
        pages: Some(PageLayout { count, whole, aligned, split_below: 0 }),
        extents: 1,
        shared_bytes: 0,
    }
}

/// A place whose facts are all known and all good.
fn safe() -> AuditFindings {
    let file_system = MountedFileSystem {
        name: "ext4".into(),
        source: "/dev/nvme0n1".into(),
        target: "/data".into(),
        options: "rw".into(),
        block_bytes: 4096,
        manner: Manner::Ext { cluster_bytes: Some(PAGE), journals_data: false },
    };
    let stack = StorageStack {
        file_system,
        layers: vec![nvme_layer()],
        drives: vec![("nvme0n1".into(), drive())],
        refused: Vec::new(),
        files: Vec::new(),
    };
    AuditFindings {
        kernel: Kernel::of("6.18"),
        directory: "/data".into(),
        page_bytes: PAGE,
        is_direct: Some(true),
        server: None,
        files: Files { looked: vec![looked(100, 100, 100)], refused: Vec::new() },
        stacks: vec![stack],
    }
}

fn with(change: impl FnOnce(&mut AuditFindings)) -> AuditVerdict {
    let mut findings = safe();
    change(&mut findings);
    judge(&findings)
}

fn add(kind: LayerKind, limits: Limits) -> AuditVerdict {
    let layer = DeviceLayer { name: "above".into(), kind, limits: Some(limits) };
    with(|findings| findings.stacks[0].layers.insert(0, layer))
}

#[test]
fn a_place_of_which_all_is_known_and_good_is_safe() {
    let verdict = with(|_| {});
    assert_eq!(verdict.class, SafetyClass::SafeByLayout);
    let drive = VerdictReason::DriveKeeps { device: "nvme0n1".into(), bytes: 64 << 10 };
    assert_eq!(verdict.reasons, [VerdictReason::AllWhole { pages: 100 }, drive]);
    assert_eq!(verdict.kept_by, [Keeper::Clusters { bytes: PAGE }]);
    assert_eq!(verdict.changes, []);
    assert!(
        verdict.class.is_safe()
            && !SafetyClass::Unknown.is_safe()
            && !SafetyClass::SafeNow.is_safe()
    );
}

#[test]
fn whatever_takes_a_page_apart_is_unsafe_and_stands_first() {
    let is_unsafe = |verdict: AuditVerdict, reason: VerdictReason| {
        assert_eq!((verdict.class, verdict.reasons.first()), (SafetyClass::Unsafe, Some(&reason)));
    };
    is_unsafe(with(|findings| findings.is_direct = Some(false)), VerdictReason::Buffered);
    let split = with(|findings| findings.files.looked.push(looked(50, 47, 47)));
    is_unsafe(split, VerdictReason::Split { pages: 3, of: 150, files: 1 });
    let journal = Manner::Ext { cluster_bytes: Some(PAGE), journals_data: true };
    is_unsafe(
        with(|findings| findings.stacks[0].file_system.manner = journal),
        VerdictReason::JournalledData,
    );
    let raid = |level: &str, chunk_bytes| LayerKind::Raid { level: level.into(), chunk_bytes };
    let parity = VerdictReason::StripesParity { device: "above".into(), level: "raid5".into() };
    is_unsafe(add(raid("raid5", 512 << 10), Limits::default()), parity);
    let apart = |bytes| VerdictReason::TakesApart { device: "above".into(), bytes };
    is_unsafe(add(raid("raid0", 4 << 10), Limits::default()), apart(4 << 10));
    let chunks = Limits { chunk_bytes: 24 << 10, ..Limits::default() };
    is_unsafe(add(LayerKind::Partition { start_bytes: 0 }, chunks), apart(24 << 10));
    let short = Limits { request_bytes_max: 8 << 10, ..Limits::default() };
    is_unsafe(add(LayerKind::Partition { start_bytes: 0 }, short), apart(8 << 10));
    let small = with(|findings| findings.stacks[0].drives[0].1.atomic_bytes = 4096);
    is_unsafe(small, VerdictReason::DriveTears { device: "nvme0n1".into(), bytes: 4096 });
    let offset = with(|findings| findings.stacks[0].drives[0].1.boundary_offset_bytes = 4096);
    is_unsafe(offset, VerdictReason::DriveTears { device: "nvme0n1".into(), bytes: 4096 });
    let misaligned = with(|findings| {
        findings.stacks[0].drives[0].1.boundary_bytes = 32 << 10;
        findings.files.looked[0] = looked(100, 100, 60);
    });
    let device = "nvme0n1".to_owned();
    is_unsafe(misaligned, VerdictReason::Misaligned { pages: 40, of: 100, device });
}

#[test]
fn pages_that_may_lie_across_two_chunks_are_not_safe() {
    let kind = LayerKind::Raid { level: "raid0".into(), chunk_bytes: 64 << 10 };
    let mut findings = safe();
    findings.files.looked[0] = looked(100, 100, 90);
    assert_eq!(judge(&findings).class, SafetyClass::SafeByLayout, "the drive has no boundary");
    let limits = Some(Limits::default());
    findings.stacks[0].layers.insert(0, DeviceLayer { name: "md0".into(), kind, limits });
    let misaligned = VerdictReason::Misaligned { pages: 10, of: 100, device: "md0".into() };
    assert_eq!(judge(&findings).reasons[0], misaligned);
}

#[test]
fn what_passes_pages_on_takes_no_safety_away() {
    for (level, chunk) in [("raid1", 0), ("raid10", 512 << 10), ("raid0", 64 << 10)] {
        let kind = LayerKind::Raid { level: level.into(), chunk_bytes: chunk };
        assert_eq!(add(kind, Limits::default()).class, SafetyClass::SafeByLayout, "{level}");
    }
    let aligned = with(|findings| findings.stacks[0].drives[0].1.boundary_bytes = 32 << 10);
    assert_eq!(aligned.class, SafetyClass::SafeByLayout);
}

#[test]
fn what_is_not_known_is_never_safe() {
    let unknown = |verdict: AuditVerdict, reason: VerdictReason| {
        assert_eq!((verdict.class, verdict.reasons.first()), (SafetyClass::Unknown, Some(&reason)));
    };
    let above = || "above".to_owned();
    unknown(with(|findings| findings.is_direct = None), VerdictReason::FlushMethodUnknown);
    let mapper = LayerKind::Mapper { made_by: "LVM".into() };
    unknown(add(mapper, Limits::default()), VerdictReason::DeviceUnknown { device: above() });
    unknown(
        add(LayerKind::Other, Limits::default()),
        VerdictReason::DeviceUnknown { device: above() },
    );
    for kind in [LayerKind::Virtual, LayerKind::Network, LayerKind::Memory, LayerKind::Scsi] {
        unknown(add(kind, Limits::default()), VerdictReason::DriveSilent { device: above() });
    }
    let unasked = with(|findings| {
        findings.stacks[0].drives.clear();
        findings.stacks[0].refused.push(("nvme0n1".into(), "not permitted".into()));
    });
    let answer = "not permitted".to_owned();
    unknown(unasked, VerdictReason::DriveUnasked { device: "nvme0n1".into(), answer });
    for manner in [
        Manner::CopyOnWrite { is_off: false },
        Manner::Memory,
        Manner::Remote,
        Manner::Stacked,
        Manner::Unknown,
    ] {
        let name = "ext4".to_owned();
        unknown(
            with(|findings| findings.stacks[0].file_system.manner = manner),
            VerdictReason::FileSystemUnknown { name },
        );
    }
    let refused = ("/data/x.ibd".into(), "denied".into());
    unknown(
        with(|findings| findings.files.refused.push(refused)),
        VerdictReason::FilesUnseen { files: 1 },
    );
    let source = with(|findings| findings.stacks[0].layers.clear());
    unknown(source, VerdictReason::DeviceUnknown { device: "/dev/nvme0n1".into() });
    let empty = with(|findings| findings.files.looked.clear());
    unknown(empty, VerdictReason::FilesUnseen { files: 0 });
}

#[test]
fn a_layout_that_nothing_keeps_is_safe_now_and_no_more() {
    let now = |change: LayoutChange, findings: AuditVerdict| {
        assert_eq!((findings.class, findings.changes), (SafetyClass::SafeNow, vec![change]));
    };
    let manner = |manner| with(|findings| findings.stacks[0].file_system.manner = manner);
    let ext = |cluster_bytes| Manner::Ext { cluster_bytes, journals_data: false };
    let added = || LayoutChange::NewPages { file_system: "ext4".into() };
    now(added(), manner(ext(Some(4096))));
    now(added(), manner(ext(Some(24 << 10))));
    now(added(), manner(ext(None)));
    now(added(), manner(Manner::Xfs { extent_bytes: None }));
    let hint = LayoutChange::Hint { bytes: PAGE, split: 0, of: 100 };
    now(hint, manner(Manner::Xfs { extent_bytes: Some(PAGE as u32) }));
    let shared = with(|findings| findings.files.looked[0].shared_bytes = PAGE);
    now(LayoutChange::SharedFiles { bytes: PAGE }, shared);
}

/// A loop device over a fully allocated file, on ext4 without clusters.
fn looped(change: impl FnOnce(&mut DeviceLayer, &mut Backing)) -> AuditVerdict {
    let mut below = safe().stacks.remove(0);
    below.file_system.manner = Manner::Ext { cluster_bytes: Some(4096), journals_data: false };
    let pages = PageLayout { count: 10, whole: 10, aligned: 10, split_below: 0 };
    let mut backing = Backing {
        file: "/x".into(),
        served: None,
        pages: Some(pages),
        hole_bytes: 0,
        shared_bytes: 0,
        below: Some(Box::new(below)),
    };
    let mut layer = DeviceLayer {
        name: "loop0".into(),
        kind: LayerKind::Loop { file: "/x".into(), is_direct: true },
        limits: Some(Limits::default()),
    };
    change(&mut layer, &mut backing);
    with(|findings| {
        findings.stacks[0].layers = vec![layer];
        findings.stacks[0].files = vec![backing];
    })
}

#[test]
fn an_image_file_keeps_pages_if_it_is_allocated_and_loses_nothing_to_discards() {
    let device = || "loop0".to_owned();
    let whole = looped(|_, _| {});
    assert_eq!(whole.class, SafetyClass::SafeByLayout, "{whole:?}");
    let kept = [Keeper::Clusters { bytes: PAGE }, Keeper::AllocatedImage { device: device() }];
    assert_eq!(whole.kept_by, kept);
    let now = |change: LayoutChange, findings: AuditVerdict| {
        assert_eq!((findings.class, findings.changes), (SafetyClass::SafeNow, vec![change]));
    };
    let holes = looped(|_, backing| backing.hole_bytes = 4096);
    now(LayoutChange::Holes { device: device(), bytes: 4096 }, holes);
    let shared = looped(|_, backing| backing.shared_bytes = 4096);
    now(LayoutChange::SharedImage { device: device(), bytes: 4096 }, shared);
    let discards =
        |layer: &mut DeviceLayer| layer.limits.as_mut().unwrap().discard_bytes_max = 4096;
    now(LayoutChange::Discards { device: device() }, looped(|layer, _| discards(layer)));
    now(LayoutChange::Discards { device: device() }, looped(|layer, _| layer.limits = None));
    let places = looped(|_, backing| backing.pages.as_mut().unwrap().whole = 8);
    now(LayoutChange::SplitPlaces { device: device(), places: 2, of: 10 }, places);
    let btrfs = looped(|_, backing| {
        let file_system = &mut backing.below.as_mut().unwrap().file_system;
        file_system.name = "btrfs".into();
        file_system.manner = Manner::CopyOnWrite { is_off: false };
    });
    let file_system = "btrfs".to_owned();
    assert_eq!(btrfs.class, SafetyClass::Unknown);
    assert_eq!(btrfs.changes, [LayoutChange::CopyOnWrite { device: device(), file_system }]);
    // Clusters below preserve the layout in any case.
    let clustered = looped(|layer, backing| {
        discards(layer);
        backing.hole_bytes = 4096;
        let manner = Manner::Ext { cluster_bytes: Some(PAGE), journals_data: false };
        backing.below.as_mut().unwrap().file_system.manner = manner;
    });
    assert_eq!(clustered.class, SafetyClass::SafeByLayout, "{clustered:?}");
}

#[test]
fn a_file_as_a_device_is_judged_by_what_lies_below_it() {
    let looped = |is_direct: bool, served: Option<Served>| {
        looped(|layer, backing| {
            layer.kind = LayerKind::Loop { file: "/x".into(), is_direct };
            backing.served = served;
        })
    };
    let buffered = looped(false, None);
    assert_eq!(buffered.reasons[0], VerdictReason::BufferedFile { device: "loop0".into() });
    assert_eq!(buffered.class, SafetyClass::Unsafe);
    let served =
        |kind, atomic_bytes| looped(true, Some(Served { kind, media: "/m".into(), atomic_bytes }));
    let own = served(ServedKind::Drive, Some(256 << 10));
    assert!(own.reasons.contains(&VerdictReason::OwnDrive { bytes: 256 << 10 }), "{own:?}");
    assert_eq!(own.class, SafetyClass::SafeByLayout);
    let model = || ServedKind::Model("a".into());
    assert_eq!(served(model(), Some(16 << 10)).class, SafetyClass::SafeByLayout);
    for (kind, atomic_bytes, class) in [
        (ServedKind::Drive, Some(4096), SafetyClass::Unsafe),
        (ServedKind::Drive, None, SafetyClass::Unknown),
        (model(), Some(4096), SafetyClass::Unsafe),
        (ServedKind::Plain, Some(4096), SafetyClass::Unknown),
    ] {
        assert_eq!(served(kind, atomic_bytes).class, class);
    }
}

#[test]
fn pages_that_an_image_file_splits_are_unsafe_wherever_the_file_lies() {
    let mut findings = safe();
    let mut below = safe().stacks.remove(0);
    below.file_system.manner = Manner::Ext { cluster_bytes: Some(4096), journals_data: false };
    let image = |pages: PageLayout, below: StorageStack| Backing {
        file: "/x".into(),
        served: None,
        pages: Some(pages),
        hole_bytes: 0,
        shared_bytes: 0,
        below: Some(Box::new(below)),
    };
    let layer = |name: &str| DeviceLayer {
        name: name.into(),
        kind: LayerKind::Loop { file: "/x".into(), is_direct: true },
        limits: Some(Limits::default()),
    };
    let whole = PageLayout { count: 10, whole: 10, aligned: 10, split_below: 0 };
    findings.stacks[0].layers = vec![layer("loop0")];
    findings.stacks[0].files = vec![image(whole, below.clone())];
    findings.files.looked[0].pages = Some(PageLayout { split_below: 3, ..whole });
    let found = judge(&findings);
    let split =
        |device: &str, pages, of| VerdictReason::SplitBelow { device: device.into(), pages, of };
    assert_eq!((found.class, &found.reasons[0]), (SafetyClass::Unsafe, &split("loop0", 3, 10)));
    // Two files deep, each split place counts: its pages are not traced.
    findings.files.looked[0].pages = Some(whole);
    below.layers = vec![layer("loop1")];
    below.files = vec![image(PageLayout { whole: 8, ..whole }, safe().stacks.remove(0))];
    findings.stacks[0].files = vec![image(whole, below)];
    let found = judge(&findings);
    assert_eq!((found.class, &found.reasons[0]), (SafetyClass::Unsafe, &split("loop1", 2, 10)));
}
