//! A paper: its figures by name, with their places and conditions, and everything that refers to them checked.

use anyhow::{Context, Result, anyhow, bail, ensure};
use assay_base::suggest::nearest;
use indexmap::IndexMap;
use serde::Serialize;

use super::document::{Conditions, Document, RemarkKind, Source, Table};
use super::expression::{Expression, Named};
use super::interval::Interval;
use super::printed::Printed;
use assay_base::one_line;

/// A paper that was read and whose references all lead somewhere.
#[derive(Debug, Clone)]
pub struct Paper {
    /// What it is called by.
    pub name: String,
    /// What its file says.
    pub document: Document,
    /// Every figure, by name, in the order of the file; those from elsewhere are not among them.
    pub figures: IndexMap<String, Figure>,
    text: String,
}

/// A published figure.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// Its digits; none where what is printed is words.
    pub printed: Vec<Printed>,
    /// The unit.
    pub unit: String,
    /// What it is.
    pub what: String,
    /// Page, table or section.
    #[serde(rename = "where")]
    pub place: String,
    /// What stands before the number, or in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// Its conditions.
    #[serde(flatten)]
    pub on: Conditions,
    #[serde(skip)]
    within: Option<f64>,
}

impl Figure {
    /// The numbers, each with what rounding leaves open.
    #[must_use]
    pub fn values(&self) -> Vec<Interval> {
        self.printed.iter().map(|one| one.interval(self.within)).collect()
    }

    /// The numbers, as a person reads them.
    #[must_use]
    pub fn shown(&self) -> String {
        let all: Vec<String> = self.printed.iter().map(Printed::shown).collect();
        all.join(", ")
    }
}

impl Paper {
    /// What `text` says, by the name given.
    ///
    /// # Errors
    /// One line: the line in it, what is not understood, and the nearest that would be.
    pub fn parse(name: &str, text: &str) -> Result<Paper> {
        let document: Document =
            toml::from_str(text).map_err(|error| anyhow!(one_line(&error, text)))?;
        let mut figures = IndexMap::new();
        for (name, figure) in &document.figures {
            put(&mut figures, name.clone(), single(figure))?;
        }
        for (name, table) in &document.tables {
            for (cell, figure) in cells(name, table)? {
                put(&mut figures, cell, figure)?;
            }
        }
        let paper = Paper { name: name.into(), document, figures, text: text.into() };
        paper.check()?;
        Ok(paper)
    }

    /// What a name in an expression stands for.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Named> {
        if let Some(given) = self.document.given.get(name) {
            let values = vec![given.printed.interval(given.within)];
            return Some(Named { values, shown: given.printed.shown() });
        }
        // `tps.dimm4_128.threads` is the condition of a row, as exact as a count is.
        if let Some((row, "threads")) = name.rsplit_once('.')
            && !self.figures.contains_key(name)
        {
            let mut cells = self.figures.iter().filter(|(cell, _)| is_cell_of(cell, row));
            let threads = cells.find_map(|(_, figure)| figure.on.threads)?;
            let values = vec![Interval::exact(f64::from(threads))];
            return Some(Named { values, shown: threads.to_string() });
        }
        let figure = self.figures.get(name).filter(|figure| !figure.printed.is_empty())?;
        Some(Named { values: figure.values(), shown: figure.shown() })
    }

    /// Reads an expression of the file, with `each` in place of `{}`.
    ///
    /// # Errors
    /// One line with the line in the file: what is not understood or not there, and the nearest that is.
    pub fn expression(&self, source: &Source, each: Option<&str>) -> Result<Expression> {
        let text = source.get_ref().replace("{}", each.unwrap_or("{}"));
        let line = || format!("line {}", self.line_of(source));
        let expression = Expression::parse(&text).with_context(line)?;
        for name in expression.names() {
            if self.named(name).is_none() {
                return Err(self.unknown(name)).with_context(line);
            }
        }
        // Lists where a number is needed are found here and not when somebody asks.
        expression.evaluate(&|name| self.named(name)).with_context(line)?;
        Ok(expression)
    }

    /// The figure that is named, be it words or numbers.
    ///
    /// # Errors
    /// One line with the line in the file: there is none, and the nearest.
    pub fn figure(&self, source: &Source) -> Result<&Figure> {
        let name = source.get_ref();
        let figure = self.figures.get(name).ok_or_else(|| self.unknown(name));
        figure.with_context(|| format!("line {}", self.line_of(source)))
    }

    fn line_of(&self, source: &Source) -> usize {
        let before = self.text.get(..source.span().start).unwrap_or_default();
        1 + before.matches('\n').count()
    }

    fn unknown(&self, name: &str) -> anyhow::Error {
        let figures = self.figures.iter().filter(|(_, figure)| !figure.printed.is_empty());
        let known = figures.map(|(name, _)| name).chain(self.document.given.keys());
        match nearest(name, known.map(String::as_str)) {
            Some(near) => anyhow!("there is no figure `{name}`; did you mean `{near}`?"),
            None => anyhow!("there is no figure `{name}` in [figures], [tables] or [given]"),
        }
    }

    /// What the form alone does not keep out.
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
            super::outcome::of(self, check).with_context(what)?;
        }
        for remark in &document.remarks {
            said(&remark.place).context("where").context("a remark")?;
            said(&remark.says).context("says").context("a remark")?;
            let (needs, has) = (remark.kind == RemarkKind::Factors, remark.factors.len());
            ensure!(needs == (has > 0), "a remark has factors if and only if its kind is factors");
            ensure!(has != 1, "one factor is how it should be; a remark names two or more");
        }
        if document.repeated.is_some() {
            super::repeated::printed(self).context("repeated")?;
            super::repeated::check_levels(self).context("repeated")?;
        }
        Ok(())
    }
}

