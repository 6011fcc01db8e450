//! Whose command line it is: sysbench's, its fileio's, or YCSB's behind the word `ycsb`.

use crate::error::Result;
use crate::{sysbench, ycsb_client};

/// A command line, understood.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there is one for each process")]
pub enum CommandLine {
    /// A line of sysbench's tests of databases.
    Sysbench(sysbench::SysbenchLine),
    /// A line of sysbench's test of files.
    Files(sysbench::FileioLine),
    /// YCSB's line.
    Ycsb(ycsb_client::YcsbLine),
}

impl CommandLine {
    /// Reads the words after the program's name.
    ///
    /// # Errors
    /// [`crate::Error::Config`] for what is unknown, not built, or makes no sense, in one line.
    pub fn read(words: &[String]) -> Result<CommandLine> {
        // A shell user's end of options.
        let behind = match words {
            [dashes, rest @ ..] if dashes == "--" => rest,
            all => all,
        };
        match behind.split_first() {
            Some((first, [])) if first == "ycsb" => CommandLine::ycsb(&["help".into()]),
            Some((first, rest)) if first == "ycsb" => CommandLine::ycsb(rest),
            _ if sysbench::names_fileio(words) => {
                sysbench::parse_fileio(words).map(CommandLine::Files)
            }
            _ => sysbench::parse(words).map(CommandLine::Sysbench),
        }
    }

    fn ycsb(words: &[String]) -> Result<CommandLine> {
        ycsb_client::parse(words).map(CommandLine::Ycsb)
    }
}
