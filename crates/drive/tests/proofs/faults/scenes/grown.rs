//! Media that are larger than the drive on them: its second superblock is not at their end.

use std::sync::Arc;

use assay_drive::{
    BlockBuffer, Codec, Disk, Drive, DriveError, DriveOptions, Format, UnreadableBlocks,
};

use super::host::{Host, format, media_of, open};
use crate::common::media::{Fate, SimulatedMedia};

/// Whatever a power cut does to one superblock, the other is found.
#[test]
fn power_cuts_on_grown_media_leave_a_drive() {
    let small = media_of(40);
    Drive::format(Arc::clone(&small) as Arc<dyn Disk>, &format(Codec::None, 64 << 20)).unwrap();
    let image = small.image();
    let media = Arc::new(SimulatedMedia::new(small.size() + (8 << 20)));
    let mut buffer = BlockBuffer::zeroed(image.len());
    buffer.as_mut().copy_from_slice(&image);
    media.write(0, buffer.as_ref(), true).unwrap();
    let options = DriveOptions::default();
    let drive = open(&media, &options);
    media.keep_moments();
    drive.write(0, &[1; 4096], false).unwrap();
    drive.close().unwrap();
    let moments = media.take_moments();
    let mut mended = 0;
    for moment in moments.iter().filter(|moment| moment.unflushed() > 0) {
        for sector in 0..8 {
            let cut = Arc::new(moment.after_power_cut(|_| Fate::Torn(sector)));
            mended += open(&cut, &options).status().recovery.mended.len();
        }
    }
    assert!(mended > 2, "hardly a superblock was torn: {mended}");
}

/// Nothing tells any more where the second one lies: a repair looks for it.
#[test]
fn a_repair_finds_the_second_superblock_of_grown_media() {
    let mut host = Host::new(40, &format(Codec::None, 64 << 20), DriveOptions::default());
    host.write(0, 64);
    host.drive.close().unwrap();
    let image = host.media.image();
    let media = Arc::new(SimulatedMedia::new(host.media.size() + (3 << 20) + 4096));
    let mut buffer = BlockBuffer::zeroed(image.len());
    buffer.as_mut().copy_from_slice(&image);
    media.write(0, buffer.as_ref(), true).unwrap();
    media.wipe(0);
    let opened = Drive::open(Arc::clone(&media) as Arc<dyn Disk>, DriveOptions::default());
    assert!(matches!(opened, Err(DriveError::NotADrive)));
    let disk = Arc::clone(&media) as Arc<dyn Disk>;
    let repair =
        Drive::repair(disk, DriveOptions::default(), UnreadableBlocks::Kept, &mut |_, _| {});
    assert!(repair.unwrap().lost.is_empty());
    host.drive = open(&media, &host.options);
    host.assert_right();
}

/// Remains of an earlier drive on larger media are not taken for the last drive.
#[test]
fn a_repair_does_not_bring_an_earlier_drive_back() {
    let earlier = media_of(30);
    let image = {
        let format = Format { drive_id: 1, ..format(Codec::None, 64 << 20) };
        Drive::format(Arc::clone(&earlier) as Arc<dyn Disk>, &format).unwrap();
        earlier.image()
    };
    let media = media_of(40);
    let mut buffer = BlockBuffer::zeroed(image.len());
    buffer.as_mut().copy_from_slice(&image);
    media.write(0, buffer.as_ref(), true).unwrap();
    let host = Host::on(media, &format(Codec::None, 64 << 20), DriveOptions::default());
    host.drive.close().unwrap();
    host.media.wipe(0);
    host.media.wipe(host.media.size() / 4096 - 1);
    let disk = Arc::clone(&host.media) as Arc<dyn Disk>;
    let repair =
        Drive::repair(disk, DriveOptions::default(), UnreadableBlocks::Kept, &mut |_, _| {});
    assert!(matches!(repair, Err(DriveError::NotADrive)), "{repair:?}");
}
