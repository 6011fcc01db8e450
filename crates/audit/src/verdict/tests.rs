//! Each reason by itself takes a safe place's safety away, and only what is known keeps it.

use super::*;
use crate::file_system::FileSystem;
use crate::files::{Files, Looked};
use crate::kernel::Kernel;
use crate::layers::Limits;
use crate::pages::Pages;

const PAGE: u64 = 16 << 10;

fn nvme_layer() -> Layer {
    Layer {
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

fn looked(count: u64, whole: u64, aligned: u64) -> Looked {
    Looked {
        path: "/data/t.ibd".into(),
        kind: FileKind::Table,
        bytes: count * PAGE,
        device: 1,
        pages: Some(Pages { count, whole, aligned }),
        extents: 1,
        shared_bytes: 0,
    }
}

/// A place of which all is known, and all of it good.
fn safe() -> Seen {
    let file_system = FileSystem {
        name: "ext4".into(),
        source: "/dev/nvme0n1".into(),
        target: "/data".into(),
        options: "rw".into(),
        block_bytes: 4096,
        manner: Manner::Ext { cluster_bytes: Some(PAGE), journals_data: false },
    };
    let stack = Stack {
        file_system,
        layers: vec![nvme_layer()],
        drives: vec![("nvme0n1".into(), drive())],
        refused: Vec::new(),
        files: Vec::new(),
    };
    Seen {
        kernel: Kernel::of("6.18"),
        directory: "/data".into(),
        page_bytes: PAGE,
        is_direct: Some(true),
        server: None,
        files: Files { looked: vec![looked(100, 100, 100)], refused: Vec::new() },
        stacks: vec![stack],
    }
}

fn with(change: impl FnOnce(&mut Seen)) -> Verdict {
    let mut seen = safe();
    change(&mut seen);
    judge(&seen)
}

fn add(kind: LayerKind, limits: Limits) -> Verdict {
    let layer = Layer { name: "above".into(), kind, limits: Some(limits) };
    with(|seen| seen.stacks[0].layers.insert(0, layer))
}

#[test]
fn a_place_of_which_all_is_known_and_good_is_safe() {
    let verdict = with(|_| {});
    assert_eq!(verdict.class, Class::SafeByLayout);
    let drive = Reason::DriveKeeps { device: "nvme0n1".into(), bytes: 64 << 10 };
    assert_eq!(
        verdict.reasons,
        [Reason::AllWhole { pages: 100 }, Reason::KeepsTogether { bytes: PAGE }, drive]
    );
    assert!(verdict.class.is_safe() && !Class::Unknown.is_safe());
}

#[test]
fn whatever_takes_a_page_apart_is_unsafe_and_stands_first() {
    let is_unsafe = |verdict: Verdict, reason: Reason| {
        assert_eq!((verdict.class, verdict.reasons.first()), (Class::Unsafe, Some(&reason)));
    };
    is_unsafe(with(|seen| seen.is_direct = Some(false)), Reason::Buffered);
    let split = with(|seen| seen.files.looked.push(looked(50, 47, 47)));
    is_unsafe(split, Reason::Split { pages: 3, of: 150, files: 1 });
    let journal = Manner::Ext { cluster_bytes: Some(PAGE), journals_data: true };
    is_unsafe(with(|seen| seen.stacks[0].file_system.manner = journal), Reason::JournalledData);
    let raid = |level: &str, chunk_bytes| LayerKind::Raid { level: level.into(), chunk_bytes };
    let parity = Reason::StripesParity { device: "above".into(), level: "raid5".into() };
    is_unsafe(add(raid("raid5", 512 << 10), Limits::default()), parity);
    let apart = |bytes| Reason::TakesApart { device: "above".into(), bytes };
    is_unsafe(add(raid("raid0", 4 << 10), Limits::default()), apart(4 << 10));
    let chunks = Limits { chunk_bytes: 24 << 10, ..Limits::default() };
    is_unsafe(add(LayerKind::Partition { start_bytes: 0 }, chunks), apart(24 << 10));
    let short = Limits { request_bytes_max: 8 << 10, ..Limits::default() };
    is_unsafe(add(LayerKind::Partition { start_bytes: 0 }, short), apart(8 << 10));
    let small = with(|seen| seen.stacks[0].drives[0].1.atomic_bytes = 4096);
    is_unsafe(small, Reason::DriveTears { device: "nvme0n1".into(), bytes: 4096 });
    let offset = with(|seen| seen.stacks[0].drives[0].1.boundary_offset_bytes = 4096);
    is_unsafe(offset, Reason::DriveTears { device: "nvme0n1".into(), bytes: 4096 });
    let misaligned = with(|seen| {
        seen.stacks[0].drives[0].1.boundary_bytes = 32 << 10;
        seen.files.looked[0] = looked(100, 100, 60);
    });
    let device = "nvme0n1".to_owned();
    is_unsafe(misaligned, Reason::Misaligned { pages: 40, of: 100, device });
}

#[test]
fn pages_that_may_lie_across_two_chunks_are_not_safe() {
    let kind = LayerKind::Raid { level: "raid0".into(), chunk_bytes: 64 << 10 };
    let mut seen = safe();
    seen.files.looked[0] = looked(100, 100, 90);
    assert_eq!(judge(&seen).class, Class::SafeByLayout, "the drive has no boundary");
    let limits = Some(Limits::default());
    seen.stacks[0].layers.insert(0, Layer { name: "md0".into(), kind, limits });
    let misaligned = Reason::Misaligned { pages: 10, of: 100, device: "md0".into() };
    assert_eq!(judge(&seen).reasons[0], misaligned);
}

#[test]
fn what_passes_pages_on_takes_no_safety_away() {
    for (level, chunk) in [("raid1", 0), ("raid10", 512 << 10), ("raid0", 64 << 10)] {
        let kind = LayerKind::Raid { level: level.into(), chunk_bytes: chunk };
        assert_eq!(add(kind, Limits::default()).class, Class::SafeByLayout, "{level}");
    }
    let aligned = with(|seen| seen.stacks[0].drives[0].1.boundary_bytes = 32 << 10);
    assert_eq!(aligned.class, Class::SafeByLayout);
}

#[test]
fn what_is_not_known_is_never_safe() {
    let unknown = |verdict: Verdict, reason: Reason| {
        assert_eq!((verdict.class, verdict.reasons.first()), (Class::Unknown, Some(&reason)));
    };
    let above = || "above".to_owned();
    unknown(with(|seen| seen.is_direct = None), Reason::FlushMethodUnknown);
    let mapper = LayerKind::Mapper { made_by: "LVM".into() };
    unknown(add(mapper, Limits::default()), Reason::DeviceUnknown { device: above() });
    unknown(add(LayerKind::Other, Limits::default()), Reason::DeviceUnknown { device: above() });
    for kind in [LayerKind::Virtual, LayerKind::Network, LayerKind::Memory, LayerKind::Scsi] {
        unknown(add(kind, Limits::default()), Reason::DriveSilent { device: above() });
    }
    let unasked = with(|seen| {
        seen.stacks[0].drives.clear();
        seen.stacks[0].refused.push(("nvme0n1".into(), "not permitted".into()));
    });
    let answer = "not permitted".to_owned();
    unknown(unasked, Reason::DriveUnasked { device: "nvme0n1".into(), answer });
    for manner in [
        Manner::CopyOnWrite { is_off: false },
        Manner::Memory,
        Manner::Remote,
        Manner::Stacked,
        Manner::Unknown,
    ] {
        let name = "ext4".to_owned();
        unknown(
            with(|seen| seen.stacks[0].file_system.manner = manner),
            Reason::FileSystemUnknown { name },
        );
    }
    let refused = ("/data/x.ibd".into(), "denied".into());
    unknown(with(|seen| seen.files.refused.push(refused)), Reason::FilesUnseen { files: 1 });
    let source = with(|seen| seen.stacks[0].layers.clear());
    unknown(source, Reason::DeviceUnknown { device: "/dev/nvme0n1".into() });
    let empty = with(|seen| seen.files.looked.clear());
    unknown(empty, Reason::FilesUnseen { files: 0 });
}

#[test]
fn a_file_as_a_device_is_judged_by_what_lies_below_it() {
    let backing = |pages: Pages, served: Option<Served>| {
        let below = safe().stacks.remove(0);
        Backing { file: "/x".into(), served, pages: Some(pages), below: Some(Box::new(below)) }
    };
    let looped = |is_direct, backing: Backing| {
        with(|seen| {
            seen.stacks[0].layers = vec![Layer {
                name: "loop0".into(),
                kind: LayerKind::Loop { file: "/x".into(), is_direct },
                limits: None,
            }];
            seen.stacks[0].files = vec![backing];
        })
    };
    let whole = Pages { count: 10, whole: 10, aligned: 10 };
    assert_eq!(looped(true, backing(whole, None)).class, Class::SafeByLayout);
    let buffered = looped(false, backing(whole, None));
    assert_eq!(buffered.reasons[0], Reason::BufferedFile { device: "loop0".into() });
    let split = looped(true, backing(Pages { whole: 8, ..whole }, None));
    let device = "loop0".to_owned();
    assert_eq!(split.reasons[0], Reason::SplitBelow { device, pages: 2, of: 10 });
    assert_eq!((buffered.class, split.class), (Class::Unsafe, Class::Unsafe));
    let served = |kind, atomic_bytes| {
        let served = Served { kind, media: "/m".into(), atomic_bytes };
        looped(true, backing(whole, Some(served)))
    };
    let own = served(ServedKind::Drive, Some(256 << 10));
    assert!(own.reasons.contains(&Reason::OwnDrive { bytes: 256 << 10 }), "{own:?}");
    assert_eq!(own.class, Class::SafeByLayout);
    let model = || ServedKind::Model("a".into());
    assert_eq!(served(model(), Some(16 << 10)).class, Class::SafeByLayout);
    for (kind, atomic_bytes, class) in [
        (ServedKind::Drive, Some(4096), Class::Unsafe),
        (ServedKind::Drive, None, Class::Unknown),
        (model(), Some(4096), Class::Unsafe),
        (ServedKind::Plain, Some(4096), Class::Unknown),
    ] {
        assert_eq!(served(kind, atomic_bytes).class, class);
    }
}
