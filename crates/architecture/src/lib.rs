//! Who uses whom: between the crates of the workspace, and between the top modules of each crate.
//!
//! Read from `cargo metadata` and from the paths that the sources name; tests are left out, they may reach anywhere. A crate's
//! root file is its table of contents and no module: what it re-exports counts as used where it comes from.

pub mod graph;
pub mod source;
pub mod tidy;
pub mod workspace;

pub use graph::Graph;
pub use workspace::{crates, modules};
