//! Overlays: TOML files with keys of a plan, merged over the plan and its quick profile before
//! either is read.
//!
//! An overlay has the last word: over the plan's keys, and over those of `[quick]`. The merged text
//! names each overlay with the keys that it changed, so that a study made with one cannot be taken
//! for one of the plan alone.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_base::suggest::nearest;
use assay_base::{one_line, text_file, without_line};
use assay_study::{Overlay, OverlayChange};
use toml::{Table, Value};

use super::changes::between;
use super::document::Plan;
use super::quick::{exclude, forget_excluded, merge};

macro_rules! overlays {
    ($($name:literal,)+) => {
        /// The overlays that come with Assay: names and texts.
        pub const OVERLAYS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../plans/overlays/", $name, ".toml"))),)+];
    };
}

overlays! {
    "production",
    "client-apart",
    "one-server",
}

/// The key of a plan's text under which its overlays stand.
const KEPT: &str = "overlays";

/// The text of a plan with these overlays merged, one after the other; unchanged if there are none.
///
/// # Errors
/// One line: an overlay that cannot be read, is not TOML, or excludes what the plan does not have.
pub(super) fn merged(text: String, overlays: &[PathBuf]) -> Result<String> {
    if overlays.is_empty() {
        return Ok(text);
    }
    let mut plan = table(&text)?;
    for path in overlays {
        merge_one(&mut plan, path).with_context(|| format!("overlay {}", path.display()))?;
    }
    toml::to_string(&plan).context("cannot write the plan with its overlays as TOML")
}

/// Names and purposes of the overlays that come with Assay.
///
/// # Errors
/// None; the tests read them all.
pub fn shipped_overlays() -> Result<Vec<(&'static str, String)>> {
    let described = |(name, text): &(&'static str, &str)| {
        let about = about(&mut table(text)?).context(*name)?;
        Ok((*name, about.unwrap_or_default()))
    };
    OVERLAYS.iter().map(described).collect()
}

/// The name of an overlay: that of its file without directory and ending.
#[must_use]
pub fn overlay_name(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn merge_one(plan: &mut Table, path: &Path) -> Result<()> {
    let mut overlay = table(&text_of(path)?)?;
    let about = about(&mut overlay)?;
    let before = plan.clone();
    check_names(&before, &overlay)?;
    let excluded = overlay.remove("exclude");
    let quick_of_overlay = overlay.remove("quick");
    exclude(plan, excluded.clone())?;
    if let Some(quick) = plan.get_mut("quick").and_then(Value::as_table_mut) {
        forget_excluded(quick, excluded);
        merge(quick, overlay.clone());
    }
    merge(plan, overlay);
    merge(plan, quick_of_overlay.map(|quick| ("quick".to_owned(), quick)).into_iter().collect());
    check_keys(&before, plan)?;
    let told = Overlay {
        name: overlay_name(path),
        about,
        changes: changes(&full(&before), &full(plan)),
        quick_changes: changes(&quick(&before), &quick(plan)),
    };
    let told = Value::try_from(told).context("cannot be written into the plan")?;
    match plan.get_mut(KEPT).and_then(Value::as_array_mut) {
        Some(all) => all.push(told),
        None => drop(plan.insert(KEPT.into(), Value::Array(vec![told]))),
    }
    Ok(())
}

/// Tables of a plan whose keys are names, and the word for an entry.
const NAMED: [(&str, &str); 4] = [
    ("configs", "configuration"),
    ("factors", "factor"),
    ("workloads", "workload"),
    ("data_profiles", "data profile"),
];

/// Refuses a name that is nearly one of the plan's: a slip, which would add another.
fn check_names(plan: &Table, overlay: &Table) -> Result<()> {
    for (key, what) in NAMED {
        let names = |table: &Table| -> Vec<String> {
            let named = table.get(key).and_then(Value::as_table);
            named.map_or_else(Vec::new, |named| named.keys().cloned().collect())
        };
        let known = names(plan);
        for name in names(overlay).iter().filter(|name| !known.contains(name)) {
            if let Some(near) = nearest(name, known.iter().map(String::as_str)) {
                anyhow::bail!("the plan has no {what} `{name}`; did you mean `{near}`?");
            }
        }
    }
    Ok(())
}

/// Refuses keys with which a readable plan cannot be read.
fn check_keys(before: &Table, after: &Table) -> Result<()> {
    let read = |table: &Table| -> Result<(), toml::de::Error> {
        toml::from_str::<Plan>(&toml::to_string(&full(table)).unwrap_or_default()).map(drop)
    };
    match read(after) {
        Err(error) if read(before).is_ok() => anyhow::bail!(without_line(&error)),
        _ => Ok(()),
    }
}

/// Its purpose, taken out of it: the one key that a plan does not have.
fn about(overlay: &mut Table) -> Result<Option<String>> {
    let about = overlay.remove("about");
    about.map(Value::try_into).transpose().context("about is a line of text")
}

/// The keys of a plan's full form.
fn full(plan: &Table) -> Table {
    let keys = plan.iter().filter(|(key, _)| !["quick", KEPT].contains(&key.as_str()));
    keys.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The keys of a plan's quick profile; none if it has no such profile.
fn quick(plan: &Table) -> Table {
    let Some(mut over) = plan.get("quick").and_then(Value::as_table).cloned() else {
        return Table::new();
    };
    let mut quick = full(plan);
    // A name that the plan does not have is refused when the plan is read.
    let excluded = exclude(&mut quick, over.remove("exclude"));
    merge(&mut quick, over);
    excluded.map_or_else(|_| Table::new(), |()| quick)
}

/// The keys that differ, in the order of their names.
fn changes(before: &Table, after: &Table) -> Vec<OverlayChange> {
    let all = between(before, after).into_iter();
    all.map(|one| OverlayChange { key: one.key, before: one.before, after: one.after }).collect()
}

fn table(text: &str) -> Result<Table> {
    text.parse().map_err(|error| anyhow::Error::msg(one_line(&error, text)))
}

/// The text of a file, or of an overlay that comes with Assay and has that name.
fn text_of(path: &Path) -> Result<String> {
    let named = path.to_str().unwrap_or_default();
    if !path.is_file() {
        if let Some((_, text)) = OVERLAYS.iter().find(|(name, _)| *name == named) {
            return Ok((*text).to_owned());
        }
        if !named.contains(['/', '.']) {
            let names = OVERLAYS.iter().map(|(name, _)| *name);
            let known = match nearest(named, names.clone()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!(
                    "there are {}; or name a TOML file",
                    names.collect::<Vec<_>>().join(", ")
                ),
            };
            anyhow::bail!("there is no such overlay; {known}");
        }
    }
    text_file::read(path, "overlay")
}
