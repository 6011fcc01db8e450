//! A flash drive: host side, our drive as its translation layer, flash.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use assay_disk::{Disk, Guarantees, MemoryDisk};
use assay_drive::{Codec, Drive, DriveOptions, Format, Policy};
use assay_models::nand::{
    CompressionEngine, FlashGeometry, FlashTiming, HostLimits, HostTiming, figures,
};
use assay_models::{
    Clock, Inside, Kind, Modelled, Rate, Recorder, ReplayPacing, Resource, Time, Trace,
    VirtualClock, VirtualDisk, WriteCache, replay,
};

use crate::random::Random;

const MIB: u64 = 1 << 20;

/// Stored size of a block that does not compress.
const STORED: u64 = 4101;

/// A small drive, slow enough to tell its parts apart.
fn geometry() -> FlashGeometry {
    FlashGeometry {
        channels: 2,
        dies_per_channel: 2,
        planes: 4,
        page_bytes: 16 << 10,
        pages_per_block: 64,
        read_time: Time::from_us(60.0),
        program_time: Time::from_us(1500.0),
        erase_time: Time::from_us(5000.0),
        program_suspend_time: Time::from_us(20.0),
        erase_suspend_time: Time::from_us(100.0),
        bus_bytes_per_s: Rate(600e6),
        buffer_bytes: 2 * MIB,
        is_buffer_protected: true,
    }
}

fn limits() -> HostLimits {
    HostLimits {
        read_firmware_time: Time::from_us(9.0),
        write_firmware_time: Time::from_us(17.0),
        operations_per_s: Some(Rate(40_000.0)),
        link_bytes_per_s: Rate(3.2e9),
        link_cap_bytes_per_s: Rate(400e6),
        engine: None,
    }
}

/// The whole stack in virtual time.
struct Rig {
    clock: Arc<VirtualClock>,
    flash: Arc<Modelled<FlashTiming>>,
    drive: Arc<Drive>,
    top: Arc<Modelled<HostTiming>>,
    disk: VirtualDisk<HostTiming>,
}

impl Rig {
    fn new(geometry: FlashGeometry, limits: HostLimits, media_bytes: u64, codec: Codec) -> Rig {
        let clock = Arc::new(VirtualClock::default());
        let media: Arc<dyn Disk> = Arc::new(MemoryDisk::new(media_bytes).unwrap());
        let format = Format {
            drive_id: 1,
            logical_bytes: media_bytes,
            codec,
            units: false,
            dictionary: false,
            segment_bytes: Some(MIB as u32),
        };
        Drive::format(Arc::clone(&media), &format).unwrap();
        let guarantees = Guarantees { atomic_write_bytes: 4096, volatile_cache: false };
        let flash =
            Arc::new(Modelled::new(media, clock.clone(), FlashTiming::new(geometry), guarantees));
        let cache = match geometry.is_buffer_protected {
            true => WriteCache::Protected,
            false => WriteCache::Volatile,
        };
        let inside = Inside { cache, chunk_bytes: Some(256 << 10), ..Inside::default() };
        let options =
            DriveOptions { discard_media: true, policy: Policy::Greedy, ..DriveOptions::default() };
        let drive = Arc::new(inside.open(flash.clone(), options).unwrap());
        let top = Arc::new(Modelled::new(
            drive.clone(),
            clock.clone(),
            HostTiming::new(limits),
            guarantees,
        ));
        let disk = VirtualDisk::new(clock.clone(), top.clone(), Some(drive.clone()));
        let mut rig = Rig { clock, flash, drive, top, disk };
        // The first write of all begins the log, which takes a flush.
        rig.latency(|disk| disk.write(0, &[7; 4096], false));
        rig.drain();
        rig
    }

    fn advance(&mut self, now: Time) {
        self.disk.advance(now).unwrap();
    }

    /// Present latency of `command`.
    fn latency(&mut self, command: impl FnOnce(&dyn Disk) -> assay_disk::Result<()>) -> Time {
        let now = self.clock.now();
        self.disk.run(now, command).unwrap().when() - now
    }

    /// `commands` at a constant depth, each begun when the one before it in its place is answered;
    /// gives how many a second there were.
    fn rate_at_depth(
        &mut self,
        depth: usize,
        commands: usize,
        mut command: impl FnMut(&dyn Disk) -> assay_disk::Result<()>,
    ) -> f64 {
        let began = self.clock.now();
        let mut free = vec![began; depth];
        for _ in 0..commands {
            let place = (0..depth).min_by_key(|&place| free[place]).unwrap();
            self.advance(free[place]);
            free[place] += self.latency(&mut command);
        }
        let ended = free.into_iter().max().unwrap();
        commands as f64 / (ended - began).as_s()
    }

