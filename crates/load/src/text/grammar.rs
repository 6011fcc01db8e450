//! The built-in generator's tables: words by class and rules, read from `words.txt` and
//! `grammar.txt`.
//!
//! Both files are part of the program, so reading them cannot fail for a user; the tests here check
//! that they hold what the reader expects. A word's rank in its class decides how often it is drawn
//! (Zipf-Mandelbrot law), a rule's alternative is drawn by its weight; both in constant time, with
//! one random number (alias method of Walker, 1977, in the form of Vose, 1991).

use std::collections::HashMap;

use crate::random::Rng;

/// A word with the space before it, in an array so that copying it is one move of known length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    pub(super) text: [u8; Word::BYTES_MAX],
    pub(super) bytes: u8,
}

impl Word {
    pub(super) const BYTES_MAX: usize = 23;

    fn new(word: &str) -> Word {
        let mut text = [b' '; Word::BYTES_MAX];
        let bytes = word.len().min(Word::BYTES_MAX - 1);
        text[1..=bytes].copy_from_slice(&word.as_bytes()[..bytes]);
        Word { text, bytes: bytes as u8 + 1 }
    }
}

/// One step of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Symbol {
    /// A certain word.
    Word(u16),
    /// Some word of a class.
    Class(u16),
    /// An alternative of a rule.
    Rule(u16),
    /// A mark that follows the word before it without a space.
    Mark(u8),
    /// The dash between spaces.
    Dash,
    /// Opens and closes speech.
    Open,
    Close,
    /// The end of an alternative.
    End,
}

/// One outcome of a weighted draw, and what to take instead when the coin falls the other way.
#[derive(Debug, Clone, Copy)]
struct Choice {
    threshold: u32,
    own: u16,
    other: u16,
}

/// A weighted draw in constant time.
#[derive(Debug, Clone, Default)]
pub(super) struct Choices(Vec<Choice>);

impl Choices {
    /// Draws `outcomes[i].0` with probability proportional to `outcomes[i].1`.
    fn new(outcomes: &[(u16, f64)]) -> Choices {
        let mean = outcomes.iter().map(|outcome| outcome.1).sum::<f64>() / outcomes.len() as f64;
        let mut share: Vec<f64> = outcomes.iter().map(|outcome| outcome.1 / mean).collect();
        let mut other: Vec<usize> = (0..outcomes.len()).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..outcomes.len()).partition(|&index| share[index] < 1.0);
        while let (Some(&giver), Some(taker)) = (large.last(), small.pop()) {
            other[taker] = giver;
            share[giver] -= 1.0 - share[taker];
            if share[giver] < 1.0 {
                large.pop();
                small.push(giver);
            }
        }
        let choice = |index: usize| Choice {
            threshold: (share[index].min(1.0) * f64::from(u32::MAX)) as u32,
            own: outcomes[index].0,
            other: outcomes[other[index]].0,
        };
        Choices((0..outcomes.len()).map(choice).collect())
    }

    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u16 {
        let bits = rng.next_u64();
        // The high half chooses the column (its bias, below 1000 / 2^32, is of no account here),
        // the low half the coin.
        let choice = &self.0[(((bits >> 32) * self.0.len() as u64) >> 32) as usize];
        if bits as u32 <= choice.threshold { choice.own } else { choice.other }
    }
}

/// The frequencies of a class's words: the word of rank r has the weight 1 / (r + shift)^exponent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Zipf {
    pub(super) exponent: f64,
    pub(super) shift: f64,
}

/// Words, classes and rules, ready to draw from.
#[derive(Debug, Clone)]
pub(super) struct Grammar {
    pub(super) words: Vec<Word>,
    pub(super) classes: Vec<Choices>,
    pub(super) rules: Vec<Choices>,
    /// All alternatives one after another, each closed by [`Symbol::End`]; what a rule's draw
    /// points into.
    pub(super) symbols: Vec<Symbol>,
}

impl Grammar {
    /// Reads the two files; the first rule is the sentence.
    pub(super) fn new(words: &str, rules: &str, zipf: Zipf) -> Grammar {
        let mut grammar =
            Grammar { words: vec![], classes: vec![], rules: vec![], symbols: vec![] };
        let mut names = HashMap::new();
        for (name, lines) in sections(words) {
            names.insert(name, Symbol::Class(grammar.classes.len() as u16));
            grammar.add_class(&lines, zipf);
        }
        let rules = sections(rules);
        for (index, (name, _)) in rules.iter().enumerate() {
            names.insert(name, Symbol::Rule(index as u16));
        }
        for (_, alternatives) in &rules {
            grammar.add_rule(alternatives, &names);
        }
        grammar
    }

    fn add_class(&mut self, lines: &[&str], zipf: Zipf) {
        let weight = |rank: usize| (rank as f64 + zipf.shift).powf(-zipf.exponent);
        let words = lines.iter().flat_map(|line| line.split_whitespace());
        let outcomes: Vec<(u16, f64)> =
            words.zip(1..).map(|(word, rank)| (self.add_word(word), weight(rank))).collect();
        self.classes.push(Choices::new(&outcomes));
    }

