//! Configurations and workloads as the study's head keeps them.

use std::collections::BTreeMap;
use std::path::Path;

use assay_load::{Pace, Schema, SchemaKind};

use super::guarantee;
use crate::rig::existing::Existing;
use crate::run::config_setup::ConfigSetup;
use assay_plan::{
    DiskBase, DriveMedia, Experiment, PlannedDrive, PlannedLoad, PlannedModel, PlannedPool,
    PlannedRig, PlannedWorkload, PoolPlace, RestoreWay, VariantKey,
};
use assay_presets::CompressionUnit;
use assay_presets::{Mark, Preset};
use assay_study::{
    Config, Count, Data, DriveRecord, ExistingServer, Fault, FileSystem, Fill, Media, Model,
    PeriodicStall, Pool, PoolCluster, Restored, RigRecord, ScaledResource, Servers, Tables,
    WorkloadRecord,
};

/// A configuration's rig and its server's settings; of what its data profiles change each. Nothing
/// of a configuration that is not run.
pub fn config(name: &str, on: &[(&VariantKey, &ConfigSetup)], location: &Path) -> Option<Config> {
    let (_, config) = on.first()?;
    let data = on.iter().map(|(key, config)| data(key, config)).collect();
    let rig = match &config.existing {
        Some(one) => RigRecord {
            existing: Some(existing(one)),
            server: one.version().to_owned(),
            data,
            ..RigRecord::default()
        },
        None => RigRecord {
            disk: Some(guarantee::disk(&config.rig, media(&config.rig, location), location)),
            file_system: file_system(&config.rig),
            servers: servers(config),
            server: config.binary.as_ref().map(|one| one.version_text.clone()).unwrap_or_default(),
            data,
            ..RigRecord::default()
        },
    };
    Some(Config { name: name.into(), rig, settings: config.settings.clone() })
}

/// The servers that run at once, if there are several.
fn servers(config: &ConfigSetup) -> Option<Servers> {
    let neighbour = config.neighbour.as_ref().map(|neighbour| neighbour.workload.clone());
    (config.servers > 1).then_some(Servers { count: config.servers, neighbour })
}

fn existing(one: &Existing) -> ExistingServer {
    let restored = match one.restore_way() {
        RestoreWay::Reload => Restored::Loaded,
        RestoreWay::Command(_) => Restored::ByCommand,
        RestoreWay::Nothing => Restored::Never,
    };
    ExistingServer { address: one.address(), restored }
}

fn data(key: &VariantKey, config: &ConfigSetup) -> Data {
    let fill = config.rig.model().map(fill);
    // Without a server there are no tables.
    let has_server = config.binary.is_some() || config.existing.is_some();
    let tables = if has_server { tables(&config.schema) } else { Tables::default() };
    Data { data_profile: key.data_profile.clone(), tables, fill }
}

fn tables(schema: &Schema) -> Tables {
    let generator = (!schema.generator.is_default()).then(|| schema.generator.name().to_owned());
    Tables {
        count: schema.tables,
        rows: schema.table_size,
        has_text: schema.kind == SchemaKind::Text,
        generator,
        create_options: schema.create_table_options.clone(),
    }
}

fn fill(model: &PlannedModel) -> Fill {
    Fill {
        percent: model.fill * 100.0,
        user_bytes: model.device.user_bytes(),
        logical_bytes: model.logical_bytes(),
        ratio: model.ratio,
    }
}

/// Every workload with its recipe and options, on every data profile.
pub fn workloads(experiment: &Experiment) -> Vec<WorkloadRecord> {
    let described = |load: &PlannedLoad| {
        let workload = experiment.workloads.get(&load.workload)?;
        Some(WorkloadRecord {
            name: load.name.clone(),
            data_profile: load.data_profile.clone(),
            workload: load.workload.clone(),
            recipe: workload.spec.recipe().to_owned(),
            options: options(experiment, workload),
        })
    };
    experiment.loads.iter().filter_map(described).collect()
}

/// The options of a workload, `rate` and `arrivals` where it has a rate, and the phases of its
/// runs.
fn options(experiment: &Experiment, workload: &PlannedWorkload) -> BTreeMap<String, String> {
    let Ok(serde_json::Value::Object(mut options)) = serde_json::to_value(&workload.spec) else {
        return BTreeMap::new();
    };
    if let Pace::Rate { per_second, arrivals } = workload.pace
        && let Ok(arrivals) = serde_json::to_value(arrivals)
    {
        options.insert("rate".into(), per_second.to_string().into());
        options.insert("arrivals".into(), arrivals);
    }
    if !experiment.phases.is_empty() {
        options.insert("phases".into(), serde_json::json!(experiment.phases));
    }
    options
        .into_iter()
        .map(|(name, value)| match value {
            serde_json::Value::String(text) => (name, text),
            other => (name, other.to_string()),
        })
        .collect()
}

