//! `assay drive attach --if-needed`: succeeds if the drive is attached already.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use crate::print;
use assay_base::text::list;
use assay_serve::health::{Attachment, Health};
use assay_serve::job::{AttachOptions, Export};
use assay_serve::{attach as attach_now, check_right};
use assay_serve::{health_of, place, registry};

/// Longest time that another process's attaching or detaching may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Interval at which the state of the drive is checked meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Returns the health of the drive on `named`, which is attached first if needed. The stale device
/// of a server that died is removed before, unless it is in use.
pub(super) fn attach(named: &Path, options: &AttachOptions) -> Result<Health> {
    check_right(options)?;
    let media = place::resolved(named)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(health) = attached(&media)? {
            return fits(health, options);
        }
        match attach_now(&media, options, &Export::Drive) {
            // Another process attached the drive first.
            Err(error) if !is_served(&media)? || Instant::now() > deadline => return Err(error),
            Err(_) => std::thread::sleep(LOOK_EVERY),
            done => return done,
        }
    }
}

/// The drive's health, if a living server has attached it and answers.
fn attached(media: &Path) -> Result<Option<Health>> {
    let Some(attached) = registry::find_media(media)? else { return Ok(None) };
    if attached.has_died_by_now()? || !attached.is_shown()? {
        return Ok(None);
    }
    // A stopped server (SIGSTOP) does not answer: the user must continue it.
    match health_of(&attached) {
        Err(error) if attached.is_stopped() => Err(error),
        health => Ok(health.ok()),
    }
}

fn is_served(media: &Path) -> Result<bool> {
    Ok(registry::find_media(media)?.is_some_and(|attached| attached.owner.is_some()))
}

/// Accepts the attached drive as it is and prints the options that differ.
///
/// # Errors
/// The attachment is a model, or has no device although one is needed.
fn fits(health: Health, options: &AttachOptions) -> Result<Health> {
    let media = health.media.display();
    if let Some(model) = &health.model {
        bail!("{media} is attached as a model of {}; detach it first", model.name);
    }
    ensure!(
        options.directory.is_some() || health.attachment.device.is_some(),
        "{media} is attached as a file in a directory, without a device; detach it first"
    );
    let differences = differences(&health.attachment, options);
    if !differences.is_empty() {
        print::note(format_args!(
            "assay: {media} is already attached, with {}; detach and reattach it to change that",
            list(&differences)
        ));
    }
    Ok(health)
}

/// Options whose values in effect differ from the requested ones, with the values in effect.
fn differences(is: &Attachment, requested: &AttachOptions) -> Vec<String> {
    let sized = |size: Option<u64>| size.map_or_else(|| "none".into(), |size| size.to_string());
    let read_ahead = requested.read_ahead.map_or(0, |size| size.0);
    let memory = requested.memory.map(|size| size.0);
    let all = [
        (is.threads != Some(requested.threads), format!("--threads {}", is.threads.unwrap_or(0))),
        (
            is.cache != Some(requested.cache),
            format!("--cache {}", is.cache.map_or("unknown", |cache| cache.name())),
        ),
        (
            is.gc != Some(requested.gc),
            format!("--gc {}", is.gc.map_or("unknown", |policy| policy.name())),
        ),
        (is.memory_bytes != memory, format!("--memory {}", sized(is.memory_bytes))),
        (
            is.read_ahead_bytes.unwrap_or(0) != read_ahead,
            format!("--read-ahead {}", sized(is.read_ahead_bytes.filter(|bytes| *bytes > 0))),
        ),
        (is.read_only && !requested.read_only, "--read-only".into()),
        (!is.read_only && requested.read_only, "no --read-only".into()),
        (is.rescue && !requested.rescue, "--rescue".into()),
        (!is.rescue && requested.rescue, "no --rescue".into()),
    ];
    all.into_iter().filter(|(differs, _)| *differs).map(|(_, words)| words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_serve::job::{CacheMode, GcPolicy};

    #[test]
    fn only_what_differs_is_said() {
        let requested = AttachOptions::default();
        let same = Attachment {
            threads: Some(requested.threads),
            cache: Some(requested.cache),
            gc: Some(requested.gc),
            read_ahead_bytes: Some(0),
            ..Attachment::default()
        };
        assert_eq!(differences(&same, &requested), Vec::<String>::new());
        let other = Attachment {
            threads: Some(3),
            cache: Some(CacheMode::Writethrough),
            gc: Some(GcPolicy::Greedy),
            memory_bytes: Some(1 << 20),
            read_only: true,
            ..same.clone()
        };
        let differing = differences(&other, &requested).join(" ");
        let all = "--threads 3 --cache writethrough --gc greedy --memory 1048576 --read-only";
        assert_eq!(differing, all);
        let requested = AttachOptions { rescue: true, ..requested };
        assert_eq!(differences(&same, &requested), ["no --rescue"]);
    }
}
