//! The life of a drive of a drawn shape: filled, overwritten, trimmed, closed, cut off from power,
//! and held to a model all the while.

use assay_drive::{BLOCK_BYTES, Codec, Disk, DriveOptions, Format, Policy};

use super::random::Random;
use super::thin_host::{DIRECTORY, Host, LEAF, media_bytes};
use super::versions::{Stuff, Versions};

/// The shape of a drive, and how it is used.
#[derive(Debug, Clone)]
pub struct Geometry {
    pub segments: u64,
    pub format: Format,
    pub options: DriveOptions,
    pub stuff: Stuff,
    /// Blocks from one place that is written to the next, blocks of a place, and places.
    pub stride: u64,
    pub run: u64,
    pub places: u64,
    /// Most writes go to one place in so many.
    pub hot_part: u64,
    /// Places are filled until so much is free, in percent.
    pub percent_free: u64,
    pub background: bool,
}

impl Geometry {
    /// Draws one whose life writes about `bytes`.
    pub fn draw(random: &mut Random, bytes: u64) -> Geometry {
        let codec = *random.pick(&[
            Codec::None,
            Codec::None,
            Codec::Simulated,
            Codec::Lz4,
            Codec::Zstd,
            Codec::Zstd,
            Codec::Deflate,
        ]);
        let stuff = match codec {
            Codec::None => Stuff::THIN,
            Codec::Simulated => {
                *random.pick(&[Stuff { bytes: (24, 4096), is_random: false }, Stuff::THIN])
            }
            // 30 : 1, 2 : 1, any, and not at all.
            _ => {
                let bytes =
                    *random.pick(&[(100, 130), (100, 130), (1500, 2200), (24, 4096), (4096, 4096)]);
                Stuff { bytes, is_random: true }
            }
        };
        let segment_bytes = *random.pick(&[512 << 10, 512 << 10, 512 << 10, 1 << 20, 2 << 20]);
        let magnitude = random.below(9);
        let segments =
            (30 + random.below(30)) << if random.chance(85) { random.below(2) } else { magnitude };
        let segments = segments.min(8192);
        // None: one place is next to the other.
        let strides =
            [0, 0, 0, 0, 64, LEAF, LEAF, 4 * LEAF, 64 * LEAF, DIRECTORY, 3 * DIRECTORY + 512];
        let stride = *random.pick(&strides);
        let run = 1 << random.below(7);
        let stride = stride.max(run);
        let capacity = media_bytes(segments, segment_bytes);
        let most = capacity * assay_drive::LOGICAL_PER_CAPACITY / BLOCK_BYTES / stride;
        // Bytes of one place on media, about.
        let (least_bytes, most_bytes) = stuff.bytes;
        let place_bytes = run * u64::from(least_bytes + most_bytes) / 2
            + if stride >= LEAF { 8192 } else { 8192 * stride / LEAF };
        let wanted = (2 * capacity / place_bytes).min(bytes / (run * BLOCK_BYTES) + 1);
        let places = wanted.clamp(2, most.max(2));
        let logical_bytes = (places * stride * BLOCK_BYTES).min(most * stride * BLOCK_BYTES);
        let format = Format {
            drive_id: random.next(),
            logical_bytes,
            codec,
            units: codec != Codec::Simulated && random.chance(30),
            dictionary: codec == Codec::Zstd && random.chance(40),
            segment_bytes: Some(segment_bytes),
        };
        let options = DriveOptions {
            map_bytes: random.chance(40).then(|| 20_000 << random.below(6)),
            policy: *random.pick(&[Policy::CostBenefit, Policy::CostBenefit, Policy::Greedy]),
            checkpoint_bytes: random.chance(30).then(|| 200_000 << random.below(6)),
            discard_media: random.chance(20),
            read_ahead_bytes: *random.pick(&[0, 0, 256 << 10]),
            ..DriveOptions::default()
        };
        Geometry {
            segments,
            format,
            options,
            stuff,
            stride,
            run,
            places: logical_bytes / BLOCK_BYTES / stride,
            hot_part: *random.pick(&[1, 1, 10, 100]),
            percent_free: *random.pick(&[0, 0, 2, 10, 33, 50]),
            background: random.chance(60),
        }
    }
}

/// The events of a life.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    pub lives: u64,
    pub commands: u64,
    pub bytes: u64,
    pub cuts: u64,
    pub reopenings: u64,
    pub refused: u64,
    pub full: u64,
    pub gc_segments: u64,
    pub checkpoints: u64,
    pub resizes: u64,
    pub dictionaries: u64,
    pub bad_places: u64,
    pub taken_out: u64,
    /// Lives that ended because the drive says it is damaged: after bad places only.
    pub ended: u64,
}

