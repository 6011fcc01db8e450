//! This program on a host: found by its digest, copied if it is missing, and tried there.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::connection::{Answer, Connection};
use crate::failure::FailureReason;

/// This program, even if its file was replaced meanwhile.
const OURSELVES: &str = "/proc/self/exe";

/// Longest answer of a host's shell, and longest copy over a slow link.
const ASK_PATIENCE: Duration = Duration::from_secs(60);
const COPY_PATIENCE: Duration = Duration::from_secs(1800);

/// Prints the host's system, the program's directory, and whether the program is there. $1 is the
/// directory to use or empty, $2 the program's name, $3 its digest. A directory that others may
/// write to is refused: the program in it could be anybody's. Others may write to a parent
/// directory if they cannot replace ours.
const LOOK: &str = r#"
me=$(id -u)
kind() {
    [ -e "$1" ] || [ -L "$1" ] && ls -ldn "$1" | { read -r mode _ owner _; echo "$mode $owner"; }
}
if [ -n "$1" ]; then
    case $(kind "$1") in
    "" | d????-??-*" $me" | d????-??-*" 0" | d????????t*" $me" | d????????t*" 0") ;;
    *) echo "@assay foreign $1" ;;
    esac
fi
d=${1:+$1/cache}
d=${d:-${ASSAY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/assay}}
echo "@assay machine $(uname -s) $(uname -m)"
echo "@assay library $(getconf GNU_LIBC_VERSION 2>/dev/null)"
for part in "$d" "$d/programs" "$d/programs/$2" ${1:+"$1/state"}; do
    case $(kind "$part") in
    "" | d????-??-*" $me") ;;
    *) echo "@assay foreign $part" ;;
    esac
done
echo "@assay shelf $d/programs"
if [ "$(sha256sum 2>/dev/null <"$d/programs/$2/assay")" = "$3  -" ] &&
    [ -x "$d/programs/$2/assay" ]; then
    echo "@assay there"
fi
"#;

/// Reads the program from standard input. $1 is the directory, $2 the program's name, $3 its
/// digest, $4 its size in KiB. Afterwards the program is there whole and runs, or not at all;
/// leftovers of interrupted copies are removed. Gives up after 15 s without data: the link is cut,
/// and sshd would keep the script running for hours.
const COPY: &str = r#"
umask 077
mkdir -p "$1" || { echo "@assay unwritable"; exit 0; }
exec 9>"$1/.lock" || { echo "@assay unwritable"; exit 0; }
if command -v flock >/dev/null; then
    flock -w 30 9
fi
for old in "$1"/.staging-*; do
    kill -0 "${old##*-}" 2>/dev/null || rm -rf "$old"
done
free() { df -Pk "$1" | { read -r _; read -r _ _ _ free _; echo "$free"; }; }
free=$(free "$1")
[ "${free:-$4}" -ge "$4" ] || { echo "@assay full $free"; exit 0; }
staging=$1/.staging-$$
trap 'rm -rf "$staging"' EXIT
mkdir "$staging" && : >"$staging/assay" || { echo "@assay unwritable"; exit 0; }
exec 3<&0
cat <&3 >"$staging/assay" &
copier=$!
(
    trap 'kill "$sleeper"; exit 0' TERM
    before=
    while [ -e "$staging/assay" ]; do
        sleep 15 &
        sleeper=$!
        wait "$sleeper"
        now=$(wc -c <"$staging/assay")
        [ "$now" != "$before" ] || kill "$copier"
        before=$now
    done
) </dev/null >/dev/null 2>&1 3<&- 9>&- &
watch=$!
trap 'exit 1' HUP INT TERM
wait "$copier"
status=$?
kill "$watch" 2>/dev/null
wait "$watch"
[ "$status" -lt 128 ] || { echo "@assay torn"; exit 0; }
[ "$status" -eq 0 ] || { rm -rf "$staging"; echo "@assay full $(free "$1")"; exit 0; }
chmod 700 "$staging/assay"
[ "$(sha256sum <"$staging/assay")" = "$3  -" ] || { echo "@assay torn"; exit 0; }
"$staging/assay" --version >/dev/null || { echo "@assay cannot"; exit 0; }
if [ "$(sha256sum 2>/dev/null <"$1/$2/assay")" != "$3  -" ]; then
    rm -rf "$1/$2"
    mv "$staging" "$1/$2" || { echo "@assay unwritable"; exit 0; }
