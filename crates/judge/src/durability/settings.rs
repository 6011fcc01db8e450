//! From variables, settings and the disk's record to what they mean for a power cut.

use std::collections::BTreeMap;

use anyhow::Result;

use assay_innodb::{PageRecovery, recovery_of};

use super::{Checks, CommitDurability, Durability, DurabilityNote, Flushes, Pages};
use assay_study::switches::{NO_BINARY_LOG, is_off};
use assay_study::{CacheDurability, Config, DiskRecord, Store, Study};

/// A page of InnoDB as it is by default (MySQL manual, `innodb_page_size`), for which the disk's
/// record tells whether file systems split it.
const PAGE_BYTES: u64 = 16 << 10;

/// Mount options by which a file system sends no flushes: ext4 `barrier=0` and `nobarrier`
/// (`ext4(5)`), XFS before Linux 4.19 and btrfs `nobarrier` (`xfs(5)`, `btrfs(5)`).
const NO_BARRIERS: [&str; 2] = ["nobarrier", "barrier=0"];

/// Durability by the `variables` of the server as read, else by its `settings`, else by the
/// documented defaults; and by the guarantees of its `disk`.
pub fn of_config(
    settings: &BTreeMap<String, String>,
    variables: Option<&BTreeMap<String, String>>,
    disk: Option<&DiskRecord>,
) -> Durability {
    let server = Server { settings, variables };
    let mut notes = Vec::new();
    let page_checksums = page_checksums(server);
    let pages = pages(server, disk, page_checksums, &mut notes);
    let flushes = flushes(server, disk, &mut notes);
    let log_checksums = on_or_off(server.text("innodb_log_checksums"), Checks::On);
    if log_checksums == Checks::Off {
        notes.push(DurabilityNote::LogEndNotFound);
    }
    let parts = (pages, commits(server), flushes);
    Durability::of(parts, (page_checksums, log_checksums), notes)
}

/// Durability of files that were loaded without a server: flushed data, if the disk does what it
/// guarantees.
pub fn of_files(disk: Option<&DiskRecord>) -> Durability {
    let settings = BTreeMap::new();
    let mut notes = Vec::new();
    let flushes = flushes(Server { settings: &settings, variables: None }, disk, &mut notes);
    Durability::of(
        (Pages::Unknown, CommitDurability::None, flushes),
        (Checks::Off, Checks::Off),
        notes,
    )
}

/// Durability of a configuration of a stored study, by the variables of the first server whose
/// variables were read.
///
/// # Errors
///
/// The store cannot be read.
pub fn of_stored(store: &Store, study: &Study, config: &Config) -> Result<Durability> {
    let mut variables = None;
    for trial in study.trials.iter().filter(|trial| trial.key.config == config.name) {
        let read = store.variables(trial.id)?;
        if !read.is_empty() {
            variables = Some(read);
            break;
        }
    }
    let disk = config.rig.disk.as_ref();
    Ok(match study.is_of_files() {
        true => of_files(disk),
        false => of_config(&config.settings, variables.as_ref(), disk),
    })
}

/// Known variables and settings of a server.
#[derive(Clone, Copy)]
struct Server<'a> {
    settings: &'a BTreeMap<String, String>,
    variables: Option<&'a BTreeMap<String, String>>,
}

