//! `assay compare`: gives a verdict on two configurations or two studies, as text, JSON and exit
//! code.

mod ending;
mod lines;
mod sides;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::print;
use assay_judge::power_cuts::power_cut_difference;
use assay_judge::{
    Between, Chosen, Circumstance, JudgedComparison, Metric, between, circumstances, durability,
    scale_differences,
};
use assay_report::closed_loop;
use assay_report::results_json::judgement as json;
use assay_report::words::{circumstance, unlike};
use assay_study::Config;
use ending::{Decision, Margin, decide};
use sides::{Side, lone_configs, lone_loads, open, pairs, side};

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "assay compare [OPTIONS] <A> <B>\n       assay compare [OPTIONS] <STUDY> \
        <BASELINE> <CONFIG>",
    after_help = "\
A side is a study's directory, or one of its configurations as STUDY:CONFIG. Two studies are \
compared configuration by configuration, matched by name. Configurations, workloads and thread \
counts that only one side has are listed and prevent exit code 0; name configurations to leave \
others out.

Two studies need sessions on at least two days each for a verdict (assay run \
--another-session): repeats of one day do not show how days differ, so the exit code is 2. With \
--fail-if-worse-by, the runs of one day are tested against that limit, by the variation of their \
repeats, or of their seconds and the noise floor: 1 if they lost that much, 0 if they cannot have, \
else 2. That is good enough to guard a build; a verdict needs days.

Examples:
  assay compare assay-demo \"plain, doublewrite on\" \"CSD, doublewrite on\"
  assay compare before:ext4 after:xfs
  assay compare before after --fail-if-worse-by 3%
  assay compare before after --metric p99 --json

Exit codes:
  0  not worse by the limit or more
  1  worse by the limit or more, and statistically significant
  2  inconclusive, or not everything could be compared: the last line says what;
     or an error: one line on standard error, also with --json, and no output"
)]
pub(crate) struct CompareArgs {
    /// The baseline: STUDY or STUDY:CONFIG
    pub(crate) a: String,
    /// The side to judge: STUDY or STUDY:CONFIG; if a third argument follows, the baseline's
    /// configuration
    pub(crate) b: String,
    /// The configuration to judge, if the first argument is a study and the second its baseline
    pub(crate) c: Option<String>,
    /// The loss to detect, in percent [default: the study's margin_percent, else 3%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) fail_if_worse_by: Option<f64>,
    /// tps, p50, p95, p99 or p99.9, or a percentile of one kind of statement, e.g. 'commit p99'
    /// (repeatable)
    #[arg(long, value_name = "METRIC", value_parser = metric, default_value = "tps")]
    pub(crate) metric: Vec<Metric>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Compare despite differing workload, scale or crash safety
    #[arg(long)]
    pub(crate) allow_mismatch: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>().ok();
    number
        .filter(|number| number.is_finite() && *number > 0.0 && *number < 100.0)
        .map(|number| number / 100.0)
        .ok_or_else(|| "give a percentage above 0 and below 100, e.g. 3%".into())
}

fn metric(text: &str) -> Result<Metric, String> {
    let all = || Metric::ALL.iter().map(|metric| metric.name()).collect::<Vec<_>>().join(", ");
    let refusal = || {
        format!(
            "there are {}; short forms such as p99 work too, and percentiles of a kind of \
             statement such as 'commit p99'",
            all()
        )
    };
    Metric::named(text).ok_or_else(refusal)
}

/// Compares the sides and prints the result. The help lists the exit codes.
///
/// # Errors
/// A study or configuration does not exist, or the sides are too different to be compared.
pub(crate) fn run(args: &CompareArgs) -> Result<ExitCode> {
    let found = compare(args)?;
    if args.json {
        print::line(serde_json::to_string_pretty(&found)?);
    } else {
        found.print();
    }
    Ok(ExitCode::from(found.exit_code))
}

/// Result of a comparison, in the form that `--json` prints.
#[derive(Debug, Serialize)]
struct ComparisonResult {
    fail_if_worse_by_percent: f64,
    not_alike: Vec<String>,
    /// Circumstances in which the two studies differ throughout.
    #[serde(serialize_with = "circumstance::serialize")]
    differs: Vec<Circumstance>,
    /// Names of configurations and loads that only one side has.
    not_compared: Vec<String>,
    comparisons: Vec<ComparisonEntry>,
    exit_code: u8,
    /// Whether runs of one day were tested against a limit that the user gave.
    #[serde(skip)]
    are_runs_limited: bool,
    /// Comparisons that decided the exit code; empty for 0, which needs all of them.
    decided_by: Vec<String>,
}

impl ComparisonResult {
    fn decision(&self) -> Decision {
        Decision { code: self.exit_code, by: self.decided_by.clone() }
    }
}

