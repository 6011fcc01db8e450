//! The `assay` command: a stand-in until the table of contents is written.

use clap::{Parser, Subcommand};

#[allow(dead_code, unused_imports, reason = "the rest of the lab, which uses it, is not here yet")]
mod rig;
mod server_command;

#[derive(Parser)]
#[command(name = "assay", version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the MySQL and MariaDB servers that can be used, or bring one.
    Server(server_command::ServerArgs),
}

fn main() -> std::process::ExitCode {
    let Command::Server(args) = Args::parse().command;
    server_command::run(&args).unwrap_or_else(|error| {
        eprintln!("assay: {error:#}");
        std::process::ExitCode::from(2)
    })
}
