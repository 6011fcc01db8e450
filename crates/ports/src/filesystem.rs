//! Makes, mounts and unmounts file systems, and lists mounts.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use thiserror::Error;

use crate::permitted;
use crate::program::{ProgramError, run};

/// A line of `/proc/self/mountinfo` (`proc(5)`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Device number as `major:minor`.
    pub device_number: String,
    /// Mount point.
    pub target: PathBuf,
    /// File system type, e.g. `ext4`.
    pub file_system: String,
    /// The mounted device or its equivalent, e.g. `/dev/loop0`.
    pub source: String,
    /// Mount and superblock options, comma separated.
    pub options: String,
}

impl Mount {
    /// Returns true for a mount of the block device `device`, a name in `/dev`, which is not
    /// opened.
    #[must_use]
    pub fn is_of(&self, device: &Path) -> bool {
        let number = Path::new("/sys/class/block").join(device.file_name().unwrap_or_default());
        let number = std::fs::read_to_string(number.join("dev"));
        number.is_ok_and(|number| number.trim_end() == self.device_number)
    }
}

/// Bytes that this process can still write on the file system of `path`; only root may use the
/// reserved part (`statvfs(3)`, `f_bfree` and `f_bavail`). `None` if the file system does not
/// report its size.
///
/// # Errors
/// The error of `statvfs`.
pub fn room_bytes(path: &Path) -> io::Result<Option<u64>> {
    let status = rustix::fs::statvfs(path)?;
    let is_root = rustix::process::geteuid().is_root();
    let blocks = if is_root { status.f_bfree } else { status.f_bavail };
    Ok((status.f_blocks > 0).then(|| blocks.saturating_mul(status.f_frsize)))
}

/// Makes a file system of `kind` (`ext4`, `xfs`, …) on `device`, overwriting its contents; on its
/// first `bytes` or on all of it.
///
/// # Errors
/// An option that [`permitted`] does not list, or the message of `mkfs`.
pub fn make(
    kind: &str,
    device: &Path,
    bytes: Option<u64>,
    options: &[String],
) -> Result<(), ProgramError> {
    permitted::check_mkfs(kind, options).map_err(ProgramError::Refused)?;
    let (before, behind) = bytes.map_or_else(Default::default, |bytes| size_options(kind, bytes));
    let own = own_options(kind, options).iter().map(OsStr::new);
    let arguments = own.chain(before.iter().map(OsStr::new)).chain(options.iter().map(OsStr::new));
    let behind = behind.iter().map(OsStr::new);
    run(&format!("mkfs.{kind}"), arguments.chain([device.as_os_str()]).chain(behind)).map(drop)
}

/// Checks that the tool for file systems of `kind` is installed.
///
/// # Errors
/// [`ProgramError::Missing`].
pub fn check_maker(kind: &str) -> Result<(), ProgramError> {
    match run(&format!("mkfs.{kind}"), ["-V"]) {
        Err(error @ ProgramError::Missing { .. }) => Err(error),
        // The tool exists, whatever it prints.
        _ => Ok(()),
    }
}

/// The arguments for a size, before and after the device (`mkfs.ext4(8)`, `mkfs.xfs(8)`,
/// `mkfs.btrfs(8)`).
fn size_options(kind: &str, bytes: u64) -> (Vec<String>, Vec<String>) {
    match kind {
        "ext4" => (Vec::new(), vec![format!("{}k", bytes / 1024)]),
        "xfs" => (vec!["-d".into(), format!("size={bytes}")], Vec::new()),
        _ => (vec!["-b".into(), bytes.to_string()], Vec::new()),
    }
}

/// The tools ask, or refuse, if they find an old file system, but the caller has decided. Discards
/// are switched off, because they would return the space allocated for an image; ext4 must not
/// postpone writing its tables into a measurement (`mkfs.ext4(8)`, `mkfs.xfs(8)`).
fn own_options(kind: &str, options: &[String]) -> &'static [&'static str] {
    let has_extended = options.iter().any(|option| option.starts_with("-E"));
    match kind {
        // Only the last -E counts, so the user's is left alone.
        "ext4" if has_extended => &["-F", "-q"],
        "ext4" => &["-F", "-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"],
        _ => &["-f", "-q", "-K"],
    }
}

/// Mounts `device` on the directory `target`.
///
/// # Errors
/// An option that [`permitted`] does not list, or the message of `mount`.
pub fn mount(
    kind: &str,
    device: &Path,
    target: &Path,
    options: &[String],
) -> Result<(), ProgramError> {
    permitted::check_mount(kind, options).map_err(ProgramError::Refused)?;
    let options = if options.is_empty() { "defaults".to_owned() } else { options.join(",") };
    let words: [&OsStr; 6] = [
        "-t".as_ref(),
        kind.as_ref(),
        "-o".as_ref(),
        options.as_ref(),
        device.as_os_str(),
        target.as_os_str(),
    ];
    run("mount", words).map(drop)
}

/// Mounts a file system of the kernel, such as `tracefs`.
///
/// # Errors
/// The message of `mount`, e.g. that this kernel does not have the file system.
pub fn mount_kernels(kind: &str, target: &Path) -> Result<(), ProgramError> {
    mount(kind, Path::new(kind), target, &[])
}

/// A failed unmount: what `umount` printed, with the kernel's error.
#[derive(Debug, Error)]
#[error("{printed}")]
pub struct UnmountError {
    printed: ProgramError,
    errno: Errno,
}

impl UnmountError {
    /// Returns true if a file, a working directory or another mount keeps the file system in use.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.errno == Errno::BUSY
    }
}

