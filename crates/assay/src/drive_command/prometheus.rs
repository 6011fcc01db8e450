//! Prints the health of drives in Prometheus' text format (version 0.0.4), for node_exporter's
//! textfile collector.

use std::fmt::{Display, Write};
use std::path::Path;

use assay_drive::{Counts, Status};

use assay_serve::health::{Health, STATES};

/// Upper bounds of the size classes of host writes, in bytes; the last class has none.
const SIZES: [u64; 7] = [4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144];

/// A drive and its health; `None` if its server does not answer.
pub(super) struct Exported {
    pub(super) media: String,
    pub(super) health: Option<Health>,
}

impl Exported {
    pub(super) fn new(media: &Path, health: Option<Health>) -> Exported {
        Exported { media: media.display().to_string(), health }
    }

    fn is_up(&self) -> bool {
        self.health.as_ref().is_some_and(|health| health.attachment.attached)
    }
}

type Gauge = (&'static str, &'static str, fn(&Status) -> f64);
type Counter = (&'static str, &'static str, fn(&Counts) -> u64);

const GAUGES: [Gauge; 14] = [
    ("capacity_bytes", "Size of the media in bytes.", |s| s.capacity_bytes as f64),
    ("usable_bytes", "Bytes of incompressible data that an empty drive can store.", |s| {
        s.usable_bytes as f64
    }),
    ("free_bytes", "Bytes of incompressible data that can still be stored.", |s| {
        s.free_bytes as f64
    }),
    ("logical_bytes", "Logical size in bytes.", |s| s.logical_bytes as f64),
    ("logical_used_bytes", "Logical bytes in use.", |s| s.logical_bytes_used as f64),
    ("media_used_bytes", "Media bytes in use by live data, headers and the map.", |s| {
        s.media_bytes_used as f64
    }),
    ("segment_bytes", "Segment size in bytes.", |s| s.segment_bytes as f64),
    ("segments", "Segments of the media.", |s| s.segments as f64),
    ("segments_free", "Free segments.", |s| s.segments_free as f64),
    ("segments_damaged", "Segments taken out of use.", |s| s.segments_damaged as f64),
    ("map_memory_bytes", "Memory of the map.", |s| s.map_bytes as f64),
    ("problems", "Number of current problems.", |s| s.problems.len() as f64),
    ("recovery_clean", "Whether the drive had been closed cleanly when it was opened.", |s| {
        f64::from(u8::from(s.recovery.clean))
    }),
    ("compression_ratio", "Logical bytes per media byte in use.", |s| {
        s.compression_ratio().unwrap_or(f64::NAN)
    }),
];

const COUNTERS: [Counter; 17] = [
    ("host_read_bytes_total", "Bytes read by the host.", |c| c.read_bytes_host),
    ("host_written_bytes_total", "Bytes written by the host.", |c| c.write_bytes_host),
    ("host_written_zero_bytes_total", "Of these, zeroes, which take no space.", |c| {
        c.write_bytes_zero
    }),
    ("host_written_raw_bytes_total", "Of these, incompressible.", |c| c.write_bytes_raw),
    ("host_discarded_bytes_total", "Bytes discarded by the host.", |c| c.discard_bytes_host),
    ("host_flushes_total", "Flushes and FUA writes by the host.", |c| c.flushes),
    ("refused_writes_total", "Host writes refused for lack of space.", |c| c.refused_writes),
    ("media_read_bytes_total", "Bytes read from media.", |c| c.read_bytes_media),
    ("media_reads_total", "Reads of media.", |c| c.reads_media),
    ("media_writes_total", "Writes to media.", |c| c.writes_media),
    ("media_flushes_total", "Flushes of media.", |c| c.flushes_media),
    ("gc_segments_total", "Segments reclaimed by garbage collection.", |c| c.gc_segments),
    ("gc_stalls_total", "Host writes that waited for garbage collection.", |c| c.gc_stalls),
    ("checkpoints_total", "Checkpoints.", |c| c.checkpoints),
    ("restored_records_total", "Damaged parts of the map that were restored from parity.", |c| {
        c.restored_records
    }),
    ("crashes_total", "Openings after a crash, where counters went back to a checkpoint.", |c| {
        c.crashes
    }),
    ("damaged_records_total", "Records whose checksum was wrong when read.", |c| c.damaged_records),
];