/// A comparison of two configurations. Differences of their questions are repeated here, so that an
/// excerpt of the output still has them.
#[derive(Debug, Serialize)]
struct ComparisonEntry {
    /// Baseline, as `STUDY:CONFIG`.
    a: String,
    /// Configuration that is judged, as `STUDY:CONFIG`.
    b: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_alike: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "circumstance::serialize")]
    differs: Vec<Circumstance>,
    #[serde(flatten, serialize_with = "json::comparison")]
    comparison: JudgedComparison,
    /// That its percentile hardly shows stalls.
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_loop: Option<String>,
}

fn compare(args: &CompareArgs) -> Result<ComparisonResult> {
    let (a, b) = match &args.c {
        None => (side(&args.a)?, side(&args.b)?),
        Some(c) => (open(&args.a, Some(&args.b))?, open(&args.a, Some(c))?),
    };
    let pairs = pairs(&a, &b)?;
    let each = differences(&a, &b, &pairs)?;
    let unlike = each_once(each.iter().flatten().cloned());
    ensure!(
        unlike.is_empty() || args.allow_mismatch,
        "they are not alike: {}; --allow-mismatch compares them anyway",
        unlike.join("; ")
    );
    let mut comparisons = Vec::new();
    for (pair, not_alike) in pairs.iter().zip(&each) {
        comparisons.extend(of_pair(args, &a, &b, pair, not_alike)?);
    }
    let mut not_compared = lone_configs(&a, &b, &pairs)?;
    not_compared.extend(lone_loads(&a, &b, &pairs));
    ensure!(
        !comparisons.is_empty(),
        "{} and {} have no workload and thread count in common: {}",
        a.name,
        b.name,
        not_compared.join("; ")
    );
    let share = args.fail_if_worse_by.unwrap_or_else(|| a.study.judging.margin());
    let margin = Margin { share, is_asked_for: args.fail_if_worse_by.is_some() };
    let Decision { code, by } = decide(&comparisons, &not_compared, margin);
    let comparisons_rest_on_runs = comparisons.iter().any(ComparisonEntry::rests_on_runs);
    Ok(ComparisonResult {
        fail_if_worse_by_percent: percent_of(share),
        not_alike: unlike,
        differs: of_all(&comparisons),
        not_compared,
        comparisons,
        exit_code: code,
        are_runs_limited: margin.is_asked_for && comparisons_rest_on_runs,
        decided_by: by,
    })
}

fn of_pair(
    args: &CompareArgs,
    a: &Side,
    b: &Side,
    (baseline, judged): &(&Config, &Config),
    not_alike: &[String],
) -> Result<Vec<ComparisonEntry>> {
    let is_one_study = a.is_study_of(b);
    let found = between(&Between {
        a: Chosen { store: &a.store, study: &a.study, config: baseline },
        b: Chosen { store: &b.store, study: &b.study, config: judged },
        is_one_study,
        margin: args.fail_if_worse_by,
        metrics: &args.metric,
    })?;
    // Configurations of one study differ only in the settings that the study compares.
    let differs = match is_one_study {
        true => Vec::new(),
        false => circumstances((&a.study, baseline), (&b.study, judged)),
    };
    let entry = |comparison| ComparisonEntry {
        a: a.with(&baseline.name),
        b: b.with(&judged.name),
        not_alike: not_alike.to_vec(),
        differs: differs.clone(),
        closed_loop: closed_loop(&a.study, &comparison)
            .or_else(|| closed_loop(&b.study, &comparison)),
        comparison,
    };
    Ok(found.into_iter().map(entry).collect())
}

/// A share in percent, rounded to the typed digits: 0.03 × 100 is not exactly 3.
fn percent_of(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}

/// Circumstances that differ in every comparison.
fn of_all(entries: &[ComparisonEntry]) -> Vec<Circumstance> {
    let first = entries.first().map_or(&[][..], |entry| &entry.differs);
    let is_everywhere = |circumstance: &&Circumstance| {
        entries.iter().all(|other| other.differs.contains(circumstance))
    };
    first.iter().filter(is_everywhere).cloned().collect()
}

/// For each pair, the differences that make its configurations incomparable, in words, without
/// duplicates.
fn differences(a: &Side, b: &Side, pairs: &[(&Config, &Config)]) -> Result<Vec<Vec<String>>> {
    let of_pair = |(baseline, judged): &(&Config, &Config)| {
        let sides = ((&a.study, *baseline), (&b.study, *judged));
        let scale = scale_differences(sides.0, sides.1);
        let cuts = power_cut_difference(sides.0, sides.1);
        let durability = durability::of_stored(&a.store, &a.study, baseline)?;
        let safety = durability.unlike(&durability::of_stored(&b.store, &b.study, judged)?);
        let texts = scale.iter().chain(&cuts).map(unlike::text);
        Ok(each_once(texts.chain(unlike::safety(&safety))))
    };
    pairs.iter().map(of_pair).collect()
}

fn each_once(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut distinct = Vec::new();
    for text in all {
        if !distinct.contains(&text) {
            distinct.push(text);
        }
    }
    distinct
}

#[cfg(test)]
mod tests;
