//! Prints papers, checks and comparisons with a study, as text and as JSON.

use serde_json::{Value, json};

use crate::print;
use assay_base::text::counted;
use assay_claims::document::{Conditions, RemarkKind};
use assay_claims::outcome::{CheckOutcome, ClaimVerdict, count};
use assay_claims::paper::{ParsedPaper, PublishedFigure};
use assay_report::published::Beside;
use assay_report::published::rows::{self, PublishedRow};

/// Order in which checks are printed: failed ones first.
const VERDICTS: [ClaimVerdict; 3] =
    [ClaimVerdict::DoesNotFollow, ClaimVerdict::Undecidable, ClaimVerdict::Follows];

/// Prints two lines a paper: its title, and a summary of its checks.
pub(crate) fn list(papers: &[(ParsedPaper, Vec<CheckOutcome>)]) {
    let width = papers.iter().map(|(paper, _)| paper.name.len()).max().unwrap_or_default();
    for (paper, outcomes) in papers {
        print::line(format_args!("{:<width$}  {}", paper.name, paper.document.title));
        let figures = counted(paper.figures.len() as u64, "figure");
        print::line(format_args!("{:<width$}  {figures}; {}", "", summary(outcomes)));
    }
}

/// The list of papers as JSON.
#[must_use]
pub(crate) fn list_json(papers: &[(ParsedPaper, Vec<CheckOutcome>)]) -> Value {
    let entry = |(paper, outcomes): &(ParsedPaper, Vec<CheckOutcome>)| {
        json!({
            "name": paper.name,
            "title": paper.document.title,
            "figures": paper.figures.len(),
            "follow": count(outcomes, ClaimVerdict::Follows),
            "do_not_follow": count(outcomes, ClaimVerdict::DoesNotFollow),
            "undecidable": count(outcomes, ClaimVerdict::Undecidable),
            "remarks": paper.document.remarks.len(),
        })
    };
    papers.iter().map(entry).collect()
}

fn summary(outcomes: &[CheckOutcome]) -> String {
    let of = |verdict| count(outcomes, verdict);
    format!(
        "{}: {} follow, {} do not, {} undecidable",
        counted(outcomes.len() as u64, "check"),
        of(ClaimVerdict::Follows),
        of(ClaimVerdict::DoesNotFollow),
        of(ClaimVerdict::Undecidable)
    )
}

/// Prints a paper: figures by place, checks by verdict, remarks.
pub(crate) fn paper(paper: &ParsedPaper, outcomes: &[CheckOutcome]) {
    let document = &paper.document;
    print::line(format_args!("{}: {}", paper.name, document.title));
    document.about.trim().lines().for_each(print::line);
    print_figures(paper);
    print::line(format_args!("\n{}", summary(outcomes)));
    for verdict in VERDICTS {
        let mut its: Vec<&CheckOutcome> =
            outcomes.iter().filter(|it| it.verdict == verdict).collect();
        // Checks that fail under an assumption come first: readers look for failures.
        its.sort_by_key(|outcome| outcome.if_so != Some(ClaimVerdict::DoesNotFollow));
        its.into_iter().for_each(print_outcome);
    }
    print_remarks(paper);
}

fn print_figures(paper: &ParsedPaper) {
    let mut places: Vec<&str> = Vec::new();
    for figure in paper.figures.values() {
        if !places.contains(&figure.place.as_str()) {
            places.push(&figure.place);
        }
    }
    for place in places {
        let its = || paper.figures.iter().filter(|(_, figure)| figure.place == place);
        let shared = shared(its().map(|(_, figure)| &figure.on));
        let head = [place.to_owned(), conditions(&shared).join(", ")];
        print::line(format_args!("\n{}", head.join(": ").trim_end_matches(": ")));
        let own = |figure: &PublishedFigure| described(figure, &shared);
        let rows: Vec<[String; 3]> =
            its().map(|(name, figure)| [name.clone(), value(figure), own(figure)]).collect();
        let width = |column: usize| {
            rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let widths = [width(0), width(1).min(24)];
        for [name, value, what] in &rows {
            print::line(format_args!("  {name:<0$}  {value:>1$}  {what}", widths[0], widths[1]));
        }
    }
}

/// Conditions that all have in common.
fn shared<'a>(mut all: impl Iterator<Item = &'a Conditions>) -> Conditions {
    let mut shared = all.next().cloned().unwrap_or_default();
    for other in all {
        shared.config = shared.config.filter(|config| other.config.as_ref() == Some(config));
        shared.workload = shared.workload.filter(|all| other.workload.as_ref() == Some(all));
        shared.data_profile =
            shared.data_profile.filter(|all| other.data_profile.as_ref() == Some(all));
        shared.threads = shared.threads.filter(|all| other.threads == Some(*all));
    }
    shared
}

