//! The two sides as they were typed, and which arm is held against which.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use assay_judge::{Lone, arms, baseline_of, lone};
use assay_report::words::unlike;
use assay_study::{Arm, Store, Study};

/// A study, and the arm named with it.
pub(super) struct Side {
    pub(super) store: Store,
    pub(super) study: Study,
    /// Its folder as it was typed.
    pub(super) name: String,
    folder: PathBuf,
    /// The arm, if one was typed.
    pub(super) arm: Option<String>,
}

impl Side {
    /// As it is typed and printed: `STUDY:ARM`.
    pub(super) fn with(&self, arm: &str) -> String {
        format!("{}:{arm}", self.name)
    }

    /// Whether both are in one folder.
    pub(super) fn is_study_of(&self, other: &Side) -> bool {
        self.folder == other.folder
    }
}

/// `STUDY` or `STUDY:ARM`; a folder's name may hold a colon, so what is there decides.
pub(super) fn side(text: &str) -> Result<Side> {
    if Path::new(text).is_dir() {
        return open(text, None);
    }
    let mut cuts = text.match_indices(':').map(|(place, _)| (&text[..place], &text[place + 1..]));
    let (folder, arm) = cuts
        .rfind(|(folder, _)| Path::new(folder).is_dir())
        .with_context(|| format!("there is no study `{text}`; name its folder, or FOLDER:ARM"))?;
    open(folder, Some(arm))
}

/// Opens a study, for one arm of it or for all.
pub(super) fn open(folder: &str, arm: Option<&str>) -> Result<Side> {
    let path = Path::new(folder);
    let store = Store::open(path)?;
    let study = store.study()?;
    let name = folder.trim_end_matches('/').to_owned();
    let folder = path.canonicalize().with_context(|| format!("cannot read {folder}"))?;
    Ok(Side { store, study, name, folder, arm: arm.map(str::to_owned) })
}

/// Which arm is held against which.
pub(super) fn pairs<'a>(a: &'a Side, b: &'a Side) -> Result<Vec<(&'a Arm, &'a Arm)>> {
    let ours = arms(&a.study, a.arm.as_deref()).with_context(|| a.folder.display().to_string())?;
    let theirs =
        arms(&b.study, b.arm.as_deref()).with_context(|| b.folder.display().to_string())?;
    let pairs: Vec<(&Arm, &Arm)> = match (a.arm.is_some(), b.arm.is_some()) {
        (true, true) if a.is_study_of(b) && a.arm == b.arm => bail!(
            "{} against itself: every arm is equal to itself; name another on one side",
            a.with(&ours[0].name)
        ),
        (true, true) => ours.iter().zip(&theirs).map(|(a, b)| (*a, *b)).collect(),
        _ if a.is_study_of(b) => bail!(
            "a study against itself: name two arms, e.g. {0}:\"{1}\"",
            a.folder.display(),
            baseline_of(&a.study).unwrap_or_default()
        ),
        (true, false) | (false, true) => {
            let (named, all) = if a.arm.is_some() { (&ours, &theirs) } else { (&theirs, &ours) };
            let same = all.iter().find(|arm| named.iter().any(|one| one.name == arm.name));
            let other = same.or_else(|| all.first().filter(|_| all.len() == 1));
            let other = other.context("name an arm on the other side too, as STUDY:ARM")?;
            if a.arm.is_some() { vec![(ours[0], *other)] } else { vec![(*other, theirs[0])] }
        }
        (false, false) if ours.len() == 1 && theirs.len() == 1 => vec![(ours[0], theirs[0])],
        (false, false) => {
            let same = ours.iter().filter_map(|one| {
                Some((*one, *theirs.iter().find(|other| other.name == one.name)?))
            });
            same.collect()
        }
    };
    ensure!(
        !pairs.is_empty(),
        "no arm of one study has the name of one of the other; name them as STUDY:ARM"
    );
    Ok(pairs)
}

/// Arms of whole studies that the other study has none of that name for; of arms that were named there are none.
pub(super) fn lone_arms(a: &Side, b: &Side, pairs: &[(&Arm, &Arm)]) -> Result<Vec<String>> {
    let is_whole = a.arm.is_none() && b.arm.is_none() && !a.is_study_of(b);
    let mut found = Vec::new();
    for side in [a, b].into_iter().filter(|_| is_whole) {
        let has_part = |arm: &Arm| pairs.iter().any(|(one, other)| one == &arm || other == &arm);
        let lone = arms(&side.study, None)?.into_iter().filter(|arm| !has_part(arm));
        found.extend(lone.map(|arm| format!("only {} has the arm `{}`", side.name, arm.name)));
    }
    Ok(found)
}

/// Workloads and thread counts that one of a pair lacks; what is lacking of every arm is said once, of the study.
pub(super) fn lone_loads(a: &Side, b: &Side, pairs: &[(&Arm, &Arm)]) -> Vec<String> {
    let all: Vec<Vec<Lone>> =
        pairs.iter().map(|(one, other)| lone((&a.study, one), (&b.study, other))).collect();
    let is_of_all = |lone: &Lone| all.len() > 1 && all.iter().all(|its| its.contains(lone));
    let mut told = Vec::new();
    for ((one, other), its) in pairs.iter().zip(&all) {
        for lone in its {
            let (side, arm) = if lone.is_of_b { (b, other) } else { (a, one) };
            let who = if is_of_all(lone) { side.name.clone() } else { side.with(&arm.name) };
            let text = format!("only {who} has {}", unlike::lone(lone));
            if !told.contains(&text) {
                told.push(text);
            }
        }
    }
    told
}
