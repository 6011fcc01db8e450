//! `assay clean --cache`: lists the cache's entries by kind and size, and removes them.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::Result;
use serde_json::{Value, json};

use crate::print;
use assay_base::text::{counted, size};
use assay_system::cache::{self, CacheLock};
use assay_system::cache_entry::{self, CacheEntry, KINDS, Removal};

/// Result of removing a cache entry.
enum Fate {
    Removed,
    InUse,
    Failed(String),
}

/// Removes all entries that no process uses; `dry_run` only lists them. Exit code 2 if one could
/// not be removed.
pub(super) fn empty(dry_run: bool, as_json: bool) -> Result<ExitCode> {
    let mut has_failed = false;
    let mut entries = Vec::new();
    let mut bytes = 0;
    for (kind, words) in KINDS {
        let fates = fates(kind, dry_run)?;
        has_failed |= fates.iter().any(|(_, fate)| matches!(fate, Fate::Failed(_)));
        bytes += removed_bytes(&fates);
        match as_json {
            true => entries.push(kind_json(kind, &fates)),
            false => print_kind(words, &fates, dry_run),
        }
    }
    let directory = cache::root()?;
    if as_json {
        print::line(json!({
            "dry_run": dry_run, "directory": directory, "removed_bytes": bytes, "kinds": entries,
        }));
    } else {
        let verb = if dry_run { "would free" } else { "freed" };
        print::line(format_args!("{verb} {} in {}", size(bytes as f64), directory.display()));
    }
    Ok(if has_failed { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// Prints the cache's size and the command that empties it, unless it is empty.
pub(super) fn mention() {
    let Ok(directory) = cache::root() else { return };
    let kinds = KINDS.iter().filter_map(|(kind, words)| {
        let bytes: u64 = cache_entry::list(kind).ok()?.iter().map(|entry| entry.bytes).sum();
        (bytes > 0).then(|| format!("{} of {words}", size(bytes as f64)))
    });
    let kinds: Vec<_> = kinds.collect();
    if !kinds.is_empty() {
        print::note(format_args!(
            "assay: the cache {} holds {}; `assay clean --cache` empties it",
            directory.display(),
            kinds.join(", ")
        ));
    }
}

fn fates(kind: &str, dry_run: bool) -> Result<Vec<(CacheEntry, Fate)>> {
    let kept = cache_entry::list(kind)?;
    if kept.is_empty() {
        return Ok(Vec::new());
    }
    let shelf = if dry_run { None } else { CacheLock::try_open(kind)? };
    let fate = |entry: &CacheEntry| match &shelf {
        Some(shelf) => removed(shelf, &entry.path),
        None if dry_run && !cache_entry::is_in_use(&entry.path) => Fate::Removed,
        // Another process adds entries of this kind, and any of these may be the one it replaces.
        None => Fate::InUse,
    };
    Ok(kept
        .into_iter()
        .map(|entry| {
            let fate = fate(&entry);
            (entry, fate)
        })
        .collect())
}

fn removed(shelf: &CacheLock, entry: &Path) -> Fate {
    match cache_entry::remove(shelf, entry) {
        Ok(Removal::Removed) => Fate::Removed,
        Ok(Removal::InUse) => Fate::InUse,
        Err(error) => Fate::Failed(format!("{error:#}")),
    }
}

fn removed_bytes(fates: &[(CacheEntry, Fate)]) -> u64 {
    let removed = fates.iter().filter(|(_, fate)| matches!(fate, Fate::Removed));
    removed.map(|(entry, _)| entry.bytes).sum()
}

fn print_kind(words: &str, fates: &[(CacheEntry, Fate)], dry_run: bool) {
    if fates.is_empty() {
        return;
    }
    let bytes: u64 = fates.iter().map(|(entry, _)| entry.bytes).sum();
    print::line(format_args!("{words}: {}", size(bytes as f64)));
    for (entry, fate) in fates {
        let verb: &dyn Display = match fate {
            Fate::Removed if dry_run => &"would remove",
            Fate::Removed => &"removed",
            Fate::InUse => &"still in use:",
            Fate::Failed(why) => why,
        };
        print::line(format_args!(
            "  {verb} {}, {}, used {}",
            name(entry),
            size(entry.bytes as f64),
            ago(entry.used)
        ));
    }
}

fn kind_json(kind: &str, fates: &[(CacheEntry, Fate)]) -> Value {
    let of = |wanted: fn(&Fate) -> bool| -> Vec<Value> {
        let those = fates.iter().filter(|(_, fate)| wanted(fate));
        those.map(|(entry, _)| json!({ "name": name(entry), "bytes": entry.bytes })).collect()
    };
    json!({
        "kind": kind,
        "removed": of(|fate| matches!(fate, Fate::Removed)),
        "in_use": of(|fate| matches!(fate, Fate::InUse)),
        "failed": of(|fate| matches!(fate, Fate::Failed(_))),
    })
}

fn name(entry: &CacheEntry) -> String {
    entry.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn ago(then: SystemTime) -> String {
    let days = SystemTime::now().duration_since(then).unwrap_or_default().as_secs() / (24 * 3600);
    if days == 0 { "today".into() } else { format!("{} ago", counted(days, "day")) }
}
