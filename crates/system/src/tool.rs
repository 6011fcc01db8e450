//! Runs a helper program (`cp`, `apt-get`, `mysqld --version`) to its end and returns its output.
//!
//! Output goes to anonymous memory files instead of pipes: nothing has to drain them, and
//! `assay_ports::child` can start the program so that it dies with this process.

use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rustix::fs::{MemfdFlags, memfd_create};

/// The output of a successful program.
#[derive(Debug)]
pub struct Said {
    pub stdout: String,
    pub stderr: String,
}

/// Why a program failed.
#[derive(Debug, thiserror::Error)]
#[error("`{program}` ended with {ending}: \
         {}", assay_ports::program::first_lines(stderr).unwrap_or_default())]
pub struct Failed {
    program: String,
    ending: String,
    pub stderr: String,
}

/// Runs `command` without input; kills it after `limit`.
///
/// # Errors
/// [`Failed`] for an unsuccessful end; otherwise the reason why it could not be started, or took
/// too long.
pub fn run(command: Command, limit: Duration) -> Result<Said> {
    run_with_input(command, Stdio::null(), limit)
}

/// Like [`run`], with `stdin` as input.
pub fn run_with_input(mut command: Command, stdin: Stdio, limit: Duration) -> Result<Said> {
    let program = command.get_program().to_string_lossy().into_owned();
    let (mut stdout, mut stderr) = (memory_file()?, memory_file()?);
    command.stdin(stdin).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    let mut child = assay_ports::child::spawn(command, &[])
        .with_context(|| format!("cannot start `{program}`"))?;
    let Some(status) = child.wait(limit)? else {
        bail!("`{program}` had not ended after {} s and was killed", limit.as_secs());
    };
    let said = Said { stdout: read_back(&mut stdout)?, stderr: read_back(&mut stderr)? };
    if status.success() {
        return Ok(said);
    }
    let ending = assay_ports::child::describe(status);
    Err(anyhow!(Failed { program, ending, stderr: said.stderr }))
}

fn memory_file() -> Result<File> {
    Ok(memfd_create("assay-tool", MemfdFlags::CLOEXEC).context("cannot make a memory file")?.into())
}

fn read_back(file: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell_free(program: &str, args: &[&str]) -> Result<Said> {
        let mut command = Command::new(program);
        command.args(args);
        run(command, Duration::from_secs(10))
    }

    #[test]
    fn what_a_program_said_comes_back() {
        assert_eq!(shell_free("printf", &["one\\ntwo"]).unwrap().stdout, "one\ntwo");
    }

    #[test]
    fn a_failure_carries_the_program_and_its_complaint() {
        let error = shell_free("ls", &["/nonexistent-directory"]).err().unwrap().to_string();
        assert!(error.contains("`ls` ended with exit code 2"), "{error}");
        assert!(error.contains("/nonexistent-directory"), "{error}");
    }

    #[test]
    fn a_program_that_hangs_is_killed() {
        let mut command = Command::new("sleep");
        command.arg("1000");
        let error = run(command, Duration::from_millis(30)).err().unwrap().to_string();
        assert!(error.contains("was killed"), "{error}");
    }
}