impl Server<'_> {
    /// As it was read, else as it was asked for, in capitals.
    fn text(self, name: &str) -> Option<String> {
        let read = self.variables.and_then(|variables| variables.get(name));
        read.or_else(|| self.settings.get(name)).map(|text| text.trim().to_ascii_uppercase())
    }

    fn number(self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// Known behaviour of the server's recovery of torn pages.
    fn recovery(self) -> PageRecovery {
        let text = |name| self.text(name).unwrap_or_default();
        recovery_of(&text("version"), &text("version_comment"))
    }

    fn is_mariadb(self) -> bool {
        ["version", "version_comment"]
            .iter()
            .any(|name| self.text(name).is_some_and(|text| text.contains("MARIADB")))
    }

    /// Whether pages go past the page cache. MySQL 8.4 and later do so by themselves; earlier ones
    /// and MariaDB are asked (`innodb_flush_method`; MariaDB 11 has `innodb_data_file_buffering`).
    fn is_direct(self) -> bool {
        match (self.text("innodb_data_file_buffering"), self.text("innodb_flush_method")) {
            (Some(buffering), _) => is_off(&buffering),
            (None, Some(method)) => method.contains("O_DIRECT") || method == "NO_FSYNC",
            (None, None) => false,
        }
    }

    /// MySQL switches the log on by itself since 8.0, MariaDB does not (both manuals, `log_bin`).
    fn has_binary_log(self) -> bool {
        let is_read = self.variables.is_some_and(|variables| variables.contains_key("log_bin"));
        let is_skipped = NO_BINARY_LOG
            .iter()
            .any(|name| self.settings.get(*name).is_some_and(|value| !is_off(value)));
        match self.text("log_bin") {
            Some(text) if is_read => !is_off(&text),
            _ if is_skipped => false,
            Some(text) => !is_off(&text),
            None => !self.is_mariadb(),
        }
    }
}

fn on_or_off(text: Option<String>, default: Checks) -> Checks {
    match text.as_deref() {
        Some(text) if is_off(text) => Checks::Off,
        Some(_) => Checks::On,
        None => default,
    }
}

/// `none` and `strict_none` write a constant in place of a checksum (MySQL manual,
/// `innodb_checksum_algorithm`).
fn page_checksums(server: Server<'_>) -> Checks {
    match server.text("innodb_checksum_algorithm").as_deref() {
        Some("NONE" | "STRICT_NONE") => Checks::Off,
        _ => Checks::On,
    }
}

/// `DETECT_ONLY` keeps no pages, only which they were: it finds torn ones and cannot mend them.
fn pages(
    server: Server<'_>,
    disk: Option<&DiskRecord>,
    checksums: Checks,
    notes: &mut Vec<DurabilityNote>,
) -> Pages {
    let is_skipped =
        server.variables.is_none() && server.settings.contains_key("skip_innodb_doublewrite");
    match server.text("innodb_doublewrite").as_deref() {
        _ if is_skipped => written_once(server, disk),
        Some("DETECT_ONLY") => {
            notes.push(DurabilityNote::TornPagesNotMended);
            written_once(server, disk)
        }
        Some(text) if is_off(text) => written_once(server, disk),
        _ if checksums == Checks::Off => {
            notes.push(DurabilityNote::TornPagesNotFound);
            // It is as good as the disk alone.
            written_once(server, disk).max(Pages::TwiceInVain)
        }
        Some("FAST") => written_twice_fast(server, disk, notes),
        _ => {
            notes.extend(is_copy_at_risk(server, disk).then_some(DurabilityNote::CopyNotFlushed));
            written_twice(server, disk)
        }
    }
}

/// MariaDB's `fast` flushes the copies and not the data files; the log's flush then has to cover
/// those, which it does on one device and past the page cache (MDEV-33545).
fn written_twice_fast(
    server: Server<'_>,
    disk: Option<&DiskRecord>,
    notes: &mut Vec<DurabilityNote>,
) -> Pages {
    if server.is_direct() {
        notes.push(DurabilityNote::DataFilesNotFlushed);
        return written_twice(server, disk);
    }
    notes.push(DurabilityNote::DataFilesNotFlushedNorDirect);
    Pages::TwiceInVain
}

/// A doublewrite buffer is as good as the recovery that reads it, unless the disk tears no page.
fn written_twice(server: Server<'_>, disk: Option<&DiskRecord>) -> Pages {
    match written_once(server, disk) {
        Pages::WrittenWhole | Pages::AtomicByDevice => Pages::WrittenTwice,
        _ => match server.recovery() {
            PageRecovery::Tested([]) => Pages::WrittenTwice,
            PageRecovery::Tested(_) => Pages::TwiceRestoredWrong,
            PageRecovery::NotTested => Pages::TwiceNotTried,
        },
    }
}

