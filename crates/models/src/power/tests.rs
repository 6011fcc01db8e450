use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use assay_disk::{BLOCK_BYTES, Disk, DiskError, MemoryDisk};
use proptest::prelude::*;

use super::cache::BLOCK;
use super::*;

const BLOCKS: u64 = 64;
const SECTOR: usize = 512;

fn nature(tears_at: TearsAt) -> Volatility {
    Volatility { tears_at, cache_bytes: 1 << 20, ignores_flush: false, keeps: Keeps::Any }
}

fn over(nature: Volatility) -> (Arc<MemoryDisk>, Arc<VolatileDisk>) {
    let below = Arc::new(MemoryDisk::new(BLOCKS * BLOCK_BYTES).unwrap());
    let disk = Arc::new(VolatileDisk::new(Arc::clone(&below) as Arc<dyn Disk>, nature));
    (below, disk)
}

fn block(disk: &dyn Disk, number: u64) -> [u8; BLOCK] {
    let mut data = [0; BLOCK];
    disk.read(number * BLOCK_BYTES, &mut data).unwrap();
    data
}

/// A page as InnoDB writes it, filled with `byte`.
fn page(space: u32, number: u32, byte: u8) -> Vec<u8> {
    let mut page = vec![byte; PAGE_BYTES];
    page[4..8].copy_from_slice(&number.to_be_bytes());
    page[16..24].copy_from_slice(&(7_u64 << 32 | 9).to_be_bytes());
    page[34..38].copy_from_slice(&space.to_be_bytes());
    page[PAGE_BYTES - 4..].copy_from_slice(&9_u32.to_be_bytes());
    page
}

#[derive(Debug, Clone)]
enum Step {
    Write { block: u64, blocks: u64, forced: bool },
    Discard { block: u64, blocks: u64 },
    Flush,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = || (0..BLOCKS, 1..=8_u64).prop_map(|(at, of)| (at, of.min(BLOCKS - at)));
    let step = prop_oneof![
        6 => (range(), prop::bool::weighted(0.2))
            .prop_map(|((block, blocks), forced)| Step::Write { block, blocks, forced }),
        1 => range().prop_map(|(block, blocks)| Step::Discard { block, blocks }),
        2 => Just(Step::Flush),
    ];
    prop::collection::vec(step, 1..60)
}

/// The possible contents of each block after a power cut: the last durable version, and all later
/// ones.
#[derive(Default)]
struct Model(BTreeMap<u64, Vec<u8>>);

impl Model {
    fn write(&mut self, block: u64, byte: u8, is_durable: bool) {
        let versions = self.0.entry(block).or_insert_with(|| vec![0]);
        if is_durable {
            versions.clear();
        }
        versions.push(byte);
    }

    fn flush(&mut self) {
        self.0.values_mut().for_each(|versions| drop(versions.drain(..versions.len() - 1)));
    }

    fn of(&self, block: u64) -> &[u8] {
        self.0.get(&block).map_or(&[0], Vec::as_slice)
    }
}

