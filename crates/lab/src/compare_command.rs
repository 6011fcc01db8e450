//! `assay compare`: a verdict on two arms, or on two studies, for people and for programs that must stop at a loss.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use crate::judge::{
    Between, Chosen, Comparison, Metric, Word, arms, baseline_of, between, durability,
    scale_differences,
};
use crate::print;
use crate::store::{Arm, Store, Study};

/// What was typed after `assay compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A side is a study's folder, or an arm in it as STUDY:ARM; two studies are compared arm by arm, by their names.

Examples:
  assay compare demo:\"plain, doublewrite on\" demo:\"CSD, doublewrite on\"
  assay compare demo \"plain, doublewrite on\" \"CSD, doublewrite on\"
  assay compare before after --fail-if-worse-by 3%
  assay compare before after --metric p99 --json

Exit codes:
  0  not worse: whatever the difference, it is not a loss of so much
  1  worse by so much, and more than chance
  2  could not tell, or could not run")]
pub(crate) struct CompareArgs {
    /// What is measured by: STUDY or STUDY:ARM
    pub(crate) a: String,
    /// What is judged: STUDY, STUDY:ARM, or an arm of the first when a third word follows
    pub(crate) b: String,
    /// With it the words are STUDY ARM ARM
    pub(crate) c: Option<String>,
    /// A loss that counts, in percent [default: the study's margin_percent, else 3%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) fail_if_worse_by: Option<f64>,
    /// tps, p50, p95, p99 or p99.9 (can be given several times)
    #[arg(long, value_name = "METRIC", value_parser = metric, default_value = "tps")]
    pub(crate) metric: Vec<Metric>,
    /// Print one JSON object in place of lines
    #[arg(long)]
    pub(crate) json: bool,
    /// Compare what is not alike too, and say what is not
    #[arg(long)]
    pub(crate) anyway: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>().ok();
    number
        .filter(|one| one.is_finite() && *one > 0.0 && *one < 100.0)
        .map(|one| one / 100.0)
        .ok_or_else(|| "give more than 0 and less than 100 percent, e.g. 3%".into())
}

fn metric(text: &str) -> Result<Metric, String> {
    let all = || Metric::ALL.iter().map(|one| one.name()).collect::<Vec<_>>().join(", ");
    Metric::named(text).ok_or_else(|| format!("there are {}, or p99 and the like for short", all()))
}

/// A study, and the arm named with it.
struct Side {
    store: Store,
    study: Study,
    folder: PathBuf,
    arm: Option<String>,
}

/// Compares and prints. Exit codes as in the help.
///
/// # Errors
/// A study or arm that is not there, or sides that are not alike.
pub(crate) fn run(args: &CompareArgs) -> Result<ExitCode> {
    let found = compare(args)?;
    if args.json {
        print::line(serde_json::to_string_pretty(&found)?);
    } else {
        found.print();
    }
    Ok(ExitCode::from(found.exit_code))
}

/// What was found, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Found {
    fail_if_worse_by_percent: f64,
    not_alike: Vec<String>,
    comparisons: Vec<Told>,
    exit_code: u8,
}

/// A comparison, and what makes its two arms no answers to one question: what is cut out of the whole still says so.
#[derive(Debug, Serialize)]
struct Told {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_alike: Vec<String>,
    #[serde(flatten)]
    comparison: Comparison,
}

fn compare(args: &CompareArgs) -> Result<Found> {
    let (a, b) = match &args.c {
        None => (side(&args.a)?, side(&args.b)?),
        Some(c) => (open(&args.a, Some(&args.b))?, open(&args.a, Some(c))?),
    };
    let is_one_study = a.folder == b.folder;
    let pairs = pairs(&a, &b, is_one_study)?;
    let each = differences(&a, &b, &pairs)?;
    let unlike = each_once(each.iter().flatten());
    ensure!(
        unlike.is_empty() || args.anyway,
        "they are not alike: {}; --anyway compares them all the same",
        unlike.join("; ")
    );
    let mut comparisons = Vec::new();
    for ((one, other), not_alike) in pairs.into_iter().zip(&each) {
        let found = between(&Between {
            a: Chosen { store: &a.store, study: &a.study, arm: one },
            b: Chosen { store: &b.store, study: &b.study, arm: other },
            is_one_study,
            margin: args.fail_if_worse_by,
            metrics: &args.metric,
        })?;
        comparisons.extend(
            found.into_iter().map(|comparison| Told { not_alike: not_alike.clone(), comparison }),
        );
    }
    let margin = args.fail_if_worse_by.unwrap_or_else(|| a.study.judging.margin());
    Ok(Found {
        fail_if_worse_by_percent: margin * 100.0,
        not_alike: unlike,
        exit_code: exit_code(&comparisons, margin),
        comparisons,
    })
}

