//! Holders of locks on a file, as the kernel lists them in `/proc/locks`: kind, process, device and
//! inode (`proc(5)`).

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;

/// The processes that hold a lock of any kind on the file with these metadata. Such a process may
/// have ended: a lock of `flock(2)` lives as long as the open file, which children inherit.
///
/// The list is incomplete: locks of open files (`F_OFD_SETLK`) have no process, processes of other
/// containers have no number here, and some file systems (btrfs, overlayfs) report other device
/// numbers for a file than the kernel lists.
///
/// # Errors
/// Fails if `/proc/locks` cannot be read.
pub fn holders(file: &Metadata) -> io::Result<Vec<u32>> {
    let (major, minor) = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
    let place = format!("{major:02x}:{minor:02x}:{}", file.ino());
    Ok(holders_in(&std::fs::read_to_string("/proc/locks")?, &place))
}

/// The holders listed for `place` (major:minor:inode), e.g. `1: POSIX  ADVISORY  WRITE 123
/// fd:01:456 0 EOF`.
fn holders_in(locks: &str, place: &str) -> Vec<u32> {
    let pid = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| *word == place)?;
        words.get(at.checked_sub(1)?)?.parse().ok()
    };
    // `->` marks a process that waits for the lock.
    locks.lines().filter(|line| !line.contains("->")).filter_map(pid).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_are_those_that_have_a_lock_and_not_those_that_wait() {
        let locks = "1: POSIX  ADVISORY  READ 7 fd:01:456 1073741826 1073742335\n\
                     2: FLOCK  ADVISORY  WRITE 8 fd:01:999 0 EOF\n\
                     3: -> POSIX  ADVISORY  WRITE 9 fd:01:456 1073741824 1073741825\n\
                     4: POSIX  ADVISORY  WRITE 10 fd:01:456 1073741824 1073741825\n\
                     5: OFDLCK ADVISORY  WRITE -1 fd:01:457 0 EOF\n";
        assert_eq!(holders_in(locks, "fd:01:456"), [7, 10]);
        assert_eq!(holders_in(locks, "fd:01:999"), [8]);
        assert_eq!(holders_in(locks, "fd:02:456"), []);
        assert_eq!(holders_in(locks, "fd:01:457"), []);
    }

    #[test]
    fn a_lock_of_ours_is_listed_while_we_hold_it() {
        let file = tempfile::tempfile().unwrap();
        let holders = || holders(&file.metadata().unwrap()).unwrap();
        assert_eq!(holders(), []);
        file.lock().unwrap();
        assert_eq!(holders(), [std::process::id()]);
        file.unlock().unwrap();
        assert_eq!(holders(), []);
    }
}
