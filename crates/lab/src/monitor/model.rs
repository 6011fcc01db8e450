//! A device's model, read from its status file: modelled and achieved durations of commands, their
//! waits, and the number of missed deadlines.

use std::path::PathBuf;

use assay_models::Resource;

use super::probe::{Notes, Probe};
use super::sheet::{Field, Formula, Sheet};
use assay_serve::{Health, ModelHealth};
use assay_study::Unmonitored;
use assay_study::metrics::{MetricEntry, metric};

/// Kinds of command: the key in the health log, the count, the modelled and the achieved duration.
const KINDS: [(&str, [&MetricEntry; 3]); 3] = [
    (
        "read",
        [
            metric!("model_reads_per_s"),
            metric!("model_read_latency_ms"),
            metric!("model_read_achieved_latency_ms"),
        ],
    ),
    (
        "write",
        [
            metric!("model_writes_per_s"),
            metric!("model_write_latency_ms"),
            metric!("model_write_achieved_latency_ms"),
        ],
    ),
    (
        "flush",
        [
            metric!("model_flushes_per_s"),
            metric!("model_flush_latency_ms"),
            metric!("model_flush_achieved_latency_ms"),
        ],
    ),
];

pub(super) struct ModelProbe {
    sheet: Sheet,
    status_file: PathBuf,
    kinds: Vec<(&'static str, OfKind)>,
    commands: Field,
    late: Field,
    too_fast: Field,
    stalled_ms: Field,
    waited: Vec<(&'static str, Field)>,
}

struct OfKind {
    commands: Field,
    modelled_s: Field,
    achieved_s: Field,
}

impl ModelProbe {
    pub(super) fn new(status_file: PathBuf) -> ModelProbe {
        let mut sheet = Sheet::default();
        let kinds = KINDS.map(|(kind, metrics)| (kind, declare_kind(&mut sheet, metrics)));
        let kinds = kinds.into();
        let commands = sheet.counter(metric!("model_commands_per_s"), "");
        let late = sheet.counter(metric!("model_missed_deadlines_per_s"), "");
        let too_fast = sheet.counter(metric!("model_too_fast_per_s"), "");
        let waited = Resource::ALL.iter();
        let waited = waited
            .map(|resource| (resource.name(), sheet.counter(waited_for(*resource), "")))
            .collect();
        let stalled_ms = sheet.gauge(metric!("model_stalled_ms"), "");
        ModelProbe { sheet, status_file, kinds, commands, late, too_fast, stalled_ms, waited }
    }

    fn fill(&self, model: &ModelHealth, reading: &mut [f64]) {
        let of_kind = |kind: &str| model.kinds.get(kind).cloned().unwrap_or_default();
        for (kind, fields) in &self.kinds {
            let told = of_kind(kind);
            reading[fields.commands] = told.commands as f64;
            reading[fields.modelled_s] = told.modelled_s;
            reading[fields.achieved_s] = told.achieved_s;
        }
        reading[self.commands] = model.commands as f64;
        reading[self.late] =
            model.kinds.values().map(|kind| kind.missed_deadlines).sum::<u64>() as f64;
        reading[self.too_fast] = model.kinds.values().map(|kind| kind.too_fast).sum::<u64>() as f64;
        reading[self.stalled_ms] = model.stalled_ms;
        for (resource, field) in &self.waited {
            reading[*field] = model.waited.get(*resource).copied().unwrap_or(0) as f64;
        }
    }
}

fn declare_kind(
    sheet: &mut Sheet,
    [commands, modelled, achieved]: [&'static MetricEntry; 3],
) -> OfKind {
    let commands = sheet.counter(commands, "");
    let (modelled_s, achieved_s) = (sheet.field(), sheet.field());
    for (metric, over) in [(modelled, modelled_s), (achieved, achieved_s)] {
        let formula = Formula::Quotient { over, under: commands, base: 0.0, scale: 1e3 };
        sheet.series(metric, "", formula);
    }
    OfKind { commands, modelled_s, achieved_s }
}

fn waited_for(resource: Resource) -> &'static MetricEntry {
    match resource {
        Resource::Nothing => metric!("model_waited_for_nothing_per_s"),
        Resource::Firmware => metric!("model_waited_for_firmware_per_s"),
        Resource::Controller => metric!("model_waited_for_controller_per_s"),
        Resource::Link => metric!("model_waited_for_link_per_s"),
        Resource::Engine => metric!("model_waited_for_engine_per_s"),
        Resource::Buffer => metric!("model_waited_for_buffer_per_s"),
        Resource::Flash => metric!("model_waited_for_flash_per_s"),
        Resource::Die => metric!("model_waited_for_die_per_s"),
        Resource::Channel => metric!("model_waited_for_channel_per_s"),
        Resource::Seek => metric!("model_waited_for_seek_per_s"),
        Resource::Rotation => metric!("model_waited_for_rotation_per_s"),
        Resource::Platter => metric!("model_waited_for_platter_per_s"),
        Resource::Spindle => metric!("model_waited_for_spindle_per_s"),
        Resource::Operations => metric!("model_waited_for_operations_per_s"),
        Resource::Bytes => metric!("model_waited_for_bytes_per_s"),
        Resource::Network => metric!("model_waited_for_network_per_s"),
        Resource::Fault => metric!("model_waited_for_fault_per_s"),
    }
}

impl Probe for ModelProbe {
    fn sheet(&self) -> &Sheet {
        &self.sheet
    }

    fn read(&mut self, reading: &mut [f64], notes: &mut Notes) {
        match Health::read(&self.status_file) {
            Ok(Health { model: Some(model), .. }) => self.fill(&model, reading),
            Ok(_) => {}
            Err(error) => notes.unmonitored(Unmonitored::Model { error: format!("{error:#}") }),
        }
    }
}

#[cfg(test)]
pub(super) fn whole_sheet() -> Sheet {
    ModelProbe::new(PathBuf::new()).sheet
}

#[cfg(test)]
mod tests {
    use crate::monitor::testing::used_health;
    use std::collections::BTreeMap;
    use std::time::{Duration, Instant};

    use super::super::sheet::Moment;
    use super::*;
    use assay_presets::Scale;
    use assay_serve::KindHealth;

    fn model(reads: u64, missed_deadlines: u64, modelled_s: f64) -> ModelHealth {
        let read = KindHealth {
            commands: reads,
            modelled_s,
            achieved_s: 2.0 * modelled_s,
            missed_deadlines,
            ..KindHealth::default()
        };
        ModelHealth {
            name: "m".into(),
            scale: Scale::default(),
            port_us: 50.0,
            commands: reads,
            missed_deadline_share: None,
            added_share: None,
            too_fast_share: None,
            stalled_ms: 250.0,
            comparable: true,
            kinds: [("read".to_owned(), read)].into(),
            waited: [("die".to_owned(), reads)].into(),
        }
    }

    #[test]
    fn a_second_of_a_model_is_told_by_kind_and_resource() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("status.json");
        let mut probe = ModelProbe::new(file.clone());
        let start = Instant::now();
        let mut moment = |model: ModelHealth, second| {
            std::fs::write(&file, used_health().of_model(model).to_json().unwrap()).unwrap();
            let mut reading = probe.sheet.blank();
            probe.read(&mut reading, &mut Notes::default());
            Moment { at: start + Duration::from_secs(second), reading }
        };
        let (before, after) = (moment(model(10, 0, 1.0), 0), moment(model(30, 2, 1.002), 1));
        let names: Vec<String> = probe.sheet.infos().map(|info| info.name.clone()).collect();
        let mut values = BTreeMap::new();
        probe.sheet.compute(&before, &after, |place, value| {
            values.insert(names[place].clone(), value);
        });
        assert_eq!(values["model_reads_per_s"], 20.0);
        assert!((values["model_read_latency_ms"] - 0.1).abs() < 1e-9);
        assert!((values["model_read_achieved_latency_ms"] - 0.2).abs() < 1e-9);
        assert_eq!(values["model_missed_deadlines_per_s"], 2.0);
        assert_eq!(values["model_waited_for_die_per_s"], 20.0);
        assert_eq!(values["model_stalled_ms"], 250.0);
        assert!(!values.contains_key("model_write_latency_ms"), "there were none");
    }

    #[test]
    fn a_drive_that_is_no_model_has_no_such_series() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("status.json");
        std::fs::write(&file, used_health().to_json().unwrap()).unwrap();
        let mut probe = ModelProbe::new(file);
        let (mut reading, mut notes) = (probe.sheet.blank(), Notes::default());
        probe.read(&mut reading, &mut notes);
        assert!(reading.iter().all(|value| value.is_nan()));
        assert!(notes.take_new().is_empty());
    }
}
