//! A configuration's rig in words, layer by layer.

use super::{NONE, given};
use assay_base::Size;
use assay_study::{
    Config, Count, DeviceDivisors, DiskRecord, DriveRecord, ExistingServer, Fault, FileSystem,
    Fill, Media, Model, Pool, PoolCluster, Restored, RigLayer, ScaledResource, Servers, Study,
    Tables,
};

/// Each layer's name and what it is, with what of it is not in effect as the plan asks.
pub fn layers(config: &Config) -> Vec<(&'static str, String)> {
    let differing = config.rig.in_effect.iter().flat_map(|one| &one.differing);
    let told = |layer: &RigLayer| {
        let remark = match layer {
            RigLayer::Disk(_) => given::of_disk,
            RigLayer::FileSystem(_) => given::of_file_system,
            _ => return text(layer),
        };
        let remarks: Vec<String> = differing.clone().filter_map(remark).collect();
        match remarks.is_empty() {
            true => text(layer),
            false => format!("{} ({})", text(layer), remarks.join("; ")),
        }
    };
    config.rig.layers().iter().map(|layer| (layer.name(), told(layer))).collect()
}

pub fn text(layer: &RigLayer) -> String {
    match layer {
        RigLayer::Existing(server) => existing(server),
        RigLayer::Disk(media) => disk(media),
        RigLayer::FileSystem(None) => "the one that is there".into(),
        RigLayer::FileSystem(Some(made)) => file_system(made),
        RigLayer::Servers(servers) => several(servers),
        RigLayer::Server(version) => version.clone(),
        RigLayer::Tables(all) => by_data_profile(all, tables),
        RigLayer::Filled(all) => {
            by_data_profile(all, |one| one.as_ref().map_or_else(|| NONE.to_owned(), fill))
        }
        RigLayer::Scale(resources) => resources.iter().map(resource).collect::<Vec<_>>().join(", "),
        RigLayer::Numbers { preset, numbers: all } => numbers(preset, all),
        RigLayer::Fault(what) => format!("injected fault: it {}", fault(what)),
    }
}

/// `3 at once, the last under “noise”`.
fn several(servers: &Servers) -> String {
    let neighbour = servers.neighbour.as_ref();
    let noisy = neighbour.map_or_else(String::new, |name| format!(", the last under “{name}”"));
    format!("{} at once{noisy}", servers.count)
}

/// A server that somebody else runs: where, what cannot be seen of it, and what runs began with.
fn existing(server: &ExistingServer) -> String {
    format!(
        "a server that somebody else runs, at {}: {}; {}",
        server.address,
        UNSEEN,
        restored(server.restored)
    )
}

/// Layers without figures, and why.
pub const UNSEEN: &str = "its device, file system and files cannot be seen from here, so there \
    are no figures for them; CPU and memory figures are of the machine \
     that runs the load";

fn restored(how: Restored) -> &'static str {
    match how {
        Restored::Loaded => "the tables were loaded anew before each run",
        Restored::ByCommand => "before each run the plan's restore command brought the tables back",
        Restored::Never => "each run began with the tables as the previous one had left them",
    }
}

/// The disk under the file system.
pub fn disk(media: &Media) -> String {
    match media {
        Media::Directory { path } => format!("directory in {}", path.display()),
        Media::Image { bytes, directory } => {
            format!("image of {} on a loop device, in {}", Size(*bytes), directory.display())
        }
        Media::Device { path } => path.display().to_string(),
        Media::Drive(one) => drive(one),
        Media::Model(one) => model(one),
        Media::Pool(one) => pool(one),
    }
}

/// Limits of a study on a private pool; `None` without one.
pub fn pool_scope(study: &Study) -> Option<&'static str> {
    let is_private = |config: &Config| {
        let pool = config.rig.disk.as_ref().and_then(DiskRecord::pool);
        pool.is_some_and(|pool| matches!(pool.cluster, PoolCluster::Private { .. }))
    };
    study.configs.iter().any(is_private).then_some(PRIVATE_POOL)
}

