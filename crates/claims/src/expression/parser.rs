//! Parser of expressions, by recursive descent.

use std::iter::Peekable;
use std::str::CharIndices;

use anyhow::{Result, anyhow, bail, ensure};
use assay_base::suggest::nearest;

use super::node::{FUNCTIONS, Node};

/// Parses all of `text`. An error names the unexpected character and its position.
pub(super) fn parse(text: &str) -> Result<Node> {
    let mut parser = Parser { text, rest: text.char_indices().peekable() };
    let node = parser.sum()?;
    match parser.next_sign() {
        None => Ok(node),
        Some(sign) => bail!("`{sign}` is not expected in `{text}`"),
    }
}

/// Each method parses one level of precedence.
struct Parser<'a> {
    text: &'a str,
    rest: Peekable<CharIndices<'a>>,
}

impl Parser<'_> {
    /// The next character after spaces.
    fn next_sign(&mut self) -> Option<char> {
        while self.rest.next_if(|(_, sign)| sign.is_whitespace()).is_some() {}
        self.rest.peek().map(|(_, sign)| *sign)
    }

    fn takes(&mut self, signs: &str) -> Option<char> {
        let sign = self.next_sign().filter(|sign| signs.contains(*sign))?;
        self.rest.next();
        Some(sign)
    }

    fn sum(&mut self) -> Result<Node> {
        let mut left = self.product()?;
        while let Some(sign) = self.takes("+-") {
            left = left.with(sign, self.product()?);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Node> {
        let mut left = self.factor()?;
        while let Some(sign) = self.takes("*/") {
            left = left.with(sign, self.factor()?);
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Node> {
        match self.next_sign() {
            Some('-') => {
                self.rest.next();
                Ok(Node::Negative(Box::new(self.factor()?)))
            }
            Some('(') => {
                self.rest.next();
                let inner = self.sum()?;
                self.close()?;
                Ok(Node::Group(Box::new(inner)))
            }
            Some(sign) if sign.is_ascii_alphanumeric() => self.word(),
            Some(sign) => bail!("`{sign}` is not expected in `{}`", self.text),
            None => bail!("`{}` ends too early", self.text),
        }
    }

    fn close(&mut self) -> Result<()> {
        ensure!(self.takes(")").is_some(), "a `)` is missing in `{}`", self.text);
        Ok(())
    }

    /// Parses a number, a name, or a function with its arguments.
    fn word(&mut self) -> Result<Node> {
        let is_part = |sign: char| sign.is_ascii_alphanumeric() || "._".contains(sign);
        let mut word = String::new();
        while let Some((_, sign)) = self.rest.next_if(|(_, sign)| is_part(*sign)) {
            word.push(sign);
        }
        // A figure's name may begin with a digit (`440g`): only a word that parses is a number.
        if let Ok(number) = word.parse::<f64>()
            && number.is_finite()
        {
            return Ok(Node::Number(number));
        }
        if self.takes("(").is_none() {
            return Ok(Node::Name(word));
        }
        let function = FUNCTIONS.iter().find(|(name, _)| *name == word).map(|(_, known)| *known);
        let function = function.ok_or_else(|| no_such_function(&word))?;
        let mut arguments = vec![self.sum()?];
        while self.takes(",").is_some() {
            arguments.push(self.sum()?);
        }
        self.close()?;
        Ok(Node::Call(function, arguments))
    }
}

fn no_such_function(word: &str) -> anyhow::Error {
    let names = || FUNCTIONS.iter().map(|(name, _)| *name);
    match nearest(word, names()) {
        Some(near) => anyhow!("there is no function `{word}`; did you mean `{near}`?"),
        None => anyhow!(
            "there is no function `{word}`; there are {}",
            names().collect::<Vec<_>>().join(", ")
        ),
    }
}
