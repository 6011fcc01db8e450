//! The full cross of a plan's factors: a configuration for each combination of levels, before the
//! configurations that the plan writes out.

use anyhow::{Context, Result, bail, ensure};
use assay_base::without_line;
use indexmap::IndexMap;
use toml::{Table, Value};

use crate::document::{ConfigSpec, Plan};
use crate::quick::merge;

/// Largest full cross: six factors of two levels.
const CELLS_MOST: usize = 64;

/// A factor's name, and names and keys of its levels.
type Levels = (String, Vec<(String, Table)>);

/// Adds the configurations of the full cross to a plan with factors.
///
/// # Errors
/// One line: the factor, and what is wrong with its levels; or a name that is there twice.
pub(super) fn expand(plan: &mut Plan) -> Result<()> {
    let factors: Vec<Levels> =
        plan.factors.iter().map(|(name, one)| (name.clone(), one.levels(name))).collect();
    if factors.is_empty() {
        return Ok(());
    }
    for (name, levels) in &factors {
        check_levels(levels).with_context(|| format!("factor `{name}`"))?;
    }
    check_apart(&factors)?;
    let count = plan.cell_count();
    ensure!(
        count <= CELLS_MOST,
        "[factors] multiplies to {count} configurations; give at most {CELLS_MOST}, with fewer \
        factors or levels"
    );
    let mut configs: IndexMap<String, ConfigSpec> = IndexMap::new();
    for cell in plan.cells() {
        let levels: Vec<&Table> = factors
            .iter()
            .zip(&cell.levels)
            .map(|((_, levels), place)| &levels[*place].1)
            .collect();
        let name = cell.config;
        let spec = config(plan, &levels).with_context(|| format!("configuration `{name}`"))?;
        ensure!(
            !plan.configs.contains_key(&name),
            "[factors] makes a configuration `{name}`, which [configs] has too; rename that one"
        );
        ensure!(
            configs.insert(name.clone(), spec).is_none(),
            "[factors] makes two configurations `{name}`; rename a level"
        );
    }
    configs.extend(std::mem::take(&mut plan.configs));
    plan.configs = configs;
    Ok(())
}

fn check_levels(levels: &[(String, Table)]) -> Result<()> {
    match levels {
        [] => bail!("it has no levels; give at least two"),
        [(only, _)] => bail!(
            "it has the one level `{only}`; give at least two, or move it to [settings] or [rig]"
        ),
        _ => {}
    }
    for (place, (name, keys)) in levels.iter().enumerate() {
        if let Some((twin, _)) = levels[..place].iter().find(|(_, other)| other == keys) {
            bail!("levels `{twin}` and `{name}` set the same; remove one");
        }
        for key in ["aa_of", "threads"] {
            ensure!(!keys.contains_key(key), "level `{name}` cannot have {key}; remove it");
        }
        read(keys.clone()).with_context(|| format!("level `{name}`"))?;
    }
    Ok(())
}

/// Refuses two factors that set one key: their levels would not be free of each other.
fn check_apart(factors: &[Levels]) -> Result<()> {
    let paths = |levels: &[(String, Table)]| -> Vec<String> {
        levels.iter().flat_map(|(_, keys)| leaves("", keys)).collect()
    };
    for (place, (name, levels)) in factors.iter().enumerate() {
        let its = paths(levels);
        for (other, others) in &factors[..place] {
            if let Some(key) = paths(others).iter().find(|key| its.contains(key)) {
                bail!("factors `{other}` and `{name}` both set {key}; leave it to one of them");
            }
        }
    }
    Ok(())
}

fn leaves(path: &str, keys: &Table) -> Vec<String> {
    let of_key = |(key, value): (&String, &Value)| match value {
        Value::Table(inner) => leaves(&format!("{path}{key}."), inner),
        _ => vec![format!("{path}{key}")],
    };
    keys.iter().flat_map(of_key).collect()
}

/// A configuration with the keys of these levels. A level's rig that names its kind stands in place
/// of the plan's; other keys of rigs are merged over that.
fn config(plan: &Plan, levels: &[&Table]) -> Result<ConfigSpec> {
    let has_kind = |keys: &Table| keys.get("rig").is_some_and(|rig| rig.get("kind").is_some());
    let mut keys = Table::new();
    if levels.iter().any(|keys| keys.contains_key("rig"))
        && !levels.iter().any(|keys| has_kind(keys))
    {
        let rig = Value::try_from(&plan.rig).context("cannot write the plan's rig as TOML")?;
        keys.insert("rig".into(), rig);
    }
    let (first, rest): (Vec<&Table>, Vec<&Table>) = levels.iter().partition(|keys| has_kind(keys));
    first.into_iter().chain(rest).for_each(|level| merge(&mut keys, level.clone()));
    read(keys)
}

fn read(keys: Table) -> Result<ConfigSpec> {
    keys.try_into().map_err(|error| anyhow::Error::msg(without_line(&error)))
}