fn conditions(on: &Conditions) -> Vec<String> {
    let threads = on.threads.map(|threads| counted(u64::from(threads), "thread"));
    let all = [on.config.clone(), on.workload.clone(), on.data_profile.clone(), threads];
    all.into_iter().flatten().collect()
}

/// The printed value with its qualifier ("about", "up to") and unit.
fn value(figure: &PublishedFigure) -> String {
    let says = figure.says.as_deref().unwrap_or_default();
    format!("{says} {} {}", figure.shown(), figure.unit).trim().to_owned()
}

/// The figure's description, with the conditions that `heading` does not name.
fn described(figure: &PublishedFigure, heading: &Conditions) -> String {
    let heading = conditions(heading);
    let own: Vec<String> =
        conditions(&figure.on).into_iter().filter(|each| !heading.contains(each)).collect();
    match own.is_empty() {
        true => figure.what.clone(),
        false => format!("{}; {}", figure.what, own.join(", ")),
    }
}

fn print_outcome(outcome: &CheckOutcome) {
    let verdict = outcome.verdict.words();
    print::line(format_args!("\n{verdict:<15}  {} ({})", outcome.name, outcome.place));
    let arithmetic = outcome.arithmetic.as_ref().map(|arithmetic| arithmetic.shown());
    let given = outcome.given.iter().map(|given| format!("given: {given}"));
    let reasons = arithmetic.into_iter().chain(outcome.assumption()).chain(outcome.says.clone());
    for line in reasons.chain(given) {
        print::line(format_args!("{:17}{line}", ""));
    }
}

fn print_remarks(paper: &ParsedPaper) {
    if !paper.document.remarks.is_empty() {
        print::line("\nRemarks (not arithmetic)");
    }
    for remark in &paper.document.remarks {
        let kind = match remark.kind {
            RemarkKind::Factors => "factors",
            RemarkKind::Words => "words",
            RemarkKind::Method => "method",
            RemarkKind::Missing => "missing",
        };
        print::line(format_args!("\n{kind:<15}  {} ({})", remark.says, remark.place));
        if !remark.factors.is_empty() {
            print::line(format_args!("{:17}what differs: {}", "", remark.factors.join("; ")));
        }
        if let Some(source) = &remark.source {
            print::line(format_args!("{:17}source: {source}", ""));
        }
    }
}

/// A paper as JSON.
#[must_use]
pub(crate) fn paper_json(paper: &ParsedPaper, outcomes: &[CheckOutcome]) -> Value {
    let document = &paper.document;
    let given = document.given.iter().map(|(name, given)| {
        let value = json!({ "printed": given.printed, "unit": given.unit, "source": given.source });
        (name.clone(), value)
    });
    json!({
        "name": paper.name,
        "title": document.title,
        "about": document.about.trim(),
        "figures": paper.figures,
        "given": given.collect::<serde_json::Map<_, _>>(),
        "checks": outcomes,
        "remarks": document.remarks,
    })
}

/// Prints a paper's figures next to those of a study.
pub(crate) fn comparison(beside: &Beside) {
    print::line(format_args!("Printed: {}", beside.paper));
    print::line(format_args!("Measured: {}", beside.study));
    for gain in &beside.gains {
        print::line(format_args!(
            "\n{}\n{} over {}, {}",
            gain.table, gain.config, gain.against, gain.metric
        ));
        table(headed(rows::of_gain(gain)));
    }
    if !beside.levels.is_empty() {
        print::line("\nSingle configurations");
        table(headed(beside.levels.iter().map(rows::of_level).collect()));
    }
    if !beside.crossovers.is_empty() {
        print::line(format_args!("\n{}", rows::CROSSOVERS));
        table(headed(beside.crossovers.iter().map(rows::of_crossover).collect()));
    }
    print::line("\nWhy they may not be comparable");
    beside.differs.iter().for_each(|why| print::line(format_args!("  {why}")));
    print::line(format_args!("  {}", rows::RATIO));
}

fn headed(rows: Vec<PublishedRow>) -> Vec<[String; 5]> {
    let heads = ["", "printed", "measured", "ratio", ""].map(str::to_owned);
    let fields = |row: PublishedRow| [row.what, row.printed, row.measured, row.ratio, row.notes];
    std::iter::once(heads).chain(rows.into_iter().map(fields)).collect()
}

fn table(rows: Vec<[String; 5]>) {
    let width = |column: usize| {
        rows.iter().map(|row: &[String; 5]| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths = [width(0), width(1), width(2), width(3)];
    for [first, printed, measured, ratio, note] in &rows {
        let line = format!(
            "  {first:<0$}  {printed:>1$}  {measured:>2$}  {ratio:>3$}  {note}",
            widths[0], widths[1], widths[2], widths[3]
        );
        print::line(line.trim_end());
    }
}
