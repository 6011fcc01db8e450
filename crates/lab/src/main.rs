//! The `assay` command, for now with `load` alone.

mod load_command;

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(2).collect();
    load_command::run(&args).unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "assay: {error:#}");
        ExitCode::from(2)
    })
}
