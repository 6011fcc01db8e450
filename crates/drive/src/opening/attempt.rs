//! An attempt to open a drive: its shell as far as it is known, and the findings so far.

use std::sync::Arc;

use assay_disk::{BLOCK_BYTES, Disk};

use crate::core::map::Map;
use crate::core::space::Space;
use crate::drive::Drive;
use crate::format::{Cursor, STREAMS};
use crate::options::DriveOptions;
use crate::shell::bad_places::Unreadable;
use crate::shell::parts::{Parts, Shell};
use crate::shell::superblocks::Chosen;
use crate::status::{Counters, Recovery};

/// A drive that is being opened.
pub(crate) struct Opening {
    pub(crate) shell: Shell,
    pub(crate) options: DriveOptions,
    pub(crate) recovery: Recovery,
    /// Whether the missing part of a damaged log is given up, instead of opening the drive
    /// read-only.
    pub(crate) gives_up_log: bool,
}

impl Opening {
    /// A drive of which only the superblock is known.
    pub(crate) fn blank(
        disk: &Arc<dyn Disk>,
        options: &DriveOptions,
        chosen: Chosen,
        gives_up_log: bool,
        unreadable: Unreadable,
    ) -> Opening {
        let mut recovery = Recovery { clean: chosen.superblock.clean, ..Recovery::default() };
        recovery.mended.extend(chosen.other.told(chosen.which));
        let identity = chosen.superblock.identity;
        let parts = Parts {
            map: Map::new(identity.logical_bytes / BLOCK_BYTES),
            space: Space::fresh(&identity),
            cursors: <[Cursor; STREAMS]>::default(),
            next_seq: chosen.superblock.checkpoint_seq + 1,
            counters: Counters::default(),
            next_dictionary: 1,
            unreadable,
            chosen,
        };
        let shell = Shell::assemble(Arc::clone(disk), options, parts);
        Opening { shell, options: options.clone(), recovery, gives_up_log }
    }

    /// Finishes the attempt; with a reason for `read_only`, the drive takes no writes.
    pub(crate) fn finish(self, read_only: Option<String>) -> Drive {
        Drive::new(self.shell, self.options, self.recovery, read_only)
    }
}