/// Does the steps, the `n`-th of which writes the byte `n`; every read sees the newest.
fn done(disk: &VolatileDisk, steps: &[Step]) -> Model {
    let mut model = Model::default();
    for (byte, step) in (1_u8..).zip(steps) {
        match *step {
            Step::Write { block, blocks, forced } => {
                let data = vec![byte; blocks as usize * BLOCK];
                disk.write(block * BLOCK_BYTES, &data, forced).unwrap();
                (block..block + blocks).for_each(|block| model.write(block, byte, forced));
            }
            Step::Discard { block, blocks } => {
                disk.discard(block * BLOCK_BYTES, blocks * BLOCK_BYTES).unwrap();
                (block..block + blocks).for_each(|block| model.write(block, 0, false));
            }
            Step::Flush => {
                disk.flush().unwrap();
                model.flush();
            }
        }
    }
    for number in 0..BLOCKS {
        let newest = *model.of(number).last().unwrap();
        assert!(block(disk, number).iter().all(|byte| *byte == newest));
    }
    model
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_cut_leaves_in_every_unit_what_was_durable_or_something_newer(
        steps in steps(),
        seed: u64,
        tears_at in prop_oneof![Just(512_u64), Just(4096), Just(16384)],
    ) {
        let (below, disk) = over(nature(TearsAt::Bytes(tears_at)));
        let model = done(&disk, &steps);
        let survival = disk.cut(seed).unwrap();
        prop_assert_eq!(survival.writes, survival.whole + survival.torn + survival.lost);
        for number in 0..BLOCKS {
            for sector in block(below.as_ref(), number).chunks(tears_at.min(BLOCK_BYTES) as usize) {
                let byte = sector[0];
                prop_assert!(sector.iter().all(|other| *other == byte), "torn within a unit");
                let is_newer = model.of(number).contains(&byte);
                prop_assert!(is_newer, "block {number} went back to {byte}");
            }
        }
    }

    #[test]
    fn a_device_that_tears_nothing_leaves_commands_whole(seed: u64, writes in 1..20_u8) {
        let (below, disk) = over(nature(TearsAt::Command));
        let group = |write: u8| u64::from(write % 8) * 8;
        for write in 1..=writes {
            disk.write(group(write) * BLOCK_BYTES, &[write; 8 * BLOCK], false).unwrap();
        }
        prop_assert_eq!(disk.cut(seed).unwrap().torn, 0);
        for first in (0..BLOCKS).step_by(8) {
            let byte = block(below.as_ref(), first)[0];
            for number in first..first + 8 {
                prop_assert!(block(below.as_ref(), number).iter().all(|other| *other == byte));
            }
        }
    }

    #[test]
    fn a_cache_that_is_written_out_in_order_leaves_a_beginning(seed: u64, writes in 1..60_u8) {
        let nature = nature(TearsAt::Bytes(512));
        let nature = Volatility { keeps: Keeps::Oldest, ignores_flush: true, ..nature };
        let (below, disk) = over(nature);
        for write in 0..writes {
            disk.write(u64::from(write) * BLOCK_BYTES, &[7; BLOCK], true).unwrap();
            disk.flush().unwrap();
        }
        let survival = disk.cut(seed).unwrap();
        let holds = |number: u8, value: u8| {
            block(below.as_ref(), number.into()).iter().all(|byte| *byte == value)
        };
        let (is_whole, is_gone) = (|number: u8| holds(number, 7), |number: u8| holds(number, 0));
        let whole = (0..writes).take_while(|number| is_whole(*number)).count() as u8;
        prop_assert!(((whole + 1).min(writes)..writes).all(is_gone));
        prop_assert!(survival.torn <= 1);
    }

    #[test]
    fn what_survives_is_the_seeds_choice(steps in steps(), seed: u64) {
        let left = |seed| {
            let (below, disk) = over(nature(TearsAt::Bytes(512)));
            done(&disk, &steps);
            let survival = disk.cut(seed).unwrap();
            (survival, (0..BLOCKS).map(|number| block(below.as_ref(), number)).collect::<Vec<_>>())
        };
        prop_assert!(left(seed) == left(seed));
    }
}

#[test]
fn a_cache_holds_no_more_than_it_has() {
    let (below, disk) =
        over(Volatility { cache_bytes: 4 * BLOCK_BYTES, ..nature(TearsAt::Command) });
    for number in 0..10 {
        disk.write(number * BLOCK_BYTES, &[1; BLOCK], false).unwrap();
    }
    let durable = (0..10).filter(|number| block(below.as_ref(), *number)[0] == 1).count();
    assert_eq!(durable, 6, "the oldest are durable");
}

#[test]
fn a_device_that_ignores_flushes_loses_what_was_flushed() {
    let lost = |ignores_flush| {
        (0..50).any(|seed| {
            let (below, disk) = over(Volatility { ignores_flush, ..nature(TearsAt::Command) });
            disk.write(0, &[1; BLOCK], true).unwrap();
            disk.flush().unwrap();
            disk.cut(seed).unwrap();
            block(below.as_ref(), 0)[0] == 0
        })
    };
    assert!(lost(true) && !lost(false));
}

