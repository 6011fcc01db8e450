//! A line of the view: styled text with a maximum width, sent with SGR escapes (ECMA-48).

use unicode_width::UnicodeWidthChar;

/// Colours of the view; the terminal's palette decides their appearance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Color {
    Red,
    Green,
    Yellow,
    Magenta,
    Cyan,
}

/// Style of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Style {
    #[default]
    Plain,
    Bold,
    Dim,
    Colored(Color),
}

impl Style {
    /// Escape sequence that begins the style; empty for plain text.
    fn escape(self, has_colors: bool) -> &'static str {
        match self {
            Style::Bold => "\x1b[1m",
            Style::Dim => "\x1b[2m",
            Style::Colored(color) if has_colors => match color {
                Color::Red => "\x1b[31m",
                Color::Green => "\x1b[32m",
                Color::Yellow => "\x1b[33m",
                Color::Magenta => "\x1b[35m",
                Color::Cyan => "\x1b[36m",
            },
            Style::Plain | Style::Colored(_) => "",
        }
    }
}

/// A line with a maximum number of columns.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pieces: Vec<(String, Style)>,
    columns: usize,
    columns_max: usize,
}

impl Line {
    pub fn new(columns_max: usize) -> Line {
        Line { pieces: Vec::new(), columns: 0, columns_max }
    }

    pub fn columns_left(&self) -> usize {
        self.columns_max - self.columns
    }

    /// Appends as much of a text as fits. Characters without width, such as control characters, are
    /// left out.
    pub fn put(&mut self, text: &str, style: Style) {
        let mut fitting = String::new();
        for character in text.chars() {
            let columns = character.width().unwrap_or(0);
            if columns > self.columns_left() {
                break;
            }
            if columns > 0 {
                fitting.push(character);
                self.columns += columns;
            }
        }
        self.pieces.push((fitting, style));
    }

    /// Appends blanks up to a column, counted from 0.
    pub fn skip_to(&mut self, column: usize) {
        let blanks = column.min(self.columns_max).saturating_sub(self.columns);
        self.put(&" ".repeat(blanks), Style::Plain);
    }

    /// Text for the terminal, without trailing blanks; without colours if the user has set
    /// `NO_COLOR`.
    pub fn text(&self, has_colors: bool) -> String {
        let Some((last, before)) = self.pieces[..self.seen_pieces()].split_last() else {
            return String::new();
        };
        let mut text = String::new();
        for (piece, style) in before {
            push_styled(&mut text, piece, style.escape(has_colors));
        }
        push_styled(&mut text, last.0.trim_end_matches(' '), last.1.escape(has_colors));
        text
    }

    /// Number of pieces up to the last one that is not blank.
    fn seen_pieces(&self) -> usize {
        let is_seen = |(piece, _): &(String, Style)| !piece.trim_matches(' ').is_empty();
        self.pieces.iter().rposition(is_seen).map_or(0, |last| last + 1)
    }
}

fn push_styled(text: &mut String, piece: &str, escape: &str) {
    match escape {
        "" => text.push_str(piece),
        escape => text.extend([escape, piece, "\x1b[0m"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(columns: usize, pieces: &[(&str, Style)]) -> Line {
        let mut line = Line::new(columns);
        pieces.iter().for_each(|(text, style)| line.put(text, *style));
        line
    }

    #[test]
    fn text_is_styled_and_ends_plain() {
        let both = line(
            9,
            &[("a", Style::Bold), ("b ", Style::Plain), ("c", Style::Colored(Color::Cyan))],
        );
        assert_eq!(both.text(true), "\x1b[1ma\x1b[0mb \x1b[36mc\x1b[0m");
        assert_eq!(both.text(false), "\x1b[1ma\x1b[0mb c");
        assert_eq!(
            line(9, &[("a ", Style::Bold), (" ", Style::Plain)]).text(true),
            "\x1b[1ma\x1b[0m"
        );
        assert_eq!(line(9, &[("   ", Style::Dim), (" ", Style::Plain)]).text(true), "");
    }

    #[test]
    fn what_does_not_fit_is_cut_between_characters() {
        assert_eq!(line(4, &[("日本x", Style::Plain)]).text(true), "日本");
        assert_eq!(line(3, &[("日本", Style::Plain)]).text(true), "日");
        assert_eq!(line(9, &[("a\u{1b}[2Jb\u{301}\n", Style::Plain)]).text(true), "a[2Jb");
        let mut padded = line(6, &[("ab", Style::Plain)]);
        padded.skip_to(4);
        padded.put("xyz", Style::Plain);
        padded.skip_to(2);
        assert_eq!((padded.text(true).as_str(), padded.columns_left()), ("ab  xy", 0));
    }
}
