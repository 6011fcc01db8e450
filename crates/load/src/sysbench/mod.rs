//! sysbench 1.0.20's command line, its way of counting, and its report.
//!
//! [`parse`] turns a sysbench command line into the configuration of this crate;
//! [`SysbenchPrinter`] prints the interval lines and the final block under sysbench's labels, then
//! values that sysbench lacks. Options, defaults and labels are those of the program's own help and
//! output.

mod assemble;
mod files;
mod given;
mod help;
mod old;
mod options;
mod parse;
mod percentile;
mod print;

pub use files::{
    FileioCommand, FileioLine, FileioPrinter, fileio_help, names_fileio, parse_fileio,
};
pub use help::help;
pub use parse::{
    CapacityOptions, HostOptions, SysbenchCommand, SysbenchLine, SysbenchReporting, parse,
};
pub use percentile::percentile_ms;
pub use print::SysbenchPrinter;