#[test]
fn a_device_that_is_switched_off_in_order_loses_nothing_even_so() {
    let nature = Volatility { ignores_flush: true, ..nature(TearsAt::Command) };
    for seed in 0..20 {
        let (below, disk) = over(nature);
        disk.write(0, &[1; BLOCK], false).unwrap();
        disk.write_out().unwrap();
        disk.cut(seed).unwrap();
        assert_eq!(block(below.as_ref(), 0)[0], 1);
        assert!(disk.write_out().is_err());
    }
}

#[test]
fn a_forced_write_that_the_power_goes_in_may_be_torn() {
    let torn = |forced: bool| {
        (0..50).any(|seed| {
            let (_, disk) = over(nature(TearsAt::Bytes(512)));
            disk.cut_in(1, seed);
            assert!(disk.write(0, &[1; BLOCK], forced).is_err());
            disk.wait_until_off(Duration::ZERO).unwrap().torn == 1
        })
    };
    assert!(torn(true) && torn(false));
}

#[test]
fn without_power_nothing_is_answered() {
    let (below, disk) = over(nature(TearsAt::Command));
    let watch = PowerWatch::new(disk.clone(), disk.clone());
    assert_eq!(disk.wait_until_off(Duration::ZERO), None);
    let survival = disk.cut(1).unwrap();
    assert_eq!(disk.wait_until_off(Duration::ZERO), Some(survival.clone()));
    assert_eq!(disk.cut(2).unwrap(), survival, "it goes but once");
    let mut data = [0; BLOCK];
    let answers = [
        watch.read(0, &mut data),
        watch.write(0, &[1; BLOCK], false),
        watch.flush(),
        watch.discard(0, BLOCK_BYTES),
    ];
    assert!(answers.iter().all(|answer| matches!(answer, Err(DiskError::Stopped { .. }))));
    assert_eq!(block(below.as_ref(), 0)[0], 0);
}

#[test]
fn the_power_goes_at_the_moment_that_was_set() {
    let is_off = |disk: &VolatileDisk| disk.wait_until_off(Duration::ZERO).is_some();
    for (moment, commands) in [
        (Moment::Write(2), 3),
        (Moment::PageWrite(2), 4),
        (Moment::Flush(1), 2),
        (Moment::MediaWrite(3), 4),
    ] {
        let (_, disk) = over(nature(TearsAt::Bytes(512)));
        let watch = PowerWatch::new(disk.clone(), disk.clone());
        watch.set(moment, 1);
        let asked: [&dyn Fn() -> assay_disk::Result<()>; 4] = [
            &|| watch.write(0, &page(5, 3, 1), false),
            &|| watch.flush(),
            &|| watch.write(8 * BLOCK_BYTES, &[1; BLOCK], false),
            &|| watch.write(16 * BLOCK_BYTES, &page(5, 4, 1), false),
        ];
        for (number, ask) in (1..).zip(asked) {
            assert_eq!(ask().is_err(), number >= commands, "{moment:?} at command {number}");
            assert_eq!(is_off(&disk), number >= commands, "{moment:?} at command {number}");
        }
    }
}

#[test]
fn torn_pages_are_named_with_what_is_new_of_them() {
    let seen = (0..100).find_map(|seed| {
        let (below, disk) = over(nature(TearsAt::Bytes(4096)));
        disk.write(4 * BLOCK_BYTES, &[page(5, 3, 1), page(5, 4, 1)].concat(), false).unwrap();
        let survival = disk.cut(seed).unwrap();
        (survival.torn_pages.len() == 2).then_some((below, survival.torn_pages))
    });
    let (below, pages) = seen.unwrap();
    for (number, torn) in (0..).zip(pages) {
        assert_eq!(torn.name, PageName { space: 5, page: 3 + number });
        assert_eq!((torn.offset, torn.unit_bytes), (u64::from(4 + 4 * number) * BLOCK_BYTES, 4096));
        let is_new = |part: u64| block(below.as_ref(), u64::from(4 + 4 * number) + part)[100] == 1;
        assert_eq!(torn.is_new, (0..4).map(is_new).collect::<Vec<_>>());
    }
    assert_eq!(pages_of(&[3; PAGE_BYTES]).count(), 0, "this is no page");
    assert_eq!(pages_of(&page(5, 3, 1)[..SECTOR]).count(), 0, "nor is a part of one");
}
