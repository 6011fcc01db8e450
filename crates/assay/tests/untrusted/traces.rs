//! Tests malicious traces and property files.

use assay_models::{Command, CommandObserver, Due, Kind, Recorder, Time, window_record};
use assay_presets::{Preset, Scale};
use assay_serve::{ModelJob, TraceHead};

use crate::answer::{all_hold, answer, holdings};
use crate::common::World;

/// Head of a trace of a volume, which has no flash to be filled first.
pub fn head() -> TraceHead {
    let preset = Preset::find("gp3").unwrap();
    TraceHead {
        model: ModelJob::new(&preset, Scale { capacity: 1000.0, parallel: 1.0 }),
        logical_bytes: 1 << 30,
        used_bytes: 0,
        ratio: None,
        port_us: 30.0,
        began_s: 0.0,
        clock_zero_s: 1000.0,
    }
}

/// A trace of some hundred commands.
pub fn trace(head: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let recorder = Recorder::new(&mut bytes, head).unwrap();
    for number in 0..200 {
        let kind = [Kind::Read, Kind::Write, Kind::Flush, Kind::Discard][number as usize % 4];
        let arrival = Time::from_us(100.0 * number as f64);
        let command = Command {
            kind,
            offset: 4096 * (number * 7 % 1000),
            length: if kind == Kind::Flush { 0 } else { 16384 },
            force_unit_access: false,
            arrival,
        };
        let sizes: &[u16] = if kind == Kind::Write { &[4096, 0, 17, 2000] } else { &[] };
        let due = Due::at(arrival + Time::from_us(400.0));
        recorder.answered(&command, due, arrival + Time::from_us(500.0), sizes);
    }
    recorder.finish().unwrap();
    drop(recorder);
    bytes
}

fn plain() -> Vec<u8> {
    trace(&serde_json::to_string(&head()).unwrap())
}

/// Offset of the first record.
fn first() -> usize {
    16 + serde_json::to_string(&head()).unwrap().len()
}

/// The trace with other bytes in record `place`, which must precede the first record with sizes.
fn changed(place: usize, with: &[u8]) -> Vec<u8> {
    let mut bytes = plain();
    let at = first() + place;
    bytes[at..at + with.len()].copy_from_slice(with);
    bytes
}

fn headed(text: &str) -> Vec<u8> {
    trace(text)
}

fn with_head(change: impl FnOnce(&mut TraceHead)) -> Vec<u8> {
    let mut head = head();
    change(&mut head);
    headed(&serde_json::to_string(&head).unwrap())
}

/// Name, trace, and words of the expected error; empty if it may be replayed.
fn cases() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let huge = "9".repeat(400);
    vec![
        ("as it was recorded", plain(), ""),
        ("empty", Vec::new(), "this is no trace"),
        ("a head and no more", plain()[..16].to_vec(), "cut off in its text"),
        ("a text of 4 GiB", [&plain()[..12], &[0xff; 4], &plain()[16..]].concat(), "too long"),
        (
            "a text that is none",
            [&plain()[..12], &[8, 0, 0, 0], &[0xff; 900]].concat(),
            "its text is none",
        ),
        (
            "another version",
            [&plain()[..8], &[9, 0, 0, 0], &plain()[12..]].concat(),
            "another version",
        ),
        (
            "sizes of 2^32 - 1 blocks",
            changed(32, &[0xff, 0xff, 0xff, 0xff, 1, 2]),
            "the trace is damaged",
        ),
        ("sizes of a read", changed(32, &[4, 0, 0, 0, 0, 2]), "the trace is damaged"),
        ("sizes of a window", changed(32, &[0xff, 0xff, 0xff, 0xff, 4, 2]), ""),
        ("a kind that is none", changed(36, &[77]), "the trace is damaged"),
        ("a read of 16 TiB", changed(32, &[0xff, 0xff, 0xff, 0xff, 0, 0]), "the trace is damaged"),
        ("a block beyond all", changed(24, &[0xff; 8]), "the trace is damaged"),
        ("a discard of all that numbers reach", changed(32, &[0xff, 0xff, 0xff, 0xff, 3, 0]), ""),
        ("an arrival at the end of time", changed(0, &[0xff; 8]), ""),
        ("an answer that takes for ever", changed(16, &[0xff; 8]), ""),
        ("a window without end", [plain(), window_record(Time::ZERO, Time::MAX)].concat(), ""),
        (
            "a window that ends before it begins",
            [plain(), window_record(Time::from_s(9.0), Time::ZERO)].concat(),
            "--from must come before",
        ),
        ("cut off in a record", plain()[..first() + 700].to_vec(), ""),
        ("JSON that nests", headed(&"[".repeat(500_000)), "another program or version"),
        (
            "a head of numbers without end",
            headed(&format!("{{\"port_us\": {huge}}}")),
            "another program or version",
        ),
        (
            "a preset that is none",
            with_head(|head| head.model.text = "x = [".repeat(1000)),
            "the device in the trace's head",
        ),
        (
            "a name that moves the cursor",
            with_head(|head| {
                head.model.name = "\u{1b}[2J\u{202e}".into();
                head.model.text = "x".into();
            }),
            "x",
        ),
        ("a capacity of all bytes", with_head(|head| head.logical_bytes = u64::MAX), ""),
        ("data of all bytes", with_head(|head| head.used_bytes = u64::MAX), "capacity-scale"),
        (
            "a scale that is none",
            with_head(|head| head.model.scale.parallel = 0.0),
            "parallel scale",
        ),
        ("time before all", with_head(|head| head.began_s = -1e9), ""),
        (
            "flash of 2^63 bytes",
            with_head(|head| {
                let preset = Preset::find("p4610-3.2").unwrap();
                head.model = ModelJob::new(&preset, Scale { capacity: 1.0, parallel: 1.0 });
                head.used_bytes = 1 << 40;
            }),
            "which takes long",
        ),
    ]
}