    fn fill(&mut self, bytes: u64) {
        let mut data = vec![0; MIB as usize];
        let mut random = Random::new(5);
        for start in (0..bytes).step_by(data.len()) {
            fill(&mut random, &mut data);
            let now = self.clock.now();
            let took = self.latency(|disk| disk.write(start, &data, false));
            self.advance(now + took);
        }
        self.drain();
    }

    /// Lets everything come to rest.
    fn drain(&mut self) {
        self.advance(self.clock.now() + Time::from_us(1e6));
    }
}

fn fill(random: &mut Random, bytes: &mut [u8]) {
    bytes
        .chunks_mut(8)
        .for_each(|word| word.copy_from_slice(&random.next().to_le_bytes()[..word.len()]));
}

fn near(measured: f64, expected: f64, share: f64) -> bool {
    (measured / expected - 1.0).abs() <= share
}

#[test]
fn a_read_of_an_idle_drive_takes_what_its_parts_take() {
    let mut rig = Rig::new(geometry(), limits(), 64 * MIB, Codec::None);
    rig.fill(16 * MIB);
    let mut data = [0; 4096];
    let mut random = Random::new(1);
    let expected = figures::read_latency_us(&geometry(), &limits(), 4096, STORED);
    let mut sum = 0.0;
    for _ in 0..200 {
        let block = random.below(16 * MIB / 4096);
        rig.advance(rig.clock.now() + Time::from_us(5000.0));
        sum += rig.latency(|disk| disk.read(block * 4096, &mut data)).as_us();
    }
    assert!(near(sum / 200.0, expected, 0.03), "{} for {expected}", sum / 200.0);
    let waited = rig.top.tally().waited[Resource::Flash as usize];
    assert!(waited >= 190, "the flash itself is what they wait for: {waited}");
}

#[test]
fn random_reads_reach_the_dies_rate_and_no_more() {
    let limits =
        HostLimits { operations_per_s: None, link_cap_bytes_per_s: Rate(3.2e9), ..limits() };
    let mut rig = Rig::new(geometry(), limits, 64 * MIB, Codec::None);
    rig.fill(16 * MIB);
    let expected = figures::reads_per_s(&geometry(), &limits, 4096, STORED);
    let mut data = [0; 4096];
    let mut random = Random::new(2);
    let rate = rig.rate_at_depth(64, 20_000, |disk| {
        disk.read(random.below(16 * MIB / 4096) * 4096, &mut data)
    });
    assert!(near(rate, expected, 0.05), "{rate} for {expected}");
    assert!(rig.top.tally().waited[Resource::Die as usize] > 15_000);
}

#[test]
fn random_reads_reach_the_controllers_rate_and_no_more() {
    let mut rig = Rig::new(geometry(), limits(), 64 * MIB, Codec::None);
    rig.fill(16 * MIB);
    let mut data = [0; 4096];
    let mut random = Random::new(2);
    let rate = rig.rate_at_depth(64, 20_000, |disk| {
        disk.read(random.below(16 * MIB / 4096) * 4096, &mut data)
    });
    assert!(near(rate, 40_000.0, 0.01), "{rate}");
}

#[test]
fn a_write_is_answered_by_the_buffer_until_that_is_full() {
    let mut rig = Rig::new(geometry(), limits(), 64 * MIB, Codec::None);
    let page = vec![7; 16 << 10];
    let first = rig.latency(|disk| disk.write(0, &page, false));
    let expected = 17.0 + 16384.0 / 3.2e9 * 1e6;
    assert!(near(first.as_us(), expected, 0.01), "{} for {expected}", first.as_us());
    let mut longest = Time::ZERO;
    for place in 1..1000 {
        let mut page = page.clone();
        fill(&mut Random::new(place), &mut page);
        longest = longest.max(rig.latency(|disk| disk.write(place << 14, &page, false)));
    }
    assert!(longest > Time::from_us(1000.0), "{longest:?}");
    assert!(rig.top.tally().waited[Resource::Buffer as usize] > 0);
}

#[test]
fn sequential_writes_reach_the_dies_program_rate() {
    let mut rig = Rig::new(geometry(), limits(), 512 * MIB, Codec::None);
    let mut data = vec![0; 16 << 10];
    fill(&mut Random::new(3), &mut data);
    let mut next = 0;
    let rate = rig.rate_at_depth(4, 20_000, |disk| {
        next += data.len() as u64;
        disk.write(next - data.len() as u64, &data, false)
    });
    let counts = rig.drive.status().counts;
    let per_byte = counts.write_bytes_media() as f64 / counts.write_bytes_host as f64;
    let expected = figures::writes_per_s(&geometry(), &limits(), 16 << 10, per_byte);
    assert!(per_byte < 1.05, "{per_byte}");
    assert!(near(rate, expected, 0.05), "{rate} for {expected}");
}

