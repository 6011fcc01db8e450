//! `fileio` on sysbench's command line: what it says, and what is printed.

mod parse;
mod print;

pub use parse::{FileioCommand, FileioLine, names_fileio, parse_fileio};
pub use print::{FileioPrinter, fileio_help};
