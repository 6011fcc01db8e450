//! Space: the files of the data directory, and the use of its file system.
//!
//! File bytes are sizes as `ls` shows them, allocated bytes are those of the file system
//! (`st_blocks` × 512, `inode(7)`), less for sparse files and punched holes. Logs outside the data
//! directory are not included. Groups follow the names that servers give their files (MySQL manual,
//! "InnoDB on-disk structures"). A long walk is repeated every 5 s only, with gaps between.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_ports::filesystem::room_bytes;
use rustix::fs::statvfs;

use super::probe::{Notes, Probe};
use super::sheet::{Field, Formula, Sheet};
use assay_study::Unmonitored;
use assay_study::metrics::{MetricEntry, metric};

/// A longer walk is repeated every `PAUSE` only.
const WALK_LONG: Duration = Duration::from_millis(20);
const PAUSE: Duration = Duration::from_secs(5);
/// Data directories are two levels deep; partitions and links do not change that.
const DEPTH_MAX: usize = 4;

/// The series of the room that the file system has left for the server.
pub(crate) const ROOM: &str = metric!("space_filesystem_room_bytes").name;

/// Directories of the server, not of a user's schema.
const SERVER_DIRECTORIES: [&str; 4] = ["mysql", "sys", "performance_schema", "information_schema"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Tables,
    Redo,
    Undo,
    Doublewrite,
    Binlog,
    System,
    Other,
}

macro_rules! used {
    ($of:literal) => {
        [
            metric!(concat!("space_", $of, "_file_bytes")),
            metric!(concat!("space_", $of, "_allocated_bytes")),
        ]
    };
}

/// File bytes and allocated bytes of each group.
const GROUPS: [(Group, [&MetricEntry; 2]); 7] = [
    (Group::Tables, used!("tables")),
    (Group::Redo, used!("redo")),
    (Group::Undo, used!("undo")),
    (Group::Doublewrite, used!("doublewrite")),
    (Group::Binlog, used!("binlog")),
    (Group::System, used!("system")),
    (Group::Other, used!("other")),
];

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Used {
    file_bytes: f64,
    allocated_bytes: f64,
}

pub(super) struct SpaceProbe {
    sheet: Sheet,
    data_dir: PathBuf,
    fields: Fields,
    next_walk: Instant,
}

struct Fields {
    all: (Field, Field),
    groups: Vec<(Field, Field)>,
    filesystem: (Field, Field),
    room: Field,
}

impl SpaceProbe {
    /// `is_shrunk`: the disk below reports its physical bytes itself, which differ from those that
    /// the file system has allocated.
    pub(super) fn new(data_dir: PathBuf, is_shrunk: bool) -> SpaceProbe {
        let (mut sheet, fields) = declare();
        if !is_shrunk {
            let allocated = Formula::Value(fields.all.1);
            sheet.series(metric!("space_physical_bytes"), "", allocated);
        }
        SpaceProbe { sheet, data_dir, fields, next_walk: Instant::now() }
    }

    fn walk(&mut self, reading: &mut [f64], notes: &mut Notes) {
        let started = Instant::now();
        match measure(&self.data_dir) {
            Ok(groups) => {
                let mut all = Used::default();
                for (used, &field) in groups.iter().zip(&self.fields.groups) {
                    put(*used, field, reading);
                    all.file_bytes += used.file_bytes;
                    all.allocated_bytes += used.allocated_bytes;
                }
                put(all, self.fields.all, reading);
            }
            Err(error) => {
                let path = self.data_dir.display().to_string();
                notes.unmonitored(Unmonitored::Space { path, error: error.to_string() });
            }
        }
        if started.elapsed() > WALK_LONG {
            self.next_walk = started + PAUSE;
        }
    }
}

impl Probe for SpaceProbe {
    fn sheet(&self) -> &Sheet {
        &self.sheet
    }

    fn read(&mut self, reading: &mut [f64], notes: &mut Notes) {
        if let Ok(filesystem) = statvfs(&self.data_dir) {
            let bytes = |blocks: u64| blocks as f64 * filesystem.f_frsize as f64;
            let (used, total) = self.fields.filesystem;
            reading[used] = bytes(filesystem.f_blocks.saturating_sub(filesystem.f_bfree));
            reading[total] = bytes(filesystem.f_blocks);
        }
        if let Ok(Some(bytes)) = room_bytes(&self.data_dir) {
            reading[self.fields.room] = bytes as f64;
        }
        if Instant::now() >= self.next_walk {
            self.walk(reading, notes);
        }
    }
}

