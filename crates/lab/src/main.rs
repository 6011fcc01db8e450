//! The `assay` command.

mod store;

fn main() {}
