//! Mutated traces are read or refused, without a panic.

#![allow(clippy::unwrap_used)]

mod body;

use assay_models::{Command, CommandObserver, Due, Kind, Recorder, Time, window_record};
use assay_testing::{count, mutate};

/// A trace with one command of each kind and a window.
fn recorded() -> Vec<u8> {
    let mut bytes = Vec::new();
    let recorder = Recorder::new(&mut bytes, "{\"model\":\"m\"}").unwrap();
    let kinds = [Kind::Write, Kind::Read, Kind::Flush, Kind::Discard];
    for (number, kind) in (1_u32..).zip(kinds) {
        let length = if kind == Kind::Flush { 0 } else { 8192 };
        let arrival = Time::from_us(f64::from(number));
        let command = Command {
            kind,
            offset: u64::from(number) * 4096,
            length,
            force_unit_access: kind == Kind::Write,
            arrival,
        };
        let sizes: &[u16] = if kind == Kind::Write { &[0, 4096] } else { &[] };
        recorder.answered(&command, Due::at(Time::from_us(9.0)), Time::from_us(11.0), sizes);
    }
    recorder.finish().unwrap();
    drop(recorder);
    bytes.extend(window_record(Time::from_us(1.0), Time::from_us(20.0)));
    bytes
}

#[test]
fn a_mutated_trace_is_read_or_refused() {
    let whole = recorded();
    assert_eq!(assay_models::Trace::read(&whole[..]).unwrap().events.len(), 4);
    for seed in 0..count(2_000, 100_000) {
        body::trace(&mutate::bytes(&whole, &mut mutate::Random::new(seed)));
    }
}
