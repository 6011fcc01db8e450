//! The help, made from the table of options.

use std::fmt::Write;

use super::old;
use super::options::{OPTIONS, Opt, Origin, Takes};
use crate::generator::Generator;
use crate::recipe::Recipe;

/// The text that `--help` prints.
#[must_use]
pub fn help() -> String {
    let mut text = String::from(
        "Puts load on a MySQL or MariaDB server like sysbench 1.0.20, with the same command line, \
         or like 0.4 and 0.5.\n\n\
         Usage: assay load WORKLOAD [--OPTION=VALUE…] prepare|prewarm|run|capacity|cleanup|help\n\n\
         Examples:\n  \
         assay load oltp_read_write --tables=4 --table-size=100000 --threads=8 \
         --mysql-socket=/run/mysqld/mysqld.sock --mysql-user=root prepare\n  \
         assay load oltp_read_write --tables=4 --table-size=100000 --threads=8 --time=60 \
         --report-interval=1 --mysql-socket=/run/mysqld/mysqld.sock --mysql-user=root run\n  \
         assay load run oltp_read_only --mode=strict --warmup-time=10 --time=60 --threads 64 \
         --json=result.json --mysql-host=db --mysql-ssl --mysql-user=bench\n\n\
         Load from two hosts at once, which share threads and rate (docs/how-to/hosts.md):\n  \
         assay load oltp_read_write --host=ann@load1 --host=ann@load2 --threads=64 \
         --mysql-host=db1 … run\n\n\
         capacity finds the rate at which 95 % of runs meet a latency objective, in open loop:\n  \
         assay load oltp_write_only --threads=64 --objective-ms=10 --time=10 … capacity\n\n\
         Mode `compat`, the default here, does as sysbench does, quirks included; `--mode=strict` \
         repairs them: an exact\n\
         measuring window, rollback before a retry, special's window as wide as asked. \
         docs/workloads.md lists all.\n\n",
    );
    text.push_str(
        "YCSB's own command line and property files: `assay load ycsb help`. Files in \
                   place of tables: `assay load fileio help`.\n\n",
    );
    for generator in Generator::ALL.into_iter().rev() {
        let names: Vec<&str> = Recipe::of(generator).map(Recipe::name).collect();
        let _ = writeln!(text, "Workloads of {}: {}", generator.name(), names.join(", "));
    }
    let mut group = "";
    for option in OPTIONS.iter().filter(|option| !option.help.is_empty()) {
        if option.group != group {
            group = option.group;
            let _ = writeln!(text, "\n{group}:");
        }
        let _ = writeln!(text, "  {}", line_of(option));
    }
    text.push_str("\n* not in sysbench 1.0.20\n");
    let ignored = OPTIONS.iter().filter(|option| option.origin == Origin::NoEffect);
    let ignored: Vec<String> = ignored.map(|option| option.name.replace('_', "-")).collect();
    let _ = writeln!(text, "Accepted without effect: {}", ignored.join(", "));
    let dashed = |name: &str| name.replace('_', "-");
    let names =
        old::NAMES.iter().map(|(old, today)| format!("{} ({})", dashed(old), dashed(today)));
    let _ = writeln!(text, "Old names: {}", names.collect::<Vec<_>>().join(", "));
    text
}

pub(super) fn line_of(option: &Opt) -> String {
    let value = match option.takes {
        Takes::Switch => "[=on|off]".to_owned(),
        Takes::SwitchOr(what) => format!("[=on|off|{what}]"),
        Takes::Value(what) => format!("={what}"),
    };
    let name = format!("--{}{value}", option.name.replace('_', "-"));
    let mark = if option.origin == Origin::Own { "*" } else { " " };
    let default = match option.default() {
        "" => String::new(),
        default => format!(" [{default}]"),
    };
    format!("{name:35}{mark} {}{default}", option.help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_mentioned_and_examples_are_given() {
        let help = help();
        for option in OPTIONS {
            assert!(help.contains(&option.name.replace('_', "-")), "{}", option.name);
        }
        assert!(help.contains("Examples:") && help.contains("--mode=strict"));
    }
}
