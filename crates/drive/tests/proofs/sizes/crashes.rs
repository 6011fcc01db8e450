//! Power cuts at random moments in the lives of drives of many sizes, nearly empty to nearly full.

use std::time::Instant;

use assay_drive::{BLOCK_BYTES, Disk, DriveOptions, Format};
use assay_testing::count;

use crate::common::random::Random;
use crate::common::thin_host::{Found, Host, SEGMENT_BYTES, in_parallel, plain_format, setting};
use crate::common::versions::Stuff;

/// The host's use of a drive that it has filled.
#[derive(Debug, Clone, Copy)]
enum Use {
    Overwrites,
    Trims,
    Refills,
}

#[derive(Debug, Clone, Copy)]
struct Setup {
    segments: u64,
    percent: u64,
    crashes: u64,
    seed: u64,
}

/// A drive's life with so many power cuts looked at.
fn live(setup: Setup) -> Result<Found, String> {
    let Setup { segments, percent, crashes, seed } = setup;
    let mut random = Random::new(seed);
    let logical_bytes = segments * u64::from(SEGMENT_BYTES) * 2;
    let format = Format { logical_bytes, ..plain_format(0) };
    let options = DriveOptions {
        discard_media: random.chance(20),
        map_bytes: random.chance(20).then_some(4 << 20),
        ..DriveOptions::default()
    };
    let mut host = Host::new(segments, &format, options, random.next());
    host.stuff = Stuff::THIN;
    let fill = host.drive.status().usable_bytes / BLOCK_BYTES * percent / 100 / 64 * 64;
    for first in (0..fill).step_by(64) {
        if !host.write(first, 64)? {
            return Err(format!("it is full at {first} of {fill} blocks"));
        }
    }
    let background = random.chance(70);
    let mut left = crashes;
    while left > 0 {
        let uses = [Use::Overwrites, Use::Overwrites, Use::Trims, Use::Refills];
        let (what, commands) = (*random.pick(&uses), 1 << random.below(14));
        // Half of the power cuts come in the midst of what the drive does.
        if random.chance(50) {
            host.media.keep_moment(1 + random.below(commands / 8 + 8));
        }
        let sequence = random.below(fill - 64);
        for command in 0..commands {
            let first = random.below(fill - 64);
            let taken = match what {
                Use::Overwrites => {
                    let blocks = *random.pick(&[1, 1, 1, 4, 16]);
                    host.write(first, blocks)?
                }
                Use::Trims => {
                    let blocks = 1 + random.below(60);
                    host.discard(first, blocks)?
                }
                Use::Refills => host.write((sequence + command * 32) % (fill - 64), 32)?,
            };
            if !taken {
                return Err(format!("{what:?} was refused: {:?}", host.drive.status()));
            }
            if background && random.chance(10) {
                host.maintain(2)?;
            }
            if random.chance(1) && command % 8 == 0 {
                host.drive.flush().map_err(|error| error.to_string())?;
                // A moment in the midst of it may have either.
                left -= u64::from(host.look_at_moment()?);
                host.flush()?;
            }
            left -= u64::from(left > 0 && host.look_at_moment()?);
            if left == 0 {
                break;
            }
        }
        host.media.forget_moment();
        if left > 0 {
            host.look_after_a_power_cut()?;
            left -= 1;
        }
        if random.chance(5) {
            host.reopen()?;
        }
        if matches!(what, Use::Trims) {
            // Full again.
            for first in (0..fill).step_by(64) {
                if !(0..4).all(|index| host.model.is_written(first + 16 * index))
                    && !host.write(first, 64)?
                {
                    return Err("what was trimmed is not free".into());
                }
            }
        }
    }
    host.healthy()?;
    Ok(host.found)
}

#[test]
fn drives_of_any_size_open_after_a_power_cut() {
    let crashes = setting("ASSAY_CRASHES", 0);
    let sizes: &[u64] =
        if crashes == 0 { count(&[1024], &[1024, 4096]) } else { &[4096, 16_384, 65_536] };
    let only = setting("ASSAY_SEGMENTS", 0);
    let each = if crashes == 0 { count(2, 5) } else { crashes.div_ceil(4) };
    let mut setups = Vec::new();
    for segments in sizes.iter().copied().filter(|size| only == 0 || *size == only) {
        for percent in [50, 67, 90, 97] {
            let seed = setting("ASSAY_SEED", 0) + segments + percent;
            setups.push(Setup { segments, percent, crashes: each, seed });
        }
    }
    in_parallel(&setups, |setup| {
        let start = Instant::now();
        match live(*setup) {
            Ok(found) => {
                println!("{setup:?}: {found:?}, {:.1} s", start.elapsed().as_secs_f64())
            }
            Err(problem) => panic!("{setup:?}: {problem}"),
        }
    });
}

/// The checker itself: media that lose what was flushed, and a drive that is held to what it never
/// wrote.
#[test]
fn a_flush_that_lies_is_noticed() {
    let noticed = (0..10).filter(|seed| {
        let format = plain_format(256 << 20);
        let mut host = Host::new(64, &format, DriveOptions::default(), *seed);
        host.media.lie();
        let mut live = || -> Result<(), String> {
            for _ in 0..50 {
                let first = host.random.below(5000);
                host.write(first, 8)?;
            }
            host.flush()?;
            host.look_after_power_cut()
        };
        live().is_err()
    });
    let noticed = noticed.count();
    assert!(noticed >= 8, "{noticed} of 10 lost flushes were noticed");
    let mut host = Host::new(64, &plain_format(256 << 20), DriveOptions::default(), 1);
    assert!(host.write(0, 64).unwrap());
    host.flush().unwrap();
    host.look_after_power_cut().unwrap();
    host.model.discard(0, 64);
    host.model.flushed();
    assert!(host.look_after_power_cut().is_err(), "blocks that are there and should not be");
}