#[test]
fn a_hostile_trace_is_refused_in_a_line_or_replayed() {
    let cases = cases().into_iter().map(|(name, bytes, says)| {
        (name, move || {
            let world = World::new();
            std::fs::write(world.path("a.trace"), &bytes).unwrap();
            for words in
                [&["replay", "a.trace"][..], &["replay", "a.trace", "--as-recorded", "--json"]]
            {
                let told = answer(&world, name, words);
                if told.code == Some(2) {
                    let line = told.refusal(name);
                    assert!(!says.is_empty() && line.contains(says), "{name}: {line}");
                } else {
                    assert!(says.is_empty(), "{name}: {told:?}");
                }
            }
            assert_eq!(holdings(&world.path("."), &[]).len(), 1, "{name}: left behind");
        })
    });
    all_hold(cases);
}

/// A closed port.
const NOBODY: &str = "db.url=jdbc:mysql://127.0.0.1:1/x";

#[test]
fn a_hostile_property_file_is_refused_in_a_line() {
    let texts = [
        ("nothing but lines that go on", "a\\\n".repeat(200_000), "unknown property"),
        ("a key without end", "k".repeat(1 << 20), "unknown property"),
        ("more than a megabyte", "k".repeat((1 << 20) + 1), "at most 1 MiB"),
        ("2^64 rows", "recordcount=18446744073709551616".into(), "recordcount"),
        ("fields of 2^63 bytes", "fieldlength=9223372036854775807".into(), "fieldlength"),
        ("2^31 fields", "fieldcount=2147483647".into(), "field_count"),
        ("no number", "threadcount=NaN".into(), "threadcount"),
        ("2^32 threads", "threadcount=4294967295".into(), "4294967295"),
        ("a share of NaN", "readproportion=NaN".into(), "NaN"),
        ("shares without end", "readproportion=1e309".into(), "inf"),
        ("half an escape", "a=\\u12".into(), "\\u"),
        ("escapes for a terminal", "\u{1b}[2J=\u{202e}x".into(), "unknown property"),
        (
            "ten thousand unknown names",
            (0..10_000).map(|n| format!("k{n}=1\n")).collect(),
            "unknown properties",
        ),
        ("a name that leads elsewhere", "table=../../x`;DROP".into(), "table"),
    ];
    let cases = texts.into_iter().map(|(name, text, says)| {
        (name, move || {
            let world = World::new();
            world.write("w.properties", &text);
            let count = "recordcount=1000";
            let given = if text.starts_with("recordcount") { "threadcount=1" } else { count };
            let words =
                ["-P", "w.properties", "-p", given, "-p", "operationcount=10", "-p", NOBODY];
            let words = [&["load", "ycsb", "run", "jdbc"], &words[..]].concat();
            let told = answer(&world, name, &words);
            assert!(told.refusal(name).contains(says), "{name}: {}", told.stderr);
            assert_eq!(holdings(&world.path("."), &[]).len(), 1, "{name}: left behind");
        })
    });
    all_hold(cases);
    let world = World::new();
    for (file, says) in [("/dev/zero", "regular file"), (".", "regular file")] {
        let told = answer(&world, file, &["load", "ycsb", "run", "jdbc", "-P", file, "-p", NOBODY]);
        assert!(told.refusal(file).contains(says), "{file}: {}", told.stderr);
    }
}
