//! Checks that `docs/judging-words.md` lists every function that makes a sentence of the judge, and
//! names no function and no test that does not exist.
//!
//! A sentence of the judge is a text with one of [`WORDS`] in the sources that print.

use std::collections::BTreeSet;
use std::path::Path;

use assay_architecture::source::remove_tests;
use assay_architecture::workspace;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{ImplItem, Item};

use crate::guarantees::{named, sources, tests_by_crate, wrong};

/// Directories below `crates` whose sources print sentences of the judge.
const PRINTING: [&str; 2] = ["report/src", "assay/src"];

/// Words of sentences about a probability, a bound or a limit.
const WORDS: [&str; 23] = [
    "interval",
    "confidence",
    "chance",
    "unlikely",
    "probab",
    "equivalent",
    "significant",
    "inconclusive",
    "noise floor",
    "in five",
    "studies of",
    "too short",
    "too noisy",
    "p of at most",
    "may be false",
    "exact test",
    "95 of 100",
    "± is",
    "of windows",
    "within the noise",
    "not a verdict",
    "not worse",
    "variation is unknown",
];

/// A file, relative to `crates`, and the name of an item in it.
type Place = (String, String);

/// The functions, methods, constants and types of a file, with their tokens.
fn named_items(items: Vec<Item>) -> Vec<(String, TokenStream)> {
    let of_method = |item: ImplItem| match item {
        ImplItem::Fn(item) => Some((item.sig.ident.to_string(), item.into_token_stream())),
        ImplItem::Const(item) => Some((item.ident.to_string(), item.into_token_stream())),
        _ => None,
    };
    let of_item = |item: Item| -> Vec<(String, TokenStream)> {
        match item {
            Item::Fn(item) => vec![(item.sig.ident.to_string(), item.into_token_stream())],
            Item::Const(item) => vec![(item.ident.to_string(), item.into_token_stream())],
            Item::Struct(item) => vec![(item.ident.to_string(), item.into_token_stream())],
            Item::Enum(item) => vec![(item.ident.to_string(), item.into_token_stream())],
            Item::Impl(item) => item.items.into_iter().filter_map(of_method).collect(),
            Item::Mod(item) => named_items(item.content.map_or_else(Vec::new, |inner| inner.1)),
            _ => Vec::new(),
        }
    };
    items.into_iter().flat_map(of_item).collect()
}

/// The string literals among the tokens, except those of doc comments.
fn texts(tokens: TokenStream) -> Vec<String> {
    let is_doc = |token: &TokenTree| token.to_string().starts_with("[doc");
    let mut found = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => drop(tokens.next_if(is_doc)),
            TokenTree::Group(group) => found.extend(texts(group.stream())),
            TokenTree::Literal(literal) => {
                if let Ok(syn::Lit::Str(text)) = syn::parse_str(&literal.to_string()) {
                    found.push(text.value().to_lowercase());
                }
            }
            _ => {}
        }
    }
    found
}

/// The items of a source by name; true if the item makes a sentence. A text without a space is a
/// name.
fn makers(text: &str) -> syn::Result<Vec<(String, bool)>> {
    let mut file = syn::parse_file(text)?;
    remove_tests(&mut file);
    let is_sentence =
        |text: &String| text.contains(' ') && WORDS.iter().any(|word| text.contains(word));
    let makes = |(name, tokens)| (name, texts(tokens).iter().any(is_sentence));
    Ok(named_items(file.items).into_iter().map(makes).collect())
}

/// Returns true for files whose module is compiled for tests alone.
fn is_for_tests(path: &Path) -> bool {
    let names = path.iter().filter_map(|name| name.to_str());
    let mut names = names.map(|name| name.trim_end_matches(".rs"));
    names.any(|name| ["tests", "testing", "simulated"].contains(&name) || name.ends_with("_tests"))
}

