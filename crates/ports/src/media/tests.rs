use std::fs::OpenOptions;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::*;
use crate::testing::{TestLoop, TestMount, is_root, run};

const MIB: u64 = 1 << 20;

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index / 7 + index % 251) as u8).collect()
}

#[test]
fn what_was_written_is_read_from_any_memory_and_by_anyone() {
    for place in [directory(), tempfile::tempdir_in("/dev/shm").unwrap()] {
        let path = place.path().join("media");
        let media = FileMedia::create(&path, 8 * MIB, Allocation::Sparse).unwrap();
        let length = 3 * MIB as usize;
        let data = pattern(length);
        let mut buffer = BlockBuffer::zeroed(length + 4096);
        // Aligned to a block, and not: the latter goes through the other buffer, in pieces.
        for shift in [0, 100] {
            let offset = MIB + 4096 * shift as u64;
            buffer.as_mut()[shift..][..length].copy_from_slice(&data);
            media.write(offset, &buffer.as_ref()[shift..][..length], shift == 100).unwrap();
            buffer.as_mut().fill(0);
            media.read(offset, &mut buffer.as_mut()[shift..][..length]).unwrap();
            assert!(buffer.as_ref()[shift..][..length] == data, "{shift} in {place:?}");
        }
        media.flush().unwrap();
        let plain = std::fs::read(&path).unwrap();
        assert!(plain[(MIB + 409_600) as usize..][..length] == data);
        assert_eq!(plain.len() as u64, 8 * MIB);
    }
}

#[test]
fn a_real_file_system_is_read_past_the_cache() {
    let place = directory();
    let media = FileMedia::create(&place.path().join("media"), MIB, Allocation::Full).unwrap();
    let flags = rustix::fs::fcntl_getfl(&media.file).unwrap();
    assert_eq!(flags.contains(OFlags::DIRECT), media.direct());
    let mount = crate::filesystem::mount_of(place.path()).unwrap().unwrap();
    if mount.file_system == "ext4" || mount.file_system == "xfs" {
        assert!(media.direct(), "{}", mount.file_system);
    }
    let blocks = std::fs::metadata(media.path()).unwrap().blocks();
    assert!(blocks * 512 >= MIB, "space was not taken: {blocks} sectors");
}

#[test]
fn a_place_without_direct_io_is_read_through_the_cache() {
    let place = directory();
    let path = place.path().join("media");
    let mut media = FileMedia::create(&path, MIB, Allocation::Sparse).unwrap();
    let flags = rustix::fs::fcntl_getfl(&media.file).unwrap();
    rustix::fs::fcntl_setfl(&media.file, flags - OFlags::DIRECT).unwrap();
    media.direct = false;
    let data = pattern(8193);
    media.write(4096, &data[1..], true).unwrap();
    let mut back = vec![0; 8193];
    media.read(4096, &mut back[1..]).unwrap();
    assert!(back[1..] == data[1..]);
}

#[test]
fn discarded_blocks_read_as_zeroes_and_give_their_space_back() {
    let place = directory();
    let path = place.path().join("media");
    let media = FileMedia::create(&path, 4 * MIB, Allocation::Full).unwrap();
    media.write(0, &vec![9; 4 * MIB as usize], false).unwrap();
    media.discard(MIB, 2 * MIB).unwrap();
    media.write_zeroes(0, 4096).unwrap();
    let plain = std::fs::read(&path).unwrap();
    let zeroes = |range: std::ops::Range<u64>| {
        plain[range.start as usize..range.end as usize].iter().all(|&byte| byte == 0)
    };
    assert!(zeroes(0..4096) && !zeroes(4096..8192) && zeroes(MIB..3 * MIB));
    assert!(!zeroes(3 * MIB..3 * MIB + 4096));
    assert!(std::fs::metadata(&path).unwrap().blocks() * 512 <= 3 * MIB);
}

#[test]
fn zeroes_are_written_where_they_cannot_be_asked_for() {
    // tmpfs does not support FALLOC_FL_ZERO_RANGE.
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let media =
        FileMedia::create(&place.path().join("media"), 4 * MIB, Allocation::Sparse).unwrap();
    media.write(0, &vec![9; 4 * MIB as usize], false).unwrap();
    media.write_zeroes(4096, 2 * MIB).unwrap();
    let plain = std::fs::read(media.path()).unwrap();
    assert!(plain[4096..][..2 * MIB as usize].iter().all(|&byte| byte == 0));
    assert_eq!((plain[4095], plain[4096 + 2 * MIB as usize]), (9, 9));
}

