//! Reads that the device did not deliver, in words: a caveat for all of them, and a line on the
//! first screen where a disk is compared with memory.

use assay_judge::delivered::{FromMemory, WithoutMedia, from_memory, without_media};
use assay_study::Study;

use crate::comparisons::questions::named;
use crate::figures::format::{bytes, list};

/// The caveats.
pub(crate) fn sentences(study: &Study) -> Vec<String> {
    let (apart, alike): (Vec<FromMemory>, Vec<FromMemory>) =
        of(study).into_iter().partition(|one| one.unlike.is_some());
    let mut told: Vec<String> = apart.iter().filter_map(compared_with_memory).collect();
    let under = |one: &FromMemory| format!("{} under “{}”", share(one), one.workload);
    let shares: Vec<String> = alike.iter().map(under).collect();
    if !shares.is_empty() {
        told.push(format!(
            "the page cache delivered reads in place of the device: {}. Their speed is not the \
            device's",
            list(&shares)
        ));
    }
    told
}

/// The caveats of drives that moved nothing on their media.
pub(crate) fn of_zeroes(study: &Study) -> Vec<String> {
    let told = |one: &WithoutMedia| {
        format!(
            "{} moved {}/s under “{}” and next to nothing of it on its media: zeroes and blocks \
            that nobody wrote take no room there. Its speed is not that of data",
            named(&one.config),
            bytes(one.host_bytes_per_s),
            one.workload
        )
    };
    without_media(study)
        .iter()
        .filter(|one| !study.judging.aa_runs.contains_key(&one.config))
        .map(told)
        .collect()
}

/// The line of the first screen about both.
pub(crate) fn line(study: &Study) -> Option<String> {
    let zeroes = without_media(study);
    let first = zeroes.first().map(|one| {
        format!(
            "{} moves zeroes under “{}”, which take nothing of its media: its speed is not that \
            of data.",
            named(&one.config),
            one.workload
        )
    });
    first.or_else(|| compared(study))
}

fn compared(study: &Study) -> Option<String> {
    let all = of(study);
    let one = all.iter().find(|one| one.unlike.is_some())?;
    let (other, _) = one.unlike.as_ref()?;
    Some(format!(
        "{} reads from the page cache and {} from the disk: memory is compared with a disk.",
        named(&one.config),
        named(other)
    ))
}

/// A configuration that runs twice for the noise floor is told once.
fn of(study: &Study) -> Vec<FromMemory> {
    let is_aa_run = |one: &FromMemory| study.judging.aa_runs.contains_key(&one.config);
    from_memory(study).into_iter().filter(|one| !is_aa_run(one)).collect()
}

fn compared_with_memory(one: &FromMemory) -> Option<String> {
    let (other, percent) = one.unlike.as_ref()?;
    Some(format!(
        "the page cache delivered {} under “{}”, and {percent:.0} % of those that {} read: this \
        compares memory with a disk",
        share(one),
        one.workload,
        named(other)
    ))
}

fn share(one: &FromMemory) -> String {
    format!("{:.0} % of the bytes that {} read", one.percent, named(&one.config))
}