impl Seen {
    pub fn add(mut self, other: Seen) -> Seen {
        self.lives += other.lives;
        self.commands += other.commands;
        self.bytes += other.bytes;
        self.cuts += other.cuts;
        self.reopenings += other.reopenings;
        self.refused += other.refused;
        self.full += other.full;
        self.gc_segments += other.gc_segments;
        self.checkpoints += other.checkpoints;
        self.resizes += other.resizes;
        self.dictionaries += other.dictionaries;
        self.bad_places += other.bad_places;
        self.taken_out += other.taken_out;
        self.ended += other.ended;
        self
    }
}

/// The properties of a life.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Bytes that are written to fill the drive, at most.
    pub bytes: u64,
    pub rounds: u64,
    pub commands: u64,
    /// Lives may have bad places and other sizes too.
    pub is_hard: bool,
}

impl Plan {
    /// As a soak lives.
    pub const SOAK: Plan = Plan { bytes: 48 << 20, rounds: 6, commands: 600, is_hard: true };
}

pub struct Life {
    geometry: Geometry,
    plan: Plan,
    host: Host,
    random: Random,
    seen: Seen,
}

/// Lives a drive's life; says what happened, or what went wrong.
pub fn live(seed: u64, plan: Plan) -> Result<Seen, String> {
    let mut random = Random::new(seed);
    let geometry = Geometry::draw(&mut random, plan.bytes);
    let about = |problem: String| format!("{problem}\n{geometry:?}");
    let mut host =
        Host::new(geometry.segments, &geometry.format, geometry.options.clone(), random.next());
    host.stuff = geometry.stuff;
    let mut life = Life { geometry: geometry.clone(), plan, host, random, seen: Seen::default() };
    life.all().map_err(about)?;
    let counts = life.host.drive.status().counts;
    life.seen.lives = 1;
    life.seen.cuts = life.host.found.cuts;
    life.seen.full = life.host.found.full;
    life.seen.bytes = counts.write_bytes_host;
    life.seen.gc_segments = counts.gc_segments;
    life.seen.checkpoints = counts.checkpoints;
    life.seen.dictionaries = life.host.drive.status().dictionary_versions;
    life.seen.taken_out = life.host.drive.status().segments_damaged;
    Ok(life.seen)
}

impl Life {
    fn all(&mut self) -> Result<(), String> {
        self.fill()?;
        for _ in 0..self.plan.rounds {
            self.round()?;
            if self.host.is_over() {
                self.seen.ended += 1;
                return Ok(());
            }
        }
        self.end()
    }

    fn fill(&mut self) -> Result<(), String> {
        let shuffled = self.random.chance(30);
        let Geometry { places, stride, run, percent_free, .. } = self.geometry;
        let most = self.plan.bytes / (run * BLOCK_BYTES);
        for number in 0..places.min(most) {
            let place = if shuffled { self.random.below(places) } else { number };
            if !self.write(place * stride, run)? {
                break;
            }
            if number % 64 == 0 {
                let status = self.host.drive.status();
                if status.free_bytes * 100 < status.usable_bytes * percent_free {
                    break;
                }
            }
            self.work(5)?;
        }
        if self.random.chance(50) { self.host.flush() } else { self.host.reopen() }
    }

    fn write(&mut self, first: u64, blocks: u64) -> Result<bool, String> {
        self.seen.commands += 1;
        let end = self.host.drive.size() / BLOCK_BYTES;
        if first + blocks > end {
            return Ok(true);
        }
        let taken = self.host.write(first, blocks)?;
        self.seen.refused += u64::from(!taken);
        Ok(taken)
    }

    fn discard(&mut self, first: u64, blocks: u64) -> Result<(), String> {
        self.seen.commands += 1;
        let end = self.host.drive.size() / BLOCK_BYTES;
        if first + blocks <= end && !self.host.discard(first, blocks)? {
            return Err(format!("a discard is refused: {:?}", self.host.drive.status()));
        }
        Ok(())
    }

    /// Now and then the background works.
    fn work(&mut self, percent: u64) -> Result<(), String> {
        if self.geometry.background && self.random.chance(percent) {
            self.host.maintain(3)?;
        }
        Ok(())
    }

    fn place(&mut self) -> u64 {
        let Geometry { places, stride, hot_part, .. } = self.geometry;
        let hot = (places / hot_part).max(1);
        stride
            * if self.random.chance(80) {
                self.random.below(hot)
            } else {
                self.random.below(places)
            }
    }

