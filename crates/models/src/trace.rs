//! A trace: the commands of a host with their arrivals and latencies; not their data, but the
//! stored size of each written block.
//!
//! Format, all numbers little-endian: the eight bytes `ASSAYTRC`; version, u32; length of a text,
//! u32; the text, which the trace's maker chooses; then one record after another. A record is
//! 40 bytes: arrival, u64, nanoseconds of the disk's clock; modelled latency, u64, nanoseconds;
//! achieved latency, u64, nanoseconds; first block, u64; blocks, u32; kind, u8 (0 read, 1 write,
//! 2 flush, 3 discard); flags, u8 (1: forced, 2: sizes follow); zero, u16. After a record with
//! sizes come the stored bytes of each of its blocks, u16. Records come in the order of their
//! answers; a last one that is cut off is left out. A record of kind 4 is no command: only commands
//! that arrived from its arrival on, for as long as its achieved latency, count; the last such
//! record holds.

use parking_lot::Mutex;
use std::io::{self, Read, Write};
use std::sync::Arc;

use super::time::Time;
use super::timing::{Command, Due, Kind};
use assay_disk::BLOCK_BYTES;

const MAGIC: &[u8; 8] = b"ASSAYTRC";
const VERSION: u32 = 1;
const RECORD_BYTES: usize = 40;
const FORCED: u8 = 1;
const SIZED: u8 = 2;

/// The kind of the record with the window that counts.
const WINDOW: u8 = 4;

/// Most blocks of one read or write: 256 MiB, far more than kernels request at once
/// (`max_sectors_kb`).
const BLOCKS_MAX: u32 = 1 << 16;

/// Longest text of a trace, in bytes.
const TEXT_BYTES_MAX: u32 = 1 << 20;

/// One command of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub command: Command,
    /// Modelled latency.
    pub modelled: Time,
    /// Achieved latency.
    pub achieved: Time,
    /// Stored bytes of each block of a write; empty if unknown.
    pub stored_bytes: Vec<u16>,
}

/// An observer of answered commands.
pub trait CommandObserver: Send + Sync {
    /// Called for a command that was answered at `answered`; with the stored bytes of each block of
    /// a write, if the disk below knows them.
    fn answered(&self, command: &Command, due: Due, answered: Time, stored_bytes: &[u16]);
}

impl<O: CommandObserver> CommandObserver for Arc<O> {
    fn answered(&self, command: &Command, due: Due, answered: Time, stored_bytes: &[u16]) {
        self.as_ref().answered(command, due, answered, stored_bytes);
    }
}

/// Writes a trace of commands as they are answered.
pub struct Recorder<W> {
    state: Mutex<State<W>>,
}

struct State<W> {
    out: W,
    record: Vec<u8>,
    failure: Option<io::Error>,
}

impl<W: Write + Send> Recorder<W> {
    /// Begins a trace with a text of its maker.
    ///
    /// # Errors
    /// Those of `out`; a text of more than 1 MiB.
    pub fn new(mut out: W, text: &str) -> io::Result<Recorder<W>> {
        let length = u32::try_from(text.len()).ok().filter(|length| *length <= TEXT_BYTES_MAX);
        let length = length.ok_or_else(|| io::Error::other("the text of a trace is too long"))?;
        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&length.to_le_bytes())?;
        out.write_all(text.as_bytes())?;
        Ok(Recorder { state: Mutex::new(State { out, record: Vec::new(), failure: None }) })
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// The first error of writing; the trace ends there.
    pub fn finish(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.failure.is_none() {
            state.failure = state.out.flush().err();
        }
        let failure = state.failure.as_ref();
        failure.map_or(Ok(()), |failure| Err(io::Error::new(failure.kind(), failure.to_string())))
    }

    /// The reason for which the trace ends too early.
    pub fn failure(&self) -> Option<String> {
        let state = self.state.lock();
        state.failure.as_ref().map(io::Error::to_string)
    }
}

impl<W: Write + Send> CommandObserver for Recorder<W> {
    fn answered(&self, command: &Command, due: Due, answered: Time, stored_bytes: &[u16]) {
        let mut state = self.state.lock();
        let State { out, record, failure } = &mut *state;
        if failure.is_none() {
            record.clear();
            put(command, due.when(), answered, stored_bytes, record);
            *failure = out.write_all(record).err();
        }
    }
}

