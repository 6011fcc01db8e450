//! Method calls: each call is an arrow to the module with the method's `impl` block, if the
//! receiver's type is known.
//!
//! The types of `self`, fields and parameters are known, and those of variables that are made from
//! these by fields, calls, `?` and patterns. Other receivers (an element of a list, a parameter of
//! a closure, a trait object) give no arrow. Neither do methods of traits: by a trait, a lower
//! module calls an upper one without depending on it.

use std::collections::HashMap;

use syn::visit_mut::{self, VisitMut};
use syn::{Expr, FnArg, Item, Pat, ReturnType, Type};

use crate::source::{self, Path};

/// A source file without tests.
pub struct ParsedSource {
    /// Path below `src`.
    pub place: String,
    /// Module of the file; empty for a root file.
    pub module: Path,
    pub file: syn::File,
}

/// A type by name: the full path of a type of the crate, or the last segment of any other.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    name: String,
    arguments: Vec<Named>,
}

/// Types through which a method call reaches the first argument.
const POINTERS: [&str; 9] = [
    "Arc",
    "Rc",
    "Box",
    "MutexGuard",
    "RwLockReadGuard",
    "RwLockWriteGuard",
    "Ref",
    "RefMut",
    "Cow",
];

/// Types whose first argument is the result of `?` and `unwrap`.
const OUTCOMES: [&str; 2] = ["Result", "Option"];

impl Named {
    fn new(name: &str) -> Named {
        Named { name: name.into(), arguments: Vec::new() }
    }

    /// The type behind a pointer.
    fn target(&self) -> &Named {
        match self.arguments.first() {
            Some(inner) if POINTERS.contains(&self.name.as_str()) => inner.target(),
            _ => self,
        }
    }

    /// The value inside a `Result` or an `Option`.
    fn success(&self) -> Option<Named> {
        OUTCOMES.contains(&self.name.as_str()).then(|| self.arguments.first().cloned()).flatten()
    }
}

/// A method: the module of its `impl` block, and its result.
struct Method {
    module: Path,
    result: Option<Named>,
}

/// The types, methods and functions of a crate.
#[derive(Default)]
pub struct Methods {
    /// The names that each module defines or uses, with their paths from the crate's root.
    names: HashMap<Path, HashMap<String, Path>>,
    types: HashMap<Path, HashMap<String, Named>>,
    methods: HashMap<(String, String), Method>,
    functions: HashMap<Path, Named>,
}

/// A call of a method in another module.
#[derive(Debug, PartialEq, Eq)]
pub struct Call {
    /// The calling module.
    pub from: Path,
    /// The module that defines the method.
    pub to: Path,
    /// Type and method, as `Drive::write`.
    pub method: String,
}

impl Methods {
    /// Collects the definitions of a crate's files.
    #[must_use]
    pub fn new(sources: &[ParsedSource], own_name: &str) -> Methods {
        let mut all = Methods::default();
        sources.iter().for_each(|source| all.add_names(source, own_name));
        sources.iter().for_each(|source| all.add_fields(source));
        sources.iter().for_each(|source| all.add_functions(source));
        all
    }

    fn add_names(&mut self, source: &ParsedSource, own_name: &str) {
        let names = self.names.entry(source.module.clone()).or_default();
        for item in &source.file.items {
            match item {
                Item::Use(item) => {
                    for (name, path) in source::names(&item.tree) {
                        names.insert(name, absolute(&path, &source.module, own_name));
                    }
                }
                item => {
                    if let Some(name) = defined(item) {
                        let path = [&source.module[..], std::slice::from_ref(&name)].concat();
                        names.insert(name, path.clone());
                        if matches!(item, Item::Struct(_) | Item::Enum(_) | Item::Union(_)) {
                            self.types.insert(path, HashMap::new());
                        }
                    }
                }
            }
        }
    }

    fn add_fields(&mut self, source: &ParsedSource) {
        for item in &source.file.items {
            let Item::Struct(item) = item else { continue };
            let path = [&source.module[..], &[item.ident.to_string()]].concat();
            let fields: HashMap<_, _> = item
                .fields
                .iter()
                .enumerate()
                .filter_map(|(index, field)| {
                    let name = field.ident.as_ref().map_or(index.to_string(), ToString::to_string);
                    Some((name, self.named(&field.ty, &source.module, None)?))
                })
                .collect();
            self.types.insert(path, fields);
        }
    }

