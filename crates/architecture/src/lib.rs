//! Draws the dependencies between the workspace's crates, and between the top modules of each
//! crate.
//!
//! Sources: `cargo metadata`, the paths named in the source files, and the methods that they call.
//! Tests are left out; they may use anything. A crate's root file is a table of contents and not a
//! module: a re-exported name counts as used where it is defined.

pub mod graph;
pub mod methods;
pub mod source;
pub mod tidy;
pub mod workspace;

pub use graph::Graph;
pub use workspace::{crates, modules};