fi
echo "@assay copied"
"#;

struct Ourselves {
    /// SHA-256, in hexadecimal.
    digest: String,
    bytes: u64,
    /// The newest version of glibc that it needs.
    glibc: Option<(u32, u32)>,
}

/// The program on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) path: String,
    /// Number of bytes copied; `None` if the program was already there.
    pub(crate) copied_bytes: Option<u64>,
}

/// Copies the program to the host unless it is there. `copying` is called before the copy, with its
/// size in bytes. After an error nothing is left of it.
pub(crate) fn place(
    connection: &Connection,
    copying: &dyn Fn(u64),
) -> Result<Placed, FailureReason> {
    let us = ourselves()?;
    let directory = connection.spec().directory.as_deref().unwrap_or(Path::new(""));
    let directory = directory.to_string_lossy();
    let name = &us.digest[..16];
    let looked =
        connection.ask(LOOK, &[&directory, name, &us.digest], Stdio::null(), ASK_PATIENCE)?;
    if let Some(directory) = looked.after("foreign") {
        let words = "it belongs to somebody else, or others may write to it".to_owned();
        return Err(FailureReason::Unwritable { directory: directory.to_owned(), words });
    }
    check_machine(&looked)?;
    check_library(&looked, us.glibc)?;
    let shelf = looked.after("shelf").filter(|shelf| shelf.starts_with('/'));
    let shelf = shelf.ok_or_else(|| FailureReason::Protocol(looked.complaint.clone()))?;
    let path = format!("{shelf}/{name}/assay");
    if looked.has("there") {
        return Ok(Placed { path, copied_bytes: None });
    }
    copying(us.bytes);
    copy(connection, us, shelf, name)?;
    Ok(Placed { path, copied_bytes: Some(us.bytes) })
}

fn copy(
    connection: &Connection,
    us: &Ourselves,
    shelf: &str,
    name: &str,
) -> Result<(), FailureReason> {
    let file = File::open(OURSELVES).map_err(unreadable)?;
    let kib = us.bytes.div_ceil(1024).to_string();
    let answer =
        connection.ask(COPY, &[shelf, name, &us.digest, &kib], file.into(), COPY_PATIENCE)?;
    let directory = || shelf.to_owned();
    if answer.has("copied") {
        return Ok(());
    }
    if let Some(free) = answer.after("full") {
        let free_bytes = free.parse::<u64>().unwrap_or(0) * 1024;
        return Err(FailureReason::NoSpace {
            directory: directory(),
            free_bytes,
            needed_bytes: us.bytes,
        });
    }
    if answer.has("cannot") {
        let program = format!("{shelf}/{name}/assay");
        return Err(FailureReason::CannotRun { program, words: answer.complaint });
    }
    match answer.has("unwritable") {
        true => Err(FailureReason::Unwritable { directory: directory(), words: answer.complaint }),
        false => Err(FailureReason::Lost(Some("the copy of the program is not whole".into()))),
    }
}

fn check_machine(looked: &Answer) -> Result<(), FailureReason> {
    let theirs = looked.after("machine").unwrap_or_default();
    // Linux reports 64-bit ARM by this name on every supported distribution.
    match theirs == format!("Linux {}", std::env::consts::ARCH) {
        true => Ok(()),
        false => Err(FailureReason::OtherMachine { theirs: theirs.to_owned() }),
    }
}

/// Checks the version of glibc; a host that does not report it is tried.
fn check_library(looked: &Answer, needed: Option<(u32, u32)>) -> Result<(), FailureReason> {
    let there = looked.after("library").unwrap_or_default();
    let version = there.strip_prefix("glibc ").and_then(version);
    match (needed, version) {
        (Some(needed), Some(version)) if version < needed => Err(FailureReason::OldLibrary {
            there: there.to_owned(),
            needed: format!("{}.{}", needed.0, needed.1),
        }),
        _ => Ok(()),
    }
}

fn version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    let digits = minor.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(minor.len());
    Some((major.parse().ok()?, minor[..digits].parse().ok()?))
}

