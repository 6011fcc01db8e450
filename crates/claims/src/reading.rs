//! Parses the file of a paper and checks every reference to its figures.

use anyhow::{Context, Result, anyhow, bail, ensure};
use indexmap::IndexMap;

use super::document::{self, Conditions, Document, RemarkKind, Table};
use super::paper::{ParsedPaper, PublishedFigure};
use super::{outcome, repeated};
use assay_base::one_line;

impl ParsedPaper {
    /// Parses `text` as the paper `name`. An error names the line, the unknown key or name and the
    /// most similar known one.
    pub fn parse(name: &str, text: &str) -> Result<ParsedPaper> {
        let document: Document =
            toml::from_str(text).map_err(|error| anyhow!(one_line(&error, text)))?;
        let mut figures = IndexMap::new();
        for (name, figure) in &document.figures {
            put(&mut figures, name.clone(), single(figure))?;
        }
        for (name, table) in &document.tables {
            for (trial, figure) in trials(name, table)? {
                put(&mut figures, trial, figure)?;
            }
        }
        let paper = ParsedPaper { name: name.into(), document, figures, text: text.into() };
        paper.check()?;
        Ok(paper)
    }

    /// Checks the rules that the types do not express.
    fn check(&self) -> Result<()> {
        let document = &self.document;
        for (name, figure) in &self.figures {
            let is_told = !figure.printed.is_empty() || figure.says.is_some();
            ensure!(is_told, "figure {name}: give what is printed, or says");
            said(&figure.place).with_context(|| format!("figure {name}: where"))?;
            said(&figure.what).with_context(|| format!("figure {name}: what"))?;
        }
        for (name, given) in &document.given {
            said(&given.source).with_context(|| format!("given {name}: source"))?;
            check_within(given.within).with_context(|| format!("given {name}"))?;
            ensure!(!self.figures.contains_key(name), "`{name}` is both given and a figure");
        }
        for check in &document.checks {
            let what = || format!("check `{}`", check.name);
            said(&check.place).context("where").with_context(what)?;
            said(check.assumes.as_deref().unwrap_or("-")).context("assumes").with_context(what)?;
            outcome::of(self, check).with_context(what)?;
        }
        for remark in &document.remarks {
            said(&remark.place).context("where").context("a remark")?;
            said(&remark.says).context("says").context("a remark")?;
            let (needs, has) = (remark.kind == RemarkKind::Factors, remark.factors.len());
            ensure!(needs == (has > 0), "a remark has factors if and only if its kind is factors");
            ensure!(has != 1, "a remark needs two factors or more");
        }
        if document.repeated.is_some() {
            repeated::printed(self).context("repeated")?;
            check_levels(self).context("repeated")?;
        }
        Ok(())
    }
}

fn said(text: &str) -> Result<()> {
    ensure!(!text.trim().is_empty(), "is empty; fill it in");
    Ok(())
}

/// Checks that a distance is finite and not negative.
fn check_within(within: Option<f64>) -> Result<()> {
    let Some(within) = within else { return Ok(()) };
    let is_distance = within.is_finite() && within >= 0.0;
    ensure!(is_distance, "within is {within}; give 0 or more");
    Ok(())
}

fn put(
    figures: &mut IndexMap<String, PublishedFigure>,
    name: String,
    figure: PublishedFigure,
) -> Result<()> {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "._".contains(sign);
    if name.is_empty() || !name.chars().all(is_plain) || name.parse::<f64>().is_ok() {
        bail!("`{name}` is not a valid figure name; use letters, digits and _");
    }
    check_within(figure.within).with_context(|| format!("figure {name}"))?;
    match figures.insert(name.clone(), figure) {
        None => Ok(()),
        Some(_) => bail!("there are two figures `{name}`; rename one"),
    }
}

fn single(figure: &document::Figure) -> PublishedFigure {
    PublishedFigure {
        printed: figure.printed.all().into(),
        unit: figure.unit.clone(),
        what: figure.what.clone(),
        place: figure.place.clone(),
        says: figure.says.clone(),
        on: figure.on.clone(),
        within: figure.within,
    }
}

/// The figures of a table. Keys of a column override those of its row, and these the table's.
fn trials(name: &str, table: &Table) -> Result<Vec<(String, PublishedFigure)>> {
    let mut trials = Vec::new();
    for (row_name, row) in &table.rows {
        ensure!(
            row.printed.len() == table.columns.len(),
            "table {name}, row {row_name}: {} numbers for {} columns",
            row.printed.len(),
            table.columns.len()
        );
        for ((column_name, column), printed) in table.columns.iter().zip(&row.printed) {
            let words = [&table.what, &row.what, &column.what];
            let words: Vec<&str> =
                words.into_iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
            let unit = column.unit.as_ref().or(row.unit.as_ref()).unwrap_or(&table.unit);
            let figure = PublishedFigure {
                printed: vec![printed.clone()],
                unit: unit.clone(),
                what: words.join(", "),
                place: table.place.clone(),
                says: None,
                on: joined(&[&column.on, &row.on, &table.on]),
                within: column.within.or(row.within).or(table.within),
            };
            trials.push((format!("{name}.{row_name}.{column_name}"), figure));
        }
    }
    Ok(trials)
}

/// Takes each condition from the first of `all` that states it.
fn joined(all: &[&Conditions]) -> Conditions {
    let mut joined = Conditions::default();
    for one in all {
        joined.config = joined.config.or_else(|| one.config.clone());
        joined.workload = joined.workload.or_else(|| one.workload.clone());
        joined.data_profile = joined.data_profile.or_else(|| one.data_profile.clone());
        joined.threads = joined.threads.or(one.threads);
    }
    joined
}

/// Checks that every level is a single number.
fn check_levels(paper: &ParsedPaper) -> Result<()> {
    for level in paper.document.repeated.iter().flat_map(|repeated| &repeated.levels) {
        let figure = paper.figure(&level.figure)?;
        let name = level.figure.get_ref();
        ensure!(figure.printed.len() == 1, "`{name}` is not a single number; a level is");
        if let Some(mean) = &level.mean {
            let is_above_zero =
                paper.figure(mean)?.values().first().is_some_and(|value| value.value > 0.0);
            ensure!(is_above_zero, "`{}` is not a mean above zero", mean.get_ref());
        }
        match (&level.metric, &level.measured) {
            (Some(_), None) => {}
            (None, Some(measured)) => drop(paper.over_results(measured, &|_| Some(1.0))?),
            _ => bail!("level `{name}`: give metric or measured, one of them"),
        }
    }
    for one in paper.document.repeated.iter().flat_map(|repeated| &repeated.crossovers) {
        let is_number = paper.figure(&one.figure)?.printed.len() == 1;
        ensure!(is_number, "`{}` is not a single number of threads", one.figure.get_ref());
    }
    Ok(())
}
