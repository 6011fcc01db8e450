//! The events of fileio: one file operation each.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use assay_disk::BlockBuffer;
use assay_event_loop::Handle;

use super::data::Data;
use super::device::Counts;
use super::directory::{open, sync};
use super::requests::{Operation, Request, Requests};
use crate::error::{Error, Result};
use crate::file_options::Fileio;
use crate::mode::Mode;
use crate::oltp::StatementKind;
use crate::outcome::{LoadObserver, LoadOutcome, Work};
use crate::record::{Counted, Event};
use crate::run::carry_out;
use crate::schedule::Schedule;
use crate::start::Start;
use crate::worker::{Task, Worker};

/// Loads the files in `directory`, which [`super::prepare`] has created.
///
/// Reads, writes and fsyncs are the outcome's `queries`: `read`, `write` and `other`. Seconds are
/// counted as in [`crate::run()`].
///
/// # Errors
/// [`Error::Config`] for invalid options or missing files, [`Error::System`] for a failed
/// operation, [`Error::Corrupt`] with `validate` for a block that differs from the data written.
pub fn run(
    directory: &Path,
    fileio: &Fileio,
    schedule: &Schedule,
    origin: Option<Instant>,
    observer: &dyn LoadObserver,
    stop: &AtomicBool,
) -> Result<LoadOutcome> {
    schedule.check()?;
    let task = Operations {
        files: open(directory, fileio)?,
        requests: Requests::new(fileio)?,
        data: Data::new(fileio.data_ratio()),
        fileio,
        read_bytes: AtomicU64::new(0),
        write_bytes: AtomicU64::new(0),
    };
    let start = origin.map_or(Start::AtOnce, Start::OnClock);
    let before = Counts::now(directory);
    let with_device = |outcome| {
        let (read, written) = (&task.read_bytes, &task.write_bytes);
        let counts = Counts::now(directory);
        let bytes =
            counts.since(before, read.load(Ordering::Relaxed), written.load(Ordering::Relaxed));
        LoadOutcome { device: Some(bytes), ..outcome }
    };
    carry_out(&task, schedule, start, observer, stop).map(with_device)
}

/// Operations on open files.
struct Operations<'a> {
    fileio: &'a Fileio,
    files: Vec<File>,
    requests: Requests,
    data: Option<Data>,
    /// Bytes moved so far.
    read_bytes: AtomicU64,
    write_bytes: AtomicU64,
}

/// A thread's buffers: the data of an operation, and the expected data.
struct Buffers {
    data: BlockBuffer,
    expected: BlockBuffer,
}

impl Task for Operations<'_> {
    type Hand = Buffers;

    const WAITS_FOR_SOCKETS: bool = false;

    fn mode(&self) -> Mode {
        self.fileio.mode
    }

    fn work(&self) -> Work {
        Work::Files { fileio: self.fileio.clone() }
    }

    async fn hand(&self, _thread: u32, _events: &Handle) -> Result<Buffers> {
        let bytes = self.fileio.request_bytes() as usize;
        let checked_bytes = if self.fileio.validate { bytes } else { 0 };
        Ok(Buffers {
            data: BlockBuffer::zeroed(bytes),
            expected: BlockBuffer::zeroed(checked_bytes),
        })
    }

    async fn event(worker: &mut Worker<'_, Self>, planned: u64) -> Result<()> {
        let began = worker.now;
        let task = worker.shared.task;
        let request = task.requests.take(&mut worker.rng);
        match request.operation {
            Operation::Read => worker.operate(request, StatementKind::FileRead, Counted::Read)?,
            Operation::Write => {
                worker.operate(request, StatementKind::FileWrite, Counted::Write)?;
                if task.fileio.file_fsync_all {
                    let fsync = Request { operation: Operation::Fsync, ..request };
                    worker.operate(fsync, StatementKind::FileFsync, Counted::Other)?;
                }
            }
            Operation::Fsync => {
                worker.operate(request, StatementKind::FileFsync, Counted::Other)?
            }
        }
        task.requests.ended(request.operation);
        worker.note_event(planned, began);
        Ok(())
    }

    /// The operation is counted and timed, but is no event.
    async fn end(worker: &mut Worker<'_, Self>) -> Result<()> {
        if !worker.shared.task.fileio.fsyncs_at_end() {
            return Ok(());
        }
        worker.now = worker.clock.now();
        for file in 0..worker.shared.task.fileio.file_num {
            let request = Request { operation: Operation::Fsync, file, offset: 0, bytes: 0 };
            worker.operate(request, StatementKind::FileFsync, Counted::Other)?;
        }
        Ok(())
    }
}

