//! Configurations and workloads as the study's head keeps them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use assay_load::{Schema, SchemaKind};

use super::guarantee;
use crate::rig::existing::Existing;
use crate::run::config_setup::ConfigSetup;
use assay_plan::{
    Load, ModelSpec, Plan, PoolPlace, PoolSpec, Restore, RigKind, RigSpec, VariantKey, WorkloadSpec,
};
use assay_presets::Unit;
use assay_presets::{Mark, Preset};
use assay_study::{
    Config, Count, Data, Drive, ExistingServer, Fault, FileSystem, Fill, Media, Model, Pool,
    PoolCluster, Resource, Restored, Rig, Servers, Stall, Tables, Workload,
};

/// A configuration's rig and its server's settings; of what its data profiles change each. Nothing of a configuration
/// that is not run.
///
/// # Errors
/// The preset of its model cannot be read.
pub fn config(
    plan: &Plan,
    name: &str,
    on: &[(&VariantKey, &ConfigSetup)],
    location: &Path,
) -> Result<Option<Config>> {
    let Some((_, config)) = on.first() else { return Ok(None) };
    let data = on.iter().map(|(key, config)| data(key, config)).collect();
    let rig = match &config.existing {
        Some(one) => Rig {
            existing: Some(existing(one, &config.rig)),
            server: one.version().to_owned(),
            data,
            ..Rig::default()
        },
        None => Rig {
            disk: Some(guarantee::disk(&config.rig, media(&config.rig, location)?, location)),
            file_system: file_system(&config.rig),
            servers: servers(plan, name),
            server: config.binary.as_ref().map(|one| one.version_text.clone()).unwrap_or_default(),
            data,
            ..Rig::default()
        },
    };
    Ok(Some(Config { name: name.into(), rig, settings: config.settings.clone() }))
}

/// How many run at once, where that is more than one.
fn servers(plan: &Plan, name: &str) -> Option<Servers> {
    let count = plan.servers_of(name);
    let neighbour = plan.configs.get(name).and_then(|config| config.neighbour.as_ref());
    let neighbour = neighbour.map(|spec| spec.workload.clone());
    (count > 1).then_some(Servers { count, neighbour })
}

fn existing(one: &Existing, rig: &RigSpec) -> ExistingServer {
    let restore = rig.endpoint.as_ref().map(|endpoint| &endpoint.restore);
    let restored = match restore {
        None | Some(Restore::Reload) => Restored::Loaded,
        Some(Restore::Command(_)) => Restored::ByCommand,
        Some(Restore::None) => Restored::Never,
    };
    ExistingServer { address: one.address(), restored }
}

fn data(key: &VariantKey, config: &ConfigSetup) -> Data {
    let fill = config.rig.model.as_ref().and_then(fill);
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

fn fill(model: &ModelSpec) -> Option<Fill> {
    let (_, device) = model.device().ok()?;
    Some(Fill {
        percent: model.fill * 100.0,
        user_bytes: device.user_bytes(),
        logical_bytes: model.logical_bytes(&device),
        ratio: model.ratio,
    })
}

/// Every workload with its recipe and options, on every data profile.
pub fn workloads(plan: &Plan) -> Vec<Workload> {
    let described = |load: Load<'_>| {
        let workload = plan.workloads.get(load.workload)?;
        Some(Workload {
            name: load.name(),
            data_profile: load.data_profile.map(str::to_owned),
            workload: load.workload.to_owned(),
            recipe: workload.recipe().to_owned(),
            options: options(plan, workload, load.workload),
        })
    };
    plan.loads().into_iter().filter_map(described).collect()
}

/// Its options, and how its events are paced: `rate` and `arrivals` where a rate is asked for, and the phases of its runs.
fn options(plan: &Plan, workload: &WorkloadSpec, name: &str) -> BTreeMap<String, String> {
    let (rate, arrivals) = (plan.rate_of(name), plan.arrivals);
    let Ok(serde_json::Value::Object(mut options)) = serde_json::to_value(workload) else {
        return BTreeMap::new();
    };
    if let (Some(rate), Ok(arrivals)) = (rate, serde_json::to_value(arrivals)) {
        options.insert("rate".into(), rate.to_string().into());
        options.insert("arrivals".into(), arrivals);
    }
    if !plan.phases.is_empty() {
        options.insert("phases".into(), serde_json::json!(plan.phases));
    }
    options
        .into_iter()
        .map(|(name, value)| match value {
            serde_json::Value::String(text) => (name, text),
            other => (name, other.to_string()),
        })
        .collect()
}