fn written_once(server: Server<'_>, disk: Option<&DiskRecord>) -> Pages {
    let Some(disk) = disk else { return Pages::Unknown };
    let page_bytes = server.number("innodb_page_size").unwrap_or(PAGE_BYTES);
    let splits = !disk.keeps_pages_together || page_bytes > PAGE_BYTES || !server.is_direct();
    match &disk.atomic_write_bytes {
        Some(atomic) if atomic.bytes < page_bytes => Pages::Single,
        Some(_) if splits => Pages::MaySplit,
        Some(atomic) if atomic.by_format => Pages::WrittenWhole,
        Some(_) => Pages::AtomicByDevice,
        None => Pages::Single,
    }
}

/// MySQL flushes no doublewrite file with `O_DIRECT` (8.0.20 and later,
/// `Double_write::is_fsync_required` in `buf0dblwr.cc`), so a cache that loses its content in any
/// order may lose the copy and half of the page. Our own drive keeps the order.
fn is_copy_at_risk(server: Server<'_>, disk: Option<&DiskRecord>) -> bool {
    let Some(disk) = disk.filter(|disk| !disk.is_drive()) else { return false };
    let is_volatile = match disk.cache {
        Some(cache) => cache == CacheDurability::Volatile,
        None => disk.kernel_cache.as_deref() == Some("write back"),
    };
    is_volatile && server.is_direct() && !server.is_mariadb()
}

fn flushes(
    server: Server<'_>,
    disk: Option<&DiskRecord>,
    notes: &mut Vec<DurabilityNote>,
) -> Flushes {
    let method = server.text("innodb_flush_method");
    if matches!(method.as_deref(), Some("NOSYNC" | "LITTLESYNC")) {
        notes.push(DurabilityNote::FlushMethodForTests);
        return Flushes::Lost;
    }
    if method.as_deref().is_some_and(|method| method.contains("NO_FSYNC")) {
        notes.push(DurabilityNote::FlushMethodWithoutDataFiles);
    }
    let Some(disk) = disk else { return Flushes::Unknown };
    let has_barriers =
        !disk.mount_options.iter().any(|option| NO_BARRIERS.contains(&option.as_str()));
    match disk.cache {
        Some(CacheDurability::Protected | CacheDurability::Writethrough) => Flushes::NotNeeded,
        _ if !has_barriers && disk.kernel_cache.as_deref() != Some("write through") => {
            notes.push(DurabilityNote::NoBarriers);
            Flushes::Lost
        }
        Some(_) => Flushes::Honoured,
        None => Flushes::AsTheDeviceSays,
    }
}

/// The redo log decides, and the binary log, where there is one: what it has lost is rolled back.
/// MariaDB knows 3, which is no less than 1 (its documentation, `innodb_flush_log_at_trx_commit`).
fn commits(server: Server<'_>) -> CommitDurability {
    let seconds = server.number("innodb_flush_log_at_timeout").unwrap_or(1);
    let redo = match server.text("innodb_flush_log_at_trx_commit").as_deref() {
        None | Some("1" | "3") => CommitDurability::AtCommit,
        Some("0") => CommitDurability::EachSeconds(seconds),
        Some("2") => CommitDurability::WrittenThenEachSeconds(seconds),
        Some(_) => CommitDurability::Unknown,
    };
    if server.has_binary_log() { redo.min(binary_log(server)) } else { redo }
}

/// Left unset it is 1 on MySQL and 0 on MariaDB (both manuals).
fn binary_log(server: Server<'_>) -> CommitDurability {
    let default = u64::from(!server.is_mariadb());
    match server.text("sync_binlog").map_or(Ok(default), |text| text.parse()) {
        Ok(0) => CommitDurability::LeftToSystem,
        Ok(1) => CommitDurability::AtCommit,
        Ok(groups) => CommitDurability::EachGroups(groups),
        Err(_) => CommitDurability::Unknown,
    }
}