fn put(command: &Command, due: Time, answered: Time, stored_bytes: &[u16], record: &mut Vec<u8>) {
    let blocks = (command.length / BLOCK_BYTES) as u32;
    let is_sized = !stored_bytes.is_empty() && stored_bytes.len() == blocks as usize;
    let flags = u8::from(command.force_unit_access) * FORCED + u8::from(is_sized) * SIZED;
    for word in [
        command.arrival.as_ns(),
        (due - command.arrival).as_ns(),
        (answered - command.arrival).as_ns(),
        command.offset / BLOCK_BYTES,
    ] {
        record.extend_from_slice(&word.to_le_bytes());
    }
    record.extend_from_slice(&blocks.to_le_bytes());
    record.extend_from_slice(&[command.kind as u8, flags, 0, 0]);
    if is_sized {
        stored_bytes.iter().for_each(|size| record.extend_from_slice(&size.to_le_bytes()));
    }
}

/// The bytes to append to a finished trace, so that only commands that arrived from `from` to `to`
/// count.
#[must_use]
pub fn window_record(from: Time, to: Time) -> Vec<u8> {
    let words = [from.as_ns(), 0, (to - from).as_ns(), 0, u64::from(WINDOW) << 32];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A trace that has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The text of its maker.
    pub text: String,
    /// Arrival times that count, if its maker has set them.
    pub window: Option<(Time, Time)>,
    /// Its commands, by arrival.
    pub events: Vec<Event>,
}

impl Trace {
    /// Reads a trace.
    ///
    /// # Errors
    /// Those of `from`; [`io::ErrorKind::InvalidData`] for data that are no trace of this version.
    pub fn read(mut from: impl Read) -> io::Result<Trace> {
        let text = Trace::read_text(&mut from)?;
        let (mut events, mut window) = (Vec::new(), None);
        while let Some(record) = read_record(&mut from)? {
            match record {
                Record::Event(event) => events.push(event),
                Record::Window(from, to) => window = Some((from, to)),
            }
        }
        events.sort_by_key(|event| event.command.arrival);
        Ok(Trace { text, window, events })
    }

