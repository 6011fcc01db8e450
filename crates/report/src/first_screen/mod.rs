//! The first screen: the verdict in a sentence, what to know before it is quoted, the chart with
//! intervals, and the numbers that matter, each next to what it was bought with.

pub(crate) mod conditions;
pub(crate) mod from_memory;
pub(crate) mod headline;
mod number;
mod numbers;
pub(crate) mod one_line;
pub(crate) mod scope;
mod trade_off;

use serde::Serialize;

use assay_judge::{JudgedComparison, Judgement, Metric};
use assay_study::{RunState, Study};

use crate::analysis::Analysis;
use crate::charts::forest;
use crate::charts::plots::Plot;
use crate::comparisons::questions::{self, named};
use crate::comparisons::uneven_loss;
use crate::figures::format::{plural, threads};
use crate::first_screen::headline::headline;
use crate::first_screen::number::Number;
use crate::first_screen::numbers::{alone, compared};
use crate::input::Input;
use crate::tables::capacity;
use crate::words::{answer, disturbed, warning};

/// Number of causes that are named of disturbances of comparable runs, most frequent first.
const DISTURBANCES_TOLD: usize = 2;

#[derive(Debug, Serialize)]
pub(crate) struct FirstScreen {
    sentence: String,
    /// Under what conditions the figures hold.
    conditions: Vec<String>,
    /// Warnings to read before the sentence is quoted, at most three lines; the section on what
    /// could be wrong has all of them.
    warnings: Vec<String>,
    /// Subject of the numbers.
    of: String,
    numbers: Vec<Number>,
    chart: Option<Chart>,
}

#[derive(Debug, Serialize)]
struct Chart {
    plot: usize,
    title: String,
    caption: String,
    height: usize,
}

/// The first screen of a study.
pub(crate) fn first_screen(input: &Input<'_>, plots: &mut Vec<Plot>) -> FirstScreen {
    let (study, judgement) = (input.study, input.judgement);
    let all = questions::answers(study, judgement);
    let lead = questions::leading(study, judgement, &all);
    FirstScreen {
        sentence: headline(study, judgement, input.variables),
        conditions: conditions::conditions(study, input.variables),
        warnings: warnings(input.analysis),
        of: lead.map_or_else(String::new, |one| of(one, input)),
        numbers: match lead {
            Some(lead) => compared(input, lead),
            None => alone(input),
        },
        chart: chart(study, judgement, plots),
    }
}

fn of(lead: &JudgedComparison, input: &Input<'_>) -> String {
    let study = input.study;
    let is_named = study.workloads.len() > 1 && lead.against_workload.is_none();
    let under = if is_named { format!(", {}", lead.workload) } else { String::new() };
    let at = match lead.threads {
        Some(count) => format!("at {}", threads(&[count])),
        None => {
            let all = questions::by_threads(input.judgement, lead);
            let all: Vec<u32> = all.iter().filter_map(|one| one.threads).collect();
            format!("over {}", threads(&all))
        }
    };
    let [config, base] = questions::sides(lead);
    format!("{config} against {base}{under}, {at}")
}

/// A short line each: configurations that are not equally safe, configurations that are models,
/// runs in which something went wrong.
fn warnings(analysis: &Analysis) -> Vec<String> {
    let Analysis { study, judgement, .. } = analysis;
    let all = questions::answers(study, judgement);
    let lead = questions::leading(study, judgement, &all);
    let uneven_loss = lead.and_then(|one| uneven_loss::sentence(study, one));
    let more =
        [from_memory::line(study).or(uneven_loss), trouble(study)].into_iter().flatten().collect();
    [limits(analysis), more].concat()
}

/// The first two of these: what no repetition of the study would change.
pub(crate) fn limits(analysis: &Analysis) -> Vec<String> {
    [unsafe_configs(analysis), models(&analysis.study)].into_iter().flatten().collect()
}

/// Configurations whose speed is not of the same thing as the baseline's.
fn unsafe_configs(analysis: &Analysis) -> Option<String> {
    let Analysis { study, judgement, .. } = analysis;
    let baseline = judgement.baseline.as_deref()?;
    let place = study.configs.iter().position(|config| config.name == baseline)?;
    let class = analysis.appraisal.durability.get(place)?.class;
    let configs = study.configs.iter().zip(&analysis.appraisal.durability);
    let unlike = configs
        .filter(|(config, kept)| !questions::is_aa_run(study, config) && kept.class != class);
    let unlike: Vec<String> = unlike.map(|(config, _)| named(&config.name)).collect();
    let base = named(baseline);
    match unlike.as_slice() {
        [] => None,
        [one] => Some(format!("{one} and {base} differ in crash safety.")),
        many => Some(format!("{} configurations differ from {base} in crash safety.", many.len())),
    }
}