    fn round(&mut self) -> Result<(), String> {
        let commands = 1 + self.random.below(self.plan.commands);
        let keeps_moment = self.random.chance(60);
        if keeps_moment {
            self.host.media.keep_moment(1 + self.random.below(40));
        }
        if self.random.chance(25) {
            self.trim_all_over()?;
        }
        for command in 0..commands {
            let run = self.geometry.run;
            let (place, blocks) = (self.place(), 1 + self.random.below(run));
            match self.random.below(100) {
                0..70 => {
                    let first = place + self.random.below(run - blocks + 1);
                    self.write(first, blocks)?;
                }
                70..80 => self.discard(place, blocks)?,
                80..84 => {
                    self.host.drive.flush().map_err(|error| format!("a flush failed: {error}"))?;
                    self.look_at_moment()?;
                    self.host.flush()?;
                }
                84..97 => self.work(100)?,
                97 => {
                    self.host.reopen()?;
                    self.seen.reopenings += 1;
                    if self.host.is_over() {
                        return Ok(());
                    }
                }
                _ if self.plan.is_hard => self.hardship()?,
                _ => {}
            }
            if command % 64 == 0 {
                self.host.healthy()?;
            }
            self.look_at_moment()?;
        }
        self.host.media.forget_moment();
        let leaves = self.host.model.leaves(&self.host.drive);
        for _ in 0..if leaves.is_empty() { 0 } else { 30 } {
            let block = Versions::any_block(&self.host.drive, &leaves, &mut self.random);
            self.host.check_now(block)?;
        }
        if self.random.chance(70) {
            self.host.look_after_a_power_cut()?;
        }
        self.host.crash_and_go_on()
    }

    fn look_at_moment(&mut self) -> Result<(), String> {
        self.host.look_at_moment().map(drop)
    }

    /// One block of each place, as a trim of an aged file system has it.
    fn trim_all_over(&mut self) -> Result<(), String> {
        let Geometry { places, stride, run, .. } = self.geometry;
        let step = (places / 500).max(1);
        for place in (0..places).step_by(step as usize) {
            let block = place * stride + self.random.below(run);
            self.discard(block, 1)?;
            self.look_at_moment()?;
            self.work(5)?;
        }
        Ok(())
    }

    /// A rare event.
    fn hardship(&mut self) -> Result<(), String> {
        if self.random.chance(60) {
            return self.resize();
        }
        if self.host.bad_places.len() < 4 && self.random.chance(50) {
            let segment = self.random.below(self.geometry.segments);
            let bytes = u64::from(self.geometry.format.segment_bytes.unwrap_or(0));
            let length = *self.random.pick(&[4096, 4096, 65_536]);
            let start =
                (1 << 20) + segment * bytes + self.random.below((bytes - length) / 4096) * 4096;
            self.host.spoil(start..start + length);
            self.seen.bad_places += 1;
        }
        Ok(())
    }

    /// Grows or shrinks it, as far as what is written allows.
    fn resize(&mut self) -> Result<(), String> {
        let size = self.host.drive.size();
        let most = self.geometry.format.logical_bytes * 2;
        let wanted =
            if self.random.chance(70) { most } else { size / 2 } / BLOCK_BYTES * BLOCK_BYTES;
        match self.host.drive.resize(wanted) {
            Ok(()) => {
                self.seen.resizes += 1;
                Ok(())
            }
            Err(assay_drive::DiskError::OutOfRange { .. } | assay_drive::DiskError::Full) => Ok(()),
            Err(error) => Err(format!("it cannot be resized: {error}")),
        }
    }

    /// Everything is discarded: it has room again, and its books balance.
    fn end(&mut self) -> Result<(), String> {
        if self.random.chance(50) {
            self.host.reopen()?;
            if self.host.is_over() {
                return Ok(());
            }
        }
        let has_bad_places = !self.host.bad_places.is_empty();
        if !has_bad_places && self.seen.commands < 20_000 {
            let check = self.host.drive.check(&mut |_, _| {}).map_err(|error| error.to_string())?;
            if let Some(damage) = check.damages.first() {
                return Err(format!("the check finds: {}", damage.what));
            }
        }
        for leaf in self.host.model.leaves(&self.host.drive) {
            let end = self.host.drive.size() / BLOCK_BYTES;
            let first = leaf * LEAF;
            if first < end {
                self.discard(first, LEAF.min(end - first))?;
            }
        }
        let usable = self.host.drive.status().usable_bytes;
        // Bad places may have taken all there was.
        let is_excused = has_bad_places && usable == 0;
        if !self.write(0, self.geometry.run)? && !is_excused {
            let status = self.host.drive.status();
            return Err(format!("everything was discarded, and it takes nothing: {status:?}"));
        }
        self.host.look_after_a_power_cut()?;
        self.host.reopen()
    }
}