const PRIVATE_POOL: &str = "Pools in this study belong to a private Ceph cluster on the machine \
    that is measured: stores, servers and load share its CPUs, its memory and one disk, and \
    nothing crosses a network. That shows the relative cost of copies, parts and compression, \
    and how MySQL copes when a store dies; it does not show the throughput or latency of a real \
    cluster.";

/// An image with its pool.
fn pool(pool: &Pool) -> String {
    let size = Size(pool.bytes);
    match &pool.cluster {
        PoolCluster::Existing { conf, pool } => {
            format!("RBD image of {size} in the pool {pool} of the cluster of {}", conf.display())
        }
        PoolCluster::Private { stores, protection, compression, image_iops, image_bytes_per_s } => {
            let compressed = compression.map(|how| format!("compression {how}"));
            let iops = image_iops.map(|most| format!("at most {most} IOPS"));
            let bytes = image_bytes_per_s.map(|most| format!("at most {}/s", Size(most)));
            let parts = [Some(protection.to_string()), compressed, iops, bytes];
            format!(
                "RBD image of {size} on a private Ceph cluster of {stores} stores on this \
                machine: {}",
                parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
            )
        }
    }
}

fn drive(drive: &DriveRecord) -> String {
    let size = drive.bytes.map_or_else(String::new, |bytes| format!(" of {}", Size(bytes)));
    let media = match (&drive.device, drive.capacity_bytes) {
        _ if drive.pool.is_some() => drive.pool.as_ref().map(pool).unwrap_or_default(),
        (Some(device), _) => device.display().to_string(),
        (None, Some(capacity)) => {
            format!("an image of {} in {}", Size(capacity), drive.directory.display())
        }
        (None, None) => "an image".into(),
    };
    format!("software drive{size} on {media}, {}", manner(drive))
}

/// The drive's treatment of data.
fn manner(drive: &DriveRecord) -> String {
    let dictionary = if drive.has_dictionaries { " with dictionaries" } else { "" };
    let ahead = drive
        .read_ahead_bytes
        .map_or_else(String::new, |bytes| format!(", reading at least {}", Size(bytes)));
    format!("{}{dictionary} in units of {} KiB{ahead}", drive.codec, drive.unit_bytes >> 10)
}

/// An emulated device with its scale.
pub fn model(model: &Model) -> String {
    let of = match model.devices {
        0 | 1 => model.title.clone(),
        devices => format!("{devices} × {}", model.title),
    };
    format!("model of {of}, {}", scale(model.scale()))
}

/// The scale of a model.
pub fn scale(scale: DeviceDivisors) -> String {
    format!("capacity ÷ {}, parallelism ÷ {}", scale.capacity, scale.parallel)
}

fn file_system(made: &FileSystem) -> String {
    let mut text = made.name.clone();
    for (what, options) in
        [("made with", made.mkfs_options.join(" ")), ("mounted", made.mount_options.join(","))]
    {
        if !options.is_empty() {
            text = format!("{text}, {what} {options}");
        }
    }
    match made.extsize_bytes {
        Some(bytes) => format!("{text}, extsize {}", Size(bytes)),
        None => text,
    }
}

/// A text once if it is the same on all data profiles, else each with its name.
fn by_data_profile<T>(all: &[(Option<String>, T)], text: impl Fn(&T) -> String) -> String {
    let texts: Vec<(Option<&str>, String)> =
        all.iter().map(|(data_profile, one)| (data_profile.as_deref(), text(one))).collect();
    match texts.as_slice() {
        [(_, first), rest @ ..] if rest.iter().all(|(_, text)| text == first) => first.clone(),
        all => {
            let named = |(data_profile, text): &(Option<&str>, String)| match data_profile {
                Some(data_profile) => format!("{data_profile}: {text}"),
                None => text.clone(),
            };
            all.iter().map(named).collect::<Vec<_>>().join("; ")
        }
    }
}

/// How many rows, and what is particular about them.
pub fn tables(tables: &Tables) -> String {
    match tables.create_options.as_str() {
        "" => rows(tables),
        options => format!("{}, {options}", rows(tables)),
    }
}

