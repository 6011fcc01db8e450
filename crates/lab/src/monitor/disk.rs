//! The block device under the data, and the one under its image file.
//!
//! Counters are the kernel's own, as iostat reads them (`Documentation/admin-guide/iostats.rst`):
//! 11 fields, with discards since 4.18 and flushes since 5.5; more may come. A sector there is 512
//! bytes whatever the device says. The device is monitored as it is mounted, partition or disk, and
//! so counted once. Flushes are counted for whole disks only, so a partition has no series of them.

use std::io;
use std::path::Path;

use super::device_of_path::Device;
use super::probe::{Notes, Probe, number};
use super::procfile::ProcFile;
use super::sheet::{Field, Formula, Sheet};
use assay_study::metrics::{MetricEntry, metric};
use assay_study::{Below, Unmonitored};

const SECTOR_BYTES: f64 = 512.0;

/// Metrics of one device and the kernel's columns that they come from.
#[derive(Debug, Clone, Copy)]
struct Counted {
    /// The meaning of each of the kernel's columns, in its order.
    columns: [Column; 17],
    /// Columns with the number and the duration of operations, by operation.
    latencies: [(&'static MetricEntry, usize, usize); 4],
    queue_depth: &'static MetricEntry,
    utilisation: &'static MetricEntry,
}

#[derive(Debug, Clone, Copy)]
enum Column {
    Count(&'static MetricEntry),
    Sectors(&'static MetricEntry),
    InFlight(&'static MetricEntry),
    Millis,
}

macro_rules! counted {
    ($of:literal) => {
        Counted {
            columns: [
                Column::Count(metric!(concat!($of, "_reads_per_s"))),
                Column::Count(metric!(concat!($of, "_read_merges_per_s"))),
                Column::Sectors(metric!(concat!($of, "_read_bytes_per_s"))),
                Column::Millis,
                Column::Count(metric!(concat!($of, "_writes_per_s"))),
                Column::Count(metric!(concat!($of, "_write_merges_per_s"))),
                Column::Sectors(metric!(concat!($of, "_write_bytes_per_s"))),
                Column::Millis,
                Column::InFlight(metric!(concat!($of, "_in_flight"))),
                Column::Millis,
                Column::Millis,
                Column::Count(metric!(concat!($of, "_discards_per_s"))),
                Column::Count(metric!(concat!($of, "_discard_merges_per_s"))),
                Column::Sectors(metric!(concat!($of, "_discard_bytes_per_s"))),
                Column::Millis,
                Column::Count(metric!(concat!($of, "_flushes_per_s"))),
                Column::Millis,
            ],
            latencies: [
                (metric!(concat!($of, "_read_latency_ms")), 0, 3),
                (metric!(concat!($of, "_write_latency_ms")), 4, 7),
                (metric!(concat!($of, "_discard_latency_ms")), 11, 14),
                (metric!(concat!($of, "_flush_latency_ms")), 15, 16),
            ],
            queue_depth: metric!(concat!($of, "_queue_depth")),
            utilisation: metric!(concat!($of, "_utilisation_percent")),
        }
    };
}

/// The device of the data's file system.
const DISK: Counted = counted!("disk");
/// The device below it.
const BACKING: Counted = counted!("backing");

const COLUMNS_OLDEST: usize = 11;
const BUSY: usize = 9;
const QUEUE: usize = 10;
const FIRST_FLUSH: usize = 15;

pub(super) struct DiskProbe {
    sheet: Sheet,
    stat: ProcFile,
    name: String,
    fields: Vec<Field>,
}

/// Probes for the device under `path` and for the device under that: under the `media` of a drive,
/// or under the file of a loop device. Devices that cannot be monitored are noted.
pub(super) fn probes_under(path: &Path, media: Option<&Path>, notes: &mut Notes) -> Vec<DiskProbe> {
    let Some(device) = find(path, Below::Data, notes) else { return Vec::new() };
    let backing = match (media, device.backing_file.as_deref()) {
        (Some(media), _) => find(media, Below::Drive, notes),
        (None, Some(file)) => find(file, Below::Image, notes),
        (None, None) => None,
    };
    let mut probes = Vec::new();
    for (counted, device) in [(&DISK, Some(&device)), (&BACKING, backing.as_ref())] {
        let Some(device) = device else { continue };
        if !device.is_counted() {
            notes.unmonitored(Unmonitored::Uncounted { device: device.name.clone() });
            continue;
        }
        match DiskProbe::open(counted, device) {
            Ok(probe) => probes.push(probe),
            Err(error) => notes.unmonitored(Unmonitored::Device {
                device: device.name.clone(),
                error: error.to_string(),
            }),
        }
    }
    probes
}

fn find(path: &Path, below: Below, notes: &mut Notes) -> Option<Device> {
    let error = match Device::under(path) {
        Ok(Some(device)) => return Some(device),
        Ok(None) => None,
        Err(error) => Some(error.to_string()),
    };
    notes.unmonitored(Unmonitored::Below { below, path: path.display().to_string(), error });
    None
}

impl DiskProbe {
    /// # Errors
    /// The counters cannot be read or do not parse.
    fn open(counted: &Counted, device: &Device) -> io::Result<DiskProbe> {
        let mut stat = ProcFile::open(device.stat_path())?;
        let columns = column_count(&stat.read()?)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "unknown counters"))?;
        let columns = if device.partition { columns.min(FIRST_FLUSH) } else { columns };
        let (sheet, fields) = declare(counted, &device.name, columns);
        Ok(DiskProbe { sheet, stat, name: device.name.clone(), fields })
    }
}

impl Probe for DiskProbe {
    fn sheet(&self) -> &Sheet {
        &self.sheet
    }

    fn read(&mut self, reading: &mut [f64], notes: &mut Notes) {
        match self.stat.read() {
            Ok(text) => fill(&text, &self.fields, reading),
            Err(error) => notes.unmonitored(Unmonitored::DeviceGone {
                device: self.name.clone(),
                error: error.to_string(),
            }),
        }
    }
}

fn declare(counted: &Counted, device: &str, columns: usize) -> (Sheet, Vec<Field>) {
    let mut sheet = Sheet::default();
    let fields: Vec<_> = counted.columns[..columns]
        .iter()
        .map(|column| match *column {
            Column::Count(metric) | Column::Sectors(metric) => sheet.counter(metric, device),
            Column::InFlight(metric) => sheet.gauge(metric, device),
            Column::Millis => sheet.field(),
        })
        .collect();
    let latencies = counted.latencies.into_iter();
    for (metric, count, millis) in latencies.filter(|&(.., millis)| millis < columns) {
        let (over, under) = (fields[millis], fields[count]);
        let formula = Formula::Quotient { over, under, base: 0.0, scale: 1.0 };
        sheet.series(metric, device, formula);
    }
    // Milliseconds per second: 1000 of queue time are one request in flight throughout, 1000 of
    // busy time are 100 %.
    let depth = Formula::Rate { field: fields[QUEUE], scale: 1e-3 };
    sheet.series(counted.queue_depth, device, depth);
    let busy = Formula::Rate { field: fields[BUSY], scale: 0.1 };
    sheet.series(counted.utilisation, device, busy);
    (sheet, fields)
}

/// Number of known columns of this kernel; `None` if the text is not a line of counters.
pub(super) fn column_count(text: &str) -> Option<usize> {
    let words = text.split_ascii_whitespace().take(DISK.columns.len());
    let numbers = words.take_while(|word| word.parse::<u64>().is_ok()).count();
    (numbers >= COLUMNS_OLDEST).then_some(match numbers {
        17.. => 17,
        15.. => 15,
        _ => COLUMNS_OLDEST,
    })
}

fn fill(text: &str, fields: &[Field], reading: &mut [f64]) {
    let mut words = text.split_ascii_whitespace();
    for (&field, column) in fields.iter().zip(DISK.columns) {
        let value = number(words.next());
        reading[field] =
            if matches!(column, Column::Sectors(..)) { value * SECTOR_BYTES } else { value };
    }
}

#[cfg(test)]
pub(super) fn whole_sheets() -> [Sheet; 2] {
    [DISK, BACKING].map(|counted| declare(&counted, "vda", counted.columns.len()).0)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::sheet::Moment;
    use super::*;

    /// Two readings a second apart, by the kernel whose columns they have. The first of 6.18 was
    /// read from a disk; the others have the documented columns and made-up figures.
    const V4_14: [&str; 2] = [
        "446216 784926 9550688 4382310 424847 312726 5922052 19310380 3 1065436 23693000",
        "446316 784926 9566688 4382360 425047 312726 5954052 19310780 5 1065936 23695000",
    ];
    const V4_19: [&str; 2] =
        ["8 0 64 1 100 0 800 50 0 40 51 10 0 8192 5", "8 0 64 1 100 0 800 50 0 40 51 14 0 16384 7"];
    const V6_18: [&str; 2] = [
        "63020 11061 9007914 29836 27267 38554 16470488 96711 0 18608 128019 8245 75 1115176 1246 \
         2882 225",
        "63020 11061 9007914 29836 27367 38554 16472536 96811 0 18858 128219 8245 75 1115176 1246 \
         2892 245",
    ];

    fn values(pair: [&str; 2], columns: usize) -> Vec<(String, f64)> {
        let (sheet, fields) = declare(&DISK, "vda", columns);
        let start = Instant::now();
        let [before, after] = [0, 1].map(|second| {
            let mut reading = sheet.blank();
            fill(pair[second as usize], &fields, &mut reading);
            Moment { at: start + Duration::from_secs(second), reading }
        });
        let names: Vec<_> = sheet.infos().map(|info| info.name.clone()).collect();
        let mut values = Vec::new();
        sheet.compute(&before, &after, |place, value| values.push((names[place].clone(), value)));
        values
    }

    fn get(values: &[(String, f64)], name: &str) -> Option<f64> {
        values.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    #[test]
    fn an_old_kernel_gives_reads_and_writes_as_iostat_does() {
        let values = values(V4_14, column_count(V4_14[0]).unwrap());
        for (name, expected) in [
            ("disk_reads_per_s", 100.0),
            ("disk_read_bytes_per_s", 16_000.0 * 512.0),
            ("disk_read_latency_ms", 0.5),
            ("disk_writes_per_s", 200.0),
            ("disk_write_latency_ms", 2.0),
            ("disk_in_flight", 5.0),
            ("disk_utilisation_percent", 50.0),
            ("disk_queue_depth", 2.0),
        ] {
            assert_eq!(get(&values, name), Some(expected), "{name}");
        }
        assert!(!values.iter().any(|(name, _)| name.contains("discard") || name.contains("flush")));
    }

    #[test]
    fn newer_kernels_add_discards_then_flushes() {
        let with_discards = values(V4_19, column_count(V4_19[0]).unwrap());
        assert_eq!(get(&with_discards, "disk_discard_bytes_per_s"), Some(8192.0 * 512.0));
        assert_eq!(get(&with_discards, "disk_discard_latency_ms"), Some(0.5));
        assert_eq!(get(&with_discards, "disk_write_latency_ms"), None);
        assert_eq!(get(&with_discards, "disk_flushes_per_s"), None);
        let newest = values(V6_18, column_count(V6_18[0]).unwrap());
        assert_eq!(get(&newest, "disk_flushes_per_s"), Some(10.0));
        assert_eq!(get(&newest, "disk_flush_latency_ms"), Some(2.0));
        assert_eq!(get(&newest, "disk_discard_latency_ms"), None);
    }

    #[test]
    fn columns_to_come_are_accepted_and_nonsense_is_not() {
        assert_eq!(column_count(&format!("{} 1 2 3", V6_18[0])), Some(17));
        assert_eq!(column_count("1 2 3 4"), None);
        assert_eq!(column_count(""), None);
    }
}