    /// Reads the text of a trace without its commands.
    ///
    /// # Errors
    /// Those of [`Trace::read`].
    pub fn read_text(mut from: impl Read) -> io::Result<String> {
        let mut head = [0; 16];
        let is_ours = fill(&mut from, &mut head)? && head.starts_with(MAGIC);
        let [.., v0, v1, v2, v3, l0, l1, l2, l3] = head;
        if !is_ours {
            return Err(invalid("this is no trace"));
        }
        if u32::from_le_bytes([v0, v1, v2, v3]) != VERSION {
            return Err(invalid("another version made this trace"));
        }
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        if length > TEXT_BYTES_MAX {
            return Err(invalid("the trace is damaged: its text is too long"));
        }
        let mut text = vec![0; length as usize];
        if !fill(&mut from, &mut text)? {
            return Err(invalid("the trace is cut off in its text"));
        }
        String::from_utf8(text).map_err(|_| invalid("the trace is damaged: its text is none"))
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

enum Record {
    Event(Event),
    Window(Time, Time),
}

/// The next record; `None` at the end, or if it is cut off.
fn read_record(from: &mut impl Read) -> io::Result<Option<Record>> {
    let mut record = [0; RECORD_BYTES];
    if !fill(from, &mut record)? {
        return Ok(None);
    }
    let (words, tail) = record.split_at(32);
    let [arrival, modelled, achieved, first] = std::array::from_fn(|index| {
        words[8 * index..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    });
    let blocks = tail.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let (kind, flags) = (tail[4], tail[5]);
    let damaged = || invalid("the trace is damaged");
    let (arrival, modelled, achieved) =
        (Time::from_ns(arrival), Time::from_ns(modelled), Time::from_ns(achieved));
    if kind == WINDOW {
        return Ok(Some(Record::Window(arrival, arrival + achieved)));
    }
    let kind = *super::tally::KINDS.get(usize::from(kind)).ok_or_else(damaged)?;
    let offset = first.checked_mul(BLOCK_BYTES).ok_or_else(damaged)?;
    let length = u64::from(blocks) * BLOCK_BYTES;
    let moves_data = matches!(kind, Kind::Read | Kind::Write);
    if offset.checked_add(length).is_none() || (moves_data && blocks > BLOCKS_MAX) {
        return Err(damaged());
    }
    let mut stored_bytes = Vec::new();
    if flags & SIZED != 0 {
        if kind != Kind::Write {
            return Err(damaged());
        }
        let mut sizes = vec![0; 2 * blocks as usize];
        if !fill(from, &mut sizes)? {
            return Ok(None);
        }
        stored_bytes = sizes.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect();
    }
    let command = Command { kind, offset, length, force_unit_access: flags & FORCED != 0, arrival };
    Ok(Some(Record::Event(Event { command, modelled, achieved, stored_bytes })))
}

/// Fills `bytes`; returns false if the input is too short.
fn fill(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(kind: Kind, block: u64, blocks: u64, arrival_us: f64) -> Command {
        Command {
            kind,
            offset: block * BLOCK_BYTES,
            length: blocks * BLOCK_BYTES,
            force_unit_access: kind == Kind::Write,
            arrival: Time::from_us(arrival_us),
        }
    }

    fn recorded() -> Vec<u8> {
        let mut bytes = Vec::new();
        let recorder = Recorder::new(&mut bytes, "{\"model\":\"m\"}").unwrap();
        let due = Due::at(Time::from_us(9.0));
        let answer = |command: &Command, sizes: &[u16]| {
            recorder.answered(command, due, Time::from_us(11.0), sizes);
        };
        answer(&command(Kind::Write, 7, 2, 5.0), &[0, 4096]);
        answer(&command(Kind::Read, 1 << 40, 64, 3.0), &[]);
        answer(&command(Kind::Flush, 0, 0, 4.0), &[]);
        recorder.finish().unwrap();
        drop(recorder);
        bytes
    }

    #[test]
    fn a_trace_comes_back_in_the_order_of_arrival() {
        let trace = Trace::read(&recorded()[..]).unwrap();
        assert_eq!(trace.text, "{\"model\":\"m\"}");
        let kinds: Vec<Kind> = trace.events.iter().map(|event| event.command.kind).collect();
        assert_eq!(kinds, [Kind::Read, Kind::Flush, Kind::Write]);
        let write = &trace.events[2];
        assert_eq!(write.command, command(Kind::Write, 7, 2, 5.0));
        assert_eq!(write.stored_bytes, [0, 4096]);
        assert_eq!((write.modelled, write.achieved), (Time::from_us(4.0), Time::from_us(6.0)));
    }

    #[test]
    fn the_part_that_counts_is_told_behind_the_commands() {
        assert_eq!(Trace::read(&recorded()[..]).unwrap().window, None);
        let (from, to) = (Time::from_us(4.0), Time::from_us(7.5));
        let bytes = [recorded(), window_record(from, to)].concat();
        let trace = Trace::read(&bytes[..]).unwrap();
        assert_eq!((trace.window, trace.events.len()), (Some((from, to)), 3));
    }

    /// The sizes of 2^32 - 1 blocks would need 8 GiB.
    #[test]
    fn a_length_is_checked_before_room_is_made_for_it() {
        let bytes = recorded();
        let first = 16 + "{\"model\":\"m\"}".len();
        let changed = |kind: u8, blocks: u32, flags: u8, block: u64| {
            let mut bytes = bytes.clone();
            bytes[first + 24..first + 32].copy_from_slice(&block.to_le_bytes());
            bytes[first + 32..first + 36].copy_from_slice(&blocks.to_le_bytes());
            bytes[first + 36..first + 38].copy_from_slice(&[kind, flags]);
            Trace::read(&bytes[..]).map(|trace| trace.events.len())
        };
        assert_eq!(changed(1, 2, SIZED, 7).unwrap(), 3);
        for (kind, blocks, flags, block) in [
            (1, u32::MAX, SIZED, 7),
            (0, 2, SIZED, 7),
            (2, u32::MAX, SIZED, 7),
            (1, BLOCKS_MAX + 1, 0, 7),
            (0, BLOCKS_MAX + 1, 0, 7),
            (3, 2, 0, u64::MAX),
            (3, 2, 0, (u64::MAX >> 12)),
            (9, 2, 0, 7),
        ] {
            let told = changed(kind, blocks, flags, block).unwrap_err().to_string();
            assert_eq!(told, "the trace is damaged", "{kind} {blocks} {flags} {block}");
        }
    }

    #[test]
    fn a_trace_that_is_cut_off_keeps_what_is_whole_and_other_files_are_refused() {
        let bytes = recorded();
        for length in 0..bytes.len() {
            match Trace::read(&bytes[..length]) {
                Ok(trace) => assert!(trace.events.len() < 3),
                Err(error) => assert!(length < 16 + 13, "{length}: {error}"),
            }
        }
        let error = Trace::read(&b"0123456789abcdef"[..]).unwrap_err();
        assert_eq!(error.to_string(), "this is no trace");
        let mut other = bytes;
        other[8] = 9;
        let error = Trace::read(&other[..]).unwrap_err();
        assert_eq!(error.to_string(), "another version made this trace");
    }
}
