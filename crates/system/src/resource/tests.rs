//! Every kind of resource against other things that can be in its place: something older, a link,
//! something of another user's, nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use assay_ports::child;

use super::*;
use crate::ledger::{Ledger, LedgerGuard};

fn presence(resource: &Resource) -> Presence {
    resource.presence(Asking::Everyone).unwrap()
}

/// A directory with a ledger, and a directory of somebody else's.
struct World {
    _directory: tempfile::TempDir,
    root: PathBuf,
    ledger: Arc<Ledger>,
}

impl World {
    fn new() -> World {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("ledgers")).unwrap();
        fs::create_dir_all(root.join("theirs/assay-1")).unwrap();
        fs::write(root.join("theirs/assay-1/ibdata1"), "precious").unwrap();
        let ledger = Ledger::open_in(&root.join("ledgers"), None).unwrap();
        World { _directory: directory, root, ledger }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn is_whole(&self, directory: &str) -> bool {
        fs::read(self.at(directory).join("ibdata1")).is_ok_and(|held| held == b"precious")
    }

    fn ledger_text(&self) -> Option<String> {
        let mut entries = fs::read_dir(self.at("ledgers")).unwrap();
        entries.next().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
    }
}

/// The kinds that are a directory, or have one.
const WITH_DIRECTORY: [fn(OwnDirectory) -> Resource; 4] = [
    |path| Resource::Directory { path },
    |directory| Resource::Pool { name: "p".into(), directory },
    |directory| Resource::Drive {
        media: "/nonexistent/media".into(),
        media_id: None,
        mount_point: directory.path().join("mount"),
        directory,
        mounted: None,
    },
    |instance| Resource::Trace { instance },
];

fn make(world: &World, of: fn(OwnDirectory) -> Resource, name: &str) -> LedgerGuard {
    world.ledger.make_with_directory(&world.at(name), of).unwrap()
}

#[test]
fn what_is_there_before_is_neither_made_nor_removed() {
    for of in WITH_DIRECTORY {
        let world = World::new();
        symlink(world.at("theirs/assay-1"), world.at("assay-link")).unwrap();
        fs::write(world.at("assay-file"), "precious").unwrap();
        for name in ["theirs/assay-1", "assay-link", "assay-file"] {
            let made = world.ledger.make_with_directory(&world.at(name), of);
            assert!(format!("{:#}", made.unwrap_err()).contains("File exists"));
            assert_eq!(world.ledger_text(), None, "struck out");
        }
        assert!(world.is_whole("theirs/assay-1"));
        assert!(world.at("assay-link").is_symlink() && world.at("assay-file").is_file());
    }
}

#[test]
fn what_has_come_in_its_place_stays() {
    for of in WITH_DIRECTORY {
        let world = World::new();
        let swap: [fn(&World); 3] = [
            |world| symlink(world.at("theirs/assay-1"), world.at("assay-1")).unwrap(),
            |world| fs::rename(world.at("theirs/assay-1"), world.at("assay-1")).unwrap(),
            |world| fs::write(world.at("assay-1"), "precious").unwrap(),
        ];
        for put in swap {
            let world = World::new();
            let made = make(&world, of, "assay-1");
            fs::rename(world.at("assay-1"), world.at("aside")).unwrap();
            assert_eq!(presence(made.resource()), Presence::Gone);
            put(&world);
            assert_eq!(presence(made.resource()), Presence::Another);
            made.remove().unwrap();
            assert!(world.at("assay-1").symlink_metadata().is_ok() && world.at("aside").is_dir());
            assert!(world.is_whole("theirs/assay-1") || world.is_whole("assay-1"));
        }
        // A link that leads to it from a place that is another's.
        fs::create_dir(world.at("place")).unwrap();
        let made = make(&world, of, "place/assay-1");
        fs::rename(world.at("place"), world.at("aside")).unwrap();
        symlink(world.at("theirs"), world.at("place")).unwrap();
        assert_eq!(presence(made.resource()), Presence::Another);
        made.remove().unwrap();
        assert!(world.is_whole("theirs/assay-1"));
    }
}

#[test]
fn what_is_gone_is_no_error_and_what_is_there_goes() {
    for of in WITH_DIRECTORY {
        let world = World::new();
        let made = make(&world, of, "assay-1");
        fs::remove_dir(world.at("assay-1")).unwrap();
        made.remove().unwrap();
        let made = make(&world, of, "assay-1");
        assert_eq!(presence(made.resource()), Presence::There);
        if !matches!(made.resource(), Resource::Trace { .. }) {
            fs::create_dir(world.at("assay-1/below")).unwrap();
            symlink(world.at("theirs/assay-1"), world.at("assay-1/below/link")).unwrap();
        }
        made.remove().unwrap();
        assert!(!world.at("assay-1").exists() && world.is_whole("theirs/assay-1"));
    }
}

