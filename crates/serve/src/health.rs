//! The health of a drive for programs: all its figures in a flat object, one name per figure.
//!
//! The serving process writes it; `status` and `--watch` read it. Every counter of the engine must
//! be listed here, or the crate does not compile.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_drive::{Codec, Counts, GivenUp, Recovery, State, Status};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::job::{CacheMode, GcPolicy};
use super::media_space::MediaSpace;
use super::model_health::ModelHealth;

/// Name of the file with the drive's health, next to the disk.
pub const STATUS_FILE: &str = "status.json";

/// The health of a drive, and where it is attached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Health {
    pub media: PathBuf,
    /// The state of drive and server: the drive's own state, or [`DIED`].
    state: String,
    /// The device that it models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelHealth>,
    /// Empty for a drive that is only inspected.
    #[serde(flatten)]
    pub attachment: Attachment,
    /// The drive's own figures.
    #[serde(flatten, with = "StatusFields")]
    pub status: Status,
    /// Logical bytes per byte of used media.
    compression_ratio: Option<f64>,
    /// All bytes written to media.
    write_bytes_media: u64,
    /// Bytes written to media per byte written by the host.
    write_amplification: Option<f64>,
    /// Number of times that the media were written in full.
    media_cycles: f64,
}

/// Where a drive is attached, and by which process.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Attachment {
    pub attached: bool,
    /// True if the drive is not attached because its server died and left the resources named here.
    #[serde(default)]
    pub server_died: bool,
    pub device: Option<PathBuf>,
    /// The drive as a file.
    pub file: Option<PathBuf>,
    /// Mount points of the device; unknown to the server itself.
    #[serde(default)]
    pub mounted_on: Vec<PathBuf>,
    /// Process number of the server.
    pub pid: Option<u32>,
    /// Duration of opening the drive, including recovery.
    pub open_ms: Option<f64>,
    /// True if the drive refuses writes, on request or because it is damaged.
    pub read_only: bool,
    /// When a completed write is on stable media.
    #[serde(default)]
    pub cache: Option<CacheMode>,
    /// The largest write that a power cut leaves complete or absent.
    #[serde(default)]
    pub atomic_write_bytes: Option<u64>,
    /// Threads that answer requests.
    #[serde(default)]
    pub threads: Option<u16>,
    /// Minimum length of a read of media; 0: as needed.
    #[serde(default)]
    pub read_ahead_bytes: Option<u64>,
    /// Memory limit for the map, beyond which parts are read again; `None`: no limit.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// How garbage collection chooses segments.
    #[serde(default)]
    pub gc: Option<GcPolicy>,
    /// True if new data may use the reserve.
    #[serde(default)]
    pub rescue: bool,
    #[serde(default)]
    pub log: Option<PathBuf>,
    /// The server's `oom_score_adj`: -1000 exempts it from being killed when memory is short.
    #[serde(default)]
    pub oom_score_adj: Option<i32>,
    /// True if the server's threads stay out of write-back when they allocate memory.
    #[serde(default)]
    pub io_flusher: Option<bool>,
    /// The source of space for writes to the drive's media.
    #[serde(flatten)]
    pub media_space: Option<MediaSpace>,
}

/// The state of a drive whose server has died: nobody answers, independent of the drive's own
/// state.
pub const DIED: &str = "died";

/// Every state of a drive.
pub const STATES: [&str; 7] =
    ["healthy", "low_space", "full", "damaged", "read_only", "stopped", DIED];

impl Health {
    #[must_use]
    pub fn new(media: &Path, attachment: Attachment, status: Status) -> Health {
        Health {
            media: media.to_owned(),
            state: if attachment.server_died { DIED } else { status.state.name() }.into(),
            model: None,
            attachment,
            compression_ratio: status.compression_ratio(),
            write_bytes_media: status.counts.write_bytes_media(),
            write_amplification: status.counts.write_amplification(),
            media_cycles: status.media_cycles(),
            status,
        }
    }

    /// One of [`STATES`].
    #[must_use]
    pub fn state(&self) -> &str {
        &self.state
    }

