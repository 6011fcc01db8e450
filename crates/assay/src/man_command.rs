//! `assay man`: writes the manual pages, as the packages install them.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Command};

/// Write the manual pages
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// An existing directory, which gets one page for each command
    directory: PathBuf,
}

/// Writes the pages of the program with these commands, except hidden ones.
pub(crate) fn run(args: &ManArgs, program: Command) -> Result<ExitCode> {
    clap_mangen::generate_to(program, &args.directory)
        .with_context(|| format!("cannot write to {}", args.directory.display()))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::{CommandFactory, ValueEnum};
    use clap_complete::{Shell, generate};

    use super::*;
    use crate::args::Arguments;

    /// Names of the subcommands that help shows, e.g. `drive create`.
    fn shown(command: &Command, before: &str) -> Vec<String> {
        let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
        let names = commands.flat_map(|command| {
            let name = format!("{before}{}", command.get_name());
            let below = shown(command, &format!("{name} "));
            std::iter::once(name).chain(below)
        });
        names.filter(|name| name != "help").collect()
    }

    #[test]
    fn each_command_has_a_page_and_its_parent_mentions_it() {
        let directory = tempfile::tempdir().unwrap();
        run(&ManArgs { directory: directory.path().into() }, Arguments::command()).unwrap();
        let page = |name: &str| {
            let file = directory.path().join(format!("{}.1", name.replace(' ', "-")));
            fs::read_to_string(file).unwrap().replace('\\', "")
        };
        let commands = shown(&Arguments::command(), "assay ");
        assert!(commands.len() > 30 && commands.contains(&"assay drive create".to_owned()));
        for name in &commands {
            let own = page(name);
            let hyphenated = name.replace(' ', "-");
            assert!(own.contains(".SH NAME") && own.contains(&hyphenated), "{name}");
            let (parent, _) = name.rsplit_once(' ').unwrap();
            assert!(page(parent).contains(&format!("{hyphenated}(1)")), "{name} in {parent}");
        }
        assert!(page("assay").contains("ASSAY_CACHE"), "the environment");
        assert!(page("assay drive create").contains("--capacity"), "the options");
        let pages = fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(pages, commands.len() + 1, "none of a hidden command");
    }

    #[test]
    fn completions_of_each_shell_have_each_command() {
        let commands = shown(&Arguments::command(), "");
        for shell in Shell::value_variants() {
            let mut script = Vec::new();
            generate(*shell, &mut Arguments::command(), "assay", &mut script);
            let script = String::from_utf8(script).unwrap();
            let has = |name: &&String| script.contains(name.rsplit(' ').next().unwrap());
            let missing: Vec<_> = commands.iter().filter(|name| !has(name)).collect();
            assert!(missing.is_empty(), "{shell}: {missing:?}");
        }
    }
}
