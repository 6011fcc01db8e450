//! Removes partial downloads of interrupted commands from the cache; those of running commands
//! stay.

use anyhow::Result;

use super::Tally;
use assay_system::cache::{self, CacheLock};
use assay_system::cache_entry::KINDS;

pub(super) fn clean(dry_run: bool, tally: &mut Tally) {
    // Without a home directory there is no cache.
    if cache::root().is_err() {
        return;
    }
    for (kind, words) in KINDS {
        if let Err(error) = clean_kind(kind, words, dry_run, tally) {
            tally.failed.push(format!("{error:#}"));
        }
    }
}

fn clean_kind(kind: &str, words: &str, dry_run: bool, tally: &mut Tally) -> Result<()> {
    let left = cache::unfinished(kind)?;
    if left.is_empty() {
        return Ok(());
    }
    let is_free =
        if dry_run { CacheLock::is_free(kind)? } else { CacheLock::try_open(kind)?.is_some() };
    let names = left.iter().map(|path| format!("unfinished {words} in {}", path.display()));
    match is_free {
        true => names.for_each(|name| tally.remove_named(name, dry_run)),
        false => tally.in_use.extend(names),
    }
    Ok(())
}
