//! The workspace's crates, and the top modules of each crate.

use std::collections::HashMap;
use std::fs;

use anyhow::{Context, Result};
use cargo_metadata::camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use crate::graph::Graph;
use crate::methods::{Methods, ParsedSource};
use crate::source;

/// Names of root files, which are not modules.
const ROOTS: [&str; 2] = ["lib.rs", "main.rs"];

/// The workspace that holds this crate.
pub fn metadata() -> Result<Metadata> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    MetadataCommand::new().manifest_path(manifest).no_deps().exec().context("cargo metadata")
}

/// The dependencies between crates, without those for tests.
#[must_use]
pub fn crates(metadata: &Metadata) -> Graph {
    let mut graph = Graph::default();
    let names: Vec<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    for package in &metadata.packages {
        graph.add(&package.name);
        for dependency in &package.dependencies {
            if dependency.kind == DependencyKind::Normal
                && names.contains(&dependency.name.as_str())
            {
                graph.add_use(&package.name, &dependency.name, "Cargo.toml");
            }
        }
    }
    graph
}

/// The top modules of each crate with sources of its own, by the crate's name.
pub fn modules(metadata: &Metadata) -> Result<Vec<(String, Graph)>> {
    let mut all = Vec::new();
    for package in &metadata.packages {
        let directory = package.manifest_path.with_file_name("src");
        if directory.is_dir() {
            all.push((package.name.to_string(), modules_of(package, &directory)?));
        }
    }
    Ok(all)
}

fn modules_of(package: &Package, directory: &Utf8Path) -> Result<Graph> {
    let own_name = package.name.replace('-', "_");
    graph_of(&own_name, &files(directory)?)
}

/// The top modules of a crate with arrows for the paths that they name and the methods that they
/// call.
pub fn graph_of(own_name: &str, files: &[Text]) -> Result<Graph> {
    // Names that the root re-exports.
    let mut handed_on = HashMap::new();
    for root in files.iter().filter(|file| ROOTS.contains(&file.place.as_str())) {
        handed_on.extend(source::reexports(&root.text)?);
    }
    let mut sources = sources(files)?;
    let methods = Methods::new(&sources, own_name);
    let mut graph = Graph::default();
    for source in &mut sources {
        let Some(top) = source.module.first().cloned() else { continue };
        graph.add(&top);
        for path in source::paths(&source.file, &[own_name.to_owned()]) {
            if let Some(used) = top_of(&path, &source.module, &handed_on) {
                graph.add_use(&top, &used, &source.place);
            }
        }
        for call in methods.calls(source) {
            // The root file is no module.
            if let Some(called) = call.to.first() {
                graph.add_use(&top, called, &format!("{}: {}", source.place, call.method));
            }
        }
    }
    Ok(graph)
}

/// A source file below `src` as text.
pub struct Text {
    /// Path below `src`.
    pub place: String,
    pub text: String,
}

/// The sources without tests, and without modules that are declared for tests.
fn sources(files: &[Text]) -> Result<Vec<ParsedSource>> {
    let mut all = Vec::new();
    for text in files {
        let file = syn::parse_file(&text.text).with_context(|| text.place.clone())?;
        let module = module_path(&text.place);
        all.push(ParsedSource { place: text.place.clone(), module, file });
    }
    let tests = test_modules(&all);
    all.retain(|source| !tests.iter().any(|test| source.module.starts_with(test)));
    all.iter_mut().for_each(|source| source::remove_tests(&mut source.file));
    Ok(all)
}

/// The modules that are declared for tests.
fn test_modules(sources: &[ParsedSource]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for source in sources {
        for (name, path) in source::test_modules(&source.file) {
            all.push(match path {
                // The path is relative to the declaring file.
                Some(path) => {
                    module_path(Utf8Path::new(&source.place).with_file_name(path).as_str())
                }
                None => [&source.module[..], &[name]].concat(),
            });
        }
    }
    all
}

/// The module of a file below `src`; empty for a root file.
fn module_path(place: &str) -> Vec<String> {
    if ROOTS.contains(&place) {
        return Vec::new();
    }
    let mut path: Vec<String> = place.trim_end_matches(".rs").split('/').map(Into::into).collect();
    if path.last().is_some_and(|last| last == "mod") {
        path.pop();
    }
    path
}

/// The top module that a path in `module` refers to.
fn top_of(
    path: &[String],
    module: &[String],
    handed_on: &HashMap<String, Vec<String>>,
) -> Option<String> {
    let ups = path.iter().take_while(|segment| *segment == "super").count();
    if ups > 0 {
        // A path in an inline module has more `super`s than the file's module has parents.
        let kept = module.get(..module.len().saturating_sub(ups))?;
        return match kept.first() {
            Some(top) => Some(top.clone()),
            None => by_name(path.get(ups)?, handed_on),
        };
    }
    by_name(path.get(1)?, handed_on)
}

fn by_name(name: &str, handed_on: &HashMap<String, Vec<String>>) -> Option<String> {
    match handed_on.get(name) {
        Some(path) => {
            path.iter().find(|segment| *segment != "crate" && *segment != "self").cloned()
        }
        None => Some(name.into()),
    }
}

fn files(directory: &Utf8Path) -> Result<Vec<Text>> {
    let mut all = Vec::new();
    for path in rust_files(directory)? {
        let place = path.strip_prefix(directory)?.to_string();
        let text = fs::read_to_string(&path)?;
        all.push(Text { place, text });
    }
    Ok(all)
}

pub(crate) fn rust_files(directory: &Utf8Path) -> Result<Vec<Utf8PathBuf>> {
    let mut all = Vec::new();
    for entry in directory.read_dir_utf8()? {
        let path = entry?.into_path();
        if path.is_dir() {
            all.extend(rust_files(&path)?);
        } else if path.extension() == Some("rs") {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}
