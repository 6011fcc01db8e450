//! What became of a check: it follows, it does not, or it cannot be told; with the arithmetic.

use anyhow::{Result, bail, ensure};
use serde::Serialize;

use super::document::{Check, Relation, Source};
use super::expression::Expression;
use super::interval::Interval;
use super::paper::Paper;
use super::text;

/// Whether a figure follows from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// It does, within rounding.
    #[serde(rename = "follows")]
    Follows,
    /// However the printed figures were rounded, it does not.
    #[serde(rename = "does not follow")]
    DoesNotFollow,
    /// Something is missing.
    #[serde(rename = "undecidable")]
    Undecidable,
}

impl Verdict {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Follows => "follows",
            Verdict::DoesNotFollow => "does not follow",
            Verdict::Undecidable => "undecidable",
        }
    }
}

/// What became of one check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// What was checked.
    pub name: String,
    /// Where the paper states it.
    #[serde(rename = "where")]
    pub place: String,
    /// What came of it.
    pub verdict: Verdict,
    /// The arithmetic, where there is any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arithmetic: Option<Arithmetic>,
    /// What is taken for granted that the paper does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumes: Option<String>,
    /// What would come of it if that were so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_so: Option<Verdict>,
    /// What it means, or what is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// Numbers from elsewhere that it rests on, with their sources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<String>,
}

/// Two sides and how they should stand to each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arithmetic {
    /// The law it is an instance of, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub law: Option<&'static str>,
    /// What follows.
    pub computed: Side,
    /// How it should stand to the other side.
    pub relation: Relation,
    /// What is printed; nothing where there is nothing to hold against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub printed: Option<Side>,
    /// Allowed beyond rounding.
    pub tolerance_percent: f64,
    /// Of both sides.
    pub unit: String,
}

/// An expression with figures in it, and what it comes to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// Figures in place of names.
    pub arithmetic: String,
    /// What it comes to; nothing where rounding lets a divisor be zero.
    pub value: Option<f64>,
    /// The least that rounding allows.
    pub low: Option<f64>,
    /// The most that rounding allows.
    pub high: Option<f64>,
    /// Whether it is one printed figure and nothing else.
    #[serde(skip)]
    pub is_figure: bool,
    #[serde(skip)]
    interval: Option<Interval>,
}

/// Whoever allows more than this allows anything.
const TOLERANCE_MAX_PERCENT: f64 = 100.0;

/// Makes a check, as often as it says.
///
/// # Errors
/// One line: an expression that is not understood, a figure that is not there, or keys that do not go together.
pub fn of(paper: &Paper, check: &Check) -> Result<Vec<Outcome>> {
    let tolerance = check.tolerance_percent;
    ensure!(
        (0.0..=TOLERANCE_MAX_PERCENT).contains(&tolerance),
        "tolerance_percent is {tolerance}; give a number from 0 to {TOLERANCE_MAX_PERCENT}"
    );
    ensure!(
        check.missing.is_none() || check.assumes.is_none(),
        "give missing or assumes, not both"
    );
    match check.each.as_slice() {
        [] => Ok(vec![one(paper, check, None)?]),
        each => each.iter().map(|each| one(paper, check, Some(each))).collect(),
    }
}

/// All checks of a paper.
///
/// # Errors
/// None that a parsed paper could have.
pub fn all(paper: &Paper) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for check in &paper.document.checks {
        outcomes.extend(of(paper, check)?);
    }
    Ok(outcomes)
}

fn one(paper: &Paper, check: &Check, each: Option<&str>) -> Result<Outcome> {
    let sides = Sides::of(paper, check, each)?;
    let by_figures = match (&check.missing, &sides) {
        (None, Some(sides)) => sides.verdict(),
        _ => Verdict::Undecidable,
    };
    let (verdict, if_so) = match check.assumes {
        Some(_) => (Verdict::Undecidable, Some(by_figures)),
        None => (by_figures, None),
    };
    let says = match by_figures {
        Verdict::Follows => check.follows.clone(),
        Verdict::DoesNotFollow => check.otherwise.clone(),
        Verdict::Undecidable => {
            let missing = check.missing.clone();
            missing.or_else(|| Some("its figures are rounded too coarsely".into()))
        }
    };
    Ok(Outcome {
        name: each.map_or_else(|| check.name.clone(), |each| format!("{}: {each}", check.name)),
        place: check.place.clone(),
        verdict,
        assumes: check.assumes.clone(),
        if_so,
        given: sides.as_ref().map_or_else(Vec::new, |sides| given(paper, sides)),
        arithmetic: sides.map(|sides| sides.arithmetic(paper, check)),
        says,
    })
}

/// The expressions of a check.
struct Sides {
    law: Option<&'static str>,
    computed: Expression,
    relation: Relation,
    printed: Option<Expression>,
    computed_interval: Option<Interval>,
    printed_interval: Option<Interval>,
}

