//! `fileio` on sysbench's command line: what it says, and what is printed.

mod parse;
mod print;

pub use parse::{FileCommand, FileCommandLine, names_fileio, parse_fileio};
pub use print::{FilePrinter, fileio_help};
