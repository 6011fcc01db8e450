//! Child processes that cannot outlive this process.
//!
//! A server that runs on after its lab died would keep a mount busy and a port occupied, so every
//! child gets the kernel's parent-death signal. That signal is tied to the *thread* that forked
//! (`prctl(2)`, `PR_SET_PDEATHSIG`), so all children are forked by one thread that lives as long as
//! the process.
//!
//! Guarantees: dropping a child kills and reaps it; waiting never polls; programs are started with
//! argument lists, never through a shell; withheld variables are not passed to them.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child as StdChild, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{BorrowedFd, OwnedFd, RawFd};
use rustix::io::FdFlags;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// A running child process, killed with `SIGKILL` and reaped when dropped.
#[derive(Debug)]
pub struct Child {
    process: StdChild,
    pidfd: OwnedFd,
    status: Option<ExitStatus>,
}

/// The identity of a process beyond its number, which the kernel reuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Process number.
    pub pid: u32,
    /// Start time in clock ticks since boot (`proc(5)`, field 22 of `/proc/PID/stat`).
    pub start_ticks: u64,
}

/// Environment variables that children do not inherit.
static WITHHELD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps this environment variable, which holds a secret, from children started from now on.
pub fn withhold(variable: &str) {
    let mut withheld = WITHHELD.lock().unwrap_or_else(PoisonError::into_inner);
    if !withheld.iter().any(|known| known == variable) {
        withheld.push(variable.to_owned());
    }
}

type Request = (Command, Sender<io::Result<StdChild>>);

/// Starts `command` on the given CPUs (empty: any). The child is killed when this process dies.
///
/// # Errors
/// The error of `execve` or `sched_setaffinity`, e.g. program not found or no such CPU.
pub fn spawn(mut command: Command, cpus: &[usize]) -> io::Result<Child> {
    tie_to_us(&mut command, cpus)?;
    Child::watch(fork_on_lasting_thread(command)?)
}

/// Runs `command` to its end, with its input, and returns its output. The child dies with this
/// process: a copy that ran on after a `kill -9` would keep its mount busy.
pub(crate) fn output(mut command: Command) -> io::Result<Output> {
    tie_to_us(&mut command, &[])?;
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    fork_on_lasting_thread(command)?.wait_with_output()
}

fn tie_to_us(command: &mut Command, cpus: &[usize]) -> io::Result<()> {
    for variable in WITHHELD.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        command.env_remove(variable);
    }
    let affinity = (!cpus.is_empty()).then(|| crate::cpu::set_of(cpus)).transpose()?;
    let us = rustix::process::getpid();
    // SAFETY: the closure runs between fork and exec and makes only three system calls; it takes no
    // lock and allocates nothing.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(move || {
            die_with(us)?;
            if let Some(set) = &affinity {
                rustix::thread::sched_setaffinity(None, set)?;
            }
            Ok(())
        });
    }
    // A process group of its own, so that Ctrl-C on the terminal reaches this process alone and
    // tear-down keeps its order.
    command.process_group(0);
    Ok(())
}

/// Makes this process, a child of `parent`, end together with its parent, even if that has ended
/// already (`prctl(2)`, `PR_SET_PDEATHSIG`, reports later ends only).
fn die_with(parent: Pid) -> rustix::io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    match rustix::process::getppid() == Some(parent) {
        true => Ok(()),
        false => Err(rustix::io::Errno::SRCH),
    }
}

/// Marks all open files except standard input, output and error close-on-exec: a lock or pipe
/// inherited from the parent must not pass to a process that outlives this one.
///
/// # Errors
/// `/proc` cannot be read.
pub fn hand_nothing_down() -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(number) = number.filter(|number: &RawFd| *number > 2) else { continue };
        // SAFETY: it was open when it was listed. If another thread has closed it since, the kernel
        // says so, or marks what was opened under its number, which is to be flagged as well.
        #[allow(unsafe_code)]
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        let _ = rustix::io::fcntl_setfd(descriptor, FdFlags::CLOEXEC);
    }
    Ok(())
}

fn fork_on_lasting_thread(command: Command) -> io::Result<StdChild> {
    static FORKER: OnceLock<Sender<Request>> = OnceLock::new();
    let forker = FORKER.get_or_init(|| {
        let (sender, requests) = channel::<Request>();
        std::thread::spawn(move || {
            for (mut command, reply) in requests {
                // A caller that has gone away drops its child, which kills it.
                let _ = reply.send(command.spawn());
            }
        });
        sender
    });
    let (reply, answer) = channel();
    let gone = || io::Error::other("the thread that starts programs has ended");
    forker.send((command, reply)).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}

impl Child {
    fn watch(mut process: StdChild) -> io::Result<Child> {
        let pidfd = Pid::from_raw(process.id().cast_signed())
            .ok_or_else(|| io::Error::other("child without a process number"))
            .and_then(|pid| Ok(pidfd_open(pid, PidfdFlags::empty())?));
        match pidfd {
            Ok(pidfd) => Ok(Child { process, pidfd, status: None }),
            Err(error) => {
                let _ = process.kill();
                let _ = process.wait();
                Err(error)
            }
        }
    }