/// What makes the two of each pair no answers to one question, each thing once.
fn differences(a: &Side, b: &Side, pairs: &[(&Arm, &Arm)]) -> Result<Vec<Vec<String>>> {
    let of_pair = |(one, other): &(&Arm, &Arm)| {
        let mut found = scale_differences((&a.study, one), (&b.study, other));
        let durability = durability::of_stored(&a.store, &a.study, one)?;
        found.extend(durability.unlike(&durability::of_stored(&b.store, &b.study, other)?));
        Ok(each_once(found.iter()))
    };
    pairs.iter().map(of_pair).collect()
}

fn each_once<'a>(all: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut told = BTreeSet::new();
    all.filter(|one| told.insert(*one)).cloned().collect()
}

/// `STUDY` or `STUDY:ARM`; a folder's name may hold a colon, so what is there decides.
fn side(text: &str) -> Result<Side> {
    if Path::new(text).is_dir() {
        return open(text, None);
    }
    let mut cuts = text.match_indices(':').map(|(place, _)| (&text[..place], &text[place + 1..]));
    let (folder, arm) = cuts
        .rfind(|(folder, _)| Path::new(folder).is_dir())
        .with_context(|| format!("there is no study `{text}`; name its folder, or FOLDER:ARM"))?;
    open(folder, Some(arm))
}

fn open(folder: &str, arm: Option<&str>) -> Result<Side> {
    let path = Path::new(folder);
    let store = Store::open(path)?;
    let study = store.study()?;
    let folder = path.canonicalize().with_context(|| format!("cannot read {folder}"))?;
    Ok(Side { store, study, folder, arm: arm.map(str::to_owned) })
}

/// Which arm is held against which.
fn pairs<'a>(a: &'a Side, b: &'a Side, is_one_study: bool) -> Result<Vec<(&'a Arm, &'a Arm)>> {
    let ours = arms(&a.study, a.arm.as_deref()).with_context(|| a.folder.display().to_string())?;
    let theirs =
        arms(&b.study, b.arm.as_deref()).with_context(|| b.folder.display().to_string())?;
    let pairs: Vec<(&Arm, &Arm)> = match (a.arm.is_some(), b.arm.is_some()) {
        (true, true) => ours.iter().zip(&theirs).map(|(a, b)| (*a, *b)).collect(),
        _ if is_one_study => bail!(
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

/// 1 if anything is worse by the margin, else 2 if anything may be, else 0.
fn exit_code(told: &[Told], margin: f64) -> u8 {
    let code = |Told { comparison: one, .. }: &Told| {
        let Some(found) = &one.difference else { return 2 };
        // As if more were always better. Of a rate 3 % are lost at 97 of 100, of a time at 103.
        let (low, middle, least) = match one.metric.is_better_higher() {
            true => (found.ratio_interval.0, found.ratio, 1.0 - margin),
            false => (1.0 / found.ratio_interval.1, 1.0 / found.ratio, 1.0 / (1.0 + margin)),
        };
        match one.verdict.verdict {
            Word::Worse if middle <= least => 1,
            _ if low > least && !found.rests_on_seconds_alone() => 0,
            Word::Better => 0,
            _ => 2,
        }
    };
    let codes: Vec<u8> = told.iter().map(code).collect();
    if codes.contains(&1) { 1 } else { codes.into_iter().max().unwrap_or(2) }
}

impl Found {
    fn print(&self) {
        self.lines().iter().for_each(print::line);
    }

    /// What the sides differ in stands at the head, below the head of each table, and at the foot: whatever is cut off, the rest
    /// says it.
    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.not_alike.iter().map(|text| unlike("", text)).collect();
        let mut head = String::new();
        for Told { not_alike, comparison: one } in &self.comparisons {
            let next = format!("{} against {}, {}", one.arm, one.baseline, one.workload);
            if next != head {
                lines.push(next.clone());
                lines.extend(not_alike.iter().map(|text| unlike("  ", text)));
                head = next;
            }
            lines.extend(told(one));
        }
        lines.extend(self.not_alike.iter().map(|text| unlike("", text)));
        lines
    }
}

fn unlike(indent: &str, text: &str) -> String {
    format!("{indent}not alike: {text}")
}

/// The verdict, and what it is said of only.
fn told(one: &Comparison) -> Vec<String> {
    let threads = print::counted(u64::from(one.threads.unwrap_or_default()), "thread");
    let word = one.verdict.verdict.text();
    let text = &one.verdict.text;
    // A verdict that begins with its word needs it no second time.
    let is_said = text.starts_with(word);
    let said = if is_said { text.clone() } else { format!("{word}: {text}") };
    let line = format!("  {threads}, {}: {said}", one.metric.label());
    let because = one.verdict.because.as_ref().map(|because| format!("      {because}"));
    std::iter::once(line).chain(because).collect()
}

#[cfg(test)]
mod tests;
