//! `assay completions`: prints a completion script for a shell.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::print;

/// Print a shell's completions
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay completions bash >/etc/bash_completion.d/assay
  assay completions zsh >/usr/local/share/zsh/site-functions/_assay
  assay completions fish >~/.config/fish/completions/assay.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the completions of `program`.
///
/// # Errors
/// The completions are not UTF-8.
pub(crate) fn run(args: &CompletionsArgs, program: &mut Command) -> Result<ExitCode> {
    let mut script = Vec::new();
    generate(args.shell, program, "assay", &mut script);
    print::drawn(String::from_utf8(script)?.trim_end());
    Ok(ExitCode::SUCCESS)
}
