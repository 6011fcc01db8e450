//! A persistent login on a host: one `ssh` process holds it, and every command to the host uses it.
//!
//! Its socket is in a private directory, which is in the ledger. Dropping the login closes it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_base::HostSpec;
use assay_base::text::on_one_line;
use assay_ports::child::{self, Child};
use assay_system::interrupt::Interrupt;
use assay_system::ledger::{Ledger, LedgerGuard};
use assay_system::new_name;
use parking_lot::Mutex;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use crate::failure::FailureReason;
use crate::ssh;

/// Interval at which the login is checked.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Interval at which Ctrl-C is checked while waiting for a host.
pub(crate) const STOP_SEEN_WITHIN: Duration = Duration::from_millis(100);

/// Exit code of the client when it has no connection (`ssh(1)`, "EXIT STATUS").
pub(crate) const LOST: i32 = 255;

/// Longest login, slow name servers and several hops included.
const LOGIN_PATIENCE: Duration = Duration::from_secs(30);

/// A Unix socket's path has at most 107 bytes (`unix(7)`), and the client adds 17 to the name while
/// it creates the socket.
const SOCKET_BYTES_MAX: usize = 107 - 17;

/// Prefix of the lines that a script prints for us, since a shell may print other lines.
const MARK: &str = "@assay ";

#[derive(Debug)]
pub(crate) struct Connection {
    spec: HostSpec,
    interrupt: Interrupt,
    client: Mutex<Child>,
    /// The client's output.
    said: File,
    socket: PathBuf,
    // Dropped after the client.
    _directory: LedgerGuard,
}

impl Connection {
    /// Logs in. Each cause of failure has its own variant of [`FailureReason`].
    pub(crate) fn open(
        spec: &HostSpec,
        ledger: &Arc<Ledger>,
        interrupt: &Interrupt,
    ) -> Result<Connection, FailureReason> {
        spec.check().map_err(FailureReason::Spec)?;
        let path = new_directory();
        let made = ledger.make_directory(&path);
        let directory = made.map_err(|error| FailureReason::Here(format!("{error:#}")))?;
        let socket = path.join("s");
        let said = memory_file()?;
        let mut command = Command::new("ssh");
        command.args(ssh::words(spec, &socket, true)).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(said.try_clone().map_err(here)?);
        let client = child::spawn(command, &[]).map_err(no_client)?;
        let connection = Connection {
            spec: spec.clone(),
            interrupt: interrupt.clone(),
            client: client.into(),
            said,
            socket,
            _directory: directory,
        };
        connection.await_login()?;
        Ok(connection)
    }

    fn await_login(&self) -> Result<(), FailureReason> {
        let deadline = Instant::now() + LOGIN_PATIENCE;
        while Instant::now() < deadline {
            if self.client.lock().wait(LOOK_EVERY).map_err(here)?.is_some() {
                return Err(ssh::meaning(&read(&self.said)));
            }
            if self.socket.exists() {
                return Ok(());
            }
            self.check_interrupt()?;
        }
        let seconds = LOGIN_PATIENCE.as_secs();
        Err(FailureReason::Unreachable(format!("no login after {seconds} s")))
    }

    /// The host's name, as given by the user.
    pub(crate) fn name(&self) -> &str {
        &self.spec.ssh
    }

    pub(crate) fn spec(&self) -> &HostSpec {
        &self.spec
    }

    /// A shell command on the host, not started yet.
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = Command::new("ssh");
        command.args(ssh::words(&self.spec, &self.socket, false)).arg(words);
        command
    }

    /// Runs a script on the host with `arguments`. Returns its marked lines.
    pub(crate) fn ask(
        &self,
        script: &str,
        arguments: &[&str],
        input: Stdio,
        limit: Duration,
    ) -> Result<Answer, FailureReason> {
        let words = ["sh", "-c", script, "assay"].into_iter().chain(arguments.iter().copied());
        let words: Vec<String> = words.map(quoted).collect();
        let mut command = self.command(&format!("exec {}", words.join(" ")));
        let (stdout, stderr) = (memory_file()?, memory_file()?);
        command.stdin(input).stdout(stdout.try_clone().map_err(here)?);
        command.stderr(stderr.try_clone().map_err(here)?);
        let mut client = child::spawn(command, &[]).map_err(no_client)?;
        let ended = self.await_end(&mut client, limit)?;
        if is_full(&stdout) {
            return Err(FailureReason::Protocol("it printed more than was asked for".into()));
        }
        match ended {
            Some(status) if status.success() => Ok(Answer::of(&read(&stdout), &read(&stderr))),
            Some(status) if status.code() != Some(LOST) => {
                Err(FailureReason::Protocol(on_one_line(&read(&stderr))))
            }
            Some(_) => Err(FailureReason::Lost(self.last_words())),
            None => {
                Err(FailureReason::Lost(Some(format!("no answer after {} s", limit.as_secs()))))
            }
        }
    }

    /// Waits until a client ends or the user interrupts; returns `None` after `patience`.
    pub(crate) fn await_end(
        &self,
        client: &mut Child,
        limit: Duration,
    ) -> Result<Option<ExitStatus>, FailureReason> {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if let Some(status) = client.wait(STOP_SEEN_WITHIN).map_err(here)? {
                return Ok(Some(status));
            }
            self.check_interrupt()?;
        }
        Ok(None)
    }

    /// Fails if the user has interrupted.
    pub(crate) fn check_interrupt(&self) -> Result<(), FailureReason> {
        if self.interrupt.is_set() { Err(FailureReason::Interrupted) } else { Ok(()) }
    }

    /// The last line of the client's output, if any.
    pub(crate) fn last_words(&self) -> Option<String> {
        Some(on_one_line(&read(&self.said))).filter(|words| !words.is_empty())
    }
}

