//! The user's terminal: single keys without Enter, its size, and its original modes in the end.
//!
//! Only line editing and echo are switched off (`termios(3)`, `ICANON` and `ECHO`): Ctrl-C and
//! Ctrl-Z remain signals, and output is unaffected. A background process neither reads nor changes
//! the terminal: the kernel would stop it (`SIGTTIN`, `SIGTTOU`).
//!
//! Guarantees: the original modes are restored when `KeyInput` is dropped, while Ctrl-Z has stopped
//! the process, and when a signal ends the process without unwinding (see [`crate::stop`]).

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::stdio::{stderr, stdin};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetpgrp,
    tcgetwinsize, tcsetattr,
};
use signal_hook::consts::SIGTSTP;

/// Size for a terminal that reports `0 × 0`: that of the VT100.
const SIZE_USUAL: TerminalSize = TerminalSize { columns: 80, rows: 24 };

/// Control sequence: move to the line's beginning and erase to the end of the screen (ECMA-48, ED).
pub const ERASE_BELOW: &[u8] = b"\r\x1b[J";

/// The original modes, accessible to a signal handler.
static FOUND: OnceLock<Termios> = OnceLock::new();
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Columns and rows of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Characters in a row; at least 1.
    pub columns: u16,
    /// Rows; at least 1.
    pub rows: u16,
}

/// The terminal's keys, one by one. Dropping this restores lines.
#[derive(Debug)]
pub struct KeyInput {
    is_open: bool,
}

/// The result of waiting for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// Number of bytes of keys in the buffer; usually one key.
    Keys(usize),
    /// The other descriptor is readable, or its writer has gone.
    Woken,
    /// The time has passed.
    Nothing,
}

/// Size of the terminal on standard error.
#[must_use]
pub fn size() -> TerminalSize {
    let told = tcgetwinsize(stderr()).ok();
    told.map(|told| TerminalSize { columns: told.ws_col, rows: told.ws_row })
        .filter(|size| size.columns > 0 && size.rows > 0)
        .unwrap_or(SIZE_USUAL)
}

/// Returns true if this process controls the terminal: it runs in the foreground, or there is no
/// job control.
#[must_use]
pub fn is_ours() -> bool {
    match tcgetpgrp(stdin()) {
        Ok(group) => group == getpgrp(),
        Err(error) => error == Errno::NOTTY,
    }
}

/// Restores the terminal's modes and erases the screen below the cursor, if keys are read. Safe in
/// a signal handler.
pub fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        give_back();
    }
}

impl KeyInput {
    /// Starts reading keys; `None` if standard input or standard error is no terminal, or if this
    /// process does not control it.
    ///
    /// # Errors
    /// The error of `tcsetattr`.
    pub fn take() -> io::Result<Option<KeyInput>> {
        if !isatty(stdin()) || !isatty(stderr()) || !is_ours() {
            return Ok(None);
        }
        give_back_when_stopped()?;
        let found = tcgetattr(stdin())?;
        let _ = FOUND.set(found.clone());
        TAKEN.store(true, Ordering::SeqCst);
        let keys = KeyInput { is_open: true };
        take_singly(found)?;
        Ok(Some(keys))
    }

    /// Waits for keys, for `wake` or for `patience`. Keys pressed while the process is in the
    /// background belong to another.
    pub fn wait(&mut self, wake: BorrowedFd<'_>, patience: Duration, keys: &mut [u8]) -> Waited {
        let may_read = self.is_open && is_ours();
        if may_read {
            retake();
        }
        let mut watched = [
            PollFd::from_borrowed_fd(wake, PollFlags::IN),
            PollFd::from_borrowed_fd(stdin(), PollFlags::IN),
        ];
        let watched = &mut watched[..1 + usize::from(may_read)];
        let patience = Timespec::try_from(patience).ok();
        if poll(watched, patience.as_ref()).is_err() {
            return Waited::Nothing;
        }
        match watched {
            [wake, ..] if !wake.revents().is_empty() => Waited::Woken,
            [_, stdin] if !stdin.revents().is_empty() => self.read(keys),
            _ => Waited::Nothing,
        }
    }

    /// A terminal that has gone has no more keys; polling it would never end.
    fn read(&mut self, keys: &mut [u8]) -> Waited {
        match rustix::io::read(stdin(), keys) {
            Ok(count) if count > 0 => Waited::Keys(count),
            Err(Errno::INTR | Errno::AGAIN) => Waited::Nothing,
            _ => {
                self.is_open = false;
                Waited::Nothing
            }
        }
    }
}

impl Drop for KeyInput {
    fn drop(&mut self) {
        restore();
    }
}

/// Uses only system calls listed in `signal-safety(7)`: `tcgetpgrp`, `tcsetattr`, `write`.
fn give_back() {
    if is_ours()
        && let Some(modes) = FOUND.get()
    {
        // A failure on a terminal that has gone cannot be reported.
        let _ = tcsetattr(stdin(), OptionalActions::Now, modes);
        let _ = rustix::io::write(stderr(), ERASE_BELOW);
    }
}

/// Restores the terminal for the shell on Ctrl-Z; [`retake`] follows when the process continues.
fn give_back_when_stopped() -> io::Result<()> {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if REGISTERED.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
    let action = || {
        if TAKEN.load(Ordering::SeqCst) {
            give_back();
        }
        // Made to be called here; a signal unknown to it could not stop the process either.
        let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
    };
    // SAFETY: the action reads atomics and makes system calls that `signal-safety(7)` lists; it
    // takes no lock, allocates nothing and cannot panic. The emulation is documented as safe in a
    // signal handler.
    #[allow(unsafe_code)]
    unsafe {
        signal_hook::low_level::register(SIGTSTP, action)?;
    }
    Ok(())
}

/// A shell that had the terminal in between (Ctrl-Z, `fg`) may have left its own modes.
fn retake() {
    if TAKEN.load(Ordering::SeqCst)
        && let Ok(modes) = tcgetattr(stdin())
        && modes.local_modes.contains(LocalModes::ICANON)
    {
        let _ = take_singly(modes);
    }
}

fn take_singly(mut modes: Termios) -> io::Result<()> {
    modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    Ok(tcsetattr(stdin(), OptionalActions::Now, &modes)?)
}
