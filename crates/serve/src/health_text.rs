//! The health of a drive as text.

use std::fmt::Write;
use std::path::PathBuf;

use assay_drive::{Recovery, State, Status};
use assay_ports::survival::NEVER;

use super::health::{Attachment, Health};
use super::job::{CacheMode, GcPolicy};
use super::media_space::MediaSpace;
use super::model_health::ModelHealth;
use assay_base::text::{counted, size};
use assay_presets::Scale;

/// Width of the labels.
const LABEL: usize = 20;

/// The whole text, without a final line break.
pub fn whole(health: &Health) -> String {
    let status = &health.status;
    let mut log = Log::default();
    log.heading(&title(health));
    for problem in &status.problems {
        log.row("problem", problem);
    }
    log.row("last opened", &opening(health));
    if let Some(model) = &health.model {
        time_kept(&mut log, model);
    }
    if let Some(manner) = manner(&health.attachment) {
        log.row("attached with", &manner);
    }
    let attachment = &health.attachment;
    if let Some(words) = survival(attachment.oom_score_adj, attachment.io_flusher) {
        log.row("memory", &words);
    }
    if let Some(path) = &attachment.log {
        log.row("log", &path.display().to_string());
    }
    space(&mut log, status, attachment.media_space);
    traffic(&mut log, status);
    work(&mut log, status);
    log.0.trim_end().to_owned()
}

/// Lines worth printing after a drive was opened; often none.
pub fn opened(health: &Health) -> Vec<String> {
    let mut lines = Vec::new();
    let recovery = &health.status.recovery;
    if !recovery.clean || recovery.rebuilt || !recovery.mended.is_empty() {
        lines.push(opening(health));
    }
    if let Some(model) = &health.model {
        let what = "the shortest latency that this machine can emulate";
        lines.push(format!("{} as a model; {what} is {:.0} us", model.name, model.port_us));
    }
    lines.extend(health.status.problems.iter().map(|problem| format!("problem: {problem}")));
    lines.extend(risk(&health.attachment));
    if health.attachment.read_only {
        lines.push(format!("{} is read-only", health.media.display()));
    }
    lines
}

/// Lines that a server logs at its start.
pub fn attached(health: &Health) -> Vec<String> {
    let Attachment { pid, oom_score_adj, io_flusher, .. } = &health.attachment;
    let place = shown_as(&health.attachment).map_or_else(String::new, |at| format!(" as {at}"));
    let by = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
    let (media, state) = (health.media.display(), health.status.state.name());
    let mut lines =
        vec![format!("{media} is attached{place}{by}, {state}: {}", room(&health.status))];
    lines.push(opening(health));
    lines.extend(health.status.problems.iter().map(|problem| format!("problem: {problem}")));
    lines.extend(risk(&health.attachment));
    lines.extend(survival(*oom_score_adj, *io_flusher).filter(|_| !is_safe(&health.attachment)));
    lines
}

/// A warning if writes can run out of space below a drive that is not sparse.
fn risk(attachment: &Attachment) -> Option<String> {
    let space = attachment.media_space.filter(MediaSpace::breaks_promise)?;
    space.in_words().map(|words| format!("its media: {words}"))
}

/// Free space, and its share of the usable space.
pub fn room(status: &Status) -> String {
    format!("{} free ({})", human(status.free_bytes), free_share(status))
}

/// Returns true if the server has all protection against a shortage of memory.
fn is_safe(attachment: &Attachment) -> bool {
    attachment.oom_score_adj == Some(NEVER) && attachment.io_flusher == Some(true)
}

/// The fate of the server when memory is short.
fn survival(oom_score_adj: Option<i32>, io_flusher: Option<bool>) -> Option<String> {
    let (adj, stays_out) = (oom_score_adj?, io_flusher?);
    let killed = match adj {
        NEVER => "it is not killed".into(),
        adj => format!("it may be killed: {NEVER} was not permitted, oom_score_adj is {adj}"),
    };
    let waits = if stays_out {
        ""
    } else {
        "; it may wait for its own writes, PR_SET_IO_FLUSHER was not permitted"
    };
    Some(format!("when memory is short {killed}{waits}"))
}

