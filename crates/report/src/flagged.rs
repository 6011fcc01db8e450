//! Runs that are drawn but may not be compared: hollow points and pale bars, with their reason.

use assay_study::Trial;

use crate::words::spoilt;

/// Why some of these runs may not be compared, e.g. `2 of 3 runs were …`; nothing where all may.
pub(super) fn reason<'a>(trials: impl Iterator<Item = &'a Trial> + Clone) -> Option<String> {
    let causes = spoilt::causes(trials.clone());
    let first = causes.first()?;
    let spoilt: usize = causes.iter().map(|one| one.runs).sum();
    let all = trials.count();
    let runs = match (spoilt, all) {
        (1, 1) => "the run was".to_owned(),
        (spoilt, all) if spoilt == all => format!("all {all} runs were"),
        (1, all) => format!("1 of {all} runs was"),
        (spoilt, all) => format!("{spoilt} of {all} runs were"),
    };
    Some(format!("{runs} {}", spoilt::text(first)))
}
