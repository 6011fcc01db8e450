//! The sequence of operations, one for all threads.
//!
//! * An event is one operation: a read, a write, or making one file durable.
//! * Sequential modes walk through all files, block by block, and start again after the last.
//! * Random modes draw each block evenly from those of all files.
//! * `rndrw` reads while fewer than ratio × (writes + 1) reads are done: 1.5 gives read, read,
//!   write, read, write.
//! * After `file_fsync_freq` reads and writes, each file is made durable, one event a file.
//!
//! For the ratio, sysbench counts ended operations, so threads that start together all read, then
//! all write. Mode `strict` counts started ones: the order is then the same for any number of
//! threads.

use parking_lot::Mutex;

use crate::error::Result;
use crate::file_options::{Fileio, TestMode};
use crate::mode::Mode;
use crate::random::Rng;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Read,
    Write,
    Fsync,
}

/// An operation and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) operation: Operation,
    pub(super) file: u32,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

#[derive(Debug)]
pub(super) struct Requests {
    test_mode: TestMode,
    files: u32,
    file_bytes: u64,
    block_bytes: u64,
    request_bytes: u64,
    /// Reads and writes between two rounds of fsyncs; 0 for no rounds.
    fsync_freq: u32,
    rw_ratio: f64,
    counts_what_ended: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Next place of a sequential mode.
    file: u32,
    offset: u64,
    /// Reads counted for the ratio.
    reads: u64,
    writes: u64,
    /// Reads and writes since the last round of fsyncs.
    since_fsyncs: u32,
    /// The next file of the current round.
    fsync_next: Option<u32>,
}

impl Requests {
    pub(super) fn new(fileio: &Fileio) -> Result<Requests> {
        Ok(Requests {
            test_mode: fileio.test_mode()?,
            files: fileio.file_num,
            file_bytes: fileio.file_bytes(),
            block_bytes: fileio.file_block_size.0,
            request_bytes: fileio.request_bytes(),
            fsync_freq: if fileio.fsyncs_periodically() { fileio.file_fsync_freq } else { 0 },
            rw_ratio: fileio.file_rw_ratio,
            counts_what_ended: fileio.mode == Mode::Compat,
            state: Mutex::default(),
        })
    }

    /// Takes the next request.
    pub(super) fn take(&self, rng: &mut Rng) -> Request {
        let mut state = self.state.lock();
        if let Some(file) = self.due_fsync(&mut state) {
            return Request { operation: Operation::Fsync, file, offset: 0, bytes: 0 };
        }
        state.since_fsyncs += 1;
        let operation = self.operation(&state);
        if !self.counts_what_ended {
            state.count(operation);
        }
        if self.test_mode.is_random() {
            drop(state);
            return self.drawn(operation, rng);
        }
        self.walked(operation, &mut state)
    }

    /// Records that an operation has ended.
    pub(super) fn ended(&self, operation: Operation) {
        if self.counts_what_ended && self.test_mode == TestMode::Rndrw {
            self.state.lock().count(operation);
        }
    }

    /// The next file to make durable, if a round is due or in progress.
    fn due_fsync(&self, state: &mut State) -> Option<u32> {
        if self.fsync_freq > 0 && state.since_fsyncs >= self.fsync_freq {
            state.since_fsyncs = 0;
            state.fsync_next = Some(0);
        }
        let file = state.fsync_next?;
        state.fsync_next = (file + 1 < self.files).then_some(file + 1);
        Some(file)
    }

    fn operation(&self, state: &State) -> Operation {
        match self.test_mode {
            TestMode::Seqwr | TestMode::Seqrewr | TestMode::Rndwr => Operation::Write,
            TestMode::Seqrd | TestMode::Rndrd => Operation::Read,
            TestMode::Rndrw => {
                let most = self.rw_ratio * (state.writes + 1) as f64;
                if (state.reads as f64) < most { Operation::Read } else { Operation::Write }
            }
        }
    }

    fn drawn(&self, operation: Operation, rng: &mut Rng) -> Request {
        let blocks = self.file_bytes / self.block_bytes;
        let block = rng.below(blocks * u64::from(self.files));
        let file = (block / blocks) as u32;
        let offset = block % blocks * self.block_bytes;
        Request { operation, file, offset, bytes: self.block_bytes }
    }

    fn walked(&self, operation: Operation, state: &mut State) -> Request {
        let (file, offset) = (state.file, state.offset);
        let bytes = self.request_bytes.min(self.file_bytes - offset);
        state.offset += bytes;
        if state.offset >= self.file_bytes {
            state.offset = 0;
            state.file = (file + 1) % self.files;
        }
        Request { operation, file, offset, bytes }
    }
}

