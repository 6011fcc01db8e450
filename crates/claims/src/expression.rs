//! Arithmetic over named figures: `disks.cost / disks.tps`, `max(threads)`, `mean(a, b) - 1`.
//!
//! Numbers, names, `+ - * /`, parentheses, and `min`, `max`, `mean`, `sum`, `abs`, `round`. A name may stand for a list;
//! the first four take lists and put them in place of their arguments. What is evaluated is intervals.

use anyhow::{Result, anyhow, bail, ensure};

use super::interval::Interval;
use super::{parser, text};

/// Longest text of an expression, in bytes: parentheses cannot nest deeper.
const BYTES_MAX: usize = 1000;

/// What a name stands for: one number or several, and how it is printed.
pub struct Named {
    /// The numbers.
    pub values: Vec<Interval>,
    /// As the arithmetic shows it.
    pub shown: String,
}

/// An expression that was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression(Node);

/// What an expression is made of.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Number(f64),
    Name(String),
    Group(Box<Node>),
    Negative(Box<Node>),
    Binary(Box<Node>, char, Box<Node>),
    Call(Function, Vec<Node>),
}

/// What can be made of several numbers, or of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Function {
    Min,
    Max,
    Mean,
    Sum,
    Abs,
    Round,
}

/// Functions by name.
pub(super) const FUNCTIONS: [(&str, Function); 6] = [
    ("min", Function::Min),
    ("max", Function::Max),
    ("mean", Function::Mean),
    ("sum", Function::Sum),
    ("abs", Function::Abs),
    ("round", Function::Round),
];

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// One line: what is not understood, and where.
    pub fn parse(text: &str) -> Result<Expression> {
        ensure!(text.len() <= BYTES_MAX, "an expression is at most {BYTES_MAX} characters long");
        parser::parse(text).map(Expression)
    }

    /// Mean milliseconds of what so many do at once at so many a second.
    #[must_use]
    pub fn little_ms(at_once: Expression, per_s: Expression) -> Expression {
        let at_once = Node::Number(1000.0).with('*', at_once.0.grouped());
        Expression(at_once.with('/', per_s.0.grouped()))
    }

    /// The most that so many in a hundred stay below, by the mean of all.
    #[must_use]
    pub fn markov(mean: Expression, percent: u32) -> Expression {
        let share = Node::Number(f64::from(percent)).with('/', Node::Number(100.0));
        let others = Node::Number(1.0).with('-', share);
        Expression(mean.0.grouped().with('/', others.grouped()))
    }

    /// Every name in it, in order, each as often as it is there.
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

    /// Whether it is a name and nothing else.
    #[must_use]
    pub fn is_a_name(&self) -> bool {
        matches!(self.0, Node::Name(_))
    }

    /// Its value; nothing where it divides by what may be zero.
    ///
    /// # Errors
    /// One line: an unknown name, or a list where a number is needed.
    pub fn evaluate(&self, of: &dyn Fn(&str) -> Option<Named>) -> Result<Option<Interval>> {
        self.0.one(of)
    }

    /// The arithmetic, with figures in place of names.
    #[must_use]
    pub fn shown(&self, of: &dyn Fn(&str) -> Option<Named>) -> String {
        self.0.shown(of)
    }
}

impl Node {
    /// Both with a sign between them.
    pub(super) fn with(self, sign: char, right: Node) -> Node {
        Node::Binary(Box::new(self), sign, Box::new(right))
    }

    /// So that it can stand inside another.
    fn grouped(self) -> Node {
        match self {
            Node::Binary(..) | Node::Negative(_) => Node::Group(Box::new(self)),
            alone => alone,
        }
    }

    fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Node)) {
        visit(self);
        match self {
            Node::Number(_) | Node::Name(_) => {}
            Node::Group(inner) | Node::Negative(inner) => inner.walk(visit),
            Node::Binary(left, _, right) => {
                left.walk(visit);
                right.walk(visit);
            }
            Node::Call(_, arguments) => arguments.iter().for_each(|one| one.walk(visit)),
        }
    }

    fn one(&self, of: &dyn Fn(&str) -> Option<Named>) -> Result<Option<Interval>> {
        let Some(values) = self.all(of)? else { return Ok(None) };
        match values.as_slice() {
            [one] => Ok(Some(*one)),
            _ => {
                bail!("{} are several numbers; take min, max, mean or sum of them", self.shown(of))
            }
        }
    }

    fn all(&self, of: &dyn Fn(&str) -> Option<Named>) -> Result<Option<Vec<Interval>>> {
        let one = match self {
            Node::Number(value) => Some(Interval::exact(*value)),
            Node::Name(name) => {
                let named = of(name).ok_or_else(|| anyhow!("there is no figure `{name}`"))?;
                return Ok(Some(named.values));
            }
            Node::Group(inner) => return inner.all(of),
            Node::Negative(inner) => inner.one(of)?.map(Interval::negated),
            Node::Binary(left, sign, right) => {
                let (left, right) = (left.one(of)?, right.one(of)?);
                left.zip(right).and_then(|(left, right)| binary(left, *sign, right))
            }
            Node::Call(function, arguments) => {
                let mut values = Vec::new();
                for argument in arguments {
                    let Some(more) = argument.all(of)? else { return Ok(None) };
                    values.extend(more);
                }
                call(*function, &values)?
            }
        };
        // What no number can hold tells nothing.
        let one = one.filter(|one| one.is_finite());
        Ok(one.map(|one| vec![one]))
    }

    fn shown(&self, of: &dyn Fn(&str) -> Option<Named>) -> String {
        match self {
            Node::Number(value) => text::number(*value),
            Node::Name(name) => of(name).map_or_else(|| name.clone(), |named| named.shown),
            Node::Group(inner) => format!("({})", inner.shown(of)),
            Node::Negative(inner) => format!("−{}", inner.shown(of)),
            Node::Binary(left, sign, right) => {
                let sign = match sign {
                    '*' => '×',
                    '-' => '−',
                    other => *other,
                };
                let right = right.shown(of);
                // Two signs in a row are none that anybody writes.
                let right = if right.starts_with('−') { format!("({right})") } else { right };
                format!("{} {sign} {right}", left.shown(of))
            }
            Node::Call(function, arguments) => {
                let name =
                    FUNCTIONS.iter().find(|(_, one)| one == function).map_or("", |one| one.0);
                let arguments: Vec<String> = arguments.iter().map(|one| one.shown(of)).collect();
                format!("{name}({})", arguments.join(", "))
            }
        }
    }
}

fn binary(left: Interval, sign: char, right: Interval) -> Option<Interval> {
    match sign {
        '+' => Some(left.plus(right)),
        '-' => Some(left.plus(right.negated())),
        '*' => Some(left.times(right)),
        _ => left.divided_by(right),
    }
}

fn call(function: Function, values: &[Interval]) -> Result<Option<Interval>> {
    let mut rest = values.iter().copied();
    let Some(first) = rest.next() else { bail!("a function of nothing") };
    let count = Interval::exact(values.len() as f64);
    Ok(match function {
        Function::Min => Some(rest.fold(first, Interval::min)),
        Function::Max => Some(rest.fold(first, Interval::max)),
        Function::Sum => Some(rest.fold(first, Interval::plus)),
        Function::Mean => rest.fold(first, Interval::plus).divided_by(count),
        Function::Abs | Function::Round => {
            ensure!(values.len() == 1, "abs and round take one number, not {}", values.len());
            Some(if function == Function::Abs { first.abs() } else { first.rounded() })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(name: &str) -> Option<Named> {
        let (values, shown) = match name {
            "cost" => (vec![Interval::around(15_024.0, 0.5)], "15 024"),
            "disks.tps" => (vec![Interval::around(27.0, 0.5)], "27"),
            "threads" => ([1.0, 8.0, 256.0].map(Interval::exact).into(), "1, 8, 256"),
            _ => return None,
        };
        Some(Named { values, shown: shown.into() })
    }

    fn value(text: &str) -> f64 {
        Expression::parse(text).unwrap().evaluate(&figures).unwrap().unwrap().value
    }

    fn error(text: &str) -> String {
        let tried = Expression::parse(text).and_then(|one| one.evaluate(&figures));
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
            ("mni(1)", "no function is called `mni`; did you mean `min`?"),
            ("nothing + 1", "there is no figure `nothing`"),
            ("threads + 1", "1, 8, 256 are several numbers; take min, max, mean or sum of them"),
            ("abs(1, 2)", "abs and round take one number, not 2"),
            (&"(".repeat(2000), "at most 1000 characters"),
        ] {
            assert!(error(text).contains(says), "{text}: {}", error(text));
        }
    }
}
