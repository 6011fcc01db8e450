//! A power cut, and another while the drive comes back: each at every write and flush, and each
//! tearing what it interrupts. Of the two superblocks the first cut may tear one, and the second
//! must not tear the other.

use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Codec, Disk, Drive, DriveOptions, Format};

use crate::common::media::{Fate, Moment, SimulatedMedia};
use crate::common::model::Model;
use crate::common::random::Random;

const SEGMENT_BYTES: u64 = 512 << 10;
const MEDIA_BYTES: u64 = (1 << 20) + BLOCK_BYTES + 30 * SEGMENT_BYTES;

fn open(media: &Arc<SimulatedMedia>) -> Result<Drive, String> {
    Drive::open(media.clone(), DriveOptions::default()).map_err(|error| error.to_string())
}

/// Writes something, and everything after that to media; gives what a power cut would find at each
/// step of it.
fn moments_of_use(media: &Arc<SimulatedMedia>, model: &mut Model) -> Result<Vec<Moment>, String> {
    media.keep_moments();
    let drive = open(media)?;
    let data = model.write(7, 3);
    let written = drive.write(7 * BLOCK_BYTES, &data, false).and_then(|()| drive.close());
    written.map_err(|error| error.to_string())?;
    Ok(media.take_moments())
}

fn torn(moment: &Moment, random: &mut Random) -> Arc<SimulatedMedia> {
    Arc::new(moment.after_power_cut(|_| Fate::Torn(random.next())))
}

#[test]
fn a_second_power_cut_while_it_comes_back_leaves_a_drive() {
    let media = Arc::new(SimulatedMedia::new(MEDIA_BYTES));
    let format = Format {
        drive_id: 0x2CE,
        logical_bytes: 64 << 20,
        codec: Codec::None,
        units: false,
        dictionary: false,
        segment_bytes: Some(SEGMENT_BYTES as u32),
    };
    Drive::format(media.clone(), &format).unwrap();
    let mut random = Random::new(1);
    let mut cuts = 0;
    let model = Model::new();
    for first in moments_of_use(&media, &mut model.clone()).unwrap() {
        for _ in 0..4 {
            let left = torn(&first, &mut random);
            let twice = moments_of_use(&Arc::new(left.copy()), &mut model.clone()).unwrap();
            for second in twice {
                let left = torn(&second, &mut random);
                open(&left).unwrap_or_else(|problem| panic!("after two power cuts: {problem}"));
                cuts += 1;
            }
        }
    }
    println!("{cuts} pairs of power cuts");
    assert!(cuts > 500);
}
