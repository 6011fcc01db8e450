//! Media that are larger than the drive on them: its second superblock is not at their end.

use std::sync::Arc;

use assay_drive::{BlockBuffer, Codec, Disk, Drive, DriveOptions};

use super::host::{format, media_of, open};
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
