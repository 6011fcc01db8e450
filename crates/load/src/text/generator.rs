//! Writes lines of invented English by the grammar: the hot path of a load that fills text columns.
//!
//! Nothing is allocated for a line but what `out` may lack, and a word costs one random number and
//! one short copy.

use super::grammar::{Grammar, Symbol, Word, Zipf};
use crate::random::Rng;

/// Depth to which rules can nest, tail positions not counted. A test holds the grammar to it.
pub(super) const DEPTH_MAX: usize = 8;

/// The next word is the first of a sentence.
const CAPITAL: u8 = 1;
/// The next word follows without a space.
const GLUED: u8 = 2;
/// The word before is the article "a".
const ARTICLE: u8 = 4;

/// The built-in source of lines.
#[derive(Debug, Clone)]
pub(super) struct Generator {
    grammar: Grammar,
}

impl Generator {
    pub(super) fn new(zipf: Zipf) -> Generator {
        let grammar = Grammar::new(include_str!("words.txt"), include_str!("grammar.txt"), zipf);
        Generator { grammar }
    }

    /// Appends at most `width` bytes of running text, which begins and ends wherever a line of a
    /// book might.
    pub(super) fn line(&self, rng: &mut Rng, width: usize, out: &mut Vec<u8>) {
        out.reserve(width + Word::BYTES_MAX);
        let mut line = Line { start: out.len(), end: out.len() + width, pending: GLUED, out };
        let grammar = &self.grammar;
        let mut cursor = grammar.rules[0].draw(rng) as usize;
        cursor += self.entry(rng, cursor, &mut line);
        let mut returns = [0; DEPTH_MAX];
        let mut depth = 0;
        loop {
            let symbol = grammar.symbols[cursor];
            cursor += 1;
            let fits = match symbol {
                Symbol::Word(word) => line.word(&grammar.words[word as usize]),
                Symbol::Class(class) => {
                    let word = grammar.classes[class as usize].draw(rng);
                    line.word(&grammar.words[word as usize])
                }
                Symbol::Rule(rule) => {
                    // The rule's end will be this one's end too: no need to come back.
                    if grammar.symbols[cursor] != Symbol::End {
                        returns[depth] = cursor;
                        depth += 1;
                    }
                    cursor = grammar.rules[rule as usize].draw(rng) as usize;
                    true
                }
                Symbol::End if depth > 0 => {
                    depth -= 1;
                    cursor = returns[depth];
                    true
                }
                Symbol::End => {
                    line.pending |= CAPITAL;
                    cursor = grammar.rules[0].draw(rng) as usize;
                    true
                }
                mark => line.mark(mark),
            };
            if !fits {
                return line.finish();
            }
        }
    }

    /// The offset in the sentence at `cursor` at which a line starts: mostly in its middle.
    fn entry(&self, rng: &mut Rng, cursor: usize, line: &mut Line<'_>) -> usize {
        let rest = &self.grammar.symbols[cursor..];
        let symbols = rest.iter().take_while(|&&symbol| symbol != Symbol::End).count();
        let skipped = rng.below(symbols as u64) as usize;
        if skipped == 0 {
            line.pending |= CAPITAL;
        }
        skipped
    }
}

/// A line being written.
struct Line<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    end: usize,
    pending: u8,
}

