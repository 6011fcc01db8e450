//! A terminal whose keys a test presses, and whose output is recorded.

#![allow(dead_code, reason = "each test program uses a part of this")]

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

const PATIENCE: Duration = Duration::from_secs(120);

/// Longer than the intervals within a burst of keys (300 ms) and of signals (200 ms).
const BETWEEN_KEYS: Duration = Duration::from_millis(500);

/// A run of `assay` on a terminal of its own.
pub struct OnTerminal {
    pub run: Child,
    keyboard: File,
    /// Kept open, so that the terminal's modes can be read after the run's end.
    terminal: File,
    shown: Arc<(Mutex<String>, Condvar)>,
}

impl OnTerminal {
    /// Starts the command in a session that this terminal controls. `TERM` is `xterm` unless
    /// `environment` has another.
    pub fn start(assay: &Command, environment: &[(&str, &str)]) -> OnTerminal {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap().into_string().unwrap();
        let no_controlling_terminal = i32::try_from(OpenptFlags::NOCTTY.bits()).unwrap();
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(no_controlling_terminal);
        let terminal = options.open(name).unwrap();
        let size = Winsize { ws_col: 100, ws_row: 24, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).unwrap();

        let mut command = Command::new("setsid");
        // The test runner may ignore the signals that a terminal sends (`nohup`).
        command.args(["--ctty", "env", "--default-signal=HUP,INT,QUIT,TSTP"]);
        command.arg(assay.get_program()).args(assay.get_args());
        command.current_dir(assay.get_current_dir().unwrap());
        command.envs(assay.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("TERM", "xterm").env_remove("NO_COLOR").envs(environment.iter().copied());
        let end = || Stdio::from(terminal.try_clone().unwrap());
        let run = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let keyboard = File::from(keyboard);
        let shown = keep(keyboard.try_clone().unwrap());
        OnTerminal { run, keyboard, terminal, shown }
    }

    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Presses a key until `text` was shown or the run has ended: a key too soon after another is
    /// taken for a paste.
    pub fn press_until(&mut self, key: &str, text: &str) {
        let is_there = |terminal: &mut OnTerminal| {
            terminal.shown().contains(text) || terminal.run.try_wait().unwrap().is_some()
        };
        let deadline = Instant::now() + PATIENCE;
        while !is_there(self) {
            assert!(Instant::now() < deadline, "{text} was not shown: {}", self.shown());
            self.press(key);
            let (shown, more) = &*self.shown;
            let next = Instant::now() + BETWEEN_KEYS;
            let mut shown = shown.lock().unwrap();
            while !shown.contains(text) && Instant::now() < next {
                let left = next.saturating_duration_since(Instant::now());
                shown = more.wait_timeout(shown, left).unwrap().0;
            }
        }
    }

    /// Everything shown so far, with escape sequences.
    pub fn shown(&self) -> String {
        self.shown.0.lock().unwrap().clone()
    }

    /// Waits until `text` was shown.
    pub fn until(&self, text: &str) {
        self.until_one_of(0, &[text]);
    }

    /// Waits until `text` was shown after the first `before` bytes.
    pub fn until_after(&self, before: usize, text: &str) {
        self.until_one_of(before, &[text]);
    }

    /// Waits until one of the texts was shown after the first `before` bytes.
    pub fn until_one_of(&self, before: usize, texts: &[&str]) {
        let (shown, more) = &*self.shown;
        let deadline = Instant::now() + PATIENCE;
        let mut shown = shown.lock().unwrap();
        while !texts.iter().any(|text| shown[before..].contains(text)) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{texts:?} was not shown: {shown}");
            shown = more.wait_timeout(shown, left).unwrap().0;
        }
    }

    /// Whether the terminal is in line mode with echo, as a shell leaves it.
    pub fn takes_lines(&self) -> bool {
        let modes = tcgetattr(&self.terminal).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Waits until the run is stopped (`proc(5)`, state `T`).
    pub fn until_stopped(&self) {
        let stat = format!("/proc/{}/stat", self.run.id());
        let deadline = Instant::now() + PATIENCE;
        while !std::fs::read_to_string(&stat).unwrap().contains(") T ") {
            assert!(Instant::now() < deadline, "it is not stopped: {}", self.shown());
            std::thread::yield_now();
        }
    }

    /// Waits for the run's end and the rest of its output.
    pub fn ended(&mut self) -> ExitStatus {
        let status = self.run.wait().unwrap();
        (&self.terminal).write_all(b"<end>").unwrap();
        self.until("<end>");
        status
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.run.kill();
        let _ = self.run.wait();
    }
}

/// Records output until the terminal is closed.
fn keep(mut screen: File) -> Arc<(Mutex<String>, Condvar)> {
    let shown = Arc::new((Mutex::new(String::new()), Condvar::new()));
    let kept = Arc::clone(&shown);
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        // A character that is split between two reads becomes two replacement characters; no test
        // looks for one.
        while let Ok(count @ 1..) = screen.read(&mut bytes) {
            kept.0.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            kept.1.notify_all();
        }
    });
    shown
}