/// The output of a script.
#[derive(Debug)]
pub(crate) struct Answer {
    lines: Vec<String>,
    /// Its other output, on one line.
    pub(crate) complaint: String,
}

impl Answer {
    fn of(stdout: &str, stderr: &str) -> Answer {
        let lines = stdout.lines().filter_map(|line| line.trim_end().strip_prefix(MARK));
        Answer { lines: lines.map(str::to_owned).collect(), complaint: on_one_line(stderr) }
    }

    /// The rest of the line that begins with `word`, if there is one.
    pub(crate) fn after(&self, word: &str) -> Option<&str> {
        let rest = |line: &'_ str| -> Option<usize> {
            let rest = line.strip_prefix(word)?;
            (rest.is_empty() || rest.starts_with(' ')).then(|| line.len() - rest.trim_start().len())
        };
        self.lines.iter().find_map(|line| rest(line).map(|from| &line[from..]))
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.after(word).is_some()
    }
}

/// Quotes a word for any Bourne shell; line breaks are kept.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Limit of a program's output, in bytes.
const SAID_BYTES_MAX: u64 = 1 << 20;

/// A memory file for a program's output. It has its full length from the start, filled with zeroes:
/// a program that writes without end does not fill the memory, but gets an error.
pub(crate) fn memory_file() -> Result<File, FailureReason> {
    let of_here = |error: rustix::io::Errno| here(error.into());
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = memfd_create("assay-ssh", flags).map(File::from).map_err(of_here)?;
    file.set_len(SAID_BYTES_MAX).map_err(here)?;
    fcntl_add_seals(&file, SealFlags::GROW | SealFlags::SEAL).map_err(of_here)?;
    Ok(file)
}

/// The content, independent of the writer's position.
pub(crate) fn read(file: &File) -> String {
    let mut bytes = vec![0; SAID_BYTES_MAX as usize];
    let length = file.read_at(&mut bytes, 0).unwrap_or(0);
    let said = &bytes[..length];
    let end = said.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    String::from_utf8_lossy(&said[..end]).into_owned()
}

/// Returns true if the output reached its limit, and may be cut.
fn is_full(file: &File) -> bool {
    let mut last = [0];
    matches!(file.read_at(&mut last, SAID_BYTES_MAX - 1), Ok(1)) && last != [0]
}

pub(crate) fn here(error: std::io::Error) -> FailureReason {
    FailureReason::Here(format!("cannot run `ssh`: {error}"))
}

pub(crate) fn no_client(error: std::io::Error) -> FailureReason {
    match error.kind() {
        std::io::ErrorKind::NotFound => FailureReason::NoClient,
        _ => here(error),
    }
}

/// A new path among the user's own sockets if that is short enough, in the temporary directory
/// otherwise.
fn new_directory() -> PathBuf {
    let name = new_name("ssh");
    let run = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let run = run.filter(|run| run.is_absolute() && run.is_dir());
    let is_short = |path: &Path| path.join("s").as_os_str().len() <= SOCKET_BYTES_MAX;
    let in_run = run.map(|run| run.join(&name)).filter(|path| is_short(path));
    in_run.unwrap_or_else(|| Path::new("/tmp").join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marked_lines_are_heard() {
        let answer = Answer::of("Welcome!\n@assay place /a b/c\r\n@assay there\n", "x\ny\n");
        assert_eq!(answer.after("place"), Some("/a b/c"));
        assert!(answer.has("there") && !answer.has("the") && !answer.has("Welcome!"));
        assert_eq!(answer.complaint, "x; y");
    }

    #[test]
    fn a_quoted_word_is_one_word_to_a_shell() {
        for word in ["", "a b", "it's", "two\nlines", "$HOME `x` \\"] {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("printf %s {}", quoted(word))]);
            assert_eq!(shell.output().unwrap().stdout, word.as_bytes());
        }
    }
}