#[test]
fn what_was_only_meant_goes_if_it_is_new_and_empty() {
    let meant = |text: &str| -> Resource {
        serde_json::from_str(&format!("{{\"kind\": \"directory\", \"path\": \"{text}\"}}")).unwrap()
    };
    let world = World::new();
    let of = |name: &str| meant(world.at(name).to_str().unwrap());
    for name in ["assay-new", "unmarked"] {
        fs::create_dir(world.at(name)).unwrap();
    }
    assert_eq!(presence(&of("assay-none")), Presence::Gone);
    for name in ["theirs/assay-1", "unmarked"] {
        assert_eq!(presence(&of(name)), Presence::Unproven, "{name}");
        of(name).remove().unwrap();
    }
    assert!(world.is_whole("theirs/assay-1") && world.at("unmarked").exists());
    of("assay-new").remove().unwrap();
    assert!(!world.at("assay-new").exists());
}

#[test]
fn a_ledger_that_leads_elsewhere_is_not_read() {
    let world = World::new();
    let kept = make(&world, WITH_DIRECTORY[0], "assay-1");
    let text = world.ledger_text().unwrap();
    let there = world.at("assay-1").display().to_string();
    let me = format!("\"pid\": {}", std::process::id());
    let ledgers = world.at("others");
    fs::create_dir(&ledgers).unwrap();
    let read = |path: &str| {
        let text = text.replace(&me, "\"pid\": 4194305").replace(&there, path);
        fs::write(ledgers.join("4194305-1.json"), text).unwrap();
        let all = crate::ledger::ledgers_in(&ledgers).unwrap();
        (all.found.len(), all.unreadable.iter().map(ToString::to_string).collect::<String>())
    };
    assert_eq!(read("/tmp/assay-1").0, 1);
    for path in ["/tmp/assay-1/../../home", "assay-1", "../assay-1"] {
        let (found, unreadable) = read(path);
        assert_eq!(found, 0, "{path}");
        assert!(unreadable.contains("is no place where Assay makes anything"), "{unreadable}");
    }
    drop(kept);
}

#[test]
fn another_process_with_its_number_is_not_killed() {
    let sleeper = || {
        let mut command = std::process::Command::new("sleep");
        command.arg("1000");
        child::spawn(command, &[]).unwrap()
    };
    let (mut ours, mut theirs) = (sleeper(), sleeper());
    let of = |child: &child::Child, later: u64| {
        let Identity { pid, start_ticks } = identity(child.pid()).unwrap();
        Resource::Process { pid, start_ticks: start_ticks + later }
    };
    assert_eq!(presence(&of(&theirs, 1)), Presence::Gone);
    of(&theirs, 1).remove().unwrap();
    // Also if it was taken for Assay's a moment ago.
    let Resource::Process { pid, start_ticks } = of(&theirs, 1) else { unreachable!() };
    kill(Identity { pid, start_ticks }).unwrap();
    of(&ours, 0).remove().unwrap();
    assert!(ours.ended().unwrap().is_some() && theirs.ended().unwrap().is_none());
}

/// A device with a file system; `None`, with a report, if none can be made.
fn device(world: &World) -> Option<PathBuf> {
    if !can_attach() {
        return None;
    }
    let image = new_image(&world.root);
    fs::File::options().write(true).open(&image).unwrap().set_len(16 << 20).unwrap();
    let device = loopdev::attach(&image).unwrap().device;
    filesystem::make("ext4", &device, None, &[]).unwrap();
    fs::create_dir(world.at("mount")).unwrap();
    Some(device)
}

