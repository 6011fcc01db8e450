//! Arms and workloads in words, as the study's head keeps them for the report.

use std::collections::BTreeMap;
use std::path::Path;

use assay_load::{Schema, SchemaKind};
use assay_models::PAGE_BYTES;

use super::promise::{self, keeps_pages_together};
use super::setup::ArmSetup;
use crate::base::Size;
use crate::plan::{FootingKey, Load, ModelSpec, Plan, RigKind, RigSpec};
use crate::rig;
use crate::store::{Arm, Workload};

/// An arm's rig from the bottom up, and its server's settings; what its data sets change is told of each. Nothing of an arm
/// that is not run.
pub fn arm(name: &str, on: &[(&FootingKey, &ArmSetup)], location: &Path) -> Option<Arm> {
    let (_, arm) = on.first()?;
    let rig = [
        ("disk", disk(&arm.rig, location)),
        ("file system", file_system(&arm.rig)),
        ("page writes", page_writes(&arm.rig, &arm.settings).into()),
        ("server", arm.binary.version_text.clone()),
        ("tables", by_data_set(on, |arm| tables(&arm.schema))),
    ];
    let mut rig: Vec<_> = rig.map(|(label, text)| (label.to_owned(), text)).into();
    if arm.rig.model.is_some() {
        rig.push(("filled".into(), by_data_set(on, filled)));
    }
    rig.extend(
        arm.rig.model.as_ref().into_iter().flat_map(|model| {
            rig::model_description(model).unwrap_or_default().into_iter().skip(1)
        }),
    );
    Some(Arm { name: name.into(), rig, settings: arm.settings.clone() })
}

/// What is the same on all data sets once, else of each with its name.
fn by_data_set(on: &[(&FootingKey, &ArmSetup)], text: impl Fn(&ArmSetup) -> String) -> String {
    let texts: Vec<(&FootingKey, String)> = on.iter().map(|(key, arm)| (*key, text(arm))).collect();
    match texts.as_slice() {
        [(_, first), rest @ ..] if rest.iter().all(|(_, text)| text == first) => first.clone(),
        all => {
            let named = |(key, text): &(&FootingKey, String)| match &key.data_set {
                Some(data_set) => format!("{data_set}: {text}"),
                None => text.clone(),
            };
            all.iter().map(named).collect::<Vec<_>>().join("; ")
        }
    }
}

fn tables(schema: &Schema) -> String {
    let mut tables = format!("{} × {} rows", schema.tables, schema.table_size);
    if schema.kind == SchemaKind::Text {
        tables = format!("{tables} with text");
    }
    if !schema.generator.is_default() {
        tables = format!("{tables} of {}", schema.generator.name());
    }
    if !schema.create_table_options.is_empty() {
        tables = format!("{tables}, {}", schema.create_table_options);
    }
    tables
}

fn filled(arm: &ArmSetup) -> String {
    let Some(model) = &arm.rig.model else { return "not a model".into() };
    let Ok((_, device)) = model.device() else { return "a model".into() };
    format!(
        "{:.1} % of {} ({} seen by the host), worn in with data of {}:1",
        model.fill * 100.0,
        Size(device.user_bytes()),
        Size(model.logical_bytes(&device)),
        model.ratio,
    )
}

/// Every workload with its recipe and options, on every data set.
pub fn workloads(plan: &Plan) -> Vec<Workload> {
    let described = |load: Load<'_>| {
        let workload = plan.workloads.get(load.workload)?;
        Some(Workload {
            name: load.name(),
            data_set: load.data_set.map(str::to_owned),
            recipe: workload.recipe.name().to_owned(),
            options: options(workload, plan),
        })
    };
    plan.loads().into_iter().filter_map(described).collect()
}

/// Its options, and how its events are paced: `rate` and `arrivals` of a plan that asks for a rate.
fn options(workload: &assay_load::Workload, plan: &Plan) -> BTreeMap<String, String> {
    let Ok(serde_json::Value::Object(mut options)) = serde_json::to_value(workload) else {
        return BTreeMap::new();
    };
    if let (Some(rate), Ok(arrivals)) = (plan.rate, serde_json::to_value(plan.arrivals)) {
        options.insert("rate".into(), rate.to_string().into());
        options.insert("arrivals".into(), arrivals);
    }
    options
        .into_iter()
        .map(|(name, value)| match value {
            serde_json::Value::String(text) => (name, text),
            other => (name, other.to_string()),
        })
        .collect()
}

fn disk(rig: &RigSpec, location: &Path) -> String {
    let place = location.display();
    match (rig.kind, rig.size, &rig.device) {
        (RigKind::Image, Some(size), _) => format!("image of {size} on a loop device, in {place}"),
        (RigKind::Device, _, Some(device)) => device.display().to_string(),
        (RigKind::Drive, ..) => drive(rig, location),
        (RigKind::Model, ..) => model(rig),
        _ => format!("folder in {place}"),
    }
}

fn drive(rig: &RigSpec, location: &Path) -> String {
    let size = rig.disk_size().map_or_else(String::new, |size| format!(" of {size}"));
    let media = match (&rig.device, rig.capacity) {
        (Some(device), _) => device.display().to_string(),
        (None, Some(capacity)) => format!("an image of {capacity} in {}", location.display()),
        (None, None) => "an image".into(),
    };
    format!("software drive{size} on {media}, {}", rig::drive_manner(rig))
}

fn model(rig: &RigSpec) -> String {
    let Some(Ok((preset, _))) = rig.model.as_ref().map(ModelSpec::device) else {
        return "a model".into();
    };
    let scale = rig.model.as_ref().map(ModelSpec::scale).unwrap_or_default();
    format!(
        "model of {}, capacity ÷ {}, parallelism ÷ {}",
        preset.document.title, scale.capacity, scale.parallel
    )
}