fn media(rig: &PlannedRig, location: &Path) -> Media {
    let directory = location.to_owned();
    match rig.disk().map(|disk| &disk.base) {
        None => Media::Directory { path: directory },
        Some(DiskBase::Image { size, .. }) => Media::Image { bytes: size.0, directory },
        Some(DiskBase::Device(path)) => Media::Device { path: path.clone() },
        Some(DiskBase::Drive(planned)) => Media::Drive(drive(planned, location)),
        Some(DiskBase::Model(planned)) => Media::Model(model(planned)),
        Some(DiskBase::Pool(planned, _)) => Media::Pool(pool(planned)),
    }
}

fn model(model: &PlannedModel) -> Model {
    let PlannedModel { preset, device, .. } = model;
    let obtained = device.obtained();
    let resources = obtained.iter().map(|one| ScaledResource {
        name: one.resource.clone(),
        real: one.real,
        factor: one.factor,
    });
    Model {
        preset: preset.name.clone(),
        title: preset.document.title.clone(),
        devices: model.devices,
        capacity_scale: model.capacity_scale,
        parallel_scale: model.parallel_scale,
        resources: resources.collect(),
        numbers: numbers(preset),
        fault: fault(preset),
    }
}

fn drive(drive: &PlannedDrive, location: &Path) -> DriveRecord {
    let (capacity_bytes, device, image) = match &drive.media {
        DriveMedia::File { capacity, .. } => (Some(capacity.0), None, None),
        DriveMedia::Device(path) => (None, Some(path.clone()), None),
        DriveMedia::Image(planned) => (None, None, Some(pool(planned))),
    };
    DriveRecord {
        bytes: drive.size().map(|size| size.0),
        device,
        pool: image,
        directory: location.to_owned(),
        capacity_bytes,
        codec: drive.codec.to_string(),
        has_dictionaries: drive.dictionary,
        unit_bytes: match drive.unit {
            CompressionUnit::Block => 4 << 10,
            CompressionUnit::Page => 16 << 10,
        },
        read_ahead_bytes: drive.read_ahead.map(|size| size.0),
    }
}

fn pool(pool: &PlannedPool) -> Pool {
    let cluster = match &pool.place {
        PoolPlace::Existing { conf, pool, .. } => {
            PoolCluster::Existing { conf: conf.clone(), pool: pool.clone() }
        }
        PoolPlace::Private(private) => PoolCluster::Private {
            stores: private.cluster.stores,
            protection: private.protection,
            compression: private.compression,
            image_iops: private.image_iops,
            image_bytes_per_s: private.image_bytes_per_s.map(|size| size.0),
        },
    };
    Pool { cluster, bytes: pool.size.0 }
}

/// Counts of a preset's numbers by their origin.
fn numbers(preset: &Preset) -> Vec<Count> {
    let rows = preset.rows().unwrap_or_default();
    let of = |mark: Mark| rows.iter().filter(|row| row.mark == mark).count();
    let count = |mark: Mark| Count { sort: mark.name().to_owned(), count: of(mark) };
    Mark::ALL.map(count).into()
}

fn fault(preset: &Preset) -> Option<Fault> {
    let said = &preset.document.fault;
    let stall = said.stall_ms.as_ref().zip(said.every_s.as_ref());
    let fault = Fault {
        stall: stall
            .map(|(length, every)| PeriodicStall { length_ms: length.value, every_s: every.value }),
        slower: said.slower.as_ref().map(|figure| figure.value),
        tears: said.tears.as_ref().is_some_and(|figure| figure.value),
    };
    (fault != Fault::default()).then_some(fault)
}

fn file_system(rig: &PlannedRig) -> Option<FileSystem> {
    let planned = &rig.disk()?.file_system;
    Some(FileSystem {
        name: planned.kind.name().to_owned(),
        mkfs_options: planned.mkfs_options.clone(),
        mount_options: planned.mount_options.clone(),
        extsize_bytes: planned.extsize.map(|size| size.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{experiment, planned_rig};

    #[test]
    fn a_drive_is_kept_with_both_its_sizes() {
        let rig =
            planned_rig("kind = \"drive\"\ncapacity = \"1G\"\nlogical = \"2G\"\nunit = \"16k\"");
        let Media::Drive(drive) = media(&rig, Path::new("/data")) else {
            panic!("it is a drive");
        };
        assert_eq!((drive.bytes, drive.capacity_bytes), (Some(2 << 30), Some(1 << 30)));
        assert_eq!((drive.codec.as_str(), drive.unit_bytes), ("zstd", 16 << 10));
    }

    #[test]
    fn how_events_are_paced_is_told_where_a_rate_is_asked_for() {
        let options = |pace: &str| workloads(&experiment(pace)).remove(0).options;
        let paced = options("rate = 250\narrivals = \"even\"");
        assert_eq!((paced["rate"].as_str(), paced["arrivals"].as_str()), ("250", "even"));
        assert_eq!(options("rate = 0.5")["arrivals"], "poisson");
        assert!(!options("").contains_key("rate") && !options("").contains_key("arrivals"));
    }
}