impl Sides {
    fn of(paper: &Paper, check: &Check, each: Option<&str>) -> Result<Option<Sides>> {
        let read = |source: &Source| paper.expression(source, each);
        let (law, computed, relation, printed) = match check {
            Check { little: Some(little), computed: None, printed: None, markov: None, .. } => {
                let computed = Expression::little_ms(read(&little.threads)?, read(&little.per_s)?);
                let printed = read(&little.latency_ms)?;
                (Some("Little's law"), computed, Relation::Equal, Some(printed))
            }
            Check { markov: Some(markov), computed: None, printed: None, little: None, .. } => {
                ensure!((1..=99).contains(&markov.percent), "markov.percent is from 1 to 99");
                let computed = Expression::markov(read(&markov.mean)?, markov.percent);
                let printed = read(&markov.percentile)?;
                (Some("Markov's bound"), computed, Relation::AtLeast, Some(printed))
            }
            Check { computed: Some(computed), little: None, markov: None, .. } => {
                let printed = check.printed.as_ref().map(read).transpose()?;
                (None, read(computed)?, check.relation, printed)
            }
            Check {
                computed: None, little: None, markov: None, printed: None, missing, ..
            } => {
                ensure!(missing.is_some(), "give computed and printed, little, markov, or missing");
                return Ok(None);
            }
            _ => bail!("give one of computed with printed, little and markov, not several"),
        };
        ensure!(printed.is_some() || check.missing.is_some(), "give printed or missing");
        let value = |one: &Expression| one.evaluate(&|name| paper.named(name));
        let finite = |one: Option<Interval>| one.filter(|interval| interval.is_finite());
        let widened = |interval: Interval| interval.widened(check.tolerance_percent);
        let computed_interval = finite(value(&computed)?.map(widened));
        let printed_interval = finite(printed.as_ref().map(value).transpose()?.flatten());
        Ok(Some(Sides { law, computed, relation, printed, computed_interval, printed_interval }))
    }

    fn verdict(&self) -> Verdict {
        let Some((computed, printed)) = self.computed_interval.zip(self.printed_interval) else {
            return Verdict::Undecidable;
        };
        let holds = match self.relation {
            Relation::Equal => computed.may_equal(printed),
            Relation::AtMost => printed.may_reach(computed),
            Relation::AtLeast => computed.may_reach(printed),
            Relation::Below => printed.may_exceed(computed),
            Relation::Above => computed.may_exceed(printed),
        };
        if holds { Verdict::Follows } else { Verdict::DoesNotFollow }
    }

    fn arithmetic(&self, paper: &Paper, check: &Check) -> Arithmetic {
        let side = |expression: &Expression, interval: Option<Interval>| Side {
            arithmetic: expression.shown(&|name| paper.named(name)),
            value: interval.map(|one| one.value),
            low: interval.map(|one| one.low),
            high: interval.map(|one| one.high),
            is_figure: expression.is_a_name(),
            interval,
        };
        Arithmetic {
            law: self.law,
            computed: side(&self.computed, self.computed_interval),
            relation: self.relation,
            printed: self.printed.as_ref().map(|one| side(one, self.printed_interval)),
            tolerance_percent: check.tolerance_percent,
            unit: check.unit.clone(),
        }
    }
}

/// Numbers from elsewhere, each once.
fn given(paper: &Paper, sides: &Sides) -> Vec<String> {
    let expressions = std::iter::once(&sides.computed).chain(&sides.printed);
    let mut told: Vec<String> = Vec::new();
    for name in expressions.flat_map(Expression::names) {
        let Some(given) = paper.document.given.get(name) else { continue };
        let text = format!("{} {}: {}", given.printed.shown(), given.unit, given.source);
        let text = text.replace(" :", ":");
        if !told.contains(&text) {
            told.push(text);
        }
    }
    told
}

impl Outcome {
    /// What is assumed, and what it would make of the figure; nothing where nothing is.
    #[must_use]
    pub fn assumption(&self) -> Option<String> {
        let (assumes, if_so) = self.assumes.as_ref().zip(self.if_so)?;
        let then = match if_so {
            Verdict::Follows => "then it follows",
            Verdict::DoesNotFollow => "then it does not follow",
            Verdict::Undecidable => "and even then it is undecidable",
        };
        Some(format!("assumed: {assumes}; {then}"))
    }
}

impl Side {
    /// `15 024 / 27 = 556.4 (546.3 to 567)`; of a number that stands for itself, only the rest.
    #[must_use]
    pub fn shown(&self) -> String {
        let Some(interval) = self.interval else {
            return format!(
                "{}: a divisor may be zero, or the result is too large",
                self.arithmetic
            );
        };
        let value = text::number(interval.value);
        let range = text::range(interval);
        match self.arithmetic == value || self.is_figure {
            true => format!("{}{range}", self.arithmetic),
            false => format!("{} = {value}{range}", self.arithmetic),
        }
    }
}

impl Arithmetic {
    /// In a line: `15 024 / 27 = 556.4 (546.3 to 567), printed 442 (441.5 to 442.5) USD`.
    #[must_use]
    pub fn shown(&self) -> String {
        let law = self.law.map_or_else(String::new, |law| format!("{law}: "));
        let computed = self.computed.shown();
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        let Some(printed) = &self.printed else { return format!("{law}{computed}{unit}") };
        let other = match (self.relation, printed.is_figure) {
            (Relation::Equal, true) => format!("printed {}", printed.shown()),
            (Relation::Equal, false) => format!("against {}", printed.shown()),
            (relation, is_figure) => {
                let which = if is_figure { "the printed " } else { "" };
                format!("to be {} {which}{}", relation.words(), printed.shown())
            }
        };
        let allowed = match self.tolerance_percent {
            0.0 => String::new(),
            percent => format!("; {} % allowed", text::number(percent)),
        };
        format!("{law}{computed}, {other}{unit}{allowed}")
    }
}

impl Relation {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Relation::Equal => "equal to",
            Relation::AtMost => "at most",
            Relation::AtLeast => "at least",
            Relation::Below => "less than",
            Relation::Above => "more than",
        }
    }
}

/// How many checks ended so.
#[must_use]
pub fn count(outcomes: &[Outcome], verdict: Verdict) -> u64 {
    outcomes.iter().filter(|one| one.verdict == verdict).count() as u64
}
