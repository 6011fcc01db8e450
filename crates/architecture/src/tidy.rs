//! Rules of the sources that neither rustfmt nor clippy checks.
//!
//! A line has at most 100 characters, a file at most 700 lines; no two public types of the
//! workspace share a name; a comment begins with a noun or a verb.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use cargo_metadata::Metadata;
use cargo_metadata::camino::{Utf8Path, Utf8PathBuf};
use syn::{Item, Visibility};

use crate::workspace::rust_files;

/// Longest line, in characters: `max_width` of rustfmt.toml, which rustfmt does not apply to
/// comments and string literals.
const LINE_CHARACTERS: usize = 100;

/// Longest file, in lines.
const FILE_LINES: usize = 700;

/// First words of a comment that say nothing about what it describes.
const EMPTY_WORDS: [&str; 2] = ["What", "Of"];

/// A source file of the workspace.
#[derive(Debug)]
pub struct SourceText {
    /// Package that owns the file.
    pub package: String,
    /// Path relative to the workspace.
    pub path: Utf8PathBuf,
    pub text: String,
}

/// All Rust files of the workspace's packages: sources, tests, benches.
pub fn sources(metadata: &Metadata) -> Result<Vec<SourceText>> {
    let mut all = Vec::new();
    for package in &metadata.packages {
        let directory = package.manifest_path.parent().context("a manifest without a directory")?;
        for path in rust_files(directory)? {
            let text = fs::read_to_string(&path).with_context(|| path.to_string())?;
            let path = path.strip_prefix(&metadata.workspace_root)?.to_owned();
            all.push(SourceText { package: package.name.to_string(), path, text });
        }
    }
    Ok(all)
}

/// Places of lines longer than [`LINE_CHARACTERS`], as `path:line`.
#[must_use]
pub fn long_lines(sources: &[SourceText]) -> Vec<String> {
    let places = |source: &SourceText| {
        let long = |(_, line): &(usize, &str)| line.chars().count() > LINE_CHARACTERS;
        let lines = (1..).zip(source.text.lines()).filter(long);
        lines.map(|(number, _)| format!("{}:{number}", source.path)).collect::<Vec<_>>()
    };
    sources.iter().flat_map(places).collect()
}

/// Files longer than [`FILE_LINES`], with their length.
#[must_use]
pub fn long_files(sources: &[SourceText]) -> Vec<String> {
    let lengths = sources.iter().map(|source| (source.text.lines().count(), &source.path));
    let long = lengths.filter(|(lines, _)| *lines > FILE_LINES);
    long.map(|(lines, path)| format!("{path}: {lines} lines")).collect()
}

/// Names that several public types bear, each with the files that define them.
///
/// Considers structs, enums, unions, traits and type aliases that are `pub` and stand at the top of
/// a file below `src`. Each crate may have its own alias `Result`, as the standard library's
/// modules do.
pub fn shared_type_names(sources: &[SourceText]) -> Result<Vec<String>> {
    let mut places: BTreeMap<String, Vec<&Utf8Path>> = BTreeMap::new();
    for source in sources.iter().filter(|source| is_below_src(&source.path)) {
        for name in public_types(&source.text).with_context(|| source.path.to_string())? {
            places.entry(name).or_default().push(&source.path);
        }
    }
    let shared = places.into_iter().filter(|(_, paths)| paths.len() > 1);
    Ok(shared.map(|(name, paths)| format!("{name}: {}", joined(&paths))).collect())
}

fn is_below_src(path: &Utf8Path) -> bool {
    path.components().any(|component| component.as_str() == "src")
}

fn joined(paths: &[&Utf8Path]) -> String {
    paths.iter().map(|path| path.as_str()).collect::<Vec<_>>().join(", ")
}

fn public_types(text: &str) -> syn::Result<Vec<String>> {
    let public = |item: Item| {
        let (visibility, name) = match item {
            Item::Struct(item) => (item.vis, item.ident),
            Item::Enum(item) => (item.vis, item.ident),
            Item::Union(item) => (item.vis, item.ident),
            Item::Trait(item) => (item.vis, item.ident),
            Item::Type(item) => (item.vis, item.ident),
            _ => return None,
        };
        (matches!(visibility, Visibility::Public(_)) && name != "Result").then(|| name.to_string())
    };
    Ok(syn::parse_file(text)?.items.into_iter().filter_map(public).collect())
}

/// Doc comments of the sources, and those of them that begin with one of [`EMPTY_WORDS`].
#[derive(Debug, Default)]
pub struct Voice {
    pub comments: usize,
    /// `path:line: first line` of each.
    pub empty: Vec<String>,
}

/// Reads the beginnings of all doc comments.
#[must_use]
pub fn voice(sources: &[SourceText]) -> Voice {
    let mut voice = Voice::default();
    for source in sources {
        for (number, beginning) in doc_comments(&source.text) {
            voice.comments += 1;
            let first = beginning.split([' ', ',', '\'']).next().unwrap_or_default();
            if EMPTY_WORDS.contains(&first) {
                voice.empty.push(format!("{}:{number}: {beginning}", source.path));
            }
        }
    }
    voice
}

/// The first line of each doc comment, with its number.
fn doc_comments(text: &str) -> Vec<(usize, &str)> {
    let mut all = Vec::new();
    let mut is_inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let content = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if let Some(content) = content.filter(|_| !is_inside) {
            all.push((number, content.trim_start()));
        }
        is_inside = content.is_some();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> SourceText {
        SourceText { package: "p".into(), path: path.into(), text: text.into() }
    }

    #[test]
    fn long_lines_are_counted_in_characters() {
        let wide = "é".repeat(LINE_CHARACTERS);
        assert!(long_lines(&[source("a.rs", &wide)]).is_empty());
        assert_eq!(long_lines(&[source("a.rs", &format!("\n{wide}x"))]), ["a.rs:2"]);
    }

    #[test]
    fn a_type_is_public_once() {
        let texts = [
            "pub struct A;\nstruct B;",
            "pub(crate) enum A {}\npub trait B {}",
            "pub type A = u8;",
        ];
        let path = |number: usize| format!("crates/{number}/src/lib.rs");
        let sources: Vec<_> =
            texts.iter().enumerate().map(|(number, text)| source(&path(number), text)).collect();
        let shared = shared_type_names(&sources).unwrap();
        assert_eq!(shared, ["A: crates/0/src/lib.rs, crates/2/src/lib.rs"]);
        let test = source("crates/3/tests/main.rs", "pub struct A;");
        assert!(shared_type_names(&[test]).unwrap().is_empty());
    }

    #[test]
    fn comments_are_read_at_their_beginning() {
        let text = "//! Of a module.\n\n/// What it is.\n/// Of more.\nfn f() {}\n/// Offers \
            it.\nfn g() {}";
        let voice = voice(&[source("a.rs", text)]);
        assert_eq!(voice.comments, 3);
        assert_eq!(voice.empty, ["a.rs:1: Of a module.", "a.rs:3: What it is."]);
    }

    #[test]
    fn long_files_are_found() {
        let text = "\n".repeat(FILE_LINES + 1);
        assert_eq!(long_files(&[source("a.rs", &text)]), ["a.rs: 701 lines"]);
    }
}
