//! The software drive, read from its status file: bytes from the host and bytes to media.
//!
//! The serving process renews the file whenever it is read, so a reading is of one instant. Counts
//! are over the drive's life. Write amplification is of each second: bytes that went to media for
//! each byte from the host, in parts that add up.

use std::path::PathBuf;

use assay_drive::{Counts, State, Status};

use super::probe::{Notes, Probe};
use super::sheet::{Field, Formula, Sheet};
use assay_serve::Health;
use assay_study::metrics::{MetricEntry, metric};
use assay_study::{Unmonitored, Warning};

/// A counter of the drive and its value.
type Counter = (&'static MetricEntry, fn(&Counts) -> u64);

const COUNTERS: [Counter; 20] = [
    (metric!("drive_read_bytes_host_per_s"), |c| c.read_bytes_host),
    (metric!("drive_read_bytes_media_per_s"), |c| c.read_bytes_media),
    (metric!("drive_reads_media_per_s"), |c| c.reads_media),
    (metric!("drive_write_bytes_host_per_s"), |c| c.write_bytes_host),
    (metric!("drive_write_bytes_media_per_s"), Counts::write_bytes_media),
    (metric!("drive_write_bytes_payload_per_s"), |c| c.write_bytes_payload),
    (metric!("drive_write_bytes_table_per_s"), |c| c.write_bytes_table),
    (metric!("drive_write_bytes_gc_per_s"), |c| c.write_bytes_gc),
    (metric!("drive_write_bytes_checkpoint_per_s"), |c| c.write_bytes_checkpoint),
    (metric!("drive_write_bytes_zero_per_s"), |c| c.write_bytes_zero),
    (metric!("drive_write_bytes_raw_per_s"), |c| c.write_bytes_raw),
    (metric!("drive_discard_bytes_host_per_s"), |c| c.discard_bytes_host),
    (metric!("drive_writes_host_per_s"), |c| c.commands_by_size.iter().sum()),
    (metric!("drive_writes_atomic_per_s"), atomic),
    (metric!("drive_writes_media_per_s"), |c| c.writes_media),
    (metric!("drive_flushes_per_s"), |c| c.flushes),
    (metric!("drive_flushes_media_per_s"), |c| c.flushes_media),
    (metric!("drive_gc_segments_per_s"), |c| c.gc_segments),
    (metric!("drive_gc_stalls_per_s"), |c| c.gc_stalls),
    (metric!("drive_checkpoints_per_s"), |c| c.checkpoints),
];

/// Write amplification: the whole, then its parts, each with the counter that is divided by the
/// host's bytes.
const AMPLIFICATION: [(&MetricEntry, &MetricEntry); 5] = [
    (metric!("drive_write_amplification"), metric!("drive_write_bytes_media_per_s")),
    (metric!("drive_write_amplification_payload"), metric!("drive_write_bytes_payload_per_s")),
    (metric!("drive_write_amplification_table"), metric!("drive_write_bytes_table_per_s")),
    (metric!("drive_write_amplification_gc"), metric!("drive_write_bytes_gc_per_s")),
    (
        metric!("drive_write_amplification_checkpoint"),
        metric!("drive_write_bytes_checkpoint_per_s"),
    ),
];

/// The last class of sizes holds commands above the largest size that is atomic.
fn atomic(counts: &Counts) -> u64 {
    counts.commands_by_size.iter().rev().skip(1).sum()
}

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
    pub(super) fn new(status_file: PathBuf) -> DriveProbe {
        let mut sheet = Sheet::default();
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
            Err(error) => {
                return notes.unmonitored(Unmonitored::Drive { error: format!("{error:#}") });
            }
        };
        if status.state != State::Healthy {
            let state = status.state.name().replace('_', " ");
            notes.once(Warning::DriveState { state });
        }
        for problem in &status.problems {
            let problem = problem.clone();
            notes.once(Warning::DriveProblem { problem, is_while_measuring: true });
        }
        for (&field, (_, count)) in self.counters.iter().zip(COUNTERS) {
            reading[field] = count(&status.counts) as f64;
        }
        self.gauges.fill(&status, reading);
    }
}

fn declare_counters(sheet: &mut Sheet) -> Vec<Field> {
    let fields: Vec<Field> = COUNTERS.iter().map(|(metric, _)| sheet.counter(metric, "")).collect();
    let field = |metric: &MetricEntry| {
        let mut all = COUNTERS.iter().zip(&fields);
        all.find(|((one, _), _)| one.name == metric.name).map(|(_, field)| *field)
    };
    let host = field(metric!("drive_write_bytes_host_per_s"));
    for (metric, counter) in AMPLIFICATION {
        let Some((over, under)) = field(counter).zip(host) else { continue };
        let formula = Formula::Quotient { over, under, base: 0.0, scale: 1.0 };
        sheet.series(metric, "", formula);
    }
    fields
}

fn declare_gauges(sheet: &mut Sheet) -> Gauges {
    let logical = sheet.gauge(metric!("drive_logical_bytes_used"), "");
    let media = sheet.gauge(metric!("drive_media_bytes_used"), "");
    let ratio = sheet.gauge(metric!("drive_compression_ratio"), "");
    let segments_free = sheet.gauge(metric!("drive_segments_free"), "");
    let free = sheet.gauge(metric!("drive_free_bytes"), "");
    let map = sheet.gauge(metric!("drive_map_bytes"), "");
    let (segments, usable) = (sheet.field(), sheet.field());
    let of_segments = Formula::Share { part: segments_free, whole: segments };
    sheet.series(metric!("drive_segments_free_percent"), "", of_segments);
    let of_room = Formula::Share { part: free, whole: usable };
    sheet.series(metric!("drive_free_percent"), "", of_room);
    sheet.series(metric!("space_physical_bytes"), "", Formula::Value(media));
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
pub(super) fn whole_sheet() -> Sheet {
    DriveProbe::new(PathBuf::new()).sheet
}

#[cfg(test)]
mod tests {
    use crate::monitor::testing::used_health;
    use std::collections::BTreeMap;
    use std::time::{Duration, Instant};

    use super::super::sheet::Moment;
    use super::*;

    /// Every series over one second between `before` and `after`.
    fn values(before: &Status, after: &Status) -> (BTreeMap<String, f64>, Vec<Warning>) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("status.json");
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
        after.counts.write_bytes_gc += 100;
        after.counts.commands_by_size[2] += 3;
        after.counts.commands_by_size[7] += 1;
        let (values, notes) = values(&before, &after);
        for (name, expected) in [
            ("drive_write_bytes_host_per_s", 1000.0),
            ("drive_write_bytes_media_per_s", 500.0),
            ("drive_write_amplification", 0.5),
            ("drive_write_amplification_payload", 0.4),
            ("drive_write_amplification_table", 0.0),
            ("drive_write_amplification_gc", 0.1),
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
        let [Warning::Unmonitored(Unmonitored::Drive { error })] = &notes.take_new()[..] else {
            panic!("it says that it is not monitored");
        };
        assert!(error.starts_with("cannot read"), "{error}");
    }
}
