//! Collects the paths that a source file names, in `use` declarations and elsewhere, except in code
//! for tests.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, File, Item, UseTree};

/// The identifiers of a path, from the left up to the first segment that is not an identifier.
pub type Path = Vec<String>;

/// Removes the items for tests.
pub fn remove_tests(file: &mut File) {
    if file.attrs.iter().any(is_for_tests) {
        file.items.clear();
    }
    WithoutTests.visit_file_mut(file);
}

/// All paths of a file that begin with `crate`, `super` or the name of one of `crates`.
#[must_use]
pub fn paths(file: &File, crates: &[String]) -> Vec<Path> {
    let mut found = Vec::new();
    in_uses(file, &mut found);
    in_tokens(file.to_token_stream(), &mut found);
    let is_wanted = |path: &Path| {
        path.first().is_some_and(|first| {
            first == "crate" || first == "super" || crates.iter().any(|name| name == first)
        })
    };
    found.retain(is_wanted);
    found
}

/// The names that a `use` declaration brings in, each with its path. A glob brings in none.
#[must_use]
pub fn names(tree: &UseTree) -> Vec<(String, Path)> {
    let mut found = Vec::new();
    named_in_tree(tree, &mut Vec::new(), &mut found);
    found
}

fn named_in_tree(tree: &UseTree, before: &mut Path, found: &mut Vec<(String, Path)>) {
    let with = |last: String| before.iter().cloned().chain([last]).collect::<Path>();
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            named_in_tree(&path.tree, before, found);
            before.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            found.extend(before.last().map(|last| (last.clone(), before.clone())));
        }
        UseTree::Name(name) => found.push((name.ident.to_string(), with(name.ident.to_string()))),
        UseTree::Rename(name) => {
            found.push((name.rename.to_string(), with(name.ident.to_string())));
        }
        UseTree::Glob(_) => {}
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| named_in_tree(tree, before, found));
        }
    }
}

/// The modules that a file declares for tests, by name, with the file if `#[path]` names one.
#[must_use]
pub fn test_modules(file: &File) -> Vec<(String, Option<String>)> {
    let items = &file.items;
    let is_for_tests = |item: &&Item| attributes(item).iter().any(is_for_tests);
    let name = |item: &Item| match item {
        Item::Mod(module) => Some((module.ident.to_string(), named_file(&module.attrs))),
        _ => None,
    };
    items.iter().filter(is_for_tests).filter_map(name).collect()
}

/// The value of `#[path = "…"]`.
fn named_file(attributes: &[Attribute]) -> Option<String> {
    let path = attributes.iter().find(|attribute| attribute.path().is_ident("path"))?;
    match &path.meta.require_name_value().ok()?.value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// The public re-exports of a file: each name with the path that it stands for.
pub fn reexports(text: &str) -> syn::Result<Vec<(String, Path)>> {
    let mut all = Vec::new();
    for item in syn::parse_file(text)?.items {
        if let Item::Use(item) = item {
            let mut found = Vec::new();
            in_tree(&item.tree, &mut Vec::new(), &mut found);
            all.extend(found.into_iter().filter_map(|path| Some((path.last()?.clone(), path))));
        }
    }
    Ok(all)
}

/// Returns true for `#[cfg(test)]` and similar attributes, which limit an item to tests.
fn is_for_tests(attribute: &Attribute) -> bool {
    let text = attribute.to_token_stream().to_string();
    attribute.path().is_ident("cfg") && text.contains("test") && !text.contains("not")
}

struct WithoutTests;

impl VisitMut for WithoutTests {
    fn visit_file_mut(&mut self, file: &mut File) {
        file.items.retain(|item| !attributes(item).iter().any(is_for_tests));
        visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(|item| !attributes(item).iter().any(is_for_tests));
        }
        visit_mut::visit_item_mod_mut(self, module);
    }

    fn visit_item_impl_mut(&mut self, item: &mut syn::ItemImpl) {
        item.items.retain(|each| match each {
            syn::ImplItem::Fn(function) => !function.attrs.iter().any(is_for_tests),
            _ => true,
        });
        visit_mut::visit_item_impl_mut(self, item);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn in_uses(file: &File, found: &mut Vec<Path>) {
    for item in &file.items {
        if let Item::Use(item) = item {
            in_tree(&item.tree, &mut Vec::new(), found);
        }
    }
}

fn in_tree(tree: &UseTree, before: &mut Path, found: &mut Vec<Path>) {
    let path = |last: String| before.iter().cloned().chain([last]).collect();
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            in_tree(&path.tree, before, found);
            before.pop();
        }
        UseTree::Name(name) => found.push(path(name.ident.to_string())),
        UseTree::Rename(name) => found.push(path(name.ident.to_string())),
        UseTree::Glob(_) => found.push(before.clone()),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| in_tree(tree, before, found));
        }
    }
}