/// Steady random writes of 4 KiB follow from the program rate and the write amplification at this
/// fill.
fn steady_writes(share: f64, codec: Codec, compressible: bool) -> (f64, f64) {
    let media_bytes = 128 * MIB;
    let mut rig = Rig::new(geometry(), limits(), media_bytes, codec);
    let blocks = (media_bytes as f64 * share / 4117.0) as u64;
    rig.fill(blocks * 4096 / MIB * MIB);
    let mut data = vec![0; 4096];
    let mut random = Random::new(4);
    let mut write = |disk: &dyn Disk| {
        fill(&mut random, &mut data);
        if compressible {
            data[2048..].fill(1);
        }
        disk.write(random.below(blocks) * 4096, &data, false)
    };
    rig.rate_at_depth(16, 4 * blocks as usize, &mut write);
    let before = rig.drive.status().counts;
    let rate = rig.rate_at_depth(16, 2 * blocks as usize, &mut write);
    let after = rig.drive.status().counts;
    let flash = after.write_bytes_media() - before.write_bytes_media();
    let host = after.write_bytes_host - before.write_bytes_host;
    let per_byte = flash as f64 / host as f64;
    (rate, figures::writes_per_s(&geometry(), &limits(), 4096, per_byte))
}

#[test]
fn steady_random_writes_cost_what_collection_moves() {
    let (rate, expected) = steady_writes(0.7, Codec::None, false);
    assert!(near(rate, expected, 0.1), "{rate} for {expected}");
}

#[test]
fn compression_makes_room_and_with_it_speed() {
    let (plain, _) = steady_writes(0.75, Codec::None, false);
    let (compressed, expected) = steady_writes(0.75, Codec::Deflate, true);
    assert!(near(compressed, expected, 0.1), "{compressed} for {expected}");
    assert!(compressed > 2.0 * plain, "{compressed} against {plain}");
}

#[test]
fn a_flush_waits_for_programs_unless_the_buffer_is_protected() {
    for is_buffer_protected in [false, true] {
        let geometry = FlashGeometry { is_buffer_protected, ..geometry() };
        let mut rig = Rig::new(geometry, limits(), 64 * MIB, Codec::None);
        let mut page = vec![0; 16 << 10];
        fill(&mut Random::new(1), &mut page);
        rig.latency(|disk| disk.write(MIB, &page, false));
        let took = rig.latency(|disk| disk.flush()).as_us();
        assert_eq!(took > 1500.0, !is_buffer_protected, "{took}");
        assert!(took >= 17.0, "{took}");
    }
}

#[test]
fn reads_go_before_programs_but_wait_for_them_to_stop() {
    let limits = HostLimits { operations_per_s: None, ..limits() };
    let mut rig = Rig::new(geometry(), limits, 64 * MIB, Codec::None);
    rig.fill(16 * MIB);
    let mut page = vec![0; 64 << 10];
    for place in 0..64 {
        fill(&mut Random::new(place), &mut page);
        rig.latency(|disk| disk.write(20 * MIB + (place << 16), &page, false));
    }
    let mut data = [0; 4096];
    let idle = figures::read_latency_us(&geometry(), &limits, 4096, STORED);
    let busy = rig.latency(|disk| disk.read(0, &mut data)).as_us();
    assert!(busy >= idle + 19.0, "{busy} against {idle}");
    assert!(busy < idle + 1500.0, "it waited for a program to end: {busy}");
}

#[test]
fn an_engine_adds_its_latency_and_caps_the_rate() {
    let engine = CompressionEngine {
        latency: Time::from_us(5.0),
        bytes_per_s: Rate(1e9),
        cap_bytes_per_s: Rate(100e6),
    };
    let with = HostLimits { engine: Some(engine), ..limits() };
    let mut rig = Rig::new(geometry(), with, 64 * MIB, Codec::None);
    let data = [7; 4096];
    let took = rig.latency(|disk| disk.write(0, &data, false)).as_us();
    assert!(near(took, 17.0 + 5.0 + 1.28, 0.01), "{took}");
    let rate = rig.rate_at_depth(16, 5000, |disk| disk.write(0, &data, false));
    assert!(rate < 100e6 / 4096.0 * 1.01, "{rate}");
}

