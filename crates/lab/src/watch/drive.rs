//! The software drive, as its own status file tells: what the host gave it, what it made of that on its media.
//!
//! The serving process writes the file anew whenever it is read, so a reading is of one instant. Counts are over the
//! drive's life; that they begin anew with each rig does not matter to rates. Write amplification is of each second:
//! bytes that went to media for each byte from the host, in parts that add up.

use std::path::PathBuf;

use assay_drive::{Counts, State, Status};

use super::probe::{Notes, Probe};
use super::series::Layer;
use super::sheet::{Field, Formula, Sheet};
use crate::drive::Health;
use crate::store::{Unwatched, Warning};

/// A count of the drive: name, unit of its rate, label, and where it is found.
type Counter = (&'static str, &'static str, &'static str, fn(&Counts) -> u64);

const COUNTERS: [Counter; 20] = [
    ("read_bytes_host", "bytes/s", "bytes read by the host", |c| c.read_bytes_host),
    ("read_bytes_media", "bytes/s", "bytes read from media", |c| c.read_bytes_media),
    ("reads_media", "1/s", "reads of media", |c| c.reads_media),
    ("write_bytes_host", "bytes/s", "bytes written by the host", |c| c.write_bytes_host),
    ("write_bytes_media", "bytes/s", "bytes written to media", Counts::write_bytes_media),
    ("write_bytes_payload", "bytes/s", "compressed data written", |c| c.write_bytes_payload),
    ("write_bytes_table", "bytes/s", "headers and tables written", |c| c.write_bytes_table),
    ("write_bytes_collection", "bytes/s", "written by collection", |c| c.write_bytes_collection),
    ("write_bytes_checkpoint", "bytes/s", "written by checkpoints", |c| c.write_bytes_checkpoint),
    ("write_bytes_zero", "bytes/s", "zeroes written by the host", |c| c.write_bytes_zero),
    ("write_bytes_raw", "bytes/s", "stored as they came", |c| c.write_bytes_raw),
    ("discard_bytes_host", "bytes/s", "discarded by the host", |c| c.discard_bytes_host),
    ("writes_host", "1/s", "writes by the host", |c| c.commands_by_size.iter().sum()),
    ("writes_atomic", "1/s", "writes of up to 256 KiB, whole or not at all", atomic),
    ("writes_media", "1/s", "writes to media", |c| c.writes_media),
    ("flushes", "1/s", "flushes and forced writes by the host", |c| c.flushes),
    ("flushes_media", "1/s", "flushes of media", |c| c.flushes_media),
    ("collections", "1/s", "segments collected", |c| c.collections),
    ("collection_stalls", "1/s", "writes that waited for collection", |c| c.collection_stalls),
    ("checkpoints", "1/s", "checkpoints", |c| c.checkpoints),
];

/// What write amplification is made of, by the names of the counters above.
const PARTS: [&str; 4] = ["payload", "table", "collection", "checkpoint"];

/// The last class of sizes holds what is larger than one command may be.
fn atomic(counts: &Counts) -> u64 {
    counts.commands_by_size.iter().rev().skip(1).sum()
}

/// A drive that is served.
pub(super) struct DriveProbe {
    sheet: Sheet,
    status_file: PathBuf,
    counters: Vec<Field>,
    gauges: Gauges,
}

struct Gauges {
    logical: Field,
    media: Field,
    ratio: Field,
    segments_free: Field,
    segments: Field,
    free: Field,
    usable: Field,
    map: Field,
}

impl DriveProbe {
    /// Of the drive whose health is in `status_file`.
    pub(super) fn new(status_file: PathBuf) -> DriveProbe {
        let mut sheet = Sheet::new(Layer::Drive);
        let counters = declare_counters(&mut sheet);
        let gauges = declare_gauges(&mut sheet);
        DriveProbe { sheet, status_file, counters, gauges }
    }
}

impl Probe for DriveProbe {
    fn sheet(&self) -> &Sheet {
        &self.sheet
    }

    fn read(&mut self, reading: &mut [f64], notes: &mut Notes) {
        let status = match Health::read(&self.status_file) {
            Ok(health) => health.status,
            Err(error) => return notes.unwatched(Unwatched::Drive { error: format!("{error:#}") }),
        };
        if status.state != State::Healthy {
            let state = status.state.name().replace('_', " ");
            notes.once(Warning::DriveState { state });
        }
        for problem in &status.problems {
            let problem = problem.clone();
            notes.once(Warning::DriveProblem { problem, is_while_measuring: true });
        }
        for (&field, (_, _, _, count)) in self.counters.iter().zip(COUNTERS) {
            reading[field] = count(&status.counts) as f64;
        }
        self.gauges.fill(&status, reading);
    }
}

fn declare_counters(sheet: &mut Sheet) -> Vec<Field> {
    let declare = |sheet: &mut Sheet, (name, unit, label, _): Counter| {
        sheet.counter(&format!("drive_{name}"), unit, format!("{label} (drive)"))
    };
    let fields: Vec<Field> = COUNTERS.iter().map(|counter| declare(sheet, *counter)).collect();
    let named = |name: &str| COUNTERS.iter().zip(&fields).find(|(one, _)| one.0 == name);
    let whole = std::iter::once((String::new(), "media"));
    let parts = PARTS.iter().map(|part| (format!("_{part}"), *part));
    for (suffix, part) in whole.chain(parts) {
        let counted = named(&format!("write_bytes_{part}")).zip(named("write_bytes_host"));
        let Some(((_, &over), (_, &under))) = counted else { continue };
        let formula = Formula::Quotient { over, under, base: 0.0, scale: 1.0 };
        let label = format!("write amplification, {part} (drive)");
        sheet.series(format!("drive_write_amplification{suffix}"), "ratio", label, formula);
    }
    fields
}

fn declare_gauges(sheet: &mut Sheet) -> Gauges {
    let mut gauge =
        |name: &str, unit, label: &str| sheet.gauge(name, unit, format!("{label} (drive)"));
    let logical = gauge("drive_logical_bytes_used", "bytes", "blocks that hold data");
    let media = gauge("drive_media_bytes_used", "bytes", "media taken by them");
    let ratio = gauge("drive_compression_ratio", "ratio", "compression ratio");
    let segments_free = gauge("drive_segments_free", "count", "segments not in use");
    let free = gauge("drive_free_bytes", "bytes", "room for data that do not compress");
    let map = gauge("drive_map_bytes", "bytes", "memory of the map");
    let (segments, usable) = (sheet.field(), sheet.field());
    for (name, label, part, whole) in [
        ("drive_segments_free_percent", "segments not in use (drive)", segments_free, segments),
        ("drive_free_percent", "room for data that do not compress (drive)", free, usable),
    ] {
        sheet.series(name.into(), "percent", label.into(), Formula::Share { part, whole });
    }
    sheet.set_layer(Layer::Space);
    let physical = Formula::Value(media);
    sheet.series("space_physical_bytes".into(), "bytes", "taken of the media".into(), physical);
    Gauges { logical, media, ratio, segments_free, segments, free, usable, map }
}

impl Gauges {
    fn fill(&self, status: &Status, reading: &mut [f64]) {
        reading[self.logical] = status.logical_bytes_used as f64;
        reading[self.media] = status.media_bytes_used as f64;
        reading[self.ratio] = status.compression_ratio().unwrap_or(f64::NAN);
        reading[self.segments_free] = status.segments_free as f64;
        reading[self.segments] = status.segments as f64;
        reading[self.free] = status.free_bytes as f64;
        reading[self.usable] = status.usable_bytes as f64;
        reading[self.map] = status.map_bytes as f64;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::{Duration, Instant};

    use super::super::sheet::Moment;
    use super::*;
    use crate::drive::used_health;

    /// Every series over a second in which the drive went from `before` to `after`.
    fn values(before: &Status, after: &Status) -> (BTreeMap<String, f64>, Vec<Warning>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("status.json");
        let mut probe = DriveProbe::new(file.clone());
        let mut notes = Notes::default();
        let start = Instant::now();
        let mut moment = |status: &Status, second| {
            let health = used_health();
            let health = Health::new(&health.media, health.attachment, status.clone());
            std::fs::write(&file, health.to_json().unwrap()).unwrap();
            let mut reading = probe.sheet.blank();
            probe.read(&mut reading, &mut notes);
            Moment { at: start + Duration::from_secs(second), reading }
        };
        let (before, after) = (moment(before, 0), moment(after, 1));
        let names: Vec<String> = probe.sheet.infos().map(|info| info.name.clone()).collect();
        let mut values = BTreeMap::new();
        probe.sheet.compute(&before, &after, |place, value| {
            values.insert(names[place].clone(), value);
        });
        (values, notes.take_new())
    }

    #[test]
    fn what_the_drive_did_in_a_second_is_told_in_parts_that_add_up() {
        let before = used_health().status;
        let mut after = before.clone();
        after.counts.write_bytes_host += 1000;
        after.counts.write_bytes_payload += 400;
        after.counts.write_bytes_collection += 100;
        after.counts.commands_by_size[2] += 3;
        after.counts.commands_by_size[7] += 1;
        let (values, notes) = values(&before, &after);
        for (name, expected) in [
            ("drive_write_bytes_host_per_s", 1000.0),
            ("drive_write_bytes_media_per_s", 500.0),
            ("drive_write_amplification", 0.5),
            ("drive_write_amplification_payload", 0.4),
            ("drive_write_amplification_table", 0.0),
            ("drive_write_amplification_collection", 0.1),
            ("drive_writes_host_per_s", 4.0),
            ("drive_writes_atomic_per_s", 3.0),
            ("drive_logical_bytes_used", 65536.0),
            ("space_physical_bytes", before.media_bytes_used as f64),
        ] {
            assert_eq!(values[name], expected, "{name}");
        }
        assert!(values["drive_compression_ratio"] > 1.0);
        assert!((0.0..100.0).contains(&values["drive_segments_free_percent"]));
        assert!((90.0..100.0).contains(&values["drive_free_percent"]), "it is nearly empty");
        assert_eq!(notes, Vec::<Warning>::new());
    }

    #[test]
    fn a_drive_that_is_not_well_is_noted_once() {
        let problems = vec!["space is out".to_owned()];
        let ill = Status { state: State::Full, problems, ..used_health().status };
        let problem = "space is out".into();
        assert_eq!(
            values(&ill, &ill).1,
            [
                Warning::DriveState { state: "full".into() },
                Warning::DriveProblem { problem, is_while_measuring: true }
            ]
        );
    }

    #[test]
    fn a_drive_that_has_gone_leaves_gaps_and_a_note() {
        let mut probe = DriveProbe::new("/nonexistent/status.json".into());
        let (mut reading, mut notes) = (probe.sheet.blank(), Notes::default());
        probe.read(&mut reading, &mut notes);
        assert!(reading.iter().all(|value| value.is_nan()));
        let [Warning::Unwatched(Unwatched::Drive { error })] = &notes.take_new()[..] else {
            panic!("it says that it is not watched");
        };
        assert!(error.starts_with("cannot read"), "{error}");
    }
}