/// The items that the table names: after each file its items, all in backticks.
fn listed(table: &str) -> BTreeSet<Place> {
    let rows = table.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.split(" | ").nth(2));
    let mut places = BTreeSet::new();
    for cell in cells {
        let mut file = "";
        for word in cell.split('`').skip(1).step_by(2) {
            match word.ends_with(".rs") {
                true => file = word,
                false => drop(places.insert((file.to_owned(), word.to_owned()))),
            }
        }
    }
    places
}

/// Items that make sentences and are not listed, and listed ones that do not exist, in words.
fn amiss(all: &BTreeSet<(Place, bool)>, listed: &BTreeSet<Place>) -> Vec<String> {
    let making = all.iter().filter(|(_, makes)| *makes).map(|(place, _)| place);
    let unlisted = making.filter(|place| !listed.contains(*place));
    let unlisted = unlisted.map(|(file, name)| format!("{file}: `{name}` is not listed"));
    let exists = |place: &&Place| all.iter().any(|(other, _)| other == *place);
    let gone = listed.iter().filter(|place| !exists(place));
    unlisted.chain(gone.map(|(file, name)| format!("{file} has no `{name}`"))).collect()
}

#[test]
fn every_sentence_of_the_judge_is_listed_with_a_test_that_exists() {
    let root = workspace::metadata().unwrap().workspace_root.into_std_path_buf();
    let table = std::fs::read_to_string(root.join("docs/judging-words.md")).unwrap();
    let crates = root.join("crates");
    let mut all = BTreeSet::new();
    for path in PRINTING.iter().flat_map(|directory| sources(&crates.join(directory))) {
        let relative = path.strip_prefix(&crates).unwrap();
        if is_for_tests(relative) {
            continue;
        }
        let file = relative.to_str().unwrap();
        let items = makers(&std::fs::read_to_string(&path).unwrap()).unwrap();
        all.extend(items.into_iter().map(|(name, makes)| ((file.to_owned(), name), makes)));
    }
    let making = all.iter().filter(|(_, makes)| *makes).count();
    assert!(making > 30, "only {making} items make sentences");
    assert_eq!(amiss(&all, &listed(&table)), Vec::<String>::new());
    let tests = tests_by_crate(&root, &table);
    assert_eq!(wrong(&table, |owner| tests[owner].clone()), Vec::<String>::new());
    let without = table.lines().filter(|line| line.starts_with("| ") && line.contains(".rs`"));
    let without: Vec<&str> = without.filter(|line| named(line).is_empty()).collect();
    assert_eq!(without, Vec::<&str>::new(), "rows without a test");
}

#[test]
fn a_sentence_that_is_not_listed_and_an_item_that_is_gone_are_found() {
    let text = "/// A 95 % interval.\nfn quiet() { say(\"interval\", \"so be it\") }\n\
        struct S; impl S { fn told(&self) { format!(\"95 % Interval {low}\") } }\n\
        const C: &str = \"by chance\";\n\
        #[cfg(test)] mod tests { fn f() { \"an interval\" } }";
    let place = |name: &str| ("report/src/a.rs".to_owned(), name.to_owned());
    let all = makers(text).unwrap();
    let making: Vec<&str> =
        all.iter().filter(|(_, makes)| *makes).map(|(name, _)| name.as_str()).collect();
    assert_eq!(making, ["told", "C"]);
    let all = all.into_iter().map(|(name, makes)| (place(&name), makes)).collect();
    let table = "| sentence | promise | made by | shown by |\n\
        | `x` | y | `report/src/a.rs` `told` `quiet`, `report/src/b.rs` `f` | `judge::t` |";
    assert_eq!(
        amiss(&all, &listed(table)),
        ["report/src/a.rs: `C` is not listed", "report/src/b.rs has no `f`"]
    );
    assert!(is_for_tests("report/src/tests/a.rs".as_ref()));
    assert!(is_for_tests("assay/src/run_command/shipped_tests.rs".as_ref()));
    assert!(!is_for_tests("report/src/words/samples.rs".as_ref()));
}
