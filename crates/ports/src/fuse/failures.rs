//! Turns a disk's failures into error numbers for the kernel, and logs them.
//!
//! The kernel passes on the number only, so each failure is logged in its own words, once.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::error::Error;

use assay_disk::DiskError;
use fuser::Errno;

/// Number of distinct messages that are logged: messages with offsets may all differ.
const MOST_LOGGED: usize = 100;

#[derive(Default)]
pub(super) struct Failures {
    logged: Mutex<HashSet<String>>,
}

impl Failures {
    /// The number for `error`, which is logged if it is new.
    pub(super) fn errno(&self, error: &DiskError) -> Errno {
        self.log_once(in_words(error));
        number(error)
    }

    fn log_once(&self, words: String) {
        let mut logged = self.logged.lock();
        if logged.len() >= MOST_LOGGED || logged.contains(&words) {
            return;
        }
        log::error!("{words}");
        logged.insert(words);
        if logged.len() == MOST_LOGGED {
            log::error!("no further failures of this disk are logged");
        }
    }
}

/// Damage is `EIO`: file systems use `EUCLEAN` for their own structures, and the block layer does
/// not know it.
fn number(error: &DiskError) -> Errno {
    match error {
        DiskError::OutOfRange { .. } => Errno::EINVAL,
        DiskError::Full => Errno::ENOSPC,
        DiskError::ReadOnly { .. } => Errno::EROFS,
        DiskError::Corrupt { .. } | DiskError::Io(_) | DiskError::Stopped { .. } => Errno::EIO,
    }
}

fn in_words(error: &DiskError) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn failures_have_a_number_and_words_with_their_cause() {
        let failures = Failures::default();
        let io = DiskError::Io(io::Error::other("the cable is out"));
        assert_eq!(in_words(&io), "input or output failed: the cable is out");
        assert_eq!(failures.errno(&io), Errno::EIO);
        assert_eq!(failures.errno(&DiskError::Full), Errno::ENOSPC);
        let read_only = DiskError::ReadOnly { reason: "the log is damaged".into() };
        assert_eq!(failures.errno(&read_only), Errno::EROFS);
        assert_eq!(
            failures.errno(&DiskError::OutOfRange { offset: 1, length: 1, size: 1 }),
            Errno::EINVAL
        );
        assert_eq!(failures.logged.lock().len(), 4);
    }

    #[test]
    fn each_failure_is_noted_once_and_not_for_ever() {
        let failures = Failures::default();
        for offset in 0..1000 {
            for _ in 0..2 {
                failures.errno(&DiskError::Corrupt { offset, what: "checksum".into() });
            }
            let known = failures.logged.lock().len();
            assert_eq!(known, MOST_LOGGED.min(offset as usize + 1));
        }
    }
}