/// Collects paths from expressions, types and macro arguments. A group in a `use` tree yields its
/// prefix only.
fn in_tokens(tokens: TokenStream, found: &mut Vec<Path>) {
    let mut path = Path::new();
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Ident(name) if colons == 2 => path.push(name.to_string()),
            TokenTree::Ident(name) => {
                found.push(std::mem::replace(&mut path, vec![name.to_string()]));
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {
                colons += 1;
                continue;
            }
            TokenTree::Group(group) => {
                found.push(std::mem::take(&mut path));
                in_tokens(group.stream(), found);
            }
            _ => found.push(std::mem::take(&mut path)),
        }
        colons = 0;
    }
    found.push(path);
    // A single name may be local, so it is no evidence.
    found.retain(|path| path.len() > 1);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{paths, reexports, remove_tests, test_modules};

    fn found(text: &str) -> Vec<String> {
        let mut file = syn::parse_file(text).unwrap();
        remove_tests(&mut file);
        let mut all: Vec<String> =
            paths(&file, &["other".into()]).into_iter().map(|path| path.join("::")).collect();
        all.sort();
        all.dedup();
        all
    }

    #[test]
    fn paths_are_found_wherever_they_stand() {
        let text = "use crate::a::{B, c::{self, D}};\nfn f() { crate::e::f(); println!(\"{}\", \
                    other::g()); }\n\
            struct S(super::H, std::io::Error);";
        // The prefix of a group counts as well.
        let all = [
            "crate::a",
            "crate::a::B",
            "crate::a::c::D",
            "crate::a::c::self",
            "crate::e::f",
            "other::g",
            "super::H",
        ];
        assert_eq!(found(text), all);
    }

    #[test]
    fn what_is_for_tests_is_left_out() {
        let text = "#[cfg(test)]\nmod tests { use crate::a::B; }\n#[cfg(test)]\nuse \
                    crate::c::D;\nmod m { #[cfg(test)] fn f() { crate::e::g() } }\n\
            #[cfg(not(test))]\nuse crate::kept::K;";
        assert_eq!(found(text), ["crate::kept::K"]);
    }

    #[test]
    fn modules_for_tests_are_known() {
        let text = "mod a;\n#[cfg(test)]\nmod b;\n#[cfg(test)]\n#[path = \"c.rs\"]\npub mod c;";
        let all = [("b".to_owned(), None), ("c".to_owned(), Some("c.rs".to_owned()))];
        assert_eq!(test_modules(&syn::parse_file(text).unwrap()), all);
    }

    #[test]
    fn a_table_of_contents_says_where_names_come_from() {
        let all = reexports("pub use shell::{Drive, open as door};\nfn f() {}").unwrap_or_default();
        let all: Vec<String> =
            all.into_iter().map(|(name, path)| format!("{name}={}", path.join("::"))).collect();
        assert_eq!(all, ["Drive=shell::Drive", "open=shell::open"]);
    }
}