fn declare() -> (Sheet, Fields) {
    let mut sheet = Sheet::default();
    let mut pair = |one, other| (sheet.gauge(one, ""), sheet.gauge(other, ""));
    let all = pair(metric!("space_file_bytes"), metric!("space_allocated_bytes"));
    let groups = GROUPS.iter().map(|(_, [file, allocated])| pair(file, allocated)).collect();
    let filesystem =
        pair(metric!("space_filesystem_used_bytes"), metric!("space_filesystem_total_bytes"));
    let room = sheet.gauge(metric!("space_filesystem_room_bytes"), "");
    (sheet, Fields { all, groups, filesystem, room })
}

fn put(used: Used, (file, allocated): (Field, Field), reading: &mut [f64]) {
    reading[file] = used.file_bytes;
    reading[allocated] = used.allocated_bytes;
}

/// Bytes of each group, in the order of `GROUPS`, without files that vanish meanwhile.
fn measure(data_dir: &Path) -> io::Result<[Used; GROUPS.len()]> {
    let mut groups = [Used::default(); GROUPS.len()];
    let mut directories = vec![(data_dir.to_path_buf(), None::<String>, 0)];
    while let Some((directory, top, depth)) = directories.pop() {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if depth == 0 => return Err(error),
            Err(_) => continue,
        };
        for entry in entries.flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            let name = entry.file_name().to_string_lossy().into_owned();
            if metadata.is_dir() {
                if depth < DEPTH_MAX {
                    let top = top.clone().unwrap_or(name);
                    directories.push((entry.path(), Some(top), depth + 1));
                }
            } else if metadata.is_file() {
                let group = group_of(top.as_deref(), &name);
                let used = &mut groups[group as usize];
                used.file_bytes += metadata.len() as f64;
                used.allocated_bytes += metadata.blocks() as f64 * 512.0;
            }
        }
    }
    Ok(groups)
}

/// The group of a file by its name and the topmost directory it is in, if any.
fn group_of(top: Option<&str>, name: &str) -> Group {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match top {
        Some("#innodb_redo") => Group::Redo,
        Some("#innodb_temp") => Group::System,
        Some(directory) if SERVER_DIRECTORIES.contains(&directory) => Group::System,
        Some(_) if extension == "ibd" => Group::Tables,
        Some(_) => Group::Other,
        None if name.starts_with("ib_logfile") => Group::Redo,
        None if extension == "dblwr" => Group::Doublewrite,
        None if name.starts_with("undo") || extension == "ibu" => Group::Undo,
        None if name.starts_with("ib") || extension == "ibd" => Group::System,
        None if name.starts_with("aria_log") => Group::System,
        None if extension.len() >= 6 && extension.bytes().all(|b| b.is_ascii_digit()) => {
            Group::Binlog
        }
        None => Group::Other,
    }
}

#[cfg(test)]
pub(super) fn whole_sheet() -> Sheet {
    SpaceProbe::new(PathBuf::new(), false).sheet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_in_their_own_order() {
        for (place, (group, _)) in GROUPS.iter().enumerate() {
            assert_eq!(*group as usize, place);
        }
    }

    #[test]
    fn files_of_mysql_and_mariadb_find_their_group() {
        for (top, name, group) in [
            (Some("sbtest"), "sbtest1.ibd", Group::Tables),
            (Some("sbtest"), "db.opt", Group::Other),
            (Some("#innodb_redo"), "#ib_redo10", Group::Redo),
            (None, "ib_logfile0", Group::Redo),
            (None, "undo_001", Group::Undo),
            (None, "undo001", Group::Undo),
            (None, "#ib_16384_0.dblwr", Group::Doublewrite),
            (None, "binlog.000002", Group::Binlog),
            (None, "ibdata1", Group::System),
            (None, "mysql.ibd", Group::System),
            (Some("mysql"), "gtid_slave_pos.ibd", Group::System),
            (None, "server-cert.pem", Group::Other),
        ] {
            assert_eq!(group_of(top, name), group, "{name}");
        }
    }

    #[test]
    fn sizes_and_allocation_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("sbtest")).unwrap();
        let sparse = fs::File::create(directory.path().join("sbtest/t.ibd")).unwrap();
        sparse.set_len(1 << 20).unwrap();
        fs::write(directory.path().join("undo_001"), vec![1; 8192]).unwrap();
        let groups = measure(directory.path()).unwrap();
        let tables = groups[Group::Tables as usize];
        assert_eq!(tables.file_bytes, f64::from(1 << 20));
        assert!(tables.allocated_bytes < tables.file_bytes);
        assert_eq!(groups[Group::Undo as usize].file_bytes, 8192.0);
        assert!(measure(&directory.path().join("missing")).is_err());
    }
}