#[test]
fn a_mount_is_known_by_what_is_mounted() {
    let world = World::new();
    let Some(device) = device(&world) else { return };
    let target = world.at("mount");
    let ours = || Resource::Mount(OwnMount::of_device(&device, &target).unwrap());
    let mounted =
        || filesystem::mounts().unwrap().iter().filter(|mount| mount.target == target).count();
    // A foreign mount is there before; Assay's was never made.
    filesystem::mount_kernels("tmpfs", &target).unwrap();
    assert_eq!(presence(&ours()), Presence::Another);
    ours().remove().unwrap();
    let failed = world.ledger.make(ours(), || anyhow::bail!("no luck") as Result<()>);
    assert!(failed.is_err() && mounted() == 1, "what was there stays mounted");
    // Assay's on top: it is removed, and the other stays.
    let mount = || Ok(filesystem::mount("ext4", &device, &target, &[])?);
    let (made, ()) = world.ledger.make(ours(), mount).unwrap();
    made.remove().unwrap();
    assert_eq!((mounted(), presence(&ours())), (1, Presence::Another));
    filesystem::unmount(&target).unwrap();
    // A foreign mount on top: nothing is removed.
    let (made, ()) = world.ledger.make(ours(), mount).unwrap();
    filesystem::mount_kernels("tmpfs", &target).unwrap();
    let error = format!("{:#}", made.remove().unwrap_err());
    assert!(error.contains("another file system is mounted over it"), "{error}");
    assert_eq!(mounted(), 2);
    filesystem::unmount(&target).unwrap();
    ours().remove().unwrap();
    assert_eq!((mounted(), presence(&ours())), (0, Presence::Gone));
    loopdev::detach(&device, &world.at("disk.img")).unwrap();
}

#[test]
fn a_directory_with_a_mount_below_stays_whole() {
    let world = World::new();
    let Some(device) = device(&world) else { return };
    let made = make(&world, WITH_DIRECTORY[0], "assay-1");
    let target = world.at("assay-1/mount");
    fs::create_dir(&target).unwrap();
    filesystem::mount("ext4", &device, &target, &[]).unwrap();
    let error = format!("{:#}", made.resource().remove().unwrap_err());
    assert!(error.contains("mount is still mounted; unmount it first"), "{error}");
    assert!(target.join("lost+found").exists());
    filesystem::unmount(&target).unwrap();
    made.remove().unwrap();
    loopdev::detach(&device, &world.at("disk.img")).unwrap();
}

fn can_attach() -> bool {
    let can = rustix::process::geteuid().is_root() && Path::new("/dev/loop-control").exists();
    if !can {
        assay_testing::skip("root and loop devices");
    }
    can
}

/// A file that can be attached, in a directory with Assay's mark; `None`, with a report, where loop
/// devices do not work.
fn image() -> Option<(tempfile::TempDir, PathBuf)> {
    if !can_attach() {
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let ours = directory.path().canonicalize().unwrap().join("assay-1");
    std::fs::create_dir(&ours).unwrap();
    Some((directory, new_image(&ours)))
}

fn new_image(directory: &Path) -> PathBuf {
    let image = directory.join("disk.img");
    std::fs::File::create_new(&image).unwrap().set_len(1 << 20).unwrap();
    image
}

fn loop_over(backing: &Path) -> Resource {
    Resource::Loop {
        backing: backing.to_owned(),
        backing_id: Some(FileId::named(backing).unwrap()),
    }
}

#[test]
fn a_loop_device_is_there_after_its_file_was_moved_or_deleted() {
    let Some((_directory, image)) = image() else { return };
    let moved = image.with_file_name("moved");
    for change in
        [(|image, moved| std::fs::rename(image, moved)) as fn(&Path, &Path) -> _, |image, _| {
            std::fs::remove_file(image)
        }]
    {
        let resource = loop_over(&image);
        assert!(presence(&resource) == Presence::Gone, "nothing is attached");
        let device = loopdev::attach(&image).unwrap().device;
        assert!(presence(&resource) == Presence::There);
        change(&image, &moved).unwrap();
        assert!(presence(&resource) == Presence::There, "{} is still attached", device.display());
        resource.remove().unwrap();
        assert!(presence(&resource) == Presence::Gone);
        // Its inode number may belong to another file by now.
        let directory = image.parent().unwrap();
        let shown = loopdev::shown().unwrap();
        assert!(shown.iter().all(|shown| !shown.backing.starts_with(directory)), "{shown:?}");
        let _ = std::fs::remove_file(&moved);
        new_image(image.parent().unwrap());
    }
}

#[test]
fn a_loop_device_over_another_file_of_that_name_is_somebody_elses() {
    let Some((_directory, image)) = image() else { return };
    let resource = loop_over(&image);
    // Kept, so that its number is not given to the next file.
    std::fs::rename(&image, image.with_file_name("aside")).unwrap();
    let theirs = new_image(image.parent().unwrap());
    let without_id = Resource::Loop { backing: image.clone(), backing_id: None };
    let device = loopdev::attach(&theirs).unwrap().device;
    std::fs::remove_file(&theirs).unwrap();
    assert!(presence(&resource) == Presence::Gone);
    resource.remove().unwrap();
    without_id.remove().unwrap();
    assert!(loopdev::shown().unwrap().iter().any(|shown| shown.device == device));
    loopdev::detach(&device, theirs.parent().unwrap()).unwrap();
}