    fn add_functions(&mut self, source: &ParsedSource) {
        let module = &source.module;
        for item in &source.file.items {
            match item {
                Item::Impl(item) if item.trait_.is_none() => {
                    let Some(own) = self.named(&item.self_ty, module, None) else { continue };
                    for function in &item.items {
                        let syn::ImplItem::Fn(function) = function else { continue };
                        let result = self.result(&function.sig, module, Some(&own));
                        let key = (own.name.clone(), function.sig.ident.to_string());
                        self.methods.insert(key, Method { module: module.clone(), result });
                    }
                }
                Item::Fn(function) => {
                    if let Some(result) = self.result(&function.sig, module, None) {
                        let name = function.sig.ident.to_string();
                        self.functions.insert([&module[..], &[name]].concat(), result);
                    }
                }
                _ => {}
            }
        }
    }

    fn result(
        &self,
        signature: &syn::Signature,
        module: &Path,
        own: Option<&Named>,
    ) -> Option<Named> {
        match &signature.output {
            ReturnType::Type(_, result) => self.named(result, module, own),
            ReturnType::Default => None,
        }
    }

    /// Resolves a type that is written in a module; `own` is the meaning of `Self`.
    fn named(&self, written: &Type, module: &Path, own: Option<&Named>) -> Option<Named> {
        match written {
            Type::Reference(reference) => self.named(&reference.elem, module, own),
            Type::Paren(inner) => self.named(&inner.elem, module, own),
            Type::Group(inner) => self.named(&inner.elem, module, own),
            Type::Path(path) if path.qself.is_none() => {
                if path.path.is_ident("Self") {
                    return own.cloned();
                }
                let last = path.path.segments.last()?;
                let arguments = match &last.arguments {
                    syn::PathArguments::AngleBracketed(all) => {
                        let types = all.args.iter().filter_map(|argument| match argument {
                            syn::GenericArgument::Type(argument) => Some(argument),
                            _ => None,
                        });
                        types.filter_map(|argument| self.named(argument, module, own)).collect()
                    }
                    _ => Vec::new(),
                };
                let name = match self.type_at(&segments(&path.path), module) {
                    Some(path) => path.join("::"),
                    None => last.ident.to_string(),
                };
                Some(Named { name, arguments })
            }
            _ => None,
        }
    }

    /// Resolves a written path to a type of the crate.
    fn type_at(&self, written: &[String], module: &Path) -> Option<Path> {
        let path = self.definition(written, module)?;
        self.types.contains_key(&path).then_some(path)
    }

    /// Resolves a written path to the path of its definition.
    fn definition(&self, written: &[String], module: &Path) -> Option<Path> {
        let (first, rest) = written.split_first()?;
        let start = match first.as_str() {
            "crate" | "self" | "super" => absolute(written, module, ""),
            _ => {
                let first = match self.names.get(module).and_then(|names| names.get(first)) {
                    Some(path) => path.clone(),
                    // A module that this one declares.
                    None => [&module[..], std::slice::from_ref(first)].concat(),
                };
                [&first[..], rest].concat()
            }
        };
        self.followed(start)
    }

    /// Follows re-exports to their end.
    fn followed(&self, mut path: Path) -> Option<Path> {
        for _ in 0..8 {
            let (name, module) = path.split_last()?;
            let next = self.names.get(module).and_then(|names| names.get(name));
            match next {
                Some(next) if *next != path => path = next.clone(),
                _ => return Some(path),
            }
        }
        None
    }

    /// Finds the calls of methods that other modules define. Does not change the file.
    #[must_use]
    pub fn calls(&self, source: &mut ParsedSource) -> Vec<Call> {
        let mut calls = Calls {
            methods: self,
            module: &source.module,
            own: None,
            variables: HashMap::new(),
            found: Vec::new(),
        };
        calls.visit_file_mut(&mut source.file);
        calls.found
    }
}

/// The visitor of one file, with the types of the variables at the visited place.
struct Calls<'a> {
    methods: &'a Methods,
    module: &'a Path,
    own: Option<Named>,
    variables: HashMap<String, Named>,
    found: Vec<Call>,
}

