//! The `assay` program: parses the command line and runs the command.

mod args;
mod ask;
mod audit_command;
mod claims_command;
mod clean_command;
mod compare_command;
mod completions_command;
#[cfg(test)]
mod docs_tests;
mod drive_command;
mod estimate_command;
mod foreign_plan;
mod host_command;
mod load_command;
mod man_command;
mod messages;
mod models_command;
mod plan_args;
mod plans_command;
mod pool_command;
mod powercut_command;
mod print;
mod replay_command;
mod report_command;
mod run_command;
mod server_command;

use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory;

use args::{Arguments, Command};

fn main() -> ExitCode {
    assay_base::version::set(env!("ASSAY_VERSION"));
    messages::set_up();
    messages::exit_code(|| carry_out(args::parse()?.command))
}

fn carry_out(command: Command) -> Result<ExitCode> {
    match command {
        Command::Demo(args) => run_command::demo(&args),
        Command::Run(args) => run_command::run(&args),
        Command::Plans(args) => plans_command::run(&args),
        Command::Report(args) => report_command::run(&args),
        Command::Compare(args) => compare_command::run(&args),
        Command::Audit(args) => audit_command::run(&args),
        Command::Estimate(args) => estimate_command::run(&args),
        Command::Powercut(args) => powercut_command::run(&args),
        Command::Load { words } => load_command::run(&words),
        Command::Host(args) => host_command::run(&args),
        Command::Server(args) => server_command::run(&args),
        Command::Drive(args) => drive_command::run(&args),
        Command::Models(args) => models_command::run(&args),
        Command::Pool(args) => pool_command::run(&args),
        Command::Claims(args) => claims_command::run(&args),
        Command::Replay(args) => replay_command::run(&args),
        Command::Clean(args) => clean_command::run(&args),
        Command::Man(args) => man_command::run(&args, Arguments::command()),
        Command::Completions(args) => completions_command::run(&args, &mut Arguments::command()),
    }
}