#[test]
fn erases_come_when_a_block_of_every_die_is_free_and_delay_what_follows() {
    let geometry = FlashGeometry { pages_per_block: 4, ..geometry() };
    assert_eq!(geometry.erased_bytes(), MIB);
    let mut rig = Rig::new(geometry, limits(), 64 * MIB, Codec::None);
    rig.fill(16 * MIB);
    rig.drain();
    let mut data = [0; 4096];
    let now = rig.clock.now();
    rig.flash.discard(40 * MIB, MIB).unwrap();
    let idle = figures::read_latency_us(&geometry, &limits(), 4096, STORED);
    let took = rig.latency(|disk| disk.read(0, &mut data)).as_us();
    assert!(near(took, idle + 100.0, 0.02), "{took} against {idle}");
    rig.clock.set(now + Time::from_us(50_000.0));
    let took = rig.latency(|disk| disk.read(0, &mut data)).as_us();
    assert!(near(took, idle, 0.02), "{took} against {idle}");
}

#[test]
fn the_same_commands_take_the_same_times_again() {
    let run = || {
        let mut rig = Rig::new(geometry(), limits(), 64 * MIB, Codec::None);
        rig.fill(20 * MIB);
        let mut random = Random::new(9);
        let mut data = vec![0; 16 << 10];
        for _ in 0..2000 {
            let place = random.below(20 * MIB / 16384) * 16384;
            let now = rig.clock.now();
            let kind = if random.chance(50) { Kind::Read } else { Kind::Write };
            let took = rig.latency(|disk| match kind {
                Kind::Read => disk.read(place, &mut data),
                _ => disk.write(place, &data, false),
            });
            rig.advance(now + took);
        }
        rig.top.tally()
    };
    assert_eq!(run(), run());
}

#[test]
fn a_replay_without_data_takes_the_times_of_what_was_recorded() {
    let (bytes, recorded_reads) = record();
    let trace = Trace::read(&bytes[..]).unwrap();
    assert!(trace.events.len() > 20_000);
    let means = |codec| {
        let mut rig = Rig::new(geometry(), limits(), 64 * MIB, codec);
        let mut sums = [(0.0, 0.0, 0_u32); 4];
        let arrivals = ReplayPacing::AfterAnswers { port: Time::ZERO };
        replay(&trace.events, &mut rig.disk, arrivals, |answer| {
            let sum = &mut sums[answer.kind as usize];
            sum.0 += answer.latency.as_us();
            sum.1 += answer.recorded_modelled.as_us();
            sum.2 += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
        [Kind::Read, Kind::Write].map(|kind| {
            let (replayed, recorded, commands) = sums[kind as usize];
            assert!(commands > 5000);
            replayed / recorded
        })
    };
    assert!(recorded_reads > 5000);
    for ratio in means(Codec::Simulated) {
        assert!(near(ratio, 1.0, 0.05), "{ratio}");
    }
    // Without the sizes it is another drive: the ratio above is not there by itself.
    assert!(means(Codec::None).into_iter().any(|ratio| ratio > 1.2));
}

/// A drive that compresses, filled and then read and overwritten by four at once; gives the trace.
fn record() -> (Vec<u8>, u64) {
    let rig = Rig::new(geometry(), limits(), 64 * MIB, Codec::Deflate);
    let bytes = SharedBytes::default();
    let recorder = Arc::new(Recorder::new(bytes.clone(), "").unwrap());
    let guarantees = Guarantees { atomic_write_bytes: 4096, volatile_cache: false };
    let top =
        Modelled::new(rig.drive.clone(), rig.clock.clone(), HostTiming::new(limits()), guarantees)
            .observed_by(Box::new(recorder.clone()));
    let mut rig = rig;
    let mut random = Random::new(8);
    let mut data = vec![0; 16 << 10];
    let pages = 44 * MIB / 16384;
    let mut free = [rig.clock.now(); 4];
    let mut reads = 0;
    for number in 0..pages + 25_000 {
        let place = (0..4).min_by_key(|&place| free[place]).unwrap();
        rig.advance(free[place]);
        let page = if number < pages { number } else { random.below(pages) };
        let before = top.tally();
        if number < pages || random.chance(50) {
            fill(&mut random, &mut data[..6000]);
            top.write(page << 14, &data, false).unwrap();
        } else {
            top.read(page << 14, &mut data).unwrap();
            reads += 1;
        }
        let sum = |tally: assay_models::CommandTally| -> u64 {
            tally.of_kind.iter().map(|kind| kind.modelled_ns).sum()
        };
        free[place] += Time::from_ns(sum(top.tally()) - sum(before));
    }
    recorder.finish().unwrap();
    (bytes.0.lock().unwrap().clone(), reads)
}

/// A file in memory that is written by another.
#[derive(Clone, Default)]
struct SharedBytes(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