impl Calls<'_> {
    fn named(&self, written: &Type) -> Option<Named> {
        self.methods.named(written, self.module, self.own.as_ref())
    }

    fn method(&self, receiver: &Named, name: &str) -> Option<&Method> {
        let key = |named: &Named| (named.name.clone(), name.to_owned());
        let methods = &self.methods.methods;
        methods.get(&key(receiver)).or_else(|| methods.get(&key(receiver.target())))
    }

    fn note(&mut self, receiver: &Named, name: &str) {
        if let Some(method) = self.method(receiver, name)
            && method.module != *self.module
        {
            let owner = receiver.target().name.rsplit("::").next().unwrap_or_default().to_owned();
            let (from, to) = (self.module.clone(), method.module.clone());
            self.found.push(Call { from, to, method: format!("{owner}::{name}") });
        }
    }

    /// Splits the path of `Type::function` into the type and the function's name.
    fn associated(&self, path: &syn::Path) -> Option<(Named, String)> {
        let all = segments(path);
        let (last, owner) = all.split_last()?;
        let named = match owner {
            [] => return None,
            [one] if one == "Self" => self.own.clone()?,
            owner => Named::new(&self.methods.type_at(owner, self.module)?.join("::")),
        };
        Some((named, last.clone()))
    }

    /// The type of an expression, if it is known.
    fn type_of(&self, expression: &Expr) -> Option<Named> {
        match expression {
            Expr::Path(path) if path.path.is_ident("self") => self.own.clone(),
            Expr::Path(path) => self.variables.get(&path.path.get_ident()?.to_string()).cloned(),
            Expr::Field(field) => {
                let owner = self.type_of(&field.base)?;
                let name = match &field.member {
                    syn::Member::Named(name) => name.to_string(),
                    syn::Member::Unnamed(index) => index.index.to_string(),
                };
                self.field(&owner, &name)
            }
            Expr::MethodCall(call) => {
                let receiver = self.type_of(&call.receiver)?;
                let name = call.method.to_string();
                match self.method(&receiver, &name) {
                    Some(method) => method.result.clone(),
                    None => known_result(&receiver, &name),
                }
            }
            Expr::Call(call) => self.result_of(&call.func, call.args.first()),
            Expr::Struct(made) if made.path.is_ident("Self") => self.own.clone(),
            Expr::Struct(made) => {
                let path = self.methods.type_at(&segments(&made.path), self.module)?;
                Some(Named::new(&path.join("::")))
            }
            Expr::Reference(inner) => self.type_of(&inner.expr),
            Expr::Paren(inner) => self.type_of(&inner.expr),
            Expr::Unary(inner) => self.type_of(&inner.expr),
            Expr::Try(inner) => self.type_of(&inner.expr)?.success(),
            _ => None,
        }
    }

    fn field(&self, owner: &Named, name: &str) -> Option<Named> {
        let path: Path = owner.target().name.split("::").map(Into::into).collect();
        self.methods.types.get(&path)?.get(name).cloned()
    }

    fn result_of(&self, function: &Expr, argument: Option<&Expr>) -> Option<Named> {
        let Expr::Path(path) = function else { return None };
        let name = path.path.segments.last()?.ident.to_string();
        if let Some((owner, name)) = self.associated(&path.path) {
            return self.method(&owner, &name)?.result.clone();
        }
        if let Some(path) = self.methods.definition(&segments(&path.path), self.module)
            && let Some(result) = self.methods.functions.get(&path)
        {
            return Some(result.clone());
        }
        // `Arc::clone(&x)` and `Box::new(x)` have the type of their argument.
        let pointer = path.path.segments.iter().rev().nth(1)?.ident.to_string();
        let hands_on = POINTERS.contains(&pointer.as_str()) && (name == "clone" || name == "new");
        if hands_on { self.type_of(argument?) } else { None }
    }

    /// Notes the types of a pattern's variables, and forgets variables of unknown type.
    fn bind(&mut self, pattern: &Pat, named: Option<Named>) {
        match pattern {
            Pat::Ident(variable) => {
                let name = variable.ident.to_string();
                match named {
                    Some(named) => self.variables.insert(name, named),
                    None => self.variables.remove(&name),
                };
            }
            Pat::Type(typed) => {
                let named = self.named(&typed.ty);
                self.bind(&typed.pat, named);
            }
            Pat::Reference(inner) => self.bind(&inner.pat, named),
            Pat::Paren(inner) => self.bind(&inner.pat, named),
            Pat::TupleStruct(inner) if inner.elems.len() == 1 => {
                let named = named.and_then(|named| named.success());
                self.bind(&inner.elems[0], named);
            }
            Pat::TupleStruct(inner) => inner.elems.iter().for_each(|each| self.bind(each, None)),
            Pat::Tuple(inner) => inner.elems.iter().for_each(|each| self.bind(each, None)),
            Pat::Slice(inner) => inner.elems.iter().for_each(|each| self.bind(each, None)),
            Pat::Or(inner) => inner.cases.iter().for_each(|each| self.bind(each, None)),
            Pat::Struct(inner) => {
                for field in &inner.fields {
                    let name = match &field.member {
                        syn::Member::Named(name) => name.to_string(),
                        syn::Member::Unnamed(index) => index.index.to_string(),
                    };
                    let named = named.as_ref().and_then(|named| self.field(named, &name));
                    self.bind(&field.pat, named);
                }
            }
            _ => {}
        }
    }

    fn bind_parameters(&mut self, signature: &syn::Signature) {
        self.variables.clear();
        for parameter in &signature.inputs {
            if let FnArg::Typed(typed) = parameter {
                let named = self.named(&typed.ty);
                self.bind(&typed.pat, named);
            }
        }
    }
}