#[test]
fn what_exists_is_kept_and_what_fails_leaves_nothing() {
    let place = directory();
    let path = place.path().join("media");
    std::fs::write(&path, "precious").unwrap();
    let error = FileMedia::create(&path, MIB, Allocation::Sparse).unwrap_err();
    assert!(matches!(error, MediaError::Exists { .. }), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    let fresh = place.path().join("fresh");
    for size in [0, 100, 4097] {
        let error = FileMedia::create(&fresh, size, Allocation::Sparse).unwrap_err();
        assert!(matches!(error, MediaError::Size { .. }), "{error}");
    }
    // More than any file system holds, for both ways of allocation.
    for size in [i64::MAX as u64 / 4096 * 4096, 9 << 60] {
        for allocation in [Allocation::Full, Allocation::Sparse] {
            let error = FileMedia::create(&fresh, size, allocation).unwrap_err();
            assert!(error.to_string().contains("no space for"), "{error}");
        }
    }
    assert!(!fresh.exists());
}

#[test]
fn wrong_things_are_refused_by_what_they_are() {
    let place = directory();
    let odd = place.path().join("odd");
    std::fs::write(&odd, [1; 5000]).unwrap();
    let open = |path: &Path| FileMedia::open(path, Access::ReadWrite).unwrap_err();
    assert!(matches!(open(&odd), MediaError::Size { size: 5000, .. }));
    assert!(matches!(open(place.path()), MediaError::Kind { .. }));
    assert!(matches!(open(Path::new("/dev/null")), MediaError::Kind { .. }));
    let missing = open(&place.path().join("missing")).to_string();
    assert!(missing.ends_with("No such file or directory (os error 2)"), "{missing}");
}

#[test]
fn one_writer_or_many_readers_across_processes() {
    let place = directory();
    let path = place.path().join("media");
    let media = FileMedia::create(&path, MIB, Allocation::Sparse).unwrap();
    let foreign_lock = || {
        let mut flock = Command::new("flock");
        flock.args(["--nonblock", "--exclusive"]).arg(&path).arg("true").status().unwrap().success()
    };
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let error = FileMedia::open(&path, access).unwrap_err();
        assert!(matches!(error, MediaError::InUse { .. }), "{error}");
    }
    assert!(!foreign_lock());
    drop(media);
    assert!(foreign_lock());
    let readers = [(); 2].map(|()| FileMedia::open(&path, Access::ReadOnly).unwrap());
    assert!(FileMedia::open(&path, Access::ReadWrite).is_err());
    drop(readers);
    open_when_free(&path, Access::ReadWrite).unwrap();
}

#[test]
fn reading_media_cannot_be_written() {
    let place = directory();
    let path = place.path().join("media");
    FileMedia::create(&path, MIB, Allocation::Sparse).unwrap();
    let media = FileMedia::open(&path, Access::ReadOnly).unwrap();
    let error = media.write(0, &[1; 4096], false).unwrap_err();
    let reason = std::error::Error::source(&error).unwrap().to_string();
    assert!(reason.ends_with("was opened for reading only"), "{reason}");
    assert!(media.discard(0, 4096).is_err());
    media.read(0, &mut [1; 4096]).unwrap();
}

#[test]
fn ranges_off_the_disk_and_files_cut_short_are_told_apart() {
    let place = directory();
    let path = place.path().join("media");
    let media = FileMedia::create(&path, MIB, Allocation::Sparse).unwrap();
    for (offset, length) in [(MIB, 4096), (1, 4096), (0, 100)] {
        let error = media.read(offset, &mut vec![0; length]).unwrap_err();
        assert!(matches!(error, DiskError::OutOfRange { .. }), "{error}");
    }
    OpenOptions::new().write(true).open(&path).unwrap().set_len(8192 + 100).unwrap();
    let error = media.read(4096, &mut [0; 8192]).unwrap_err();
    let DiskError::Io(reason) = error else { panic!("{error}") };
    assert_eq!(reason.kind(), io::ErrorKind::UnexpectedEof);
    assert!(reason.to_string().contains("cannot read at byte 8192: it ends after"), "{reason}");
}