    /// Returns true if an operator should look after the drive.
    #[must_use]
    pub fn needs_attention(&self) -> bool {
        self.state != State::Healthy.name()
    }

    /// Adds the health of the model.
    #[must_use]
    pub fn of_model(self, model: ModelHealth) -> Health {
        Health { model: Some(model), ..self }
    }

    /// Reads the health from the file `path`, which the server provides.
    pub fn read(path: &Path) -> Result<Health> {
        let what = || format!("cannot read {}", path.display());
        let text = std::fs::read_to_string(path).with_context(what)?;
        Health::parse(&text).with_context(what)
    }

    /// Parses a server's answer. Older versions reported the drive's own state only.
    pub fn parse(text: &str) -> serde_json::Result<Health> {
        let mut value: serde_json::Value = serde_json::from_str(text)?;
        let state = value["state"].clone();
        if let Some(object) = value.as_object_mut() {
            object.entry("drive_state").or_insert(state);
        }
        serde_json::from_value(value)
    }

    /// A JSON object, one key per line.
    pub fn to_json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }
}

/// Without this alias, serde would treat the field as borrowed from the input.
type CodecName = &'static str;

/// [`Status`], field by field.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Status")]
struct StatusFields {
    #[serde(with = "state", rename = "drive_state")]
    state: State,
    problems: Vec<String>,
    capacity_bytes: u64,
    usable_bytes: u64,
    free_bytes: u64,
    logical_bytes: u64,
    logical_bytes_used: u64,
    media_bytes_used: u64,
    #[serde(with = "codec")]
    codec: CodecName,
    unit_blocks: u64,
    dictionary_versions: u64,
    segment_bytes: u64,
    segments: u64,
    segments_free: u64,
    segments_damaged: u64,
    map_bytes: u64,
    #[serde(flatten, with = "RecoveryFields")]
    recovery: Recovery,
    #[serde(flatten, with = "CountsFields")]
    counts: Counts,
}

/// [`Recovery`], without its problems, which are in the status.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Recovery")]
struct RecoveryFields {
    #[serde(rename = "recovery_clean")]
    clean: bool,
    #[serde(rename = "recovery_chunks")]
    chunks: u64,
    #[serde(rename = "recovery_entries")]
    entries: u64,
    #[serde(rename = "recovery_torn_chunks")]
    torn_chunks: u64,
    #[serde(rename = "recovery_rebuilt")]
    rebuilt: bool,
    #[serde(skip)]
    problems: Vec<String>,
    #[serde(rename = "recovery_mended")]
    mended: Vec<String>,
    #[serde(skip)]
    given_up: Option<GivenUp>,
    #[serde(skip)]
    doubtful: Vec<Range<u64>>,
}

/// [`Counts`], field by field.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Counts")]
struct CountsFields {
    read_bytes_host: u64,
    read_bytes_media: u64,
    reads_media: u64,
    write_bytes_host: u64,
    write_bytes_zero: u64,
    write_bytes_raw: u64,
    discard_bytes_host: u64,
    write_bytes_payload: u64,
    write_bytes_table: u64,
    write_bytes_gc: u64,
    write_bytes_checkpoint: u64,
    writes_media: u64,
    flushes: u64,
    flushes_media: u64,
    gc_segments: u64,
    gc_stalls: u64,
    checkpoints: u64,
    refused_writes: u64,
    damaged_records: u64,
    restored_records: u64,
    log_bytes: u64,
    commands_by_size: [u64; 8],
    #[serde(default)]
    crashes: u64,
}

mod state {
    use super::{Deserialize, Deserializer, Serializer, State};

    const ALL: [State; 6] = [
        State::Healthy,
        State::LowSpace,
        State::Full,
        State::Damaged,
        State::ReadOnly,
        State::Stopped,
    ];