/// Unmounts the file system on `target`.
///
/// The program comes first, as it also removes options that `mount` keeps in `/run/mount`. It
/// reports no errno, so after a failure the kernel is asked directly.
///
/// # Errors
/// Fails if the file system is in use, is not mounted, or the user lacks the right.
pub fn unmount(target: &Path) -> Result<(), UnmountError> {
    let Err(printed) = run("umount", [target]) else { return Ok(()) };
    match rustix::mount::unmount(target, UnmountFlags::NOFOLLOW) {
        Ok(()) => Ok(()),
        Err(errno) => Err(UnmountError { printed, errno }),
    }
}

/// All mounts, in the kernel's order: a later one may cover an earlier one.
///
/// # Errors
/// `/proc` cannot be read.
pub fn mounts() -> std::io::Result<Vec<Mount>> {
    mounts_of(Path::new("/proc/self"))
}

/// All mounts of the process with that directory in `/proc`.
///
/// # Errors
/// The process has ended, or the caller may not inspect it.
pub fn mounts_of(process: &Path) -> std::io::Result<Vec<Mount>> {
    Ok(parse_mounts(&std::fs::read_to_string(process.join("mountinfo"))?))
}

/// The mount that holds `path`, after resolving links.
///
/// # Errors
/// A path that does not exist, or `/proc` cannot be read.
pub fn mount_of(path: &Path) -> std::io::Result<Option<Mount>> {
    let path = path.canonicalize()?;
    let mounts = mounts()?;
    Ok(holding(&mounts, &path).cloned())
}

/// The mount among `mounts`, in the kernel's order, that holds `path`, an absolute path without
/// links. Neither is opened.
#[must_use]
pub fn holding<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let holding = mounts.iter().filter(|mount| path.starts_with(&mount.target));
    holding
        .enumerate()
        .max_by_key(|(index, mount)| (mount.target.components().count(), *index))
        .map(|(_, mount)| mount)
}

/// File systems in which the kernel shows itself, by their number in `statfs(2)` (`linux/magic.h`):
/// their files are generated when they are read, many without end.
const WITHOUT_DATA: [(u32, &str); 17] = [
    (0x0000_9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x0000_1cd1, "devpts"),
    (0xcafe_4a11, "bpf"),
    (0x6165_676c, "pstore"),
    (0x6265_6570, "configfs"),
    (0xde5e_81e4, "efivarfs"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x6573_5543, "fusectl"),
    (0x1980_0202, "mqueue"),
    (0x6e73_6673, "nsfs"),
];

/// The name of the file system of `path`, if it is one in which the kernel shows itself and nobody
/// keeps data.
///
/// # Errors
/// The system's error.
pub fn without_data(path: &Path) -> std::io::Result<Option<&'static str>> {
    // The field's width differs between machines; the numbers have 32 bits.
    let number = rustix::fs::statfs(path)?.f_type as u32;
    Ok(WITHOUT_DATA.iter().find(|(known, _)| *known == number).map(|(_, name)| *name))
}

fn parse_mounts(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_mount).collect()
}

fn parse_mount(line: &str) -> Option<Mount> {
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ').skip(2);
    let mut back = back.split(' ');
    let (device_number, target) = (front.next()?.to_owned(), unescape(front.nth(1)?));
    let (file_system, source) = (back.next()?.to_owned(), unescape(back.next()?));
    let options = format!("{},{}", front.next()?, back.next()?);
    Some(Mount { device_number, target: target.into(), file_system, source, options })
}

/// The kernel writes blank, tab, line break and backslash as three octal digits (`proc(5)`).
fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let octal = (byte == b'\\').then(|| tail.get(..3)).flatten();
        let code =
            octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        out.push(code.unwrap_or(byte));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mountinfo_is_read_with_optional_fields_and_escapes() {
        let mounts = parse_mounts(
            "36 35 98:0 /mnt1 /mnt/my\\040disk rw,noatime master:1 shared:2 - ext4 /dev/root \
             rw,errors=continue\n\
             40 35 7:0 / / rw - xfs /dev/loop0 rw\nnonsense\n",
        );
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].target, Path::new("/mnt/my disk"));
        assert_eq!(mounts[0].options, "rw,noatime,rw,errors=continue");
        assert_eq!(
            (mounts[1].file_system.as_str(), mounts[1].device_number.as_str()),
            ("xfs", "7:0")
        );
    }

    #[test]
    fn any_text_of_mounts_is_read_or_passed_over() {
        use assay_testing::mutate;
        let text = "36 35 98:0 /mnt1 /mnt/my\\040disk rw,noatime master:1 - ext4 /dev/root rw\n40 \
                    35 7:0 / / rw - xfs /dev/loop0 rw\n";
        for seed in 0..assay_testing::count(2_000, 50_000) {
            let mutant = mutate::text(text, &mut mutate::Random::new(seed));
            assert!(parse_mounts(&mutant).len() <= mutant.lines().count(), "seed {seed}");
        }
        for escape in ["\\", "\\0", "\\777", "\\04é", "é\\é"] {
            assert!(!unescape(escape).is_empty());
        }
    }

    #[test]
    fn room_is_told_where_there_is_a_size() {
        assert!(room_bytes(&std::env::temp_dir()).unwrap().unwrap() > 0);
        assert_eq!(room_bytes(Path::new("/proc")).unwrap(), None, "it holds no data");
        assert!(room_bytes(Path::new("/nonexistent")).is_err());
    }

    #[test]
    fn every_path_has_a_mount() {
        let mount = mount_of(Path::new("/proc/self")).unwrap().unwrap();
        assert_eq!(mount.file_system, "proc");
    }
}
