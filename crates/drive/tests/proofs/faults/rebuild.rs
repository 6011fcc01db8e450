//! Rebuilding the map of drives whose size changed.

use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Codec, Disk, Drive};

use super::specimen::{Life, media, options};
use crate::common::media::{Fate, SimulatedMedia};

/// Blocks of a directory of the map.
const DIRECTORY: u64 = 512 * 512;

/// Opens a drive after a power cut that left no root.
fn rebuilt(media: &SimulatedMedia) -> Drive {
    let left = media.after_power_cut(|_| Fate::Whole);
    crate::common::roots::destroy_roots(&left);
    let drive = Drive::open(Arc::new(left), options()).unwrap();
    assert!(drive.status().recovery.rebuilt);
    drive
}

#[test]
fn what_lay_behind_the_end_of_a_drive_that_was_made_smaller_stays_given_up() {
    let media = media();
    let mut life = Life::begin(&(media.clone() as Arc<dyn Disk>), Codec::None, true, 1);
    // On both sides of what will be the end, which lies within a unit, and in a directory that
    // goes.
    let end = DIRECTORY + 1002;
    for first in [end - 20, 2 * DIRECTORY + 4] {
        let data = life.model.write(first, 40);
        life.drive.write(first * BLOCK_BYTES, &data, false).unwrap();
    }
    for (first, blocks) in [(end - 4, 40), (2 * DIRECTORY, 64)] {
        life.model.discard(first, blocks);
        life.drive.discard(first * BLOCK_BYTES, blocks * BLOCK_BYTES).unwrap();
    }
    life.flush().unwrap();
    life.drive.resize(end * BLOCK_BYTES).unwrap();
    let drive = rebuilt(&media);
    assert_eq!(drive.size(), end * BLOCK_BYTES);
    life.model.check_now(&drive, end - 20..end).unwrap();
    let damages = drive.check(&mut |_, _| {}).unwrap().damages;
    // Segments that were open at the power cut never got a footer.
    assert!(damages.iter().all(|damage| damage.what.starts_with("the footer")), "{damages:?}");
    // Made larger again, it holds nothing there.
    drive.resize(3 * DIRECTORY * BLOCK_BYTES).unwrap();
    life.model.check_now(&drive, end - 20..end + 40).unwrap();
    life.model.check_now(&drive, 2 * DIRECTORY..2 * DIRECTORY + 64).unwrap();
}
