//! The command line of sysbench's `fileio`, and its output.

mod parse;
mod print;

pub use parse::{FileioCommand, FileioLine, names_fileio, parse_fileio};
pub use print::{FileioPrinter, fileio_help};
