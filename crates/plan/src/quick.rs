//! The quick profile of a plan: its `[quick]`, merged over the other keys before they are read.
//!
//! Tables are joined key by key, all else is replaced, so a list in `[quick]` stands in place of
//! the plan's. What comes of it is a plan like any other: unknown keys are refused in it too. What
//! it leaves out it names, as nothing can be merged into a table to take it away.

use anyhow::{Result, ensure};
use toml::{Table, Value};

use super::document::Plan;
use super::experiment::trials;
use assay_base::one_line;

/// A form of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanForm {
    Full,
    Quick,
}

/// The quick profile of a plan's text: its `[quick]` merged into the rest.
///
/// # Errors
/// One line: what is wrong with it.
pub(super) fn merged(text: &str, mut quick: Table) -> Result<Plan> {
    let mut plan: Table =
        text.parse().map_err(|error| anyhow::Error::msg(one_line(&error, text)))?;
    plan.remove("quick");
    exclude(&mut plan, quick.remove("exclude"))?;
    merge(&mut plan, quick);
    let merged: Plan = plan.try_into().map_err(|error| anyhow::Error::msg(one_line(&error, "")))?;
    ensure!(merged.quick.is_none(), "a quick profile cannot have one itself; remove [quick.quick]");
    Ok(merged)
}

/// Removes the entries in a list of `TABLE.NAME`.
pub(super) fn exclude(plan: &mut Table, names: Option<Value>) -> Result<()> {
    for name in names_of(names)? {
        let found = name.split_once('.').and_then(|(table, entry)| {
            plan.get_mut(table).and_then(Value::as_table_mut)?.remove(entry)
        });
        anyhow::ensure!(found.is_some(), "exclude names `{name}`, which the plan does not have");
        exclude_pairs_of(plan, &name);
        if let Some(workload) = name.strip_prefix("workloads.") {
            exclude_what_is_printed_of(plan, workload);
        }
    }
    Ok(())
}

fn names_of(names: Option<Value>) -> Result<Vec<String>> {
    let Some(names) = names else { return Ok(Vec::new()) };
    names
        .try_into()
        .map_err(|_| anyhow::anyhow!("exclude is a list of names such as \"workloads.reads\""))
}

/// Removes from a `[quick]` the entries that the plan under it no longer has.
pub(super) fn forget_excluded(quick: &mut Table, names: Option<Value>) {
    for name in names_of(names).unwrap_or_default() {
        if let Some((table, entry)) = name.split_once('.')
            && let Some(table) = quick.get_mut(table).and_then(Value::as_table_mut)
        {
            table.remove(entry);
        }
        if let Some(also) = quick.get_mut("exclude").and_then(Value::as_array_mut) {
            also.retain(|one| one.as_str() != Some(&name));
        }
        exclude_pairs_of(quick, &name);
    }
}

/// Removes printed figures of a workload that is not run.
fn exclude_what_is_printed_of(plan: &mut Table, workload: &str) {
    let comparisons = plan.get_mut("paper").and_then(|paper| paper.get_mut("comparisons"));
    for one in comparisons.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(printed) = one.get_mut("printed").and_then(Value::as_array_mut) {
            printed.retain(|line| line.get("workload").and_then(Value::as_str) != Some(workload));
        }
    }
}

/// Removes pairs of a configuration, workload or data profile that is not run.
fn exclude_pairs_of(plan: &mut Table, excluded: &str) {
    let Some((table, entry)) = excluded.split_once('.') else { return };
    let keys: &[&str] = match table {
        "workloads" => &["workload"],
        "configs" => &["config", "against"],
        "data_profiles" => &["data_profile", "against_data_profile"],
        _ => &[],
    };
    let names =
        |pair: &Value| keys.iter().any(|key| pair.get(key).and_then(Value::as_str) == Some(entry));
    if let Some(pairs) = plan.get_mut("compare").and_then(Value::as_array_mut) {
        pairs.retain(|pair| !names(pair));
    }
}

/// Puts `over` into `under`: tables are joined key by key, all else is replaced.
pub(super) fn merge(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

/// Differences of the quick profile from the full one, and its limits, in a sentence or two.
#[must_use]
pub(super) fn told(full: &Plan, quick: &Plan) -> String {
    let list = |threads: &[u32]| threads.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let parts = [
        ("s measured", seconds(full), seconds(quick)),
        ("s of warm-up", full.warmup_seconds.to_string(), quick.warmup_seconds.to_string()),
        ("events", events(full), events(quick)),
        ("repeats", full.repeats.to_string(), quick.repeats.to_string()),
        ("threads", list(&full.threads), list(&quick.threads)),
        ("rows at most", rows(full).to_string(), rows(quick).to_string()),
        ("runs", trials(full).len().to_string(), trials(quick).len().to_string()),
    ];
    let differing = parts.iter().filter(|(_, full, quick)| full != quick);
    let said: Vec<String> = differing
        .map(|(what, full, quick)| match *what {
            "threads" => format!("threads {quick} in place of {full}"),
            "repeats" if quick == "1" => format!("1 repeat in place of {full}"),
            what => format!("{quick} {what} in place of {full}"),
        })
        .collect();
    format!(
        "Quick profile: {}. It shows directions and large differences. Small data and short runs \
        do not reach a steady state: throughput levels, the far tail of latency and the \
        long-term cost of garbage collection need the full plan.",
        said.join("; ")
    )
}

fn seconds(plan: &Plan) -> String {
    plan.seconds.unwrap_or_default().to_string()
}

fn events(plan: &Plan) -> String {
    plan.events.map_or_else(|| "no limit of".into(), |events| events.to_string())
}

/// Rows of the largest data profile.
fn rows(plan: &Plan) -> u64 {
    let of = |schema: &assay_load::Schema| u64::from(schema.tables) * schema.table_size;
    plan.variants().iter().map(|variant| of(&variant.schema)).max().unwrap_or(0)
}
