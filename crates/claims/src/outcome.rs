//! The outcome of a check: it holds, it does not, or it is undecided; with the arithmetic.

use anyhow::{Result, bail, ensure};
use serde::Serialize;

use super::document::{Check, ExpressionText, Relation};
use super::expression::Expression;
use super::interval::RoundingInterval;
use super::paper::ParsedPaper;
use super::text;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ClaimVerdict {
    /// The figure follows from others within rounding.
    #[serde(rename = "follows")]
    Follows,
    /// No rounding of the printed figures makes it follow.
    #[serde(rename = "does not follow")]
    DoesNotFollow,
    /// A figure or an assumption is missing.
    #[serde(rename = "undecidable")]
    Undecidable,
}

impl ClaimVerdict {
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            ClaimVerdict::Follows => "follows",
            ClaimVerdict::DoesNotFollow => "does not follow",
            ClaimVerdict::Undecidable => "undecidable",
        }
    }
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckOutcome {
    pub name: String,
    #[serde(rename = "where")]
    pub place: String,
    pub verdict: ClaimVerdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arithmetic: Option<Arithmetic>,
    /// Assumption that the paper does not state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumes: Option<String>,
    /// Verdict under that assumption.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_so: Option<ClaimVerdict>,
    /// Explanation, or the missing figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// Numbers from other sources, with the source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<String>,
}

/// Two values and their required relation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arithmetic {
    /// Name of the law that the check applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub law: Option<&'static str>,
    pub computed: EvaluatedSide,
    pub relation: Relation,
    /// `None` if there is no printed value to compare with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub printed: Option<EvaluatedSide>,
    /// Tolerance in addition to rounding.
    pub tolerance_percent: f64,
    /// Unit of both sides.
    pub unit: String,
}

/// An expression and its value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluatedSide {
    /// Text with figures in place of names.
    pub arithmetic: String,
    /// `None` if rounding lets a divisor be zero.
    pub value: Option<f64>,
    /// Lower bound by rounding.
    pub low: Option<f64>,
    /// Upper bound by rounding.
    pub high: Option<f64>,
    /// True if the expression is a single printed figure.
    #[serde(skip)]
    pub is_figure: bool,
    #[serde(skip)]
    interval: Option<RoundingInterval>,
}

/// Largest tolerance; a larger one would accept any value.
const TOLERANCE_MAX_PERCENT: f64 = 100.0;

/// Evaluates a check, once for each of its `each`.
///
/// Fails for an expression that does not parse, an unknown figure, and conflicting keys.
pub fn of(paper: &ParsedPaper, check: &Check) -> Result<Vec<CheckOutcome>> {
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

/// Evaluates all checks of a paper.
pub fn all(paper: &ParsedPaper) -> Result<Vec<CheckOutcome>> {
    let mut outcomes = Vec::new();
    for check in &paper.document.checks {
        outcomes.extend(of(paper, check)?);
    }
    Ok(outcomes)
}

fn one(paper: &ParsedPaper, check: &Check, each: Option<&str>) -> Result<CheckOutcome> {
    let sides = Sides::of(paper, check, each)?;
    let by_figures = match (&check.missing, &sides) {
        (None, Some(sides)) => sides.verdict(),
        _ => ClaimVerdict::Undecidable,
    };
    let (verdict, if_so) = match check.assumes {
        Some(_) => (ClaimVerdict::Undecidable, Some(by_figures)),
        None => (by_figures, None),
    };
    let says = match by_figures {
        ClaimVerdict::Follows => check.follows.clone(),
        ClaimVerdict::DoesNotFollow => check.otherwise.clone(),
        ClaimVerdict::Undecidable => {
            let missing = check.missing.clone();
            missing.or_else(|| Some("its figures are rounded too coarsely".into()))
        }
    };
    Ok(CheckOutcome {
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

struct Sides {
    law: Option<&'static str>,
    computed: Expression,
    relation: Relation,
    printed: Option<Expression>,
    computed_interval: Option<RoundingInterval>,
    printed_interval: Option<RoundingInterval>,
}

impl Sides {
    fn of(paper: &ParsedPaper, check: &Check, each: Option<&str>) -> Result<Option<Sides>> {
        let read = |source: &ExpressionText| paper.expression(source, each);
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
        let finite = |one: Option<RoundingInterval>| one.filter(|interval| interval.is_finite());
        let widened = |interval: RoundingInterval| interval.widened(check.tolerance_percent);
        let computed_interval = finite(value(&computed)?.map(widened));
        let printed_interval = finite(printed.as_ref().map(value).transpose()?.flatten());
        Ok(Some(Sides { law, computed, relation, printed, computed_interval, printed_interval }))
    }

    fn verdict(&self) -> ClaimVerdict {
        let Some((computed, printed)) = self.computed_interval.zip(self.printed_interval) else {
            return ClaimVerdict::Undecidable;
        };
        let holds = match self.relation {
            Relation::Equal => computed.may_equal(printed),
            Relation::AtMost => printed.may_reach(computed),
            Relation::AtLeast => computed.may_reach(printed),
            Relation::Below => printed.may_exceed(computed),
            Relation::Above => computed.may_exceed(printed),
        };
        if holds { ClaimVerdict::Follows } else { ClaimVerdict::DoesNotFollow }
    }

    fn arithmetic(&self, paper: &ParsedPaper, check: &Check) -> Arithmetic {
        let side = |expression: &Expression, interval: Option<RoundingInterval>| EvaluatedSide {
            arithmetic: expression.shown(&|name| paper.named(name)),
            value: interval.map(|value| value.value),
            low: interval.map(|value| value.low),
            high: interval.map(|value| value.high),
            is_figure: expression.is_a_name(),
            interval,
        };
        Arithmetic {
            law: self.law,
            computed: side(&self.computed, self.computed_interval),
            relation: self.relation,
            printed: self.printed.as_ref().map(|printed| side(printed, self.printed_interval)),
            tolerance_percent: check.tolerance_percent,
            unit: check.unit.clone(),
        }
    }
}

/// Numbers from other sources, each once.
fn given(paper: &ParsedPaper, sides: &Sides) -> Vec<String> {
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

impl CheckOutcome {
    /// Sentence with the assumption and the verdict under it.
    #[must_use]
    pub fn assumption(&self) -> Option<String> {
        let (assumes, if_so) = self.assumes.as_ref().zip(self.if_so)?;
        let then = match if_so {
            ClaimVerdict::Follows => "then it follows",
            ClaimVerdict::DoesNotFollow => "then it does not follow",
            ClaimVerdict::Undecidable => "and even then it is undecidable",
        };
        Some(format!("assumed: {assumes}; {then}"))
    }
}

impl EvaluatedSide {
    /// `15 024 / 27 = 556.4 (546.3 to 567)`; for a single figure only the part after `=`.
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
    /// Line such as `15 024 / 27 = 556.4 (546.3 to 567), printed 442 (441.5 to 442.5) USD`.
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

/// Number of outcomes with this verdict.
#[must_use]
pub fn count(outcomes: &[CheckOutcome], verdict: ClaimVerdict) -> u64 {
    outcomes.iter().filter(|outcome| outcome.verdict == verdict).count() as u64
}