fn ourselves() -> Result<&'static Ourselves, FailureReason> {
    static OURS: OnceLock<Result<Ourselves, String>> = OnceLock::new();
    let ours = OURS.get_or_init(|| Ourselves::read().map_err(|error| error.to_string()));
    ours.as_ref().map_err(|words| FailureReason::Here(format!("cannot read this program: {words}")))
}

fn unreadable(error: std::io::Error) -> FailureReason {
    FailureReason::Here(format!("cannot read this program: {error}"))
}

impl Ourselves {
    fn read() -> std::io::Result<Ourselves> {
        let mut file = File::open(OURSELVES)?;
        let (mut digest, mut bytes, mut piece) = (Sha256::new(), 0, vec![0; 1 << 20]);
        loop {
            let length = file.read(&mut piece)?;
            if length == 0 {
                break;
            }
            digest.update(&piece[..length]);
            bytes += length as u64;
        }
        let digest = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Ourselves { digest, bytes, glibc: newest_glibc(&file)? })
    }
}

/// Offsets of the tables of a 64-bit ELF file, and of the fields of a row (`elf(5)`).
mod elf {
    pub(super) const SECTIONS_AT: u64 = 0x28;
    pub(super) const SECTION_COUNT_AT: u64 = 0x3c;
    pub(super) const SECTION_BYTES: u64 = 64;
    pub(super) const TYPE: u64 = 4;
    pub(super) const OFFSET: u64 = 24;
    pub(super) const SIZE: u64 = 32;
    /// Type of the string table; dynamic linking has one with the names of the versions that are
    /// needed.
    pub(super) const STRINGS: u32 = 3;
}

/// The newest version of glibc whose symbols are needed, by names such as `GLIBC_2.34`; `None` for
/// a static program.
fn newest_glibc(file: &File) -> std::io::Result<Option<(u32, u32)>> {
    let number = |at: u64, bytes: usize| -> std::io::Result<u64> {
        let mut raw = [0; 8];
        file.read_exact_at(&mut raw[..bytes], at)?;
        Ok(u64::from_le_bytes(raw))
    };
    let sections = number(elf::SECTIONS_AT, 8)?;
    let mut newest = None;
    for place in 0..number(elf::SECTION_COUNT_AT, 2)? {
        let section = sections + place * elf::SECTION_BYTES;
        if number(section + elf::TYPE, 4)? != u64::from(elf::STRINGS) {
            continue;
        }
        let mut strings = vec![0; number(section + elf::SIZE, 8)? as usize];
        file.read_exact_at(&mut strings, number(section + elf::OFFSET, 8)?)?;
        newest = newest.max(newest_named(&strings));
    }
    Ok(newest)
}

/// The newest version in a table of zero-terminated names.
fn newest_named(strings: &[u8]) -> Option<(u32, u32)> {
    let names = strings.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    names.filter_map(|name| version(name.strip_prefix("GLIBC_")?)).max()
}

/// The directory of the copy that this process runs from, if it does.
pub(crate) fn own_entry(shelf: &Path) -> Option<PathBuf> {
    let program = std::fs::read_link(OURSELVES).ok()?;
    let entry = program.parent()?;
    (entry.parent() == Some(shelf)).then(|| entry.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_needs_what_its_library_has() {
        let us = ourselves().unwrap_or_else(|reason| panic!("{reason:?}"));
        assert_eq!(us.digest.len(), 64);
        let library = std::process::Command::new("getconf").arg("GNU_LIBC_VERSION").output();
        let library = String::from_utf8(library.unwrap().stdout).unwrap();
        let there = version(library.trim().strip_prefix("glibc ").unwrap()).unwrap();
        assert!(
            us.glibc.is_some_and(|needed| (2, 2) < needed && needed <= there),
            "{:?}",
            us.glibc
        );
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(
            newest_named(b"\0GLIBC_2.9\0GLIBC_2.34\0GLIBC_2.4\0GLIBC_PRIVATE\0"),
            Some((2, 34))
        );
        assert_eq!(newest_named(b"\0puts\0"), None);
        assert_eq!(version("2.36"), Some((2, 36)));
        assert_eq!(version("2.2.5"), Some((2, 2)));
    }
}
