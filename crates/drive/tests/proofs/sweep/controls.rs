//! The checker itself: it must fail where a drive would have lied.

use std::collections::BTreeSet;
use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Disk, Drive, MemoryDisk};

use super::case::{Allowance, Host, run};
use super::scarred::{Scar, Scarred};
use super::single::allowance;
use super::specimen::{Specimen, options};
use crate::common::faulty::{Fault, FaultyDisk};
use crate::common::random::Random;

fn host(specimen: &Specimen) -> Host<'_> {
    let media = Arc::new(Scarred::new(specimen.image.clone()));
    Host {
        specimen,
        drive: Drive::open(media.clone(), options()).unwrap(),
        media,
        model: specimen.model.clone(),
        random: Random::new(1),
        options: options(),
        may_fail: BTreeSet::new(),
        wild: BTreeSet::new(),
        is_dead: false,
        may_fill: false,
    }
}

fn everything(specimen: &Specimen) -> Allowance {
    Allowance { shortest: specimen.model.commands, ..Allowance::default() }
}

/// Media that forgot some flushes, all of them: nothing on them can tell.
#[test]
fn media_that_forgot_a_flush_are_caught() {
    for specimen in Specimen::all() {
        let allowance = everything(specimen);
        run(specimen, &[], &allowance, 1).unwrap();
        let older = specimen.fallen_back();
        let problem = run(&older, &[], &allowance, 1).unwrap_err();
        assert!(problem.contains("flushed data is lost, and nothing said"), "{problem}");
    }
}

/// A disk between the drive and its host that gives other data, old data, or none.
#[test]
fn wrong_data_are_caught() {
    let specimen = &Specimen::all()[0];
    let host = host(specimen);
    host.check(&host.drive).unwrap();
    let block = *specimen.homes.values().flatten().next().unwrap();

    let zeroes: Arc<dyn Disk> = Arc::new(MemoryDisk::new(host.drive.size()).unwrap());
    let older = Arc::new(Scarred::new(specimen.older.clone()));
    let older: Arc<dyn Disk> = Arc::new(Drive::open(older, options()).unwrap());
    for (wrong, expected) in [(zeroes, "reads Zero"), (older, "reads")] {
        let drive = Arc::new(Drive::open(host.media.clone(), options()).unwrap());
        let disk = FaultyDisk::new(drive);
        disk.inject(Fault::StaleRead(wrong), 0..u64::MAX, 0, u64::MAX);
        let problem = host.check(&disk).err().unwrap();
        assert!(problem.contains(expected), "{problem}");
    }

    let drive = Arc::new(Drive::open(host.media.clone(), options()).unwrap());
    let foreign = Arc::new(MemoryDisk::new(drive.size()).unwrap());
    let mut data = [0; BLOCK_BYTES as usize];
    drive.read(block * BLOCK_BYTES, &mut data).unwrap();
    foreign.write(0, &data, false).unwrap();
    let disk = FaultyDisk::new(drive);
    disk.inject(Fault::StaleRead(foreign), 0..64 * BLOCK_BYTES, 0, 1);
    let problem = host.check(&disk).err().unwrap();
    assert!(problem.contains("no command wrote") || problem.contains("reads"), "{problem}");
}

/// A read that fails where nothing is wrong, and one that nobody names.
#[test]
fn refusals_without_a_reason_are_caught() {
    let specimen = &Specimen::all()[0];
    let (home, blocks) = specimen.homes.iter().next().unwrap();
    let scars = [(*home, Scar::Unreadable)];
    run(specimen, &scars, &allowance(specimen, *home), 1).unwrap();
    let problem = run(specimen, &scars, &everything(specimen), 1).unwrap_err();
    assert!(problem.contains("lay in no bad place"), "{problem}");

    let host = host(specimen);
    let mut seen = host.check(&host.drive).unwrap();
    host.compare_check(&seen).unwrap();
    seen.failed.insert(*blocks.first().unwrap(), true);
    let problem = host.compare_check(&seen).unwrap_err();
    assert!(problem.contains("the check is silent"), "{problem}");
}

/// A drive that takes no writes any more.
#[test]
fn a_drive_that_refuses_writes_is_caught() {
    let specimen = &Specimen::all()[0];
    let mut host = host(specimen);
    let read_only = assay_drive::DriveOptions { read_only: true, ..options() };
    host.drive = Drive::open(host.media.clone(), read_only).unwrap();
    let problem = host.work(24).unwrap_err();
    assert!(problem.contains("fails"), "{problem}");
}