    /// The child's process number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The exit status, or `None` while the child runs. Never blocks.
    ///
    /// # Errors
    /// The error of `waitpid`.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.process.try_wait()?;
        }
        Ok(self.status)
    }

    /// Waits until the child ends or `timeout` has passed.
    ///
    /// # Errors
    /// The error of `poll` or `waitpid`.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(status) = self.ended()? {
                return Ok(Some(status));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let limit = Timespec::try_from(left).map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&limit)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Sends `signal`; a child that has ended already is no error.
    ///
    /// # Errors
    /// The error of `pidfd_send_signal`.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        send(&self.pidfd, signal)
    }

    /// Sends `SIGTERM`, waits up to `grace`, then kills. Returns the exit status.
    ///
    /// # Errors
    /// The errors of the system calls.
    pub fn stop(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        match self.wait(grace)? {
            Some(status) => Ok(status),
            None => self.kill(),
        }
    }

    /// Kills with `SIGKILL` and reaps.
    ///
    /// # Errors
    /// The errors of the system calls.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::KILL)?;
        let status = self.process.wait()?;
        self.status = Some(status);
        Ok(status)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if matches!(self.ended(), Ok(None)) {
            let _ = self.kill();
        }
    }
}

/// A handle of any process, valid even after its number is reused.
#[derive(Debug)]
pub struct Process {
    pidfd: OwnedFd,
}

impl Process {
    /// The process with that number, or `None` if there is none.
    ///
    /// # Errors
    /// The error of `pidfd_open`.
    pub fn open(pid: u32) -> io::Result<Option<Process>> {
        let Some(pid) = Pid::from_raw(pid.cast_signed()) else { return Ok(None) };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Some(Process { pidfd })),
            Err(rustix::io::Errno::SRCH) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The process with that identity, or `None` if it has ended. The handle is opened before the
    /// identity is checked, so that the number cannot be reused in between.
    ///
    /// # Errors
    /// The error of `pidfd_open`.
    pub fn open_known(known: Identity) -> io::Result<Option<Process>> {
        let process = Process::open(known.pid)?;
        Ok(process.filter(|_| identity(known.pid) == Some(known)))
    }

    /// Sends `signal`; a process that has ended already is no error.
    ///
    /// # Errors
    /// The error of `pidfd_send_signal`, e.g. for another user's process.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        send(&self.pidfd, signal)
    }

    /// Waits until the process ends, or until `timeout` has passed. Returns true if it has ended.
    ///
    /// # Errors
    /// The error of `poll`.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let limit = left.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], limit.as_ref()) {
                Ok(ready) => return Ok(ready > 0),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn send(pidfd: &OwnedFd, signal: Signal) -> io::Result<()> {
    match pidfd_send_signal(pidfd, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// How a process ended, in words: "exit code 1", "signal 9".
#[must_use]
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "unknown status".into(),
    }
}

/// The identity of a running process, or `None` if there is none with that number. A killed process
/// runs until its last thread has ended, and has its files open until then.
#[must_use]
pub fn identity(pid: u32) -> Option<Identity> {
    let stat = stat(pid)?;
    let mut fields = stat.split_ascii_whitespace();
    let state = fields.next()?;
    // Fields 20 and 22. The first thread is a zombie if it alone has ended.
    let threads: u32 = fields.nth(16)?.parse().ok()?;
    let start_ticks = fields.nth(1)?.parse().ok()?;
    (threads > 1 || !matches!(state, "Z" | "X")).then_some(Identity { pid, start_ticks })
}

/// Returns true if the process was stopped, by a signal or a debugger.
#[must_use]
pub fn is_stopped(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| stat.trim_start().starts_with(['T', 't']))
}

/// Returns true if the process is ending irrevocably: it was killed, or its first thread has left.
/// The end can take a while, until the system calls of its threads return.
#[must_use]
pub fn is_ending(pid: u32) -> bool {
    let has_left = || Some(flags(&stat(pid)?)? & EXITING != 0);
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let is_killed = status.lines().any(is_killing);
    is_killed || has_left().unwrap_or(false)
}

/// `PF_EXITING`, set while a thread leaves (`include/linux/sched.h`; shown by `proc(5)`, field 9 of
/// `stat`).
const EXITING: u32 = 4;

/// Field 9, counted from field 3.
fn flags(stat: &str) -> Option<u32> {
    stat.split_ascii_whitespace().nth(6)?.parse().ok()
}

/// Returns true for a line of `/proc/PID/status` with pending signals that include SIGKILL: a mask
/// in hexadecimal, from signal 1 on (`proc(5)`).
fn is_killing(line: &str) -> bool {
    let mask = line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (Signal::KILL.as_raw() - 1) & 1 == 1)
}