/// A line of `--watch`: the second that ended `seconds` after `before`.
pub fn line(now: &Health, before: &Health, seconds: f64) -> String {
    let (counts, then) = (&now.status.counts, &before.status.counts);
    let rate = |now: u64, then: u64| size(now.saturating_sub(then) as f64 / seconds) + "/s";
    format!(
        "{}, {} free ({}), ratio {}, host read {} write {}, media read {} write {}, \
         {:.0} flushes/s, {:.0} writes/s refused",
        now.status.state.name(),
        human(now.status.free_bytes),
        free_share(&now.status),
        ratio(now.status.compression_ratio()),
        rate(counts.read_bytes_host, then.read_bytes_host),
        rate(counts.write_bytes_host, then.write_bytes_host),
        rate(counts.read_bytes_media, then.read_bytes_media),
        rate(counts.write_bytes_media(), then.write_bytes_media()),
        counts.flushes.saturating_sub(then.flushes) as f64 / seconds,
        counts.refused_writes.saturating_sub(then.refused_writes) as f64 / seconds,
    )
}

fn title(health: &Health) -> String {
    let attachment = &health.attachment;
    let state = words_of(health.status.state);
    let words = match (shown_as(attachment), attachment.server_died) {
        (_, true) => format!("{}; {state}", left_over(attachment)),
        (Some(place), false) => {
            let by = attachment.pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
            let no_writes = if attachment.read_only { ", read-only" } else { "" };
            format!(
                "{state}, attached as {place}{by}{}{no_writes}",
                mounted_on(&attachment.mounted_on)
            )
        }
        (None, false) => format!("{state}, not attached"),
    };
    format!("{}: {words}", health.media.display())
}

/// The device, or else the file.
fn shown_as(attachment: &Attachment) -> Option<std::path::Display<'_>> {
    attachment.device.as_ref().or(attachment.file.as_ref()).map(|place| place.display())
}

/// The mount points as the continuation of a line; empty if there are none.
pub fn mounted_on(targets: &[PathBuf]) -> String {
    let targets: Vec<_> = targets.iter().map(|target| target.display().to_string()).collect();
    if targets.is_empty() { String::new() } else { format!(", mounted on {}", targets.join(", ")) }
}

/// The remains of a dead server, and the remedy.
fn left_over(attachment: &Attachment) -> String {
    let what = shown_as(attachment).map_or_else(
        || String::from("its server has died"),
        |place| {
            format!("its server has died; {place} is stale{}", mounted_on(&attachment.mounted_on))
        },
    );
    match attachment.mounted_on.is_empty() {
        true => what + "; attach it again, or detach it",
        false => what + "; unmount it, then attach again",
    }
}

fn words_of(state: State) -> &'static str {
    match state {
        State::Healthy => "healthy",
        State::LowSpace => "low on space; delete data or run fstrim",
        State::Full => "full, refuses writes; delete data or run fstrim",
        State::Damaged => "damaged; `assay drive check` lists what and where",
        State::ReadOnly => "damaged, read-only; copy what can be read",
        State::Stopped => "stopped by a failure of its media",
    }
}

fn opening(health: &Health) -> String {
    let Recovery { clean, chunks, entries, torn_chunks, rebuilt, ref mended, .. } =
        health.status.recovery;
    let took = health.attachment.open_ms.map_or_else(String::new, |ms| format!(" in {ms:.0} ms"));
    let mut words = match clean {
        true => format!("closed cleanly before; opened{took}"),
        false => {
            let (chunks, entries) = (counted(chunks, "chunk"), counted(entries, "entry"));
            format!("not closed cleanly; replayed {chunks} with {entries}{took}")
        }
    };
    if torn_chunks > 0 {
        let _ = write!(words, ", {} dropped", counted(torn_chunks, "unfinished chunk"));
    }
    if rebuilt {
        words += "; its map was rebuilt from the segments";
    }
    for problem in mended {
        let _ = write!(words, "; {problem}");
    }
    words
}