    pub fn serialize<S: Serializer>(state: &State, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(state.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<State, D::Error> {
        let name = String::deserialize(from)?;
        let found = ALL.into_iter().find(|state| state.name() == name);
        found.ok_or_else(|| serde::de::Error::custom(format!("no state is called `{name}`")))
    }
}

mod codec {
    use super::{Codec, Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(name: &str, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(name)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
        let name = String::deserialize(from)?;
        name.parse().map(Codec::name).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use assay_drive::{Disk, Drive, DriveOptions, Format, MemoryDisk};

    use super::*;

    /// A drive in memory that has been written to.
    pub fn used() -> Health {
        let media: Arc<dyn Disk> = Arc::new(MemoryDisk::new(64 << 20).unwrap());
        let format = Format {
            drive_id: 7,
            logical_bytes: 128 << 20,
            codec: Codec::Zstd,
            units: false,
            dictionary: false,
            segment_bytes: None,
        };
        Drive::format(Arc::clone(&media), &format).unwrap();
        let drive = Drive::open(media, DriveOptions::default()).unwrap();
        drive.write(0, &[7; 65536], true).unwrap();
        let attachment = Attachment {
            attached: true,
            device: Some("/dev/loop7".into()),
            file: Some("/somewhere/disk".into()),
            pid: Some(4711),
            open_ms: Some(1.5),
            cache: Some(CacheMode::Volatile),
            threads: Some(4),
            read_ahead_bytes: Some(40 << 10),
            media_space: Some(assay_ports::media::SpaceSource::Allocated.into()),
            ..Attachment::default()
        };
        Health::new(Path::new("/vol.img"), attachment, drive.status())
    }

    #[test]
    fn a_health_log_comes_back_from_its_json() {
        let health = used();
        let text = health.to_json().unwrap();
        assert_eq!(serde_json::from_str::<Health>(&text).unwrap(), health);
    }

    #[test]
    fn the_json_is_flat_and_uses_the_words_of_the_health_log() {
        let value: serde_json::Value = serde_json::from_str(&used().to_json().unwrap()).unwrap();
        let object = value.as_object().unwrap();
        assert!(object.values().all(|value| !value.is_object()), "{value}");
        assert_eq!(object["state"], "healthy");
        assert_eq!(object["cache"], "volatile");
        assert_eq!(object["write_bytes_host"], 65536);
        assert_eq!(object["logical_bytes_used"], 65536);
        assert_eq!(object["commands_by_size"], serde_json::json!([0, 0, 0, 0, 1, 0, 0, 0]));
        assert!(object["write_amplification"].as_f64().unwrap() > 0.0);
        assert!(object["compression_ratio"].as_f64().unwrap() > 1.0);
    }

    #[test]
    fn the_answer_that_others_test_with_is_of_this_form() {
        let keys = |text: &str| {
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            value.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
        };
        let now = used().to_json().unwrap();
        if std::env::var_os("ASSAY_WRITE_USED").is_some() {
            std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/used.json"), &now)
                .unwrap();
        }
        assert_eq!(
            keys(&now),
            keys(include_str!("used.json")),
            "write it anew: ASSAY_WRITE_USED=1"
        );
    }

    #[test]
    fn a_state_that_is_none_is_refused() {
        let text = used().to_json().unwrap().replace("\"healthy\"", "\"hale\"");
        let error = serde_json::from_str::<Health>(&text).unwrap_err();
        assert!(error.to_string().contains("no state is called `hale`"), "{error}");
    }

    #[test]
    fn a_drive_whose_server_died_is_not_said_to_be_healthy() {
        let Health { media, attachment, status, .. } = used();
        let attachment = Attachment { attached: false, server_died: true, ..attachment };
        let died = Health::new(&media, attachment, status);
        assert!(died.needs_attention() && !used().needs_attention());
        let value: serde_json::Value = serde_json::from_str(&died.to_json().unwrap()).unwrap();
        assert_eq!((&value["state"], &value["drive_state"]), (&"died".into(), &"healthy".into()));
        assert!(STATES.contains(&died.state()) && STATES.contains(&used().state()));
    }

    #[test]
    fn what_a_server_of_before_says_is_understood() {
        let health = used();
        let mut value = serde_json::to_value(&health).unwrap();
        value.as_object_mut().unwrap().remove("drive_state");
        assert_eq!(Health::parse(&value.to_string()).unwrap(), health);
    }
}