impl Worker<'_, Operations<'_>> {
    /// Runs the operation and records its duration.
    fn operate(&mut self, request: Request, kind: StatementKind, counted: Counted) -> Result<()> {
        self.shared.task.carry_out(request, &mut self.hand)?;
        let sent = std::mem::replace(&mut self.now, self.clock.now());
        self.note_statement(Event::Statement(kind, counted), self.now - sent);
        Ok(())
    }
}

impl Operations<'_> {
    fn carry_out(&self, request: Request, buffers: &mut Buffers) -> Result<()> {
        let Request { operation, file: number, offset, bytes } = request;
        let Some(file) = self.files.get(number as usize) else { return Ok(()) };
        let bytes = buffers.data.first(bytes as usize);
        let done = match operation {
            Operation::Read => file.read_exact_at(bytes, offset),
            Operation::Write => {
                if let Some(data) = self.data {
                    data.fill(bytes, number, offset);
                }
                file.write_all_at(bytes, offset)
            }
            Operation::Fsync => sync(file, self.fileio.file_fsync_mode),
        };
        done.map_err(|error| failed(request, error))?;
        match operation {
            Operation::Read => self.read_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed),
            Operation::Write => self.write_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed),
            Operation::Fsync => 0,
        };
        match (operation, self.data) {
            (Operation::Read, Some(data)) if self.fileio.validate => {
                let expected = buffers.expected.first(bytes.len());
                if data.is(bytes, expected, number, offset) {
                    Ok(())
                } else {
                    Err(corrupt(request))
                }
            }
            _ => Ok(()),
        }
    }
}

fn failed(request: Request, source: io::Error) -> Error {
    let Request { operation, file, offset, bytes } = request;
    let what = match operation {
        Operation::Read => format!("cannot read {bytes} bytes at {offset} of test_file.{file}"),
        Operation::Write => format!("cannot write {bytes} bytes at {offset} of test_file.{file}"),
        Operation::Fsync => format!("cannot make test_file.{file} durable"),
    };
    Error::system(what, source)
}

