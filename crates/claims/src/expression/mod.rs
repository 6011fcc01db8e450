//! Arithmetic over named figures: `disks.cost / disks.tps`, `max(threads)`, `mean(a, b) - 1`.
//!
//! Numbers, names, `+ - * /`, parentheses, and `min`, `max`, `mean`, `sum`, `abs`, `round`. A name
//! may stand for a list; the first four functions expand lists into their arguments. Values are
//! intervals.

mod node;
mod parser;

use anyhow::{Result, ensure};

use super::interval::RoundingInterval;
use node::Node;

pub use node::Named;

/// Longest text of an expression in bytes, which also bounds the nesting of parentheses.
const BYTES_MAX: usize = 1000;

/// A parsed expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression(Node);

impl Expression {
    /// Parses an expression. An error names the unexpected character and its position.
    pub fn parse(text: &str) -> Result<Expression> {
        ensure!(text.len() <= BYTES_MAX, "an expression has at most {BYTES_MAX} characters");
        parser::parse(text).map(Expression)
    }

    /// Mean latency in ms by Little's law, of `at_once` concurrent requests at a rate of `per_s`.
    #[must_use]
    pub fn little_ms(at_once: Expression, per_s: Expression) -> Expression {
        let at_once = Node::Number(1000.0).with('*', at_once.0.grouped());
        Expression(at_once.with('/', per_s.0.grouped()))
    }

    /// Upper bound of a percentile by Markov's inequality.
    #[must_use]
    pub fn markov(mean: Expression, percent: u32) -> Expression {
        let share = Node::Number(f64::from(percent)).with('/', Node::Number(100.0));
        let others = Node::Number(1.0).with('-', share);
        Expression(mean.0.grouped().with('/', others.grouped()))
    }

    /// All names in order, with repetitions.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.0.walk(&mut |node| {
            if let Node::Name(name) = node {
                names.push(name.as_str());
            }
        });
        names
    }

    /// Returns true for a single name.
    #[must_use]
    pub fn is_a_name(&self) -> bool {
        matches!(self.0, Node::Name(_))
    }

    /// Evaluates the expression. `None` if a divisor may be zero.
    ///
    /// Fails for an unknown name, and for a list where a number is needed.
    pub fn evaluate(&self, of: &dyn Fn(&str) -> Option<Named>) -> Result<Option<RoundingInterval>> {
        self.0.one(of)
    }

    /// The text with figures in place of names.
    #[must_use]
    pub fn shown(&self, of: &dyn Fn(&str) -> Option<Named>) -> String {
        self.0.shown(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(name: &str) -> Option<Named> {
        let (values, shown) = match name {
            "cost" => (vec![RoundingInterval::around(15_024.0, 0.5)], "15 024"),
            "disks.tps" => (vec![RoundingInterval::around(27.0, 0.5)], "27"),
            "threads" => ([1.0, 8.0, 256.0].map(RoundingInterval::exact).into(), "1, 8, 256"),
            _ => return None,
        };
        Some(Named { values, shown: shown.into() })
    }

    fn value(text: &str) -> f64 {
        Expression::parse(text).unwrap().evaluate(&figures).unwrap().unwrap().value
    }

    fn error(text: &str) -> String {
        let tried = Expression::parse(text).and_then(|expression| expression.evaluate(&figures));
        format!("{:#}", tried.unwrap_err())
    }

    #[test]
    fn arithmetic_goes_by_the_usual_order() {
        assert_eq!(value("2 + 3 * 4 - 6 / 2 - 1"), 10.0);
        assert_eq!(value("(2 + 3) * -4"), -20.0);
        assert_eq!(value("8 / 4 / 2"), 1.0);
        assert_eq!(value("abs(-2.5) + round(2.6)"), 5.5);
        assert_eq!(value("max(threads) - min(threads, 0) + mean(2, 4) + sum(threads)"), 524.0);
    }

    #[test]
    fn figures_bring_their_rounding_and_are_shown() {
        let cost = Expression::parse("cost / disks.tps").unwrap();
        let interval = cost.evaluate(&figures).unwrap().unwrap();
        assert!((interval.low - 546.31).abs() < 0.01 && (interval.high - 566.96).abs() < 0.01);
        assert_eq!(cost.shown(&figures), "15 024 / 27");
        assert_eq!(cost.names(), ["cost", "disks.tps"]);
        let more = Expression::parse("max(threads)*1000-(2.5)").unwrap();
        assert_eq!(more.shown(&figures), "max(1, 8, 256) × 1000 − (2.5)");
        let zero = Expression::parse("1 / (disks.tps - 27)").unwrap();
        assert_eq!(zero.evaluate(&figures).unwrap(), None);
        let endless = format!("{0} * {0} - {0} * {0}", "9".repeat(200));
        assert_eq!(Expression::parse(&endless).unwrap().evaluate(&figures).unwrap(), None);
    }

    #[test]
    fn what_is_no_arithmetic_is_said() {
        for (text, says) in [
            ("1 +", "`1 +` ends too early"),
            ("(1", "a `)` is missing"),
            ("1 2", "`2` is not expected in `1 2`"),
            ("1 % 2", "`%` is not expected"),
            ("mni(1)", "there is no function `mni`; did you mean `min`?"),
            ("nothing + 1", "there is no figure `nothing`"),
            ("threads + 1", "1, 8, 256 are several numbers; use min, max, mean or sum"),
            ("abs(1, 2)", "abs and round take one number, not 2"),
            (&"(".repeat(2000), "at most 1000 characters"),
        ] {
            assert!(error(text).contains(says), "{text}: {}", error(text));
        }
    }
}
