//! Tests the audit's statements on pages that are added later, with fragmented free space; a trace
//! of page writes is the judge.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_testing::skip;
use rustix::fs::{FallocateFlags, fallocate};
use serde_json::Value;

use super::{
    Detached, KIB, Mounted, Tracing, Unmounted, append, audit, direct, overwrite, reasons, run,
    traced,
};
use crate::drives::{MIB, has_drives};

const PAGE: u64 = 16 * KIB;

/// Fills a file system and frees 12 of each 48 KiB, and of each sixteenth 48 KiB 16, so that
/// clusters of a page become free too.
fn fragment(directory: &Path) {
    let mut fillers = Vec::new();
    for bytes in [64 * MIB, MIB, 64 * KIB] {
        loop {
            let path = directory.join(format!("filler{}", fillers.len()));
            let filled = File::create(&path).and_then(|file| {
                fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
                Ok(file)
            });
            let Ok(file) = filled else {
                let _ = std::fs::remove_file(&path);
                break;
            };
            fillers.push((file, bytes));
        }
    }
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    for (file, bytes) in fillers {
        for (number, place) in (0..bytes).step_by(48 << 10).enumerate() {
            let hole = if number % 16 == 0 { PAGE } else { 12 * KIB };
            fallocate(&file, punch, place, hole).unwrap();
        }
        file.sync_all().unwrap();
    }
}

/// Appends pages one by one, as a server extends a table, until the file has `pages` pages or the
/// file system is full.
fn add_pages(path: &Path, pages: u64) {
    const O_DIRECT: i32 = 0x4000;
    let file = OpenOptions::new().write(true).custom_flags(O_DIRECT).open(path).unwrap();
    let end = file.metadata().unwrap().len();
    let added = (0..pages).take_while(|page| {
        let place = end + page * PAGE;
        let is_there = fallocate(&file, FallocateFlags::empty(), place, PAGE).is_ok();
        if is_there {
            append(&file, place, PAGE);
        }
        is_there
    });
    println!("{} pages added", added.count());
    file.sync_all().unwrap();
}

fn pieces(watched: &Value) -> u64 {
    assert_eq!(watched["trace"]["events_lost"], 0, "{watched:#}");
    assert!(watched["trace"]["pages_whole"].as_u64().unwrap() > 0, "{watched:#}");
    watched["trace"]["pages_in_pieces"].as_u64().unwrap()
}

fn changes(audit: &Value) -> Vec<&str> {
    let all = audit["changes"].as_array().unwrap();
    all.iter().map(|change| change["change"].as_str().unwrap()).collect()
}

#[test]
fn pages_that_are_added_to_fragmented_space_break_no_promise() {
    if !has_drives() {
        return;
    }
    let layouts: [(&[&str], bool, &str); 4] = [
        (&["mkfs.ext4", "-q"], false, "new_pages"),
        (&["mkfs.ext4", "-q", "-O", "bigalloc", "-C", "16384"], false, ""),
        (&["mkfs.xfs", "-q"], false, "new_pages"),
        (&["mkfs.xfs", "-q"], true, "hint"),
    ];
    for (mkfs, has_hint, change) in layouts {
        let mounted = Mounted::new(mkfs);
        if has_hint {
            run(&["xfs_io", "-c", "extsize 16k", mounted.data().to_str().unwrap()]);
        }
        let table = mounted.data().join("t.ibd");
        append(&direct(&table), 0, MIB);
        let (code, before) = mounted.audit();
        assert!(reasons(&before).contains(&"own_drive"), "{before:#}");
        fragment(&mounted.target);
        add_pages(&table, 4000);
        let in_pieces = pieces(&traced(&mounted, &["t.ibd"]).1);
        println!(
            "{mkfs:?}, hint {has_hint}: {} before, {in_pieces} came in pieces",
            before["class"]
        );
        if change.is_empty() {
            assert_eq!((code, before["class"].as_str()), (0, Some("safe_by_layout")), "{before:#}");
            assert_eq!(in_pieces, 0);
            assert_eq!(mounted.audit().1["class"], "safe_by_layout");
        } else {
            assert_eq!((code, before["class"].as_str()), (1, Some("safe_now")), "{before:#}");
            assert_eq!(changes(&before), [change]);
            assert!(in_pieces > 100, "the space was not fragmented enough to show anything");
            let (_, after) = mounted.audit();
            assert_eq!(after["class"], "unsafe", "{after:#}");
        }
    }
}