#[test]
fn a_full_file_system_is_full() {
    if !is_root() {
        return;
    }
    let mount = TestMount::new("tmpfs", Path::new("tmpfs"), "size=1m");
    let path = mount.path().join("media");
    let error = FileMedia::create(&path, 4 * MIB, Allocation::Full).unwrap_err();
    assert!(matches!(error, MediaError::Full { .. }), "{error}");
    assert!(!path.exists());
    let media = FileMedia::create(&path, 4 * MIB, Allocation::Sparse).unwrap();
    let refused = (0..4).map(|index| media.write(index * MIB, &vec![1; MIB as usize], false));
    let refused: Vec<_> = refused.filter_map(Result::err).collect();
    assert!(refused.len() >= 3);
    // The first write that does not fit may have been started; later ones are refused completely.
    assert!(refused[1..].iter().all(|error| matches!(error, DiskError::Full)), "{refused:?}");
}

#[test]
fn a_block_device_is_sized_held_and_given_back() {
    if !is_root() {
        return;
    }
    let place = directory();
    let image = place.path().join("image");
    std::fs::write(&image, vec![7; 16 * MIB as usize]).unwrap();
    let device = TestLoop::new(&image);
    let media = FileMedia::open(&device.device, Access::ReadWrite).unwrap();
    assert_eq!(media.size(), 16 * MIB);
    let error = FileMedia::open(&device.device, Access::ReadOnly).unwrap_err();
    assert!(matches!(error, MediaError::InUse { .. }), "{error}");
    media.discard(MIB, MIB).unwrap();
    let mut data = vec![1; 8192];
    media.read(MIB - 4096, &mut data).unwrap();
    assert!(
        data[..4096].iter().all(|&byte| byte == 7) && data[4096..].iter().all(|&byte| byte == 0)
    );
    let media = media.discarding_loosely();
    media.discard(4 * MIB, MIB).unwrap();
    media.write(0, &[3; 4096], true).unwrap();
    media.flush().unwrap();
    drop(media);
    open_when_free(&device.device, Access::ReadOnly).unwrap();
}

#[test]
fn a_mounted_block_device_is_held_until_it_is_unmounted() {
    if !is_root() {
        return;
    }
    let place = directory();
    let image = place.path().join("image");
    std::fs::File::create(&image).unwrap().set_len(16 * MIB).unwrap();
    run("mkfs.ext4", &["-q", "-F", image.to_str().unwrap()]);
    let device = TestLoop::new(&image);
    let mounted = TestMount::new("ext4", &device.device, "defaults");
    let error = FileMedia::open(&device.device, Access::ReadWrite).unwrap_err();
    assert!(matches!(error, MediaError::InUse { .. }), "{error}");
    drop(mounted);
    open_when_free(&device.device, Access::ReadOnly).unwrap();
}

/// Opens media that were just released: a child of another test inherits the device until it calls
/// `exec`, and only the last close releases a device.
fn open_when_free(path: &Path, access: Access) -> Result<FileMedia, MediaError> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        match FileMedia::open(path, access) {
            Err(MediaError::InUse { .. } | MediaError::BelowInUse { .. })
                if Instant::now() < deadline =>
            {
                std::thread::yield_now();
            }
            opened => return opened,
        }
    }
}