/// How many rows, however they are stored.
pub fn rows(tables: &Tables) -> String {
    let text = if tables.has_text { " with text" } else { "" };
    let generator = tables.generator.as_ref().map_or_else(String::new, |one| format!(" of {one}"));
    format!("{} × {} rows{text}{generator}", tables.count, tables.rows)
}

fn fill(fill: &Fill) -> String {
    format!(
        "{:.1} % of {} ({} seen by the host), preconditioned with data of {}:1",
        fill.percent,
        Size(fill.user_bytes),
        Size(fill.logical_bytes),
        fill.ratio,
    )
}

fn resource(one: &ScaledResource) -> String {
    format!("{} {} ÷ {:.4}", one.name.replace('_', " "), one.real, one.factor)
}

fn numbers(preset: &str, all: &[Count]) -> String {
    let counted: Vec<String> =
        all.iter().map(|one| format!("{} {}", one.count, one.sort)).collect();
    format!("{}; `assay models {preset}` lists them", counted.join(", "))
}

fn fault(fault: &Fault) -> String {
    let stalls = fault
        .stall
        .map(|stall| format!("stalls for {} ms every {} s", stall.length_ms, stall.every_s));
    let is_slower = fault.slower.map(|times| format!("takes {times} times as long"));
    let tears = fault.tears.then(|| "tears writes that were not flushed".to_owned());
    [stalls, is_slower, tears].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::{Asked, Differing, InEffect, RigRecord};

    #[test]
    fn a_drive_is_called_one_and_told_with_both_its_sizes() {
        let drive = DriveRecord {
            bytes: Some(2 << 30),
            directory: "/data".into(),
            capacity_bytes: Some(1 << 30),
            codec: "zstd".into(),
            unit_bytes: 16 << 10,
            ..DriveRecord::default()
        };
        assert_eq!(
            disk(&Media::Drive(drive)),
            "software drive of 2G on an image of 1G in /data, zstd in units of 16 KiB"
        );
    }

    #[test]
    fn what_is_not_in_effect_stands_where_it_is_asked_for() {
        let file_system = FileSystem {
            name: "ext4".into(),
            mount_options: ["noatime", "nobh"].map(str::to_owned).into(),
            ..FileSystem::default()
        };
        let rig = |differing: Vec<Differing>| RigRecord {
            disk: Some(DiskRecord::default()),
            file_system: Some(file_system.clone()),
            in_effect: Some(InEffect { differing, ..InEffect::default() }),
            ..RigRecord::default()
        };
        let told = |differing| {
            let config = Config { name: "a".into(), rig: rig(differing), settings: [].into() };
            layers(&config).into_iter().find(|(name, _)| *name == "file system").unwrap().1
        };
        let dropped = Differing::new(Asked::MountOption, "nobh", None);
        assert_eq!(told(vec![dropped]), "ext4, mounted noatime,nobh (not in effect: nobh)");
        assert_eq!(told(vec![]), "ext4, mounted noatime,nobh");
    }

    #[test]
    fn what_cannot_be_seen_of_a_server_is_said_and_what_runs_began_with() {
        let of = |restored| {
            let server = ExistingServer { address: "db1:3306".into(), restored };
            text(&RigLayer::Existing(server))
        };
        let loaded = of(Restored::Loaded);
        assert!(loaded.starts_with("a server that somebody else runs, at db1:3306: its device"));
        assert!(loaded.contains("there are no figures for them"), "{loaded}");
        assert!(loaded.ends_with("the tables were loaded anew before each run"), "{loaded}");
        assert!(
            of(Restored::Never)
                .ends_with("each run began with the tables as the previous one had left them")
        );
    }

    #[test]
    fn data_profiles_are_named_where_they_differ() {
        let data = |name: &str, rows: u64| {
            (Some(name.to_owned()), Tables { count: 2, rows, ..Tables::default() })
        };
        let alike = RigLayer::Tables(vec![data("a", 10), data("b", 10)]);
        assert_eq!(text(&alike), "2 × 10 rows");
        let unlike = RigLayer::Tables(vec![data("a", 10), data("b", 20)]);
        assert_eq!(text(&unlike), "a: 2 × 10 rows; b: 2 × 20 rows");
    }
}
