//! The `assay` command.

use std::process::ExitCode;

use clap::Parser;

mod report;
mod report_command;
mod store;

#[derive(Debug, Parser)]
#[command(version, about)]
enum Command {
    /// Write report.html, results.json and tables/*.csv again from the store
    Report(report_command::ReportArgs),
}

fn main() -> ExitCode {
    let Command::Report(args) = Command::parse();
    match report_command::run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("assay: {error:#}");
            ExitCode::from(2)
        }
    }
}
