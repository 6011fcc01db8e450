//! From drawn characters to what a terminal is sent: text with SGR escapes (ECMA-48), row by row.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use ratatui::text::Span;

/// The rows of `buffer`, each without the blanks at its end; with colours or, where people want none (`NO_COLOR`), without.
pub fn rows(buffer: &Buffer, has_colors: bool) -> Vec<String> {
    let width = usize::from(buffer.area.width).max(1);
    buffer.content.chunks(width).map(|cells| row(cells, has_colors)).collect()
}

fn row(cells: &[Cell], has_colors: bool) -> String {
    let is_seen = |cell: &Cell| cell.symbol() != " ";
    let end = cells.iter().rposition(is_seen).map_or(0, |last| last + 1);
    let (mut text, mut before) = (String::new(), String::new());
    let mut covered = 0;
    for cell in &cells[..end] {
        // The place after a wide character is taken by its other half.
        if covered > 0 {
            covered -= 1;
            continue;
        }
        covered = Span::raw(cell.symbol()).width().saturating_sub(1);
        let style = escape(cell, has_colors);
        if style != before {
            text.push_str("\x1b[0m");
            text.push_str(&style);
            before = style;
        }
        text.push_str(cell.symbol());
    }
    if !before.is_empty() {
        text.push_str("\x1b[0m");
    }
    text
}

/// Empty for plain text.
fn escape(cell: &Cell, has_colors: bool) -> String {
    let modifiers = [(Modifier::BOLD, "\x1b[1m"), (Modifier::DIM, "\x1b[2m")];
    let on = modifiers.into_iter().filter(|(modifier, _)| cell.modifier.contains(*modifier));
    let color = if has_colors { color(cell.fg) } else { "" };
    on.map(|(_, escape)| escape).chain([color]).collect()
}

/// The colours that the view is drawn with, which a terminal's user has chosen; others are not used.
fn color(color: Color) -> &'static str {
    match color {
        Color::Red => "\x1b[31m",
        Color::Green => "\x1b[32m",
        Color::Yellow => "\x1b[33m",
        Color::Magenta => "\x1b[35m",
        Color::Cyan => "\x1b[36m",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn text_is_styled_and_ends_plain() {
        let mut buffer = Buffer::with_lines(["ab  ", "日本x"]);
        buffer.set_style(ratatui::layout::Rect::new(0, 0, 1, 1), Style::new().bold().cyan());
        assert_eq!(rows(&buffer, true), ["\x1b[0m\x1b[1m\x1b[36ma\x1b[0mb", "日本x"]);
        assert_eq!(rows(&buffer, false)[0], "\x1b[0m\x1b[1ma\x1b[0mb");
        let plain = rows(&Buffer::with_lines(["   "]), true);
        assert_eq!(plain, [""]);
    }
}