/// An image file on a drive, attached as a loop device, with ext4 of page-sized clusters.
struct Image {
    target: PathBuf,
    _mount: Unmounted,
    _device: Renewed,
}

/// A loop device whose limit of discards is reset when dropped: the kernel keeps the limit with the
/// device's number.
struct Renewed(String);

impl Drop for Renewed {
    fn drop(&mut self) {
        drop(Detached(self.0.clone()));
        let _ = assay_ports::loopdev::renew(Path::new(&self.0));
    }
}

impl Image {
    /// Name of the image file: that of a table, so that a trace of the drive counts its pages.
    const NAME: &str = "disk.ibd";

    fn on(outer: &Mounted, is_allocated: bool, takes_discards: bool) -> Image {
        let path = outer.data().join(Image::NAME);
        let file = direct(&path);
        file.set_len(160 * MIB).unwrap();
        if is_allocated {
            (0..160).for_each(|place| append(&file, place * MIB, MIB));
        }
        file.sync_all().unwrap();
        let words = ["--show", "--find", "--direct-io=on", "--sector-size=4096"];
        let shown = Command::new("losetup").args(words).arg(&path).output().unwrap();
        let device = String::from_utf8(shown.stdout).unwrap().trim().to_owned();
        let name = device.trim_start_matches("/dev/").to_owned();
        let renewed = Renewed(device.clone());
        if !takes_discards {
            std::fs::write(format!("/sys/block/{name}/queue/discard_max_bytes"), "0").unwrap();
        }
        run(&["mkfs.ext4", "-q", "-E", "nodiscard", "-O", "bigalloc", "-C", "16384", &device]);
        let target = outer.drives.path("inside");
        std::fs::create_dir_all(&target).unwrap();
        // The file system's own writes, such as of access times, would be counted as pieces of
        // pages.
        run(&["mount", "-o", "noatime,lazytime", &device, target.to_str().unwrap()]);
        let mount = Unmounted(target.clone());
        Image { target, _mount: mount, _device: renewed }
    }

    fn audit(&self, outer: &Mounted) -> (i32, Value) {
        audit(&outer.drives, &self.target, &["--writes", "direct"])
    }

    /// Appends and deletes pages, discards free blocks, and appends pages to fragmented free space.
    fn live(&self, outer: &Mounted) {
        append(&direct(&self.target.join("gone.ibd")), 0, 8 * MIB);
        run(&["sync", "--file-system", self.target.to_str().unwrap()]);
        std::fs::remove_file(self.target.join("gone.ibd")).unwrap();
        // Fails if the device refuses discards.
        let _ = Command::new("fstrim").arg(&self.target).status();
        run(&["sync", "--file-system", self.target.to_str().unwrap()]);
        fragment(&outer.target);
        add_pages(&self.target.join("t.ibd"), 5000);
        run(&["sync", "--file-system", self.target.to_str().unwrap()]);
    }

    /// Number of the table's pages that the audit counts as split in the image file, and of that
    /// file's pages that reach the drive in pieces each time the table is written.
    fn split(&self, outer: &Mounted) -> (u64, u64) {
        let (_, after) = self.audit(outer);
        let all = after["reasons"].as_array().unwrap();
        let below = all.iter().find(|reason| reason["reason"] == "split_below");
        let counted = below.map_or(0, |reason| reason["pages"].as_u64().unwrap());
        // The file system's own occasional writes arrive in pieces too.
        let in_pieces = (0..3).map(|_| {
            let tracing = Tracing::begin(outer);
            overwrite(&self.target.join("t.ibd"));
            pieces(&tracing.end().1)
        });
        (counted, in_pieces.min().unwrap_or(0))
    }
}

