//! A superblock that a power cut has torn is no damage, and damage is not taken for it.

use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Codec, Disk, Drive, DriveOptions, State, Status};
use assay_testing::count;

use super::scenes::host::{Host, format, open};
use crate::common::media::{Fate, Fault, SimulatedMedia};

/// Every moment while a drive with data begins to write and is closed, at which a write was not
/// flushed.
fn moments() -> (Host, Vec<crate::common::media::Moment>) {
    let mut host = Host::new(40, &format(Codec::None, 64 << 20), DriveOptions::default());
    host.write(0, 64);
    host.drive.close().unwrap();
    host.media.keep_moments();
    for round in 0..3 {
        host.reopen();
        host.write(round * 64, 64);
        host.drive.flush().unwrap();
    }
    host.drive.close().unwrap();
    let mut moments = host.media.take_moments();
    moments.retain(|moment| moment.unflushed() > 0);
    (host, moments)
}

fn looked_at(media: &Arc<SimulatedMedia>) -> Status {
    open(media, &DriveOptions { read_only: true, ..DriveOptions::default() }).status()
}

fn assert_sound(status: &Status, about: &str) {
    assert_eq!((status.state, &status.problems), (State::Healthy, &vec![]), "{about}: {status:?}");
}

/// Looking at it, opening it and opening it again report a sound drive, also after power is cut
/// while it is mended.
#[test]
fn a_torn_superblock_is_no_damage_and_opening_mends_it() {
    let (_host, moments) = moments();
    let (mut torn, mut cut_again) = (0, 0);
    for (index, moment) in moments.iter().enumerate() {
        for seed in 0..count(8, 100) {
            let fate = match seed {
                0..8 => Fate::Without(seed as usize),
                seed => Fate::Torn(seed as u64),
            };
            let about = format!("moment {index}, seed {seed}");
            let media = Arc::new(moment.after_power_cut(|_| fate));
            let before = looked_at(&media);
            assert_sound(&before, &about);
            torn += before.recovery.mended.len();

            let interrupted = Arc::new(media.copy());
            interrupted.inject(Fault::PowerCutAt(1 + seed as u64 % 3));
            let _ = Drive::open(Arc::clone(&interrupted) as Arc<dyn Disk>, DriveOptions::default());
            cut_again += usize::from(interrupted.is_off());
            assert_sound(&looked_at(&Arc::new(interrupted.after_power_cut(|_| fate))), &about);

            let opened = open(&media, &DriveOptions::default());
            assert_sound(&opened.status(), &about);
            drop(opened);
            let after = looked_at(&Arc::new(media.after_power_cut(|_| Fate::Lost)));
            assert_sound(&after, &about);
            assert_eq!(after.recovery.mended, Vec::<String>::new(), "{about}: it was not mended");
        }
    }
    assert!(torn > 20 && cut_again > 20, "{torn} were torn, {cut_again} cut again");
}

/// The control: bits that no power cut flips, a block that is gone, and one that cannot be read.
#[test]
fn a_damaged_superblock_is_reported_as_damage_until_it_is_rewritten() {
    let (host, _) = moments();
    let last = host.media.size() / BLOCK_BYTES - 1;
    for block in [0, last] {
        for harm in 0..3 + count(8, 60) as u64 {
            let media = Arc::new(host.media.copy());
            match harm {
                0 => media.wipe(block),
                1 => media.inject(Fault::UnreadableAt(block)),
                // Any bit of the fields behind the format, but for the lowest of the generation.
                harm => media.flip(8 * BLOCK_BYTES * block + 8 * (12 + harm % 36) + harm % 8),
            }
            let about = format!("superblock at block {block}, harm {harm}");
            for status in [looked_at(&media), open(&media, &DriveOptions::default()).status()] {
                assert_eq!(status.state, State::Damaged, "{about}: {status:?}");
                let told = status.problems.join("\n");
                assert!(told.contains("is damaged") || told.contains("cannot be read"), "{told}");
                assert!(!told.contains("torn"), "{about}: {told}");
            }
            if harm != 1 {
                let drive = open(&media, &DriveOptions::default());
                drive.write(0, &[1; 4096], true).unwrap();
                drive.close().unwrap();
                assert_sound(&looked_at(&media), &about);
            }
        }
    }
}