/// `/proc/PID/stat` from field 3, the state. The command's name before it may contain spaces and
/// parentheses.
fn stat(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.get(stat.rfind(')')? + 1..)?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper() -> Child {
        let mut command = Command::new("sleep");
        command.arg("1000");
        spawn(command, &[0]).unwrap()
    }

    #[test]
    fn what_is_withheld_no_child_gets() {
        let printed = || {
            let mut command = Command::new("sh");
            command.args(["-c", "echo ${ASSAY_WITHHELD-none}"]).env("ASSAY_WITHHELD", "secret");
            String::from_utf8(output(command).unwrap().stdout).unwrap()
        };
        assert_eq!(printed(), "secret\n");
        withhold("ASSAY_WITHHELD");
        assert_eq!(printed(), "none\n");
    }

    #[test]
    fn a_dropped_child_is_gone() {
        let child = sleeper();
        let identity_before = identity(child.pid()).unwrap();
        drop(child);
        assert_ne!(identity(identity_before.pid), Some(identity_before));
    }

    #[test]
    fn a_child_whose_parent_has_ended_is_not_started() {
        let started_by = |parent: Pid| {
            let mut command = Command::new("true");
            // SAFETY: as in `tie_to_us`.
            #[allow(unsafe_code)]
            unsafe {
                command.pre_exec(move || Ok(die_with(parent)?));
            }
            command.status()
        };
        assert!(started_by(rustix::process::getpid()).unwrap().success());
        let error = started_by(Pid::from_raw(1).unwrap()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::SRCH.raw_os_error()));
    }

    #[test]
    fn what_was_left_to_us_is_not_handed_down() {
        let file = tempfile::tempfile().unwrap();
        // A number that the child uses for no file of its own.
        let file = rustix::io::fcntl_dupfd_cloexec(&file, 500).unwrap();
        rustix::io::fcntl_setfd(&file, FdFlags::empty()).unwrap();
        let has = || {
            let listed = Command::new("ls").args(["-l", "/proc/self/fd"]).output().unwrap();
            let number = std::os::fd::AsRawFd::as_raw_fd(&file);
            String::from_utf8(listed.stdout).unwrap().contains(&format!(" {number} -> "))
        };
        // The negative control.
        assert!(has());
        hand_nothing_down().unwrap();
        assert!(!has());
    }

    /// Stops the child, and waits until it has stopped.
    fn stop(child: &Child) {
        child.signal(Signal::STOP).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !is_stopped(child.pid()) {
            assert!(Instant::now() < deadline);
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_stopped_child_is_told_from_one_that_waits() {
        let child = sleeper();
        assert!(!is_stopped(child.pid()));
        stop(&child);
    }

    #[test]
    fn a_killed_process_is_told_from_one_that_goes_on() {
        let mut child = sleeper();
        assert!(!is_ending(child.pid()));
        // A stopped process keeps the pending signal, and goes on.
        stop(&child);
        child.signal(Signal::TERM).unwrap();
        assert!(!is_ending(child.pid()));
        child.signal(Signal::KILL).unwrap();
        // Killed, leaving or not reaped yet.
        assert!(is_ending(child.pid()));
        child.kill().unwrap();
        assert!(!is_ending(child.pid()), "there is no such process");
        assert!(is_killing("SigPnd:\t0000000000000100") && is_killing("ShdPnd:\t0000000000004100"));
        assert!(
            !is_killing("SigPnd:\t0000000000004000") && !is_killing("SigBlk:\t0000000000000100")
        );
    }

    #[test]
    fn waiting_times_out_and_stopping_reports_the_signal() {
        let mut child = sleeper();
        assert!(child.wait(Duration::from_millis(20)).unwrap().is_none());
        assert_eq!(describe(child.stop(Duration::from_secs(10)).unwrap()), "signal 15");
    }

    #[test]
    fn the_end_of_any_process_is_seen() {
        let mut child = sleeper();
        let process = Process::open(child.pid()).unwrap().unwrap();
        assert!(!process.wait(Some(Duration::from_millis(20))).unwrap());
        process.signal(Signal::TERM).unwrap();
        assert!(process.wait(None).unwrap());
        child.kill().unwrap();
        process.signal(Signal::TERM).unwrap();
        let other = sleeper();
        let known = identity(other.pid()).unwrap();
        assert!(Process::open_known(known).unwrap().is_some());
        let later = Identity { start_ticks: known.start_ticks + 1, ..known };
        assert!(Process::open_known(later).unwrap().is_none(), "another one with its number");
        // Beyond the largest process number (proc(5), pid_max).
        assert!(Process::open((4 << 20) + 1).unwrap().is_none());
    }

    #[test]
    fn a_child_survives_the_thread_that_asked_for_it() {
        let mut child = std::thread::spawn(sleeper).join().unwrap();
        assert!(child.wait(Duration::from_millis(50)).unwrap().is_none());
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let error = spawn(Command::new("/nonexistent/program"), &[]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn affinity_reaches_the_child() {
        let child = sleeper();
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.pid())).unwrap();
        assert!(status.contains("Cpus_allowed_list:\t0\n"), "{status}");
    }
}