fn media(rig: &RigSpec, location: &Path) -> Result<Media> {
    let path = location.to_owned();
    if let (RigKind::Pool, Some(spec)) = (rig.kind, &rig.pool) {
        return Ok(Media::Pool(pool(spec)));
    }
    Ok(match (rig.kind, rig.size, &rig.device, &rig.model) {
        (RigKind::Image, Some(size), ..) => Media::Image { bytes: size.0, directory: path },
        (RigKind::Device, _, Some(device), _) => Media::Device { path: device.clone() },
        (RigKind::Drive, ..) => Media::Drive(drive(rig, location)),
        (RigKind::Model, _, _, Some(spec)) => Media::Model(model(spec)?),
        _ => Media::Directory { path },
    })
}

fn model(spec: &ModelSpec) -> Result<Model> {
    let (preset, device) = spec.device()?;
    let obtained = device.obtained();
    let resources = obtained.iter().map(|one| Resource {
        name: one.resource.clone(),
        real: one.real,
        factor: one.factor,
    });
    Ok(Model {
        preset: preset.name.clone(),
        title: preset.document.title.clone(),
        devices: spec.devices,
        capacity_scale: spec.capacity_scale,
        parallel_scale: spec.parallel_scale,
        resources: resources.collect(),
        numbers: numbers(&preset),
        fault: fault(&preset),
    })
}

fn drive(rig: &RigSpec, location: &Path) -> Drive {
    Drive {
        bytes: rig.disk_size().map(|size| size.0),
        device: rig.device.clone(),
        pool: rig.pool.as_ref().map(pool),
        directory: location.to_owned(),
        capacity_bytes: rig.capacity.map(|size| size.0),
        codec: rig.drive_codec().to_string(),
        has_dictionaries: rig.dictionary,
        unit_bytes: match rig.unit.unwrap_or_default() {
            Unit::Block => 4 << 10,
            Unit::Page => 16 << 10,
        },
        read_ahead_bytes: rig.read_ahead.map(|size| size.0),
    }
}

fn pool(spec: &PoolSpec) -> Pool {
    let cluster = match spec.place() {
        PoolPlace::Existing { conf, pool, .. } => {
            PoolCluster::Existing { conf: conf.clone(), pool: pool.to_owned() }
        }
        PoolPlace::Private(cluster) => PoolCluster::Private {
            stores: cluster.stores,
            protection: spec.protection(),
            compression: spec.compressed(),
            image_iops: spec.image_iops,
            image_bytes_per_s: spec.image_bytes_per_s.map(|size| size.0),
        },
    };
    Pool { cluster, bytes: spec.size.0 }
}

/// How many of a preset's numbers come from where.
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
        stall: stall.map(|(length, every)| Stall { length_ms: length.value, every_s: every.value }),
        slower: said.slower.as_ref().map(|figure| figure.value),
        tears: said.tears.as_ref().is_some_and(|figure| figure.value),
    };
    (fault != Fault::default()).then_some(fault)
}

fn file_system(rig: &RigSpec) -> Option<FileSystem> {
    (rig.kind != RigKind::Directory).then(|| FileSystem {
        name: rig.file_system.unwrap_or_default().name().to_owned(),
        mkfs_options: rig.mkfs_options.clone(),
        mount_options: rig.mount_options.clone(),
        extsize_bytes: rig.extsize.map(|size| size.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_is_kept_with_both_its_sizes() {
        let plan = Plan::parse(
            "title = \"t\"\nthreads = [1]\nseconds = 1\n[rig]\nkind = \"drive\"\ncapacity = \"1G\"\nlogical = \"2G\"\n\
             unit = \"16k\"\n[workloads.w]\nrecipe = \"oltp_read_write\"\n[configs.a]\n",
        );
        let Media::Drive(drive) = media(&plan.unwrap().rig, Path::new("/data")).unwrap() else {
            panic!("it is a drive");
        };
        assert_eq!((drive.bytes, drive.capacity_bytes), (Some(2 << 30), Some(1 << 30)));
        assert_eq!((drive.codec.as_str(), drive.unit_bytes), ("zstd", 16 << 10));
    }

    #[test]
    fn how_events_are_paced_is_told_where_a_rate_is_asked_for() {
        let options = |pace: &str| {
            let plan = Plan::parse(&format!(
                "title = \"t\"\nthreads = [1]\nseconds = 1\n{pace}\n[workloads.w]\nrecipe = \"oltp_read_only\"\n[configs.a]\n",
            ));
            workloads(&plan.unwrap()).remove(0).options
        };
        let paced = options("rate = 250\narrivals = \"even\"");
        assert_eq!((paced["rate"].as_str(), paced["arrivals"].as_str()), ("250", "even"));
        assert_eq!(options("rate = 0.5")["arrivals"], "poisson");
        assert!(!options("").contains_key("rate") && !options("").contains_key("arrivals"));
    }
}