fn corrupt(Request { file, offset, bytes, .. }: Request) -> Error {
    Error::Corrupt(format!(
        "test_file.{file} does not hold at {offset} ({bytes} bytes) what was written there; if it \
         was not prepared with \
         validate and the same options, remove it and run `prepare`"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::{ExtraFlag, FsyncMode, TestMode, prepare};
    use super::*;
    use assay_base::Size;

    /// Four files of sixteen blocks, as in the `strace` of sysbench.
    fn small(test_mode: TestMode) -> Fileio {
        Fileio {
            mode: Mode::Compat,
            file_num: 4,
            file_total_size: Size(1 << 20),
            file_test_mode: Some(test_mode),
            ..Fileio::default()
        }
    }

    fn events(events: u64, threads: u32) -> Schedule {
        Schedule { events, threads, seconds: 0.0, ..Schedule::default() }
    }

    fn prepared(fileio: &Fileio) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        prepare(directory.path(), fileio, &mut |_, _| {}, &false.into()).unwrap();
        directory
    }

    fn ran(fileio: &Fileio, schedule: &Schedule) -> LoadOutcome {
        let directory = prepared(fileio);
        run(directory.path(), fileio, schedule, None, &(), &false.into()).unwrap()
    }

    fn counts(outcome: &LoadOutcome) -> (u64, u64, u64, u64) {
        let queries = outcome.queries;
        (outcome.events, queries.read, queries.write, queries.other)
    }

    /// The operations of sysbench 1.0.20 in 250 events of one thread, counted with `strace`: rounds
    /// of four fsyncs are events, those at the end are not.
    #[test]
    fn events_are_counted_as_sysbench_counts_them() {
        for (mode, counted) in [
            (TestMode::Seqwr, (250, 0, 242, 12)),
            (TestMode::Seqrewr, (250, 0, 242, 12)),
            (TestMode::Seqrd, (250, 250, 0, 0)),
            (TestMode::Rndrd, (250, 250, 0, 0)),
            (TestMode::Rndwr, (250, 0, 242, 12)),
            (TestMode::Rndrw, (250, 146, 96, 12)),
        ] {
            assert_eq!(counts(&ran(&small(mode), &events(250, 1))), counted, "{mode:?}");
        }
        let all = Fileio { file_fsync_all: true, ..small(TestMode::Rndrw) };
        assert_eq!(counts(&ran(&all, &events(20, 1))), (20, 12, 8, 8), "none at the end");
        let threads = ran(&small(TestMode::Rndwr), &events(250, 3));
        assert_eq!(counts(&threads), (250, 0, 242, 8 + 3 * 4), "each thread, at the end");
        let none = Fileio { file_fsync_end: false, file_fsync_freq: 0, ..small(TestMode::Rndwr) };
        assert_eq!(counts(&ran(&none, &events(250, 2))), (250, 0, 250, 0));
    }

    #[test]
    fn times_are_kept_by_kind_and_as_events() {
        let outcome = ran(&small(TestMode::Rndrw), &events(250, 1));
        let count = |kind| outcome.latency_of(kind).map_or(0, |times| times.service.count);
        assert_eq!((count("read"), count("write"), count("fsync")), (146, 96, 12));
        assert_eq!(count("transaction"), 250);
        assert!(
            matches!(&outcome.work, Work::Files { fileio } if *fileio == small(TestMode::Rndrw))
        );
    }

    #[test]
    fn a_window_of_strict_ends_on_the_clock_and_fsyncs_at_the_end_are_late() {
        let fileio = Fileio { mode: Mode::Strict, file_fsync_freq: 0, ..small(TestMode::Seqrewr) };
        let schedule = Schedule { seconds: 1.0, threads: 2, ..Schedule::default() };
        let outcome = ran(&fileio, &schedule);
        assert!((outcome.elapsed_s - 1.0).abs() < 1e-9, "{}", outcome.elapsed_s);
        assert_eq!((outcome.queries.other, outcome.queries.read), (0, 0));
        assert_eq!(outcome.events, outcome.queries.write);
    }

    #[test]
    fn a_rate_is_kept_to() {
        let pace = crate::schedule::Pace::Rate {
            per_second: 200.0,
            arrivals: crate::schedule::Arrivals::Even,
        };
        let fileio = Fileio { mode: Mode::Strict, ..small(TestMode::Rndrd) };
        let outcome = ran(&fileio, &Schedule { seconds: 1.0, pace, ..Schedule::default() });
        assert!((190..=201).contains(&outcome.events), "{}", outcome.events);
    }

    #[test]
    fn sequential_writes_make_new_files() {
        let fileio = small(TestMode::Seqwr);
        let directory = prepared(&fileio);
        std::fs::remove_file(directory.path().join("test_file.1")).unwrap();
        run(directory.path(), &fileio, &events(17, 1), None, &(), &false.into()).unwrap();
        let length = |number| directory.path().join(format!("test_file.{number}")).metadata();
        let lengths = [0, 1, 2, 3].map(|number| length(number).unwrap().len());
        assert_eq!(lengths, [1 << 18, 16_384, 0, 0]);
    }

    #[test]
    fn what_is_read_is_checked_when_asked_for() {
        let fileio = Fileio {
            validate: true,
            file_fsync_mode: FsyncMode::Fdatasync,
            ..small(TestMode::Rndrw)
        };
        let directory = prepared(&fileio);
        let go = || run(directory.path(), &fileio, &events(2000, 4), None, &(), &false.into());
        assert_eq!(go().unwrap().events, 2000);
        let file =
            std::fs::OpenOptions::new().write(true).open(directory.path().join("test_file.2"));
        file.unwrap().write_all_at(&[1; 1 << 18], 0).unwrap();
        let error = go().unwrap_err().to_string();
        assert!(error.starts_with("test_file.2 does not hold at "), "{error}");
    }

    #[test]
    fn direct_io_takes_the_buffers() {
        let flags = vec![ExtraFlag::Direct, ExtraFlag::Dsync];
        let fileio = Fileio { file_extra_flags: flags, ..small(TestMode::Rndrw) };
        // Not in a memory file system, which may not support direct I/O.
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        prepare(directory.path(), &fileio, &mut |_, _| {}, &false.into()).unwrap();
        let outcome = run(directory.path(), &fileio, &events(100, 2), None, &(), &false.into());
        assert_eq!(outcome.unwrap().events, 100);
        let odd = Fileio { file_block_size: Size(256), ..fileio };
        let error = run(directory.path(), &odd, &events(1, 1), None, &(), &false.into());
        assert!(error.unwrap_err().to_string().contains("`direct` takes multiples of 512"));
    }
}
