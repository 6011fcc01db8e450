//! The uses between crates and modules, the documents that describe them, and the sources' form.

#![allow(clippy::unwrap_used, clippy::panic)]

mod circles;
mod guarantees;
mod judging_words;
mod map;
mod methods;
mod tidy;
