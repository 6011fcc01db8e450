//! Recognizes the program of a command line: sysbench, its fileio, or YCSB after the word `ycsb`.

use crate::error::Result;
use crate::{sysbench, ycsb_client};

/// A parsed command line.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there is one for each process")]
pub enum CommandLine {
    Sysbench(sysbench::SysbenchLine),
    Files(sysbench::FileioLine),
    Ycsb(ycsb_client::YcsbLine),
}

impl CommandLine {
    /// Parses the arguments.
    ///
    /// # Errors
    /// [`crate::Error::Config`] for unknown or unsupported options and invalid values, in one line.
    pub fn read(words: &[String]) -> Result<CommandLine> {
        // `--` ends the options, as in a shell.
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
