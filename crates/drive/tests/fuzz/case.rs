//! One mutated image: opened, read, checked, worked with and opened again, whatever comes.

use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Disk, DiskError, Drive, DriveOptions, State};

use crate::common::model::{BLOCK, Content, Model, content_of};
use crate::common::random::Random;
use crate::counted::Counted;
use crate::donor::Donor;

/// The outcome of a mutant.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome {
    pub refused: bool,
    pub read_only: bool,
    pub rebuilt: bool,
    pub corrupt: bool,
    pub worked: bool,
}

/// Blocks that are read, of those that were ever touched.
const READS: u64 = 300;

/// Most commands of a damaged drive to its media, as a multiple of a whole one's: data are searched
/// in more places.
const MORE_COMMANDS: u64 = 20;
const MORE_BYTES: u64 = 12;

/// Opens media, and does what a host and its owner do.
///
/// # Errors
/// Data that nobody wrote, or a drive that works as if there were no end. `forged` drives may hold
/// anything.
pub fn run(
    donor: &Donor,
    image: Vec<u8>,
    forged: bool,
    random: &mut Random,
) -> Result<(Outcome, (u64, u64)), String> {
    let media = Arc::new(Counted::new(image));
    let mut model = donor.model.clone();
    let mut outcome = Outcome::default();
    for _ in 0..2 {
        let options = DriveOptions {
            map_bytes: random.chance(20).then_some(4 * 4200),
            read_only: random.chance(10),
            ..DriveOptions::default()
        };
        match Drive::open(media.clone(), options) {
            Err(error) => {
                outcome.refused = true;
                one_line(&error.to_string())?;
            }
            Ok(drive) => live(&drive, &mut model, forged, random, &mut outcome)?,
        }
    }
    let (commands, bytes) = media.work();
    let (most_commands, most_bytes) = donor.work;
    if donor.work != (0, 0)
        && (commands > MORE_COMMANDS * most_commands || bytes > MORE_BYTES * most_bytes)
    {
        return Err(format!(
            "{commands} commands and {bytes} bytes of media, where {most_commands} and \
             {most_bytes} would do"
        ));
    }
    Ok((outcome, (commands, bytes)))
}

fn one_line(text: &str) -> Result<(), String> {
    let is_fine = !text.is_empty() && !text.contains('\n') && text.len() < 300;
    if is_fine { Ok(()) } else { Err(format!("an error that is not one line: {text:?}")) }
}

fn live(
    drive: &Drive,
    model: &mut Model,
    forged: bool,
    random: &mut Random,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let touched = model.touched();
    for _ in 0..READS {
        read(drive, model, *random.pick(&touched), forged, outcome)?;
    }
    // Also where nobody wrote: whatever the map says now.
    for _ in 0..20 {
        let block = random.below((drive.size() / BLOCK_BYTES).max(1));
        let _ = drive.read(block * BLOCK_BYTES, &mut [0; BLOCK]);
    }
    let _ = drive.check(&mut |_, _| {});
    work(drive, model, forged, random, outcome)?;
    let status = drive.status();
    outcome.read_only |= status.state == State::ReadOnly;
    outcome.rebuilt |= status.recovery.rebuilt;
    status.problems.iter().try_for_each(|problem| one_line(problem))
}

fn read(
    drive: &Drive,
    model: &Model,
    block: u64,
    forged: bool,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let mut data = [1; BLOCK];
    match drive.read(block * BLOCK_BYTES, &mut data) {
        Ok(()) if forged => Ok(()),
        Ok(()) => match content_of(block, &data)? {
            Content::Written(command) if !model.wrote(block, command) => {
                Err(format!("block {block} holds what command {command} of another drive wrote"))
            }
            _ => Ok(()),
        },
        Err(error) => {
            outcome.corrupt |= matches!(error, DiskError::Corrupt { .. });
            one_line(&error.to_string())
        }
    }
}

/// Writes, discards, collects, closes: what may be refused, and must not fail in any other way.
fn work(
    drive: &Drive,
    model: &mut Model,
    forged: bool,
    random: &mut Random,
    outcome: &mut Outcome,
) -> Result<(), String> {
    for _ in 0..12 {
        let first = random.below(800);
        let blocks = *random.pick(&[1, 4, 64]);
        let data = model.write(first, blocks);
        let written = drive.write(first * BLOCK_BYTES, &data, random.chance(20));
        outcome.worked |= written.is_ok();
        let mut found = vec![0; data.len()];
        let is_read = drive.read(first * BLOCK_BYTES, &mut found).is_ok();
        if !forged && written.is_ok() && is_read && found != data {
            return Err(format!("{blocks} blocks from {first} were written and are not there"));
        }
        let _ = drive.discard(random.below(800) * BLOCK_BYTES, 4 * BLOCK_BYTES);
        let _ = drive.maintain();
    }
    let _ = drive.flush();
    for _ in 0..6 {
        let _ = drive.maintain();
    }
    let _ = drive.close();
    Ok(())
}
