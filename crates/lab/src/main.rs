//! The `assay` command.

#[allow(dead_code, unused_imports)]
mod watch;

fn main() {}