/// Opens `device` until it is refused for `below`: media held by an earlier refusal may stay open
/// for a moment in a child of another test.
fn refused_for(below: &Path, device: &Path, access: Access) {
    let below = below.canonicalize().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let error = FileMedia::open(device, access).unwrap_err();
        let MediaError::BelowInUse { below: found, .. } = &error else { panic!("{error}") };
        if *found == below || Instant::now() >= deadline {
            assert_eq!(*found, below);
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_file_and_a_loop_device_over_it_have_one_writer() {
    if !is_root() {
        return;
    }
    let place = directory();
    let (image, link) = (place.path().join("image"), place.path().join("link"));
    std::fs::write(&image, vec![7; MIB as usize]).unwrap();
    std::fs::hard_link(&image, &link).unwrap();
    let media = FileMedia::open(&image, Access::ReadWrite).unwrap();
    let device = TestLoop::new(&link);
    let above = TestLoop::new(&device.device);
    for (device, access) in [
        (&device.device, Access::ReadOnly),
        (&above.device, Access::ReadOnly),
        (&above.device, Access::ReadWrite),
    ] {
        refused_for(&link, device, access);
    }
    drop(media);
    // Conversely, under any name of the file, and of the device below the device.
    let media = open_when_free(&above.device, Access::ReadWrite).unwrap();
    for path in [&image, &link, &device.device] {
        let error = FileMedia::open(path, Access::ReadOnly).unwrap_err();
        assert!(matches!(error, MediaError::InUse { .. }), "{error}");
    }
    drop(media);
    // Also if nobody uses the device yet; inspecting it does no harm.
    let error = open_when_free(&image, Access::ReadWrite).unwrap_err();
    let MediaError::Shown { device: shows, .. } = &error else { panic!("{error}") };
    assert_eq!(shows, &device.device);
    let error = open_when_free(&device.device, Access::ReadWrite).unwrap_err();
    let MediaError::Shown { device: shows, .. } = &error else { panic!("{error}") };
    assert_eq!(shows, &above.device);
    open_when_free(&image, Access::ReadOnly).unwrap();
    drop(above);
    open_when_free(&device.device, Access::ReadWrite).unwrap();
    drop(device);
    open_when_free(&image, Access::ReadWrite).unwrap();
}

#[test]
fn media_are_free_when_they_are_dropped_whoever_has_inherited_them() {
    let place = directory();
    let path = place.path().join("media");
    let media = FileMedia::create(&path, MIB, Allocation::Sparse).unwrap();
    // Held by a child before it calls `exec`.
    let inherited = media.file.try_clone().unwrap();
    assert!(matches!(FileMedia::open(&path, Access::ReadOnly), Err(MediaError::InUse { .. })));
    drop(media);
    FileMedia::open(&path, Access::ReadWrite).unwrap();
    drop(inherited);
}

#[test]
fn what_a_dead_process_left_to_its_child_is_waited_for_and_what_a_living_one_has_is_not() {
    let place = directory();
    let path = place.path().join("media");
    drop(FileMedia::create(&path, MIB, Allocation::Sparse).unwrap());
    let lock_within = |millis| {
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let began = Instant::now();
        let locked = hold::lock_within(Duration::from_millis(millis), &file, Access::ReadWrite);
        (locked, began.elapsed().as_millis() as u64)
    };
    // The program `flock` ends at once; the shell holds the lock until its input ends.
    let words = ["-c", "exec 9<>\"$0\"; flock --exclusive 9; echo locked; read line"];
    let mut heir = Command::new("bash");
    heir.args(words).arg(&path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut heir = heir.spawn().unwrap();
    let mut said = [0; 7];
    heir.stdout.take().unwrap().read_exact(&mut said).unwrap();
    assert_eq!(&said, b"locked\n");
    let (locked, took_ms) = lock_within(100);
    assert_eq!(locked, Err(Errno::WOULDBLOCK));
    assert!(took_ms >= 100, "{took_ms} ms");
    let opening = std::thread::spawn({
        let path = path.clone();
        move || FileMedia::open(&path, Access::ReadWrite)
    });
    drop(heir.stdin.take());
    let media = opening.join().unwrap().unwrap();
    heir.wait().unwrap();
    let (locked, took_ms) = lock_within(60_000);
    assert_eq!(locked, Err(Errno::WOULDBLOCK));
    assert!(took_ms < 60_000, "{took_ms} ms");
    drop(media);
    assert_eq!(lock_within(60_000).0, Ok(()));
}

#[test]
fn no_more_is_guaranteed_than_the_device_says() {
    assert_eq!(place::atomic_write_bytes(0), 512);
    let place = directory();
    let media = FileMedia::create(&place.path().join("media"), MIB, Allocation::Sparse).unwrap();
    let guarantees = media.guarantees();
    assert!(guarantees.volatile_cache);
    assert!([512, 4096].contains(&guarantees.atomic_write_bytes));
}

#[test]
fn media_of_a_model_go_through_the_page_cache_and_stay_there() {
    let place = directory();
    let path = place.path().join("media");
    let media = FileMedia::create(&path, MIB, Allocation::Sparse).unwrap();
    let media = media.in_memory_of_kernel().unwrap();
    assert!(!media.direct());
    // Any memory will do, because no data go to a device.
    media.write(8192, &[5; 4096], true).unwrap();
    media.flush().unwrap();
    let mut data = vec![0; 12_288];
    media.read(4096, &mut data).unwrap();
    assert!(data[..4096].iter().all(|&byte| byte == 0) && data[4096..8192] == [5; 4096]);
    media.discard(8192, 4096).unwrap();
    media.read(8192, &mut data[..4096]).unwrap();
    assert!(data[..4096].iter().all(|&byte| byte == 0));
}
