//! A paper: its figures by name, with places and conditions, and expressions over them.

use anyhow::{Context, Result, anyhow};
use assay_base::suggest::nearest;
use assay_study::metrics::find as find_metric;
use indexmap::IndexMap;
use serde::Serialize;

use super::document::{Conditions, Document, ExpressionText};
use super::expression::{Expression, Named};
use super::interval::RoundingInterval;
use super::printed::PrintedNumber;

/// A parsed paper; every reference in it resolves.
#[derive(Debug, Clone)]
pub struct ParsedPaper {
    pub name: String,
    pub document: Document,
    /// Figures by name in the order of the file, without numbers from other sources.
    pub figures: IndexMap<String, PublishedFigure>,
    pub(super) text: String,
}

/// A published figure.
#[derive(Debug, Clone, Serialize)]
pub struct PublishedFigure {
    /// Printed numbers; empty if the figure is printed in words.
    pub printed: Vec<PrintedNumber>,
    pub unit: String,
    pub what: String,
    /// Page, table or section.
    #[serde(rename = "where")]
    pub place: String,
    /// Words before the number, or instead of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    #[serde(flatten)]
    pub on: Conditions,
    #[serde(skip)]
    pub(super) within: Option<f64>,
}

impl PublishedFigure {
    /// The numbers as intervals of their rounding.
    #[must_use]
    pub fn values(&self) -> Vec<RoundingInterval> {
        self.printed.iter().map(|printed| printed.interval(self.within)).collect()
    }

    /// The numbers in the form that reports print.
    #[must_use]
    pub fn shown(&self) -> String {
        let all: Vec<String> = self.printed.iter().map(PrintedNumber::shown).collect();
        all.join(", ")
    }
}

impl ParsedPaper {
    /// The value of a name in an expression.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Named> {
        if let Some(given) = self.document.given.get(name) {
            let values = vec![given.printed.interval(given.within)];
            return Some(Named { values, shown: given.printed.shown() });
        }
        // `tps.dimm4_128.threads` is the condition of a row: a count, so exact.
        if let Some((row, "threads")) = name.rsplit_once('.')
            && !self.figures.contains_key(name)
        {
            let mut trials = self.figures.iter().filter(|(trial, _)| is_trial_of(trial, row));
            let threads = trials.find_map(|(_, figure)| figure.on.threads)?;
            let values = vec![RoundingInterval::exact(f64::from(threads))];
            return Some(Named { values, shown: threads.to_string() });
        }
        let figure = self.figures.get(name).filter(|figure| !figure.printed.is_empty())?;
        Some(Named { values: figure.values(), shown: figure.shown() })
    }

    /// Parses an expression of the file, with `each` in place of `{}`.
    ///
    /// An error names the line in the file, the unknown name and the most similar known one.
    pub fn expression(&self, source: &ExpressionText, each: Option<&str>) -> Result<Expression> {
        let text = source.get_ref().replace("{}", each.unwrap_or("{}"));
        let line = || format!("line {}", self.line_of(source));
        let expression = Expression::parse(&text).with_context(line)?;
        for name in expression.names() {
            if self.named(name).is_none() {
                return Err(self.unknown(name)).with_context(line);
            }
        }
        // Finds lists where a number is needed now, not at the first evaluation.
        expression.evaluate(&|name| self.named(name)).with_context(line)?;
        Ok(expression)
    }

    /// Parses an expression over figures and over a run's results, which `result` looks up by
    /// metric. Fails as [`ParsedPaper::expression`] does.
    pub fn over_results(
        &self,
        source: &ExpressionText,
        result: &dyn Fn(&str) -> Option<f64>,
    ) -> Result<Option<f64>> {
        let line = || format!("line {}", self.line_of(source));
        let expression = Expression::parse(source.get_ref()).with_context(line)?;
        let named = |name: &str| {
            let of_run = || {
                let value = result(name)?;
                Some(Named { values: vec![RoundingInterval::exact(value)], shown: name.to_owned() })
            };
            self.named(name).or_else(of_run)
        };
        for name in expression.names() {
            if self.named(name).is_none() && find_metric(name).is_none() {
                return Err(self.unknown(name)).with_context(line);
            }
            if named(name).is_none() {
                return Ok(None);
            }
        }
        let value = expression.evaluate(&named).with_context(line)?;
        Ok(value.map(|value| value.value))
    }

    /// The figure with this name, printed in numbers or in words.
    ///
    /// An error names the line in the file and the most similar known name.
    pub fn figure(&self, source: &ExpressionText) -> Result<&PublishedFigure> {
        let name = source.get_ref();
        let figure = self.figures.get(name).ok_or_else(|| self.unknown(name));
        figure.with_context(|| format!("line {}", self.line_of(source)))
    }

    fn line_of(&self, source: &ExpressionText) -> usize {
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
}

fn is_trial_of(trial: &str, row: &str) -> bool {
    trial.strip_prefix(row).is_some_and(|rest| rest.starts_with('.'))
}