    fn add_rule(&mut self, alternatives: &[&str], names: &HashMap<&str, Symbol>) {
        let mut outcomes = vec![];
        for alternative in alternatives {
            let mut items = alternative.split_whitespace();
            let weight = items.next().and_then(|weight| weight.parse().ok()).unwrap_or(0.0);
            outcomes.push((self.symbols.len() as u16, weight));
            for item in items {
                let symbol = self.symbol(item, names);
                self.symbols.push(symbol);
            }
            self.symbols.push(Symbol::End);
        }
        self.rules.push(Choices::new(&outcomes));
    }

    fn symbol(&mut self, item: &str, names: &HashMap<&str, Symbol>) -> Symbol {
        match item {
            "." | "," | ";" | ":" | "!" | "?" => Symbol::Mark(item.as_bytes()[0]),
            "--" => Symbol::Dash,
            "\"" => Symbol::Open,
            "''" => Symbol::Close,
            _ => names.get(item).copied().unwrap_or_else(|| Symbol::Word(self.add_word(item))),
        }
    }

    fn add_word(&mut self, word: &str) -> u16 {
        self.words.push(Word::new(&word.replace('~', " ")));
        (self.words.len() - 1) as u16
    }
}

/// Splits a data file into its sections: `<name>` and the lines up to the next name, without
/// comments.
fn sections(data: &str) -> Vec<(&str, Vec<&str>)> {
    let mut sections: Vec<(&str, Vec<&str>)> = vec![];
    for line in data.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match sections.last_mut() {
            _ if line.starts_with('<') => sections.push((line, vec![])),
            Some((_, lines)) => lines.push(line),
            None => {}
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = include_str!("words.txt");
    const RULES: &str = include_str!("grammar.txt");

    fn grammar() -> Grammar {
        Grammar::new(WORDS, RULES, Zipf { exponent: 1.0, shift: 0.0 })
    }

    #[test]
    fn the_data_is_what_the_reader_expects() {
        let (classes, rules) = (sections(WORDS), sections(RULES));
        let named =
            |name: &str| classes.iter().chain(&rules).filter(|section| section.0 == name).count();
        for (name, lines) in &classes {
            assert_eq!(named(name), 1, "{name}");
            let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
            assert!(!words.is_empty() && words.len() < 1000, "{name}: {}", words.len());
            let plain = |c: char| c.is_ascii_alphabetic() || "~.-".contains(c);
            for word in words {
                assert!(word.chars().all(plain) && word.len() < Word::BYTES_MAX, "{word}");
            }
        }
        for (name, alternatives) in &rules {
            assert_eq!(named(name), 1, "{name}");
            for alternative in alternatives {
                let mut items = alternative.split_whitespace();
                assert!(items.next().unwrap().parse::<f64>().unwrap() > 0.0, "{alternative}");
                for item in items {
                    assert!(!item.starts_with('<') || named(item) == 1, "{item} in {name}");
                }
            }
        }
        assert_eq!(rules[0].0, "<sentence>");
        assert!(grammar().words.len() < usize::from(u16::MAX));
        assert!(grammar().symbols.len() < usize::from(u16::MAX));
    }

    /// The most returns that can be pending below `rule`; a rule that holds itself elsewhere than
    /// at an end overflows.
    fn depth(grammar: &Grammar, rule: u16, above: usize, tail: &mut Vec<u16>) -> usize {
        assert!(above <= 8, "rule {rule} nests too deep");
        if tail.contains(&rule) {
            return above;
        }
        tail.push(rule);
        let mut deepest = above;
        for choice in &grammar.rules[usize::from(rule)].0 {
            let alternative = &grammar.symbols[usize::from(choice.own)..];
            for pair in alternative.windows(2).take_while(|pair| pair[0] != Symbol::End) {
                if let Symbol::Rule(inner) = pair[0] {
                    let found = match pair[1] {
                        Symbol::End => depth(grammar, inner, above, tail),
                        _ => depth(grammar, inner, above + 1, &mut vec![]),
                    };
                    deepest = deepest.max(found);
                }
            }
        }
        tail.pop();
        deepest
    }

    #[test]
    fn rules_nest_no_deeper_than_the_stack() {
        let deepest = depth(&grammar(), 0, 0, &mut vec![]);
        assert!(deepest <= super::super::generator::DEPTH_MAX, "{deepest}");
    }

    #[test]
    #[should_panic = "nests too deep"]
    fn endless_nesting_is_noticed() {
        let endless = Grammar::new(
            "<w>\nw",
            "<sentence>\n1 <w> <sentence> .",
            Zipf { exponent: 1.0, shift: 0.0 },
        );
        depth(&endless, 0, 0, &mut vec![]);
    }

    #[test]
    fn draws_follow_rank_and_weight() {
        let choices = Choices::new(&[(7, 1.0), (8, 2.0), (9, 5.0), (10, 0.5)]);
        let mut rng = Rng::new(1, 0);
        let mut seen = [0.0; 4];
        for _ in 0..85_000 {
            seen[usize::from(choices.draw(&mut rng)) - 7] += 1.0;
        }
        for (count, expected) in seen.iter().zip([10_000.0, 20_000.0, 50_000.0, 5_000.0]) {
            assert!((count / expected - 1.0f64).abs() < 0.06, "{seen:?}");
        }
    }
}