impl State {
    fn count(&mut self, operation: Operation) {
        match operation {
            Operation::Read => self.reads += 1,
            Operation::Write => self.writes += 1,
            Operation::Fsync => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Size;

    /// Two files of three blocks.
    fn small(mode: TestMode) -> Fileio {
        Fileio {
            mode: Mode::Compat,
            file_num: 2,
            file_block_size: Size(4096),
            file_total_size: Size(6 * 4096),
            file_test_mode: Some(mode),
            file_fsync_freq: 0,
            ..Fileio::default()
        }
    }

    /// The first `count` requests, each ended before the next is taken.
    fn taken(fileio: &Fileio, count: usize) -> Vec<Request> {
        let requests = Requests::new(fileio).unwrap();
        let mut rng = Rng::new(1, 0);
        let mut take = || {
            let request = requests.take(&mut rng);
            requests.ended(request.operation);
            request
        };
        (0..count).map(|_| take()).collect()
    }

    fn letters(requests: &[Request]) -> String {
        let letter = |request: &Request| match request.operation {
            Operation::Read => 'r',
            Operation::Write => 'w',
            Operation::Fsync => char::from_digit(request.file, 10).unwrap(),
        };
        requests.iter().map(letter).collect()
    }

    #[test]
    fn sequential_modes_walk_through_all_files_and_begin_again() {
        for (mode, letter) in
            [(TestMode::Seqrd, 'r'), (TestMode::Seqwr, 'w'), (TestMode::Seqrewr, 'w')]
        {
            let requests = taken(&small(mode), 8);
            let places: Vec<(u32, u64)> =
                requests.iter().map(|request| (request.file, request.offset / 4096)).collect();
            assert_eq!(places, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 0), (0, 1)]);
            assert!(letters(&requests).chars().all(|other| other == letter));
            assert!(requests.iter().all(|request| request.bytes == 4096));
        }
    }

    #[test]
    fn merged_requests_end_with_their_file() {
        let fileio = Fileio { file_merged_requests: 2, ..small(TestMode::Seqrd) };
        let requests = taken(&fileio, 5);
        let places = requests
            .iter()
            .map(|request| (request.file, request.offset / 4096, request.bytes / 4096));
        let places: Vec<_> = places.collect();
        assert_eq!(places, [(0, 0, 2), (0, 2, 1), (1, 0, 2), (1, 2, 1), (0, 0, 2)]);
    }

    /// The order of sysbench 1.0.20, from `strace` of runs with one thread.
    #[test]
    fn the_ratio_makes_the_order_that_sysbench_makes() {
        for (ratio, order) in [
            (1.5, "rrwrwrrwrwrrwrw"),
            (3.0, "rrrwrrrwrrrwrrr"),
            (0.5, "rwwrwwrwwrwwrww"),
            (0.0, "wwwwwwwwwwwwwww"),
        ] {
            for mode in [Mode::Compat, Mode::Strict] {
                let fileio = Fileio { mode, file_rw_ratio: ratio, ..small(TestMode::Rndrw) };
                assert_eq!(letters(&taken(&fileio, 15)), order, "{ratio}");
            }
        }
    }

    #[test]
    fn threads_that_start_together_bunch_up_in_compat_alone() {
        let order = |mode| {
            let requests = Requests::new(&Fileio { mode, ..small(TestMode::Rndrw) }).unwrap();
            let mut rng = Rng::new(1, 0);
            let begun: Vec<Request> = (0..5).map(|_| requests.take(&mut rng)).collect();
            begun.iter().for_each(|request| requests.ended(request.operation));
            letters(&begun) + &letters(&[requests.take(&mut rng), requests.take(&mut rng)])
        };
        assert_eq!(
            (order(Mode::Compat).as_str(), order(Mode::Strict).as_str()),
            ("rrrrrww", "rrwrwrr")
        );
    }

    #[test]
    fn every_file_is_made_durable_after_so_many_requests() {
        let of = |mode| Fileio { file_fsync_freq: 3, ..small(mode) };
        assert_eq!(letters(&taken(&of(TestMode::Rndwr), 12)), "www01www01ww");
        assert_eq!(letters(&taken(&of(TestMode::Rndrw), 12)), "rrw01rwr01rw", "reads count too");
        assert_eq!(letters(&taken(&of(TestMode::Rndrd), 7)), "rrrrrrr");
        assert_eq!(letters(&taken(&of(TestMode::Seqrd), 7)), "rrrrrrr");
        let all = Fileio { file_fsync_all: true, ..of(TestMode::Seqwr) };
        assert_eq!(letters(&taken(&all, 7)), "wwwwwww", "in the same event as the write");
    }

    #[test]
    fn random_blocks_are_drawn_evenly_from_all_files() {
        let mut counts = [[0_u32; 3]; 2];
        for request in taken(&small(TestMode::Rndrd), 60_000) {
            assert!(request.bytes == 4096 && request.offset.is_multiple_of(4096));
            counts[request.file as usize][(request.offset / 4096) as usize] += 1;
        }
        assert!(counts.iter().flatten().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
    }
}