fn models(study: &Study) -> Option<String> {
    let configs =
        study.configs.iter().filter(|config| !questions::is_aa_run(study, config)).count();
    match questions::models(study).as_slice() {
        [] => None,
        all if all.len() == configs => Some("All configurations use emulated drives.".into()),
        [one] => Some(format!("{} uses an emulated drive.", named(one))),
        some => Some(format!("{} of {configs} configurations use emulated drives.", some.len())),
    }
}

fn trouble(study: &Study) -> Option<String> {
    let of_state =
        |state: RunState| study.trials.iter().filter(|trial| trial.state == state).count();
    let done = || study.trials.iter().filter(|trial| trial.state == RunState::Done);
    let flagged = disturbed::Flagged::of(&study.trials);
    let be = |count: usize, what: &str| match count {
        1 => format!("is {what}"),
        _ => format!("are {what}"),
    };
    let told: Vec<String> = [
        (flagged.not_comparable, be(flagged.not_comparable, "not comparable")),
        (flagged.slowed, disturbed::SLOWED.to_owned()),
        (flagged.comparable, be(flagged.comparable, "flagged but comparable")),
        (of_state(RunState::Failed), "failed".to_owned()),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, word)| format!("{count} {word}"))
    .collect();
    let trials = plural(study.trials.len(), "run");
    let (causes, disturbances) = (disturbed::causes(done()), disturbed::disturbances(done()));
    let sentence = |cause: &disturbed::Cause| {
        let were = if cause.runs == 1 { "was" } else { "were" };
        format!(" {} {were} {}.", cause.runs, disturbed::text(cause))
    };
    let told_causes = causes.first().into_iter().chain(disturbances.iter().take(DISTURBANCES_TOLD));
    let cause: String = told_causes.map(sentence).collect();
    let repeated = repeated(study).unwrap_or_default();
    let is_any = !told.is_empty() || !repeated.is_empty();
    let told =
        if told.is_empty() { String::new() } else { format!("Of {trials} {}.", told.join(", ")) };
    is_any.then(|| format!("{told}{cause}{repeated}").trim_start().to_owned())
}

/// ` 4 attempts were discarded and repeated (a CPU quota throttled the run for 8 % of the time).`
fn repeated(study: &Study) -> Option<String> {
    let attempts = match study.discarded.len() {
        0 => return None,
        1 => "1 attempt was".to_owned(),
        several => format!("{several} attempts were"),
    };
    let cause = study.discarded.iter().find_map(|one| warning::cause(&one.warnings));
    let cause = cause.unwrap_or_else(|| "the machine was busy".into());
    Some(format!(" {attempts} discarded and repeated ({cause})."))
}

/// Room for a row of the chart; many rows stand closer, so that the chart stays on the screen, but
/// never in each other's names.
fn row_px(rows: usize, lines: usize) -> usize {
    let roomy = match rows {
        0..=4 => 52,
        5..=forest::ROOMY_ROWS => 44,
        _ => 36,
    };
    roomy.max(LINE_PX * lines + 4)
}

/// Height of a line of names.
const LINE_PX: usize = 16;

fn chart(study: &Study, judgement: &Judgement, plots: &mut Vec<Plot>) -> Option<Chart> {
    let drawn = forest::forest(study, judgement)?;
    plots.push(drawn.plot);
    let whole = questions::answers(study, judgement);
    let base = match whole.split_first() {
        Some((first, rest)) if rest.iter().all(|one| one.baseline == first.baseline) => {
            first.baseline.as_str()
        }
        _ => "what each is compared with",
    };
    let more = match drawn.left_out {
        0 => String::new(),
        count => format!(" {} more under Verdicts.", plural(count, "comparison")),
    };
    let uncompared = match drawn.uncompared {
        None => String::new(),
        Some("") => " Rows without a point have no valid comparison.".to_owned(),
        Some(remedy) => format!(" Rows without a point have no valid comparison. {remedy}"),
    };
    Some(Chart {
        plot: plots.len() - 1,
        title: match capacity::objective(study) {
            None => {
                let what = match questions::metric(study, judgement) {
                    Metric::Throughput => "Throughput",
                    other => answer::name(other),
                };
                format!("{what} above or below {base}")
            }
            Some(objective) => {
                format!("Rate with {}, above or below {base}", capacity::in_words(objective))
            }
        },
        caption: format!(
            "Whiskers: {:.0} % confidence intervals. Band: differences up to {} % are treated as \
            equivalent.{uncompared}{more}",
            judgement.level * 100.0,
            judgement.margin_percent
        ),
        height: 76 + drawn.rows * row_px(drawn.rows, drawn.lines),
    })
}
