//! Tests rules of the sources that neither rustfmt nor clippy checks.

use assay_architecture::{tidy, workspace};

fn sources() -> Vec<tidy::SourceText> {
    tidy::sources(&workspace::metadata().unwrap()).unwrap()
}

#[track_caller]
fn assert_none(found: &[String]) {
    assert!(found.is_empty(), "{}:\n{}", found.len(), found.join("\n"));
}

#[test]
fn lines_and_files_are_short() {
    let sources = sources();
    assert_none(&tidy::long_lines(&sources));
    assert_none(&tidy::long_files(&sources));
}

#[test]
fn no_two_public_types_share_a_name() {
    assert_none(&tidy::shared_type_names(&sources()).unwrap());
}

/// At most 2 % of the comments may begin with a word that says nothing.
#[test]
fn comments_begin_with_a_noun_or_a_verb() {
    let voice = tidy::voice(&sources());
    let most = voice.comments / 50;
    assert!(
        voice.empty.len() <= most,
        "{} of {most}:\n{}",
        voice.empty.len(),
        voice.empty.join("\n")
    );
}