/// How well a model keeps its device's time.
fn time_kept(log: &mut Log, model: &ModelHealth) {
    log.heading("Model");
    let Scale { capacity, parallel } = model.scale;
    let scale = format!("{}, capacity / {capacity}, parallel / {parallel}", model.name);
    log.row("device", &scale);
    let least = format!("{:.0} us, the round trip of the port", model.port_us);
    log.row("shortest latency", &least);
    for (name, kind) in model.kinds.iter().filter(|(_, kind)| kind.commands > 0) {
        let mean = |us: Option<f64>| us.map_or_else(|| "-".into(), |us| format!("{us:.0} us"));
        let (modelled, shown) = (mean(kind.modelled_mean_us), mean(kind.achieved_mean_us));
        log.row(name, &format!("{} in {shown}, modelled {modelled}", kind.commands));
    }
    let percent = |share: Option<f64>| share.map_or(0.0, |share| share * 100.0);
    let verdict = if model.comparable { "" } else { "; results are not comparable" };
    log.row(
        "missed deadlines",
        &format!("{:.2} % of commands{verdict}", percent(model.missed_deadline_share)),
    );
    log.row("too fast", &format!("{:.2} % of commands", percent(model.too_fast_share)));
    log.row("time added", &format!("{:.2} % of the modelled time", percent(model.added_share)));
    log.row("server stalled", &format!("{:.0} ms", model.stalled_ms));
    let waited = model.waited.iter().map(|(what, count)| format!("{what} {count}"));
    log.row("waited for", &waited.collect::<Vec<_>>().join(", "));
}
/// The options of serving.
fn manner(attachment: &Attachment) -> Option<String> {
    let cache = match attachment.cache? {
        CacheMode::Volatile => "volatile cache",
        CacheMode::Writethrough => "cache written through",
        CacheMode::Protected => "protected cache",
    };
    let ahead = match attachment.read_ahead_bytes.unwrap_or_default() {
        0 => "no read-ahead".into(),
        bytes => format!("reading at least {}", human(bytes)),
    };
    let mut words = vec![cache.to_owned(), counted(attachment.threads?.into(), "thread"), ahead];
    words.extend(attachment.memory_bytes.map(|bytes| format!("{} for the map", human(bytes))));
    words.extend(
        attachment
            .gc
            .filter(|by| *by != GcPolicy::default())
            .map(|by| format!("GC policy {}", by.name())),
    );
    words.extend(attachment.rescue.then(|| "reserve open for new data (--rescue)".to_owned()));
    Some(words.join(", "))
}

fn space(log: &mut Log, status: &Status, below: Option<MediaSpace>) {
    log.heading("Space");
    log.bytes("capacity", status.capacity_bytes);
    if let Some(words) = below.and_then(|below| below.in_words()) {
        log.row("media", &words);
    }
    log.bytes("usable", status.usable_bytes);
    log.row("free", &format!("{:>10}  {}", human(status.free_bytes), free_share(status)));
    log.bytes("media used", status.media_bytes_used);
    log.bytes("logical", status.logical_bytes);
    log.bytes("logical used", status.logical_bytes_used);
    log.row("compression ratio", &ratio(status.compression_ratio()));
    let unit = human(status.unit_blocks * assay_drive::BLOCK_BYTES);
    let versions = match status.dictionary_versions {
        0 => String::new(),
        versions => format!(", dictionary version {versions}"),
    };
    log.row("codec", &format!("{}, {unit} at a time{versions}", status.codec));
    let (all, free) = (status.segments, status.segments_free);
    let damaged = status.segments_damaged;
    let size = human(status.segment_bytes);
    log.row("segments", &format!("{all} of {size}, {free} free, {damaged} damaged"));
    log.bytes("map in memory", status.map_bytes);
}

fn traffic(log: &mut Log, status: &Status) {
    let counts = &status.counts;
    log.heading(&match counts.crashes {
        0 => "Over its life".to_owned(),
        1 => "Over its life, without what was counted from the last checkpoint to 1 crash".into(),
        crashes => format!(
            "Over its life, without what was counted from the last checkpoint to each of {crashes} \
             crashes"
        ),
    });
    log.bytes("host wrote", counts.write_bytes_host);
    log.bytes("  of these zeroes", counts.write_bytes_zero);
    log.bytes("  incompressible", counts.write_bytes_raw);
    log.bytes("host read", counts.read_bytes_host);
    log.bytes("host discarded", counts.discard_bytes_host);
    log.bytes("media written", counts.write_bytes_media());
    log.bytes("media read", counts.read_bytes_media);
    log.row(
        "media operations",
        &format!("{} writes, {} reads", counts.writes_media, counts.reads_media),
    );
    log.row("write amplification", &amplification(status));
    log.row("wear", &format!("media overwritten {:.2} times", status.media_cycles()));
    log.row("host writes", &sizes(&counts.commands_by_size));
}

fn work(log: &mut Log, status: &Status) {
    let counts = &status.counts;
    let flushes = format!("{} by the host, {} to media", counts.flushes, counts.flushes_media);
    log.row("flushes", &flushes);
    let gc = format!(
        "{} segments reclaimed, {} host writes waited",
        counts.gc_segments, counts.gc_stalls
    );
    log.row("garbage collection", &gc);
    log.row("checkpoints", &counts.checkpoints.to_string());
    log.bytes("log written", counts.log_bytes);
    log.row("refused writes", &format!("{}, for lack of space", counts.refused_writes));
    log.row("damaged records", &counts.damaged_records.to_string());
    log.row("restored from parity", &counts.restored_records.to_string());
}

