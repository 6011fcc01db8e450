//! The result as Markdown, for a ticket or a chat: the answer and its conditions, verdicts, crash
//! safety and caveats.
//!
//! Made of the same texts as the page, so that both say the same.

use crate::analysis::Analysis;
use crate::comparisons::questions;
use crate::first_screen::{conditions, headline, one_line};
use crate::page::caveats::Caveat;
use crate::tables::effects;
use crate::tables::verdicts::{self, Row};
use crate::words;

/// Comparisons beyond these are left to the page.
const ROWS_MOST: usize = 40;

/// Caveats beyond these are left to the page.
const CAVEATS_MOST: usize = 8;

/// The whole text.
pub(crate) fn markdown(analysis: &Analysis, caveats: &[Caveat]) -> String {
    let Analysis { study, judgement, variables, .. } = analysis;
    let title = if study.title.is_empty() { "Untitled study" } else { &study.title };
    let mut text = format!("## {}\n\n", plain(title));
    if let Some(question) = &study.question {
        text += &format!("{}\n\n", plain(question));
    }
    text += &format!("**{}**\n\n", plain(&headline::headline(study, judgement, variables)));
    for one in conditions::conditions(study, variables) {
        text += &format!("- {}\n", plain(&one));
    }
    text += &format!("- {}\n", one_line::counts(study));
    if let Some(form) = &study.form {
        text += &format!("- {}\n", plain(form));
    }
    for overlay in words::overlay::told(study) {
        text += &format!("- {}\n", plain(&overlay));
    }
    let mut rows = verdicts::told(study, judgement);
    rows.extend(verdicts::inconclusive(study, judgement));
    text += &table_of_verdicts(&rows);
    text += &table_of_effects(&effects::rows(study.events(), judgement));
    text += &safety(analysis);
    text + &of_caveats(caveats)
}

fn table_of_verdicts(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "\nNothing was compared.\n".into();
    }
    let head =
        ["configuration", "against", "workload", "threads", "figure", "verdict", "difference"];
    let line = |row: &Row| {
        let fields = [
            row.name.as_str(),
            &row.baseline,
            &row.workload,
            &row.threads,
            row.metric,
            row.word,
            &row.text,
        ];
        fields.map(|field: &str| cell(field))
    };
    let mut text = table(&head.map(str::to_owned), rows.iter().take(ROWS_MOST).map(line));
    let more = rows.len().saturating_sub(ROWS_MOST);
    if more > 0 {
        text += &format!("\n{more} more comparisons are in the report.\n");
    }
    text
}

/// Effects of factors; nothing of a study without.
fn table_of_effects(rows: &[[String; 6]]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = |row: &[String; 6]| row.each_ref().map(|field| cell(field));
    let mut text = table(&effects::HEAD.map(str::to_owned), rows.iter().take(ROWS_MOST).map(line));
    let more = rows.len().saturating_sub(ROWS_MOST);
    if more > 0 {
        text += &format!("\n{more} more effects are in the report.\n");
    }
    text
}

fn safety(analysis: &Analysis) -> String {
    let study = &analysis.study;
    let configs = study.configs.iter().enumerate();
    let rows = configs
        .filter(|(_, config)| !questions::is_aa_run(study, config))
        .map(|(place, config)| [cell(&config.name), cell(analysis.label(place))]);
    table(&["configuration", "crash safety"].map(str::to_owned), rows)
}

fn of_caveats(caveats: &[Caveat]) -> String {
    let mut text = if caveats.is_empty() { String::new() } else { "\nCaveats:\n\n".to_owned() };
    for one in caveats.iter().take(CAVEATS_MOST) {
        text += &format!("- {}: {}\n", one.kind, plain(&one.text));
    }
    let more = caveats.len().saturating_sub(CAVEATS_MOST);
    if more > 0 {
        text += &format!("- {more} more in the report\n");
    }
    text
}

fn table<const N: usize>(head: &[String; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let line = |fields: &[String; N]| format!("| {} |\n", fields.join(" | "));
    let rule = line(&std::array::from_fn(|_| "---".to_owned()));
    let body: String = rows.map(|row| line(&row)).collect();
    format!("\n{}{rule}{body}", line(head))
}

/// A field of a table: a bar would end it.
fn cell(text: &str) -> String {
    plain(text).replace('|', "\\|")
}

/// A study's own words as they are, and not as markup: one line, without tags and marks.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\n' | '\r' => plain.push(' '),
            '<' | '>' | '*' | '`' | '[' | ']' => plain.extend(['\\', sign]),
            sign => plain.push(sign),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_study_are_no_markup() {
        assert_eq!(plain("a <b>*c*\n[d](e)"), "a \\<b\\>\\*c\\* \\[d\\](e)");
        let text = table(&["a".to_owned()], [[cell("x | y")]].into_iter());
        assert_eq!(text, "\n| a |\n| --- |\n| x \\| y |\n");
    }
}
