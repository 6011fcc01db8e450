//! The checkers themselves: they must fail where a drive would have lied.

use std::sync::Arc;

use assay_drive::{Codec, Disk, Drive, MemoryDisk};

use super::specimen::{Ending, Specimen, options};
use super::verdict::{judge, read_all};
use crate::common::faulty::{Fault, FaultyDisk};

/// The whole media as it was some time ago: nothing on it can tell, but what was flushed since is
/// gone.
#[test]
fn media_that_forgot_a_flush_are_caught() {
    for ending in [Ending::Closed, Ending::Flushed] {
        let specimen = Specimen::new(Codec::Zstd, true, ending, 3);
        let problem = judge(Arc::new(specimen.older), &specimen.model).unwrap_err();
        assert!(problem.contains("flushed data is lost and nothing said"), "{problem}");
    }
}

#[test]
fn old_data_and_foreign_data_are_caught() {
    let specimen = Specimen::new(Codec::Lz4, false, Ending::Closed, 4);
    let open = |media| Arc::new(Drive::open(Arc::new(media), options()).unwrap());
    let drive = open(specimen.media.copy());
    let now = |disk: &dyn Disk| {
        let found = read_all(disk, &specimen.model)?;
        let now = specimen.model.commands;
        let prefixes = specimen.model.prefixes(&found.contents, now);
        prefixes.map_err(|(block, _)| format!("block {block} is old"))
    };
    now(&*drive).unwrap();

    let with_old = FaultyDisk::new(drive.clone());
    with_old.inject(Fault::StaleRead(open(specimen.older.copy())), 0..u64::MAX, 0, u64::MAX);
    assert!(now(&with_old).unwrap_err().contains("old"), "an old block went unnoticed");

    let foreign = Arc::new(MemoryDisk::new(drive.size()).unwrap());
    let mut block = [0; 4096];
    drive.read(4096, &mut block).unwrap();
    foreign.write(0, &block, false).unwrap();
    let with_foreign = FaultyDisk::new(drive);
    with_foreign.inject(Fault::StaleRead(foreign), 0..4096, 0, u64::MAX);
    let problem = now(&with_foreign).unwrap_err();
    assert!(problem.contains("no command wrote"), "{problem}");
}