fn file_system(rig: &RigSpec) -> String {
    if rig.kind == RigKind::Folder {
        return "the one that is there".into();
    }
    let mut text = rig.file_system.unwrap_or_default().name().to_owned();
    for (what, options) in
        [("made with", rig.mkfs_options.join(" ")), ("mounted", rig.mount_options.join(","))]
    {
        if !options.is_empty() {
            text = format!("{text}, {what} {options}");
        }
    }
    rig.extsize.map_or(text.clone(), |size| format!("{text}, extsize {size}"))
}

/// What keeps a page from being half written when the power fails. The doublewrite buffer is on unless it is set
/// otherwise; `DETECT_ONLY` finds a torn page and cannot mend it (MySQL manual, `innodb_doublewrite`).
fn page_writes(rig: &RigSpec, settings: &BTreeMap<String, String>) -> &'static str {
    let setting = settings.get("innodb_doublewrite").map(|value| value.to_ascii_uppercase());
    let is_on = !matches!(setting.as_deref(), Some("OFF" | "0" | "FALSE" | "DETECT_ONLY"))
        && !settings.contains_key("skip_innodb_doublewrite");
    match (is_on, rig.kind) {
        (true, _) => "safe: written twice, by the doublewrite buffer",
        (false, RigKind::Drive) if keeps_pages_together(rig) => {
            "safe: the drive writes up to 256 KiB whole or not at all"
        }
        (false, RigKind::Drive) => {
            "safe unless the file system splits a page: the drive writes what it gets at once, up to 256 KiB, whole or not at all"
        }
        (false, RigKind::Model) if promises_pages(rig) && keeps_pages_together(rig) => {
            "safe if the device keeps its promise to write pages whole"
        }
        (false, RigKind::Model) if promises_pages(rig) => {
            "safe if the device keeps its promise to write pages whole and the file system splits none"
        }
        (false, _) => "safe only if the disk itself writes pages whole",
    }
}

/// Whether the modelled device is said to write MySQL's pages whole.
fn promises_pages(rig: &RigSpec) -> bool {
    promise::atomic(rig).is_some_and(|atomic| atomic.bytes >= PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::FileSystem;

    #[test]
    fn who_keeps_pages_whole_is_said_of_every_kind_of_arm() {
        let of = |kind: RigKind, doublewrite: &str| {
            let rig = RigSpec { kind, ..RigSpec::default() };
            let settings = [("innodb_doublewrite".to_owned(), doublewrite.to_owned())].into();
            page_writes(&rig, &settings)
        };
        let unset = page_writes(&RigSpec::default(), &BTreeMap::new());
        assert_eq!(unset, of(RigKind::Image, "ON"));
        assert_eq!(unset, of(RigKind::Drive, "DETECT_AND_RECOVER"));
        assert!(of(RigKind::Drive, "OFF").starts_with("safe unless the file system splits"));
        for off in ["OFF", "off", "0", "DETECT_ONLY"] {
            assert!(of(RigKind::Image, off).starts_with("safe only if"), "{off}");
        }
    }

    #[test]
    fn a_drive_keeps_pages_whole_that_the_file_system_keeps_together() {
        let told = |file_system: FileSystem, mkfs: &str, extsize: Option<u64>| {
            let mkfs_options = mkfs.split_whitespace().map(str::to_owned).collect();
            let rig = RigSpec {
                kind: RigKind::Drive,
                file_system: Some(file_system),
                mkfs_options,
                extsize: extsize.map(Size),
                ..RigSpec::default()
            };
            let settings = [("innodb_doublewrite".to_owned(), "OFF".to_owned())].into();
            page_writes(&rig, &settings).starts_with("safe: the drive")
        };
        for (mkfs, is_safe) in [
            ("-O bigalloc -C 16384", true),
            ("-O bigalloc -C16k", true),
            ("-O bigalloc -C 65536", true),
            ("-O bigalloc", true),
            ("-O bigalloc -C 8192", false),
            ("-C 16384", false),
            ("", false),
        ] {
            assert_eq!(told(FileSystem::Ext4, mkfs, None), is_safe, "{mkfs}");
        }
        assert!(told(FileSystem::Xfs, "", Some(16 << 10)));
        assert!(!told(FileSystem::Xfs, "", Some(8 << 10)));
        assert!(!told(FileSystem::Xfs, "", None));
    }

    #[test]
    fn a_drive_is_called_one_and_told_with_both_its_sizes() {
        let plan = Plan::parse(
            "title = \"t\"\nthreads = [1]\nseconds = 1\n[rig]\nkind = \"drive\"\ncapacity = \"1G\"\nlogical = \"2G\"\n\
             unit = \"16k\"\n[workloads.w]\nrecipe = \"oltp_read_write\"\n[arms.a]\n",
        );
        assert_eq!(
            disk(&plan.unwrap().rig, Path::new("/data")),
            "software drive of 2G on an image of 1G in /data, zstd in units of 16 KiB"
        );
    }

    #[test]
    fn how_events_are_paced_is_told_where_a_rate_is_asked_for() {
        let options = |pace: &str| {
            let plan = Plan::parse(&format!(
                "title = \"t\"\nthreads = [1]\nseconds = 1\n{pace}\n[workloads.w]\nrecipe = \"oltp_read_only\"\n[arms.a]\n",
            ));
            workloads(&plan.unwrap()).remove(0).options
        };
        let paced = options("rate = 250\narrivals = \"even\"");
        assert_eq!((paced["rate"].as_str(), paced["arrivals"].as_str()), ("250", "even"));
        assert_eq!(options("rate = 0.5")["arrivals"], "poisson");
        assert!(!options("").contains_key("rate") && !options("").contains_key("arrivals"));
    }
}
