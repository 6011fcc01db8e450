//! Parses and opens the two sides of a comparison and pairs their configurations.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use assay_judge::{Lone, baseline_of, configs, lone};
use assay_report::words::unlike;
use assay_study::{Config, Store, Study};

/// A study, with the configuration chosen from it.
pub(super) struct Side {
    pub(super) store: Store,
    pub(super) study: Study,
    /// Directory as typed.
    pub(super) name: String,
    directory: PathBuf,
    /// Name of the configuration, if one was typed.
    pub(super) config: Option<String>,
}

impl Side {
    /// Returns `STUDY:CONFIG`, as typed and printed.
    pub(super) fn with(&self, config: &str) -> String {
        format!("{}:{config}", self.name)
    }

    pub(super) fn is_study_of(&self, other: &Side) -> bool {
        self.directory == other.directory
    }
}

/// Parses `STUDY` or `STUDY:CONFIG`. A directory's name may contain a colon, so the longest
/// existing directory wins.
pub(super) fn side(text: &str) -> Result<Side> {
    if Path::new(text).is_dir() {
        return open(text, None);
    }
    let mut cuts = text.match_indices(':').map(|(place, _)| (&text[..place], &text[place + 1..]));
    let (directory, config) =
        cuts.rfind(|(directory, _)| Path::new(directory).is_dir()).with_context(|| {
            format!("there is no study `{text}`; name its directory, or DIRECTORY:CONFIG")
        })?;
    open(directory, Some(config))
}

/// Opens a study, for one of its configurations or for all.
pub(super) fn open(directory: &str, config: Option<&str>) -> Result<Side> {
    let path = Path::new(directory);
    let store = Store::open(path)?;
    let study = store.study()?;
    let name = directory.trim_end_matches('/').to_owned();
    let directory = path.canonicalize().with_context(|| format!("cannot read {directory}"))?;
    Ok(Side { store, study, name, directory, config: config.map(str::to_owned) })
}

/// Pairs of configurations to compare: by name if no configuration was typed.
pub(super) fn pairs<'a>(a: &'a Side, b: &'a Side) -> Result<Vec<(&'a Config, &'a Config)>> {
    let ours = configs(&a.study, a.config.as_deref())
        .with_context(|| a.directory.display().to_string())?;
    let theirs = configs(&b.study, b.config.as_deref())
        .with_context(|| b.directory.display().to_string())?;
    let pairs: Vec<(&Config, &Config)> = match (a.config.is_some(), b.config.is_some()) {
        (true, true) if a.is_study_of(b) && a.config == b.config => bail!(
            "{} is compared with itself; name another configuration on one side",
            a.with(&ours[0].name)
        ),
        (true, true) => ours.iter().zip(&theirs).map(|(a, b)| (*a, *b)).collect(),
        _ if a.is_study_of(b) => bail!(
            "both sides are the same study: name two configurations, e.g. {0}:\"{1}\"",
            a.directory.display(),
            baseline_of(&a.study).unwrap_or_default()
        ),
        (true, false) | (false, true) => {
            let (chosen, all) =
                if a.config.is_some() { (&ours, &theirs) } else { (&theirs, &ours) };
            let same = all.iter().find(|config| chosen.iter().any(|it| it.name == config.name));
            let other = same.or_else(|| all.first().filter(|_| all.len() == 1));
            let other =
                other.context("name a configuration on the other side too, as STUDY:CONFIG")?;
            if a.config.is_some() { vec![(ours[0], *other)] } else { vec![(*other, theirs[0])] }
        }
        (false, false) if ours.len() == 1 && theirs.len() == 1 => vec![(ours[0], theirs[0])],
        (false, false) => {
            let same = ours.iter().filter_map(|config| {
                Some((*config, *theirs.iter().find(|other| other.name == config.name)?))
            });
            same.collect()
        }
    };
    ensure!(
        !pairs.is_empty(),
        "the studies have no configuration name in common; name them as STUDY:CONFIG"
    );
    Ok(pairs)
}

/// Lists configurations without a counterpart of the same name; none if configurations were named.
pub(super) fn lone_configs(
    a: &Side,
    b: &Side,
    pairs: &[(&Config, &Config)],
) -> Result<Vec<String>> {
    let is_whole = a.config.is_none() && b.config.is_none() && !a.is_study_of(b);
    let mut found = Vec::new();
    for side in [a, b].into_iter().filter(|_| is_whole) {
        let has_part = |config: &Config| {
            pairs.iter().any(|(ours, theirs)| ours == &config || theirs == &config)
        };
        let lone = configs(&side.study, None)?.into_iter().filter(|config| !has_part(config));
        found.extend(
            lone.map(|config| {
                format!("only {} has the configuration `{}`", side.name, config.name)
            }),
        );
    }
    Ok(found)
}

/// Lists workloads and thread counts that one side of a pair lacks. A load that every configuration
/// lacks is listed once, under the study's name.
pub(super) fn lone_loads(a: &Side, b: &Side, pairs: &[(&Config, &Config)]) -> Vec<String> {
    let all: Vec<Vec<Lone>> =
        pairs.iter().map(|(ours, theirs)| lone((&a.study, ours), (&b.study, theirs))).collect();
    let is_of_all = |lone: &Lone| all.len() > 1 && all.iter().all(|its| its.contains(lone));
    let mut texts = Vec::new();
    for ((ours, theirs), its) in pairs.iter().zip(&all) {
        for lone in its {
            let (side, config) = if lone.is_of_b { (b, theirs) } else { (a, ours) };
            let who = if is_of_all(lone) { side.name.clone() } else { side.with(&config.name) };
            let text = format!("only {who} has {}", unlike::lone(lone));
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }
    texts
}
