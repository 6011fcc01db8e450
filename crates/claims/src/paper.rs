//! A paper: its figures by name, with their places and conditions, and what its expressions say of them.

use anyhow::{Context, Result, anyhow};
use assay_base::suggest::nearest;
use assay_study::metrics::find as find_metric;
use indexmap::IndexMap;
use serde::Serialize;

use super::document::{Conditions, Document, Source};
use super::expression::{Expression, Named};
use super::interval::Interval;
use super::printed::Printed;

/// A paper that was read and whose references all lead somewhere; made by [`Paper::parse`].
#[derive(Debug, Clone)]
pub struct Paper {
    /// What it is called by.
    pub name: String,
    /// What its file says.
    pub document: Document,
    /// Every figure, by name, in the order of the file; those from elsewhere are not among them.
    pub figures: IndexMap<String, Figure>,
    pub(super) text: String,
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
    pub(super) within: Option<f64>,
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
            let mut trials = self.figures.iter().filter(|(trial, _)| is_trial_of(trial, row));
            let threads = trials.find_map(|(_, figure)| figure.on.threads)?;
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

    /// Reads an expression over a run's results, too: names of metrics, for which `result` stands.
    ///
    /// # Errors
    /// As [`Paper::expression`].
    pub fn over_results(
        &self,
        source: &Source,
        result: &dyn Fn(&str) -> Option<f64>,
    ) -> Result<Option<f64>> {
        let line = || format!("line {}", self.line_of(source));
        let expression = Expression::parse(source.get_ref()).with_context(line)?;
        let named = |name: &str| {
            let of_run = || {
                let value = result(name)?;
                Some(Named { values: vec![Interval::exact(value)], shown: name.to_owned() })
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
}

fn is_trial_of(trial: &str, row: &str) -> bool {
    trial.strip_prefix(row).is_some_and(|rest| rest.starts_with('.'))
}