fn is_cell_of(cell: &str, row: &str) -> bool {
    cell.strip_prefix(row).is_some_and(|rest| rest.starts_with('.'))
}

fn said(text: &str) -> Result<()> {
    ensure!(!text.trim().is_empty(), "is empty; say it");
    Ok(())
}

/// How far a value may lie from what is printed is a distance.
fn check_within(within: Option<f64>) -> Result<()> {
    let Some(within) = within else { return Ok(()) };
    let is_distance = within.is_finite() && within >= 0.0;
    ensure!(is_distance, "within is {within}; give a number that is not below 0");
    Ok(())
}

fn put(figures: &mut IndexMap<String, Figure>, name: String, figure: Figure) -> Result<()> {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "._".contains(sign);
    if name.is_empty() || !name.chars().all(is_plain) || name.parse::<f64>().is_ok() {
        bail!("`{name}` is no name for a figure; use letters, digits and _");
    }
    check_within(figure.within).with_context(|| format!("figure {name}"))?;
    match figures.insert(name.clone(), figure) {
        None => Ok(()),
        Some(_) => bail!("there are two figures `{name}`; rename one"),
    }
}

fn single(figure: &super::document::Figure) -> Figure {
    Figure {
        printed: figure.printed.all().into(),
        unit: figure.unit.clone(),
        what: figure.what.clone(),
        place: figure.place.clone(),
        says: figure.says.clone(),
        on: figure.on.clone(),
        within: figure.within,
    }
}

/// The figures of a table: what a column says goes before what its row says, and that before the table.
fn cells(name: &str, table: &Table) -> Result<Vec<(String, Figure)>> {
    let mut cells = Vec::new();
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
                words.into_iter().map(String::as_str).filter(|one| !one.is_empty()).collect();
            let unit = column.unit.as_ref().or(row.unit.as_ref()).unwrap_or(&table.unit);
            let figure = Figure {
                printed: vec![printed.clone()],
                unit: unit.clone(),
                what: words.join(", "),
                place: table.place.clone(),
                says: None,
                on: joined(&[&column.on, &row.on, &table.on]),
                within: column.within.or(row.within).or(table.within),
            };
            cells.push((format!("{name}.{row_name}.{column_name}"), figure));
        }
    }
    Ok(cells)
}

/// The first that says something goes before those behind it.
fn joined(all: &[&Conditions]) -> Conditions {
    let mut joined = Conditions::default();
    for one in all {
        joined.arm = joined.arm.or_else(|| one.arm.clone());
        joined.workload = joined.workload.or_else(|| one.workload.clone());
        joined.data_set = joined.data_set.or_else(|| one.data_set.clone());
        joined.threads = joined.threads.or(one.threads);
    }
    joined
}