/// In total, and the share of each kind of write to media.
fn amplification(status: &Status) -> String {
    let counts = &status.counts;
    let Some(all) = counts.write_amplification() else { return "-".into() };
    let share = |bytes: u64| bytes as f64 / counts.write_bytes_host as f64;
    format!(
        "{all:.3} with compression = data {:.3} + tables {:.3} + GC {:.3} + checkpoints {:.3}",
        share(counts.write_bytes_payload),
        share(counts.write_bytes_table),
        share(counts.write_bytes_gc),
        share(counts.write_bytes_checkpoint),
    )
}

/// Non-empty classes of [`assay_drive::Counts::commands_by_size`].
fn sizes(commands: &[u64; 8]) -> String {
    let names = ["4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB", "1 MiB"];
    let classes = names.iter().zip(commands).filter(|(_, count)| **count > 0);
    let words: Vec<String> =
        classes.map(|(name, count)| format!("{count} of at most {name}")).collect();
    if words.is_empty() { "none".into() } else { words.join(", ") }
}

/// Relative to the usable space.
fn free_share(status: &Status) -> String {
    let share = status.free_bytes as f64 / status.usable_bytes.max(1) as f64;
    format!("{:.0} %", 100.0 * share)
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}"))
}

pub fn human(bytes: u64) -> String {
    size(bytes as f64)
}

/// Headings, with rows of a label and a text below them.
#[derive(Default)]
struct Log(String);

impl Log {
    fn heading(&mut self, text: &str) {
        let gap = if self.0.is_empty() { "" } else { "\n" };
        self.0 += &format!("{gap}{text}\n");
    }

    fn row(&mut self, label: &str, text: &str) {
        self.0 += &format!("  {label:<LABEL$} {text}\n");
    }

    fn bytes(&mut self, label: &str, bytes: u64) {
        // Below a KiB the text is exact.
        let exact = if bytes < 1024 { String::new() } else { format!("  {bytes}") };
        self.row(label, &format!("{:>10}{exact}", human(bytes)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::tests::used;

    #[test]
    fn the_log_tells_what_a_person_asks() {
        let text = whole(&used());
        for part in [
            "/vol.img: healthy, attached as /dev/loop7 (process 4711)",
            "capacity               64.0 MiB  67108864",
            "logical                 128 MiB  134217728",
            "logical used           64.0 KiB  65536",
            "host writes          1 of at most 64 KiB",
            "write amplification",
            "closed cleanly before; opened in 2 ms",
            "attached with        volatile cache, 4 threads, reading at least 40.0 KiB",
            "free                   ",
            "host discarded              0 B\n",
        ] {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
        assert!(!text.contains("problem"), "{text}");
    }

    #[test]
    fn what_a_dead_server_left_is_named_with_what_to_do() {
        let mut health = used();
        let left = Attachment {
            server_died: true,
            device: Some("/dev/loop7".into()),
            ..Attachment::default()
        };
        health.attachment = left.clone();
        let text = whole(&health);
        let died = "/vol.img: its server has died; /dev/loop7 is stale";
        assert!(
            text.starts_with(&format!("{died}; attach it again, or detach it; healthy\n")),
            "{text}"
        );
        health.attachment.mounted_on = vec!["/data".into()];
        let text = whole(&health);
        let told = format!("{died}, mounted on /data; unmount it, then attach again; healthy\n");
        assert!(text.starts_with(&told), "{text}");
        assert!(!text.contains("not attached"), "{text}");
    }

    #[test]
    fn opening_says_what_was_found_and_nothing_of_a_drive_that_was_closed() {
        let mut health = used();
        assert_eq!(opened(&health), Vec::<String>::new());
        health.status.recovery.clean = false;
        health.status.recovery.chunks = 12;
        health.status.recovery.torn_chunks = 2;
        health.status.problems.push("the first superblock is damaged".into());
        health.attachment.read_only = true;
        let said = opened(&health);
        assert_eq!(
            said,
            [
                "not closed cleanly; replayed 12 chunks with 0 entries in 2 ms, 2 unfinished \
                 chunks dropped",
                "problem: the first superblock is damaged",
                &format!("{} is read-only", health.media.display()),
            ]
        );
    }

    #[test]
    fn a_second_is_told_in_rates() {
        let before = used();
        let mut now = before.clone();
        now.status.counts.write_bytes_host += 4 << 20;
        now.status.counts.flushes += 6;
        now.status.counts.refused_writes += 2;
        let line = line(&now, &before, 2.0);
        assert!(line.contains("host read 0 B/s write 2.0 MiB/s"), "{line}");
        assert!(line.ends_with("3 flushes/s, 1 writes/s refused"), "{line}");
    }
}