/// An image file, and the change that the audit names for its pages; `None` if it is safe.
#[derive(Clone, Copy, Default)]
struct Case {
    mkfs: &'static str,
    is_allocated: bool,
    takes_discards: bool,
    is_reflinked: bool,
    change: &'static str,
}

#[test]
fn an_image_file_with_holes_discards_or_a_reflink_is_promised_nothing() {
    if !has_drives() {
        return;
    }
    let whole = Case { mkfs: "mkfs.ext4", is_allocated: true, ..Case::default() };
    let cases = [
        whole,
        Case { mkfs: "mkfs.xfs", ..whole },
        Case { is_allocated: false, change: "holes", ..whole },
        Case { takes_discards: true, change: "discards", ..whole },
        Case { mkfs: "mkfs.xfs", is_reflinked: true, change: "shared_image", ..whole },
    ];
    for case in cases {
        let Case { mkfs, is_allocated, takes_discards, is_reflinked, change } = case;
        let mkfs = &[mkfs, "-q"];
        let outer = Mounted::new(mkfs);
        let image = Image::on(&outer, is_allocated, takes_discards);
        append(&direct(&image.target.join("t.ibd")), 0, MIB);
        run(&["sync", "--file-system", image.target.to_str().unwrap()]);
        if is_reflinked {
            let path = outer.data().join(Image::NAME);
            let copy = outer.target.join("backup");
            run(&["cp", "--reflink=always", path.to_str().unwrap(), copy.to_str().unwrap()]);
        }
        let (code, before) = image.audit(&outer);
        image.live(&outer);
        let (split, in_pieces) = image.split(&outer);
        println!("{mkfs:?} {change}: {split} pages split, {in_pieces} came in pieces");
        if change.is_empty() {
            assert_eq!((code, before["class"].as_str()), (0, Some("safe_by_layout")), "{before:#}");
            assert_eq!(before["kept_by"][1]["keeper"], "allocated_image");
            assert_eq!((split, in_pieces), (0, 0));
            let (code, after) = image.audit(&outer);
            assert_eq!((code, after["class"].as_str()), (0, Some("safe_by_layout")), "{after:#}");
        } else {
            assert_eq!((code, before["class"].as_str()), (1, Some("safe_now")), "{before:#}");
            assert!(changes(&before).contains(&change), "{before:#}");
            assert!(split > 0 && in_pieces > 0, "{change}: nothing here was split");
        }
    }
}

#[test]
fn btrfs_and_reflinked_tables_are_promised_nothing() {
    if !has_drives() {
        return;
    }
    if Command::new("mkfs.btrfs").arg("--version").output().is_err() {
        return skip("btrfs-progs");
    }
    let outer = Mounted::new(&["mkfs.btrfs", "-q"]);
    append(&direct(&outer.data().join("t.ibd")), 0, MIB);
    let (code, found) = outer.audit();
    assert_eq!((code, found["class"].as_str()), (1, Some("unknown")), "{found:#}");
    drop(outer);
    let outer = Mounted::new(&["mkfs.xfs", "-q"]);
    let table = outer.data().join("t.ibd");
    append(&direct(&table), 0, MIB);
    let copy = outer.target.join("backup");
    run(&["cp", "--reflink=always", table.to_str().unwrap(), copy.to_str().unwrap()]);
    let (code, found) = outer.audit();
    assert_eq!((code, found["class"].as_str()), (1, Some("safe_now")), "{found:#}");
    assert!(changes(&found).contains(&"shared_files"), "{found:#}");
}