type Part = (&'static str, fn(&Counts) -> u64);

/// Bytes written to media, by kind.
const PARTS: [Part; 4] = [
    ("payload", |c| c.write_bytes_payload),
    ("table", |c| c.write_bytes_table),
    ("gc", |c| c.write_bytes_gc),
    ("checkpoint", |c| c.write_bytes_checkpoint),
];

/// All metrics of the drives. The format requires the samples of a metric to follow one another.
pub(super) fn text(drives: &[Exported]) -> String {
    let mut page = Page(String::new());
    page.head("up", "gauge", "Whether the drive is attached and its server answers.");
    for drive in drives {
        page.sample("up", &[("media", &drive.media)], u8::from(drive.is_up()));
    }
    let answering = drives.iter().filter_map(|drive| Some((drive, drive.health.as_ref()?)));
    let known: Vec<_> = answering.map(|(drive, health)| (drive.media.as_str(), health)).collect();
    states(&mut page, &known);
    for (name, help, figure) in GAUGES {
        page.head(name, "gauge", help);
        for (media, health) in &known {
            page.sample(name, &[("media", media)], figure(&health.status));
        }
    }
    for (name, help, count) in COUNTERS {
        page.head(name, "counter", help);
        for (media, health) in &known {
            page.sample(name, &[("media", media)], count(&health.status.counts));
        }
    }
    media_written(&mut page, &known);
    sizes(&mut page, &known);
    page.0.trim_end().to_owned()
}

fn states(page: &mut Page, known: &[(&str, &Health)]) {
    page.head("state", "gauge", "1 for the state that the drive is in, 0 for all others.");
    for (media, health) in known {
        for state in STATES {
            let is_it = u8::from(health.state() == state);
            page.sample("state", &[("media", media), ("state", state)], is_it);
        }
    }
}

fn media_written(page: &mut Page, known: &[(&str, &Health)]) {
    let name = "media_written_bytes_total";
    page.head(name, "counter", "Bytes written to media, by kind.");
    for (media, health) in known {
        for (part, count) in PARTS {
            page.sample(name, &[("media", media), ("part", part)], count(&health.status.counts));
        }
    }
}

/// Host writes by size, as a histogram: buckets are cumulative.
fn sizes(page: &mut Page, known: &[(&str, &Health)]) {
    page.head("host_write_size_bytes", "histogram", "Host writes by their size.");
    for (media, health) in known {
        let counts = &health.status.counts;
        let mut below = 0;
        for (size, commands) in SIZES.iter().zip(counts.commands_by_size) {
            below += commands;
            let bound = size.to_string();
            page.sample("host_write_size_bytes_bucket", &[("media", media), ("le", &bound)], below);
        }
        let all: u64 = counts.commands_by_size.iter().sum();
        page.sample("host_write_size_bytes_bucket", &[("media", media), ("le", "+Inf")], all);
        page.sample("host_write_size_bytes_sum", &[("media", media)], counts.write_bytes_host);
        page.sample("host_write_size_bytes_count", &[("media", media)], all);
    }
}

struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail, here and below.
        let _ =
            write!(self.0, "# HELP assay_drive_{name} {help}\n# TYPE assay_drive_{name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<_> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let _ = writeln!(self.0, "assay_drive_{name}{{{}}} {value}", labels.join(","));
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    /// The recorded answer of a drive's server.
    fn used_health() -> Health {
        Health::parse(include_str!("../../../serve/src/used.json")).unwrap()
    }

    /// Name, labels and value of a sample.
    type Sample = (String, Vec<(String, String)>, f64);

    fn is_name(name: &str) -> bool {
        let mut signs = name.chars();
        signs.next().is_some_and(|first| first.is_ascii_lowercase())
            && signs.all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_')
    }

    /// Parses labels up to `}`; returns them and the rest of the line.
    fn labels(mut text: &str) -> (Vec<(String, String)>, &str) {
        let mut labels = Vec::new();
        loop {
            let (name, rest) = text.split_once("=\"").unwrap();
            assert!(is_name(name), "{name}");
            let (mut value, mut signs) = (String::new(), rest.char_indices());
            let end = loop {
                match signs.next().unwrap() {
                    (at, '"') => break at,
                    (_, '\\') => value.push(match signs.next().unwrap().1 {
                        'n' => '\n',
                        sign @ ('\\' | '"') => sign,
                        sign => panic!("\\{sign} is no escape"),
                    }),
                    (_, '\n') => panic!("a line breaks within a label"),
                    (_, sign) => value.push(sign),
                }
            };
            labels.push((name.to_owned(), value));
            match rest[end + 1..].chars().next().unwrap() {
                ',' => text = &rest[end + 2..],
                '}' => return (labels, &rest[end + 2..]),
                sign => panic!("`{sign}` behind a label"),
            }
        }
    }

    /// Parses the text and checks the format's rules: help and type once for each metric, before
    /// its samples; samples of a metric together; no series twice; counters end in `_total`.
    fn parse(text: &str) -> Vec<Sample> {
        let (mut samples, mut seen, mut kinds) = (Vec::new(), HashSet::new(), HashMap::new());
        let mut current = String::new();
        for line in text.lines() {
            if let Some(head) = line.strip_prefix("# HELP ") {
                let (name, help) = head.split_once(' ').unwrap();
                assert!(is_name(name) && !help.is_empty() && !kinds.contains_key(name), "{line}");
                current = name.to_owned();
                continue;
            }
            if let Some(head) = line.strip_prefix("# TYPE ") {
                let (name, kind) = head.split_once(' ').unwrap();
                assert_eq!(name, current);
                assert!(["gauge", "counter", "histogram"].contains(&kind), "{line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                assert!(kinds.insert(current.clone(), kind.to_owned()).is_none());
                continue;
            }
            let (name, rest) = line.split_once('{').unwrap();
            let family = match kinds[&current].as_str() {
                "histogram" => {
                    let ends = ["_bucket", "_sum", "_count"];
                    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap()
                }
                _ => name,
            };
            assert_eq!(family, current, "{line}");
            let (labels, value) = labels(rest);
            assert!(seen.insert((name.to_owned(), labels.clone())), "twice: {line}");
            let value = value.strip_prefix(' ').unwrap();
            samples.push((name.to_owned(), labels, value.parse().unwrap()));
        }
        samples
    }

    fn value(samples: &[Sample], name: &str, labels: &[(&str, &str)]) -> f64 {
        let has = |sample: &&Sample| {
            sample.0 == name
                && labels.iter().all(|(name, value)| {
                    sample.1.iter().any(|label| (&*label.0, &*label.1) == (*name, *value))
                })
        };
        let found: Vec<_> = samples.iter().filter(has).collect();
        assert_eq!(found.len(), 1, "{name} {labels:?}");
        found[0].2
    }

    #[test]
    fn every_drive_is_told_by_the_rules_of_the_format() {
        let odd = "/srv/a \"b\"\\c\nd.img";
        let drives = [
            Exported { media: odd.into(), health: Some(used_health()) },
            Exported { media: "/vol.img".into(), health: Some(used_health()) },
            Exported { media: "/hangs.img".into(), health: None },
        ];
        let samples = parse(&text(&drives));
        let status = used_health().status;
        for media in [odd, "/vol.img"] {
            let of = [("media", media)];
            assert_eq!(value(&samples, "assay_drive_up", &of), 1.0);
            let state =
                |state| value(&samples, "assay_drive_state", &[("media", media), ("state", state)]);
            assert_eq!(STATES.map(state).iter().sum::<f64>(), 1.0);
            assert_eq!(state("healthy"), 1.0);
            let written = value(&samples, "assay_drive_host_written_bytes_total", &of);
            assert_eq!(written, status.counts.write_bytes_host as f64);
            let parts = PARTS.map(|(part, _)| {
                let labels = [("media", media), ("part", part)];
                value(&samples, "assay_drive_media_written_bytes_total", &labels)
            });
            assert_eq!(parts.iter().sum::<f64>(), status.counts.write_bytes_media() as f64);
            let bucket = |le| {
                let labels = [("media", media), ("le", le)];
                value(&samples, "assay_drive_host_write_size_bytes_bucket", &labels)
            };
            assert_eq!([bucket("32768"), bucket("65536"), bucket("+Inf")], [0.0, 1.0, 1.0]);
        }
        let hangs = [("media", "/hangs.img")];
        assert_eq!(value(&samples, "assay_drive_up", &hangs), 0.0);
        assert!(
            !samples.iter().any(|(name, labels, _)| {
                name != "assay_drive_up" && labels[0].1 == "/hangs.img"
            })
        );
    }

    #[test]
    fn where_no_drive_is_known_the_metrics_are() {
        assert_eq!(parse(&text(&[])), []);
        assert!(text(&[]).contains("# TYPE assay_drive_up gauge"));
    }

    #[test]
    fn the_classes_are_those_of_the_drive() {
        let blocks = SIZES.map(|size| size / assay_drive::BLOCK_BYTES);
        assert_eq!(blocks, [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(SIZES.len() + 1, used_health().status.counts.commands_by_size.len());
    }
}