impl VisitMut for Calls<'_> {
    fn visit_item_impl_mut(&mut self, item: &mut syn::ItemImpl) {
        self.own = self.methods.named(&item.self_ty, self.module, None);
        visit_mut::visit_item_impl_mut(self, item);
        self.own = None;
    }

    fn visit_impl_item_fn_mut(&mut self, function: &mut syn::ImplItemFn) {
        self.bind_parameters(&function.sig);
        visit_mut::visit_impl_item_fn_mut(self, function);
    }

    fn visit_item_fn_mut(&mut self, function: &mut syn::ItemFn) {
        self.bind_parameters(&function.sig);
        visit_mut::visit_item_fn_mut(self, function);
    }

    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        visit_mut::visit_local_mut(self, local);
        let named = local.init.as_ref().and_then(|init| self.type_of(&init.expr));
        self.bind(&local.pat, named);
    }

    fn visit_expr_let_mut(&mut self, expression: &mut syn::ExprLet) {
        visit_mut::visit_expr_let_mut(self, expression);
        let named = self.type_of(&expression.expr);
        self.bind(&expression.pat, named);
    }

    fn visit_expr_for_loop_mut(&mut self, expression: &mut syn::ExprForLoop) {
        self.bind(&expression.pat, None);
        visit_mut::visit_expr_for_loop_mut(self, expression);
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        let outer = self.variables.clone();
        closure.inputs.iter().for_each(|input| self.bind(input, None));
        visit_mut::visit_expr_closure_mut(self, closure);
        self.variables = outer;
    }

    fn visit_expr_match_mut(&mut self, expression: &mut syn::ExprMatch) {
        self.visit_expr_mut(&mut expression.expr);
        let named = self.type_of(&expression.expr);
        for arm in &mut expression.arms {
            let outer = self.variables.clone();
            self.bind(&arm.pat, named.clone());
            self.visit_arm_mut(arm);
            self.variables = outer;
        }
    }

    fn visit_expr_method_call_mut(&mut self, call: &mut syn::ExprMethodCall) {
        visit_mut::visit_expr_method_call_mut(self, call);
        if let Some(receiver) = self.type_of(&call.receiver) {
            self.note(&receiver, &call.method.to_string());
        }
    }

    fn visit_expr_path_mut(&mut self, path: &mut syn::ExprPath) {
        if let Some((owner, name)) = self.associated(&path.path) {
            self.note(&owner, &name);
        }
    }
}

/// The results of well-known methods of the standard library.
fn known_result(receiver: &Named, method: &str) -> Option<Named> {
    match method {
        "clone" | "as_ref" | "as_mut" | "borrow" | "borrow_mut" | "by_ref" | "to_owned" => {
            Some(receiver.clone())
        }
        "unwrap" | "expect" | "unwrap_or_default" | "unwrap_or_else" => receiver.success(),
        "map_err" | "ok" | "take" => Some(receiver.clone()),
        "lock" | "read" | "write"
            if ["Mutex", "RwLock"].contains(&receiver.target().name.as_str()) =>
        {
            let inner = receiver.target().arguments.first()?.clone();
            Some(Named { name: "Result".into(), arguments: vec![inner] })
        }
        _ => None,
    }
}

fn segments(path: &syn::Path) -> Path {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// The name that an item defines.
fn defined(item: &Item) -> Option<String> {
    Some(match item {
        Item::Struct(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Union(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        _ => return None,
    })
}

/// A path from the crate's root, for a path that is written in a module.
fn absolute(path: &[String], module: &Path, own_name: &str) -> Path {
    let mut base: Path = module.clone();
    let mut rest = path;
    match rest.first().map(String::as_str) {
        Some(first) if first == "crate" || (first == own_name && !own_name.is_empty()) => {
            base.clear();
            rest = &rest[1..];
        }
        Some("self") => rest = &rest[1..],
        Some("super") => {}
        // A path of another crate, or of a module that this one declares.
        _ => return [&module[..], path].concat(),
    }
    while rest.first().is_some_and(|first| first == "super") {
        base.pop();
        rest = &rest[1..];
    }
    base.extend(rest.iter().filter(|segment| *segment != "self").cloned());
    base
}