impl Line<'_> {
    /// Appends a word if it fits, and returns whether it did; the first word is cut.
    #[inline]
    fn word(&mut self, word: &Word) -> bool {
        if self.pending != 0 {
            return self.first_word(word);
        }
        let before = self.out.len();
        let after = before + word.bytes as usize;
        if after > self.end {
            return false;
        }
        self.out.extend_from_slice(&word.text);
        self.out.truncate(after);
        if word.bytes == 2 && word.text[1] == b'a' {
            self.pending = ARTICLE;
        }
        true
    }

    /// Appends a word with pending changes.
    fn first_word(&mut self, word: &Word) -> bool {
        let mut text = &word.text[..word.bytes as usize];
        if self.pending & ARTICLE != 0 && matches!(text[1], b'a' | b'e' | b'i' | b'o' | b'u') {
            if self.out.len() + 1 + text.len() > self.end {
                return false;
            }
            self.out.push(b'n');
        }
        if self.pending & GLUED != 0 {
            text = &text[1..];
        }
        if self.out.len() == self.start {
            text = &text[..text.len().min(self.end - self.start)];
        }
        let before = self.out.len();
        if before + text.len() > self.end {
            return false;
        }
        self.out.extend_from_slice(text);
        if self.pending & CAPITAL != 0 {
            let letter = if self.pending & GLUED != 0 { before } else { before + 1 };
            self.out[letter].make_ascii_uppercase();
        }
        self.pending = if text == b" a" || text == b"a" { ARTICLE } else { 0 };
        true
    }

    /// Appends a mark if it fits, and returns whether it did. No line begins with one, except for
    /// an opening quotation mark.
    fn mark(&mut self, mark: Symbol) -> bool {
        let text: &[u8] = match mark {
            Symbol::Open if self.out.len() == self.start => b"\"",
            Symbol::Open => b" \"",
            _ if self.out.len() == self.start => return true,
            Symbol::Dash => b" --",
            Symbol::Close => b"\"",
            Symbol::Mark(mark) => &[mark],
            _ => return true,
        };
        if self.out.len() + text.len() > self.end {
            return false;
        }
        self.out.extend_from_slice(text);
        match mark {
            Symbol::Open => self.pending = CAPITAL | GLUED,
            Symbol::Mark(b'.' | b'!' | b'?') => self.pending |= CAPITAL,
            Symbol::Close => self.pending &= !CAPITAL,
            _ => {}
        }
        true
    }

    /// Removes an opening quotation mark at the end.
    fn finish(self) {
        if self.pending & GLUED != 0 && self.out.len() > self.start + 2 {
            self.out.truncate(self.out.len() - 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::random::Rng;
    use crate::text::TextSource;

    fn lines(seed: u64, stream: u64, max_bytes: usize, count: usize) -> Vec<String> {
        let source = TextSource::built_in();
        let mut rng = Rng::new(seed, stream);
        let line = |_| {
            let mut out = b"kept".to_vec();
            source.line(&mut rng, max_bytes, &mut out);
            String::from_utf8(out).unwrap().strip_prefix("kept").unwrap().to_owned()
        };
        (0..count).map(line).collect()
    }

    #[test]
    fn lines_repeat_by_seed_and_stream() {
        assert_eq!(lines(1, 2, 255, 100), lines(1, 2, 255, 100));
        assert_ne!(lines(1, 2, 255, 100), lines(1, 3, 255, 100));
        assert_ne!(lines(1, 2, 255, 100), lines(2, 2, 255, 100));
    }

    #[test]
    fn lines_keep_to_every_width() {
        assert_eq!(lines(3, 0, 0, 1), [""]);
        for max_bytes in 1..=130 {
            for line in lines(3, 0, max_bytes, 300) {
                assert!((1..=max_bytes).contains(&line.len()), "{max_bytes}: {line:?}");
            }
        }
    }

    #[test]
    fn lines_are_plain_and_well_set() {
        let allowed = |byte: u8| byte.is_ascii_alphabetic() || b" .,;:!?-\"".contains(&byte);
        for line in lines(4, 0, 255, 20_000) {
            assert!(line.bytes().all(allowed), "{line:?}");
            assert!(
                line.trim() == line && !line.contains("  ") && !line.ends_with(" \""),
                "{line:?}"
            );
            assert!(
                line.starts_with(|c: char| c.is_alphabetic() || c == '"' || c == '-'),
                "{line:?}"
            );
            let mut words = line.split(|c: char| !c.is_ascii_alphabetic());
            assert!(words.all(|word| word.is_empty() || word[1..] == word[1..].to_lowercase()));
            for (end, _) in line.match_indices(". ") {
                let next = line[end + 2..].trim_start_matches(['"', '-', ' ']).chars().next();
                let title = ["Mr", "Mrs"].iter().any(|title| line[..end].ends_with(title));
                assert!(title || next.is_none_or(char::is_uppercase), "{line:?}");
            }
        }
    }

    #[test]
    fn articles_agree_and_people_speak() {
        let lines = lines(5, 0, 255, 20_000);
        let mut seen = [0; 2];
        for line in &lines {
            let words: Vec<&str> = line.split([' ', '"']).collect();
            for pair in words.windows(2) {
                let vowel = pair[1].starts_with(['a', 'e', 'i', 'o', 'u']);
                match pair[0] {
                    "a" | "A" => assert!(!vowel, "{line:?}"),
                    "an" | "An" => assert!(vowel, "{line:?}"),
                    _ => continue,
                }
                seen[usize::from(vowel)] += 1;
            }
        }
        assert!(seen.iter().all(|&count| count > 500), "{seen:?}");
        assert!(lines.iter().filter(|line| line.contains('"')).count() > 2_000);
    }
}
