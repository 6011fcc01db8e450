//! Power cuts on the page: what was lost of each configuration and how it came up again; and
//! `tables/power_cuts.csv`.

use std::io::Write;

use anyhow::Result;
use assay_judge::JudgedComparison;
use assay_judge::power_cuts::PowerCuts;
use assay_study::power_cut::{Loss, TornPage};
use assay_study::{PowerCut, Study};
use serde::Serialize;

use crate::tables::csv::write_row;
use crate::words::power_cuts as words;

/// Parts of a page that are drawn in a row.
const PARTS_IN_ROW: usize = 32;

#[derive(Serialize)]
pub(crate) struct Shown {
    configs: Vec<OfConfig>,
    /// A page of which a power cut left a part, of the first cut that lost more than commits.
    page: Option<Page>,
}

/// The cuts of a configuration.
#[derive(Serialize)]
struct OfConfig {
    name: String,
    is_survived: bool,
    verdict: String,
    seen: String,
    /// How its time to recover compares with the baseline's.
    recovery: Option<String>,
    losses: Vec<String>,
}

/// A torn page, part by part.
#[derive(Serialize)]
struct Page {
    caption: String,
    rows: Vec<Vec<bool>>,
}

/// The section; nothing of a study without power cuts.
pub(crate) fn shown(study: &Study, recoveries: &[JudgedComparison]) -> Option<Shown> {
    let mut all = PowerCuts::of_all(&study.power_cuts);
    all.sort_by_key(|one| study.configs.iter().position(|config| config.name == one.config));
    let recovery_of = |name: &str| recoveries.iter().find(|one| one.config == name);
    let configs: Vec<OfConfig> =
        all.iter().map(|one| of_config(study, one, recovery_of(one.config))).collect();
    let is_damaged =
        |cut: &&PowerCut| cut.losses.iter().any(|loss| !matches!(loss, Loss::Commits { .. }));
    let torn = study.power_cuts.iter().filter(is_damaged).find_map(torn_page);
    (!configs.is_empty()).then_some(Shown { configs, page: torn })
}

fn of_config(study: &Study, one: &PowerCuts<'_>, recovery: Option<&JudgedComparison>) -> OfConfig {
    let its = study.power_cuts.iter().filter(|cut| cut.config == one.config);
    OfConfig {
        name: one.config.to_owned(),
        is_survived: one.with_loss == 0,
        verdict: words::result(one),
        seen: words::seen(one),
        recovery: recovery.map(words::recovery),
        losses: its.filter(|cut| !cut.is_survived()).map(words::explained).collect(),
    }
}

fn torn_page(cut: &PowerCut) -> Option<Page> {
    let page: &TornPage = cut.survival.torn_pages.first()?;
    let (space, number) = (page.name.space, page.name.page);
    let unit = page.unit_bytes;
    Some(Page {
        caption: format!(
            "Page {number} of tablespace {space} as power cut {} of {} left it on the disk: of \
            its parts of {unit} bytes some are new and some are old.",
            cut.number, cut.config
        ),
        rows: page.is_new.chunks(PARTS_IN_ROW).map(<[bool]>::to_vec).collect(),
    })
}

/// A row for each power cut.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write_table(file: &mut dyn Write, study: &Study) -> Result<()> {
    let columns = [
        "config",
        "cut",
        "replica",
        "lost",
        "when",
        "loaded_ms",
        "unflushed_writes",
        "torn_writes",
        "acknowledged_commits",
        "lost_commits",
        "redo_bytes",
        "doublewrite_pages",
        "file_system_ms",
        "server_ms",
        "losses",
    ];
    write_row(file, columns.map(str::to_owned))?;
    for cut in &study.power_cuts {
        let optional = |value: Option<String>| value.unwrap_or_default();
        let recovery = cut.recovery.as_ref();
        let losses: Vec<String> = cut.losses.iter().map(words::loss).collect();
        let fields = [
            cut.config.clone(),
            cut.number.to_string(),
            cut.replica.map_or("", words::replication).to_owned(),
            u8::from(!cut.is_survived()).to_string(),
            words::moment(cut),
            format!("{:.1}", cut.loaded_ms),
            cut.survival.writes.to_string(),
            cut.survival.torn.to_string(),
            optional(cut.commits.map(|commits| commits.acknowledged.to_string())),
            optional(cut.commits.map(|commits| commits.lost.to_string())),
            optional(recovery.and_then(|one| one.redo_bytes).map(|bytes| bytes.to_string())),
            optional(recovery.map(|one| one.doublewrite_pages.to_string())),
            optional(recovery.map(|one| format!("{:.1}", one.file_system_ms))),
            optional(recovery.map(|one| format!("{:.1}", one.server_ms))),
            losses.join("; "),
        ];
        write_row(file, fields)?;
    }
    Ok(())
}
