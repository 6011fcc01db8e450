//! The nodes of an expression: evaluation and display.

use anyhow::{Result, anyhow, bail, ensure};

use crate::interval::RoundingInterval;
use crate::text;

/// The value of a name: one number or several, and their printed form.
pub struct Named {
    pub values: Vec<RoundingInterval>,
    pub shown: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Number(f64),
    Name(String),
    Group(Box<Node>),
    Negative(Box<Node>),
    Binary(Box<Node>, char, Box<Node>),
    Call(Function, Vec<Node>),
}

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

impl Node {
    pub(super) fn with(self, sign: char, right: Node) -> Node {
        Node::Binary(Box::new(self), sign, Box::new(right))
    }

    /// The text as an operand of another expression, in parentheses if needed.
    pub(super) fn grouped(self) -> Node {
        match self {
            Node::Binary(..) | Node::Negative(_) => Node::Group(Box::new(self)),
            alone => alone,
        }
    }

    pub(super) fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Node)) {
        visit(self);
        match self {
            Node::Number(_) | Node::Name(_) => {}
            Node::Group(inner) | Node::Negative(inner) => inner.walk(visit),
            Node::Binary(left, _, right) => {
                left.walk(visit);
                right.walk(visit);
            }
            Node::Call(_, arguments) => arguments.iter().for_each(|argument| argument.walk(visit)),
        }
    }

    pub(super) fn one(
        &self,
        of: &dyn Fn(&str) -> Option<Named>,
    ) -> Result<Option<RoundingInterval>> {
        let Some(values) = self.all(of)? else { return Ok(None) };
        match values.as_slice() {
            [one] => Ok(Some(*one)),
            _ => {
                bail!("{} are several numbers; use min, max, mean or sum", self.shown(of))
            }
        }
    }

    fn all(&self, of: &dyn Fn(&str) -> Option<Named>) -> Result<Option<Vec<RoundingInterval>>> {
        let one = match self {
            Node::Number(value) => Some(RoundingInterval::exact(*value)),
            Node::Name(name) => {
                let named = of(name).ok_or_else(|| anyhow!("there is no figure `{name}`"))?;
                return Ok(Some(named.values));
            }
            Node::Group(inner) => return inner.all(of),
            Node::Negative(inner) => inner.one(of)?.map(RoundingInterval::negated),
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
        // A value that overflows proves nothing.
        let value = one.filter(|value| value.is_finite());
        Ok(value.map(|value| vec![value]))
    }

    pub(super) fn shown(&self, of: &dyn Fn(&str) -> Option<Named>) -> String {
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
                // Avoids two signs in a row.
                let right = if right.starts_with('−') { format!("({right})") } else { right };
                format!("{} {sign} {right}", left.shown(of))
            }
            Node::Call(function, arguments) => {
                let name = FUNCTIONS
                    .iter()
                    .find(|(_, known)| known == function)
                    .map_or("", |(name, _)| name);
                let arguments: Vec<String> =
                    arguments.iter().map(|argument| argument.shown(of)).collect();
                format!("{name}({})", arguments.join(", "))
            }
        }
    }
}

fn binary(left: RoundingInterval, sign: char, right: RoundingInterval) -> Option<RoundingInterval> {
    match sign {
        '+' => Some(left.plus(right)),
        '-' => Some(left.plus(right.negated())),
        '*' => Some(left.times(right)),
        _ => left.divided_by(right),
    }
}

fn call(function: Function, values: &[RoundingInterval]) -> Result<Option<RoundingInterval>> {
    let mut rest = values.iter().copied();
    let Some(first) = rest.next() else { bail!("a function of nothing") };
    let count = RoundingInterval::exact(values.len() as f64);
    Ok(match function {
        Function::Min => Some(rest.fold(first, RoundingInterval::min)),
        Function::Max => Some(rest.fold(first, RoundingInterval::max)),
        Function::Sum => Some(rest.fold(first, RoundingInterval::plus)),
        Function::Mean => rest.fold(first, RoundingInterval::plus).divided_by(count),
        Function::Abs | Function::Round => {
            ensure!(values.len() == 1, "abs and round take one number, not {}", values.len());
            Some(if function == Function::Abs { first.abs() } else { first.rounded() })
        }
    })
}
