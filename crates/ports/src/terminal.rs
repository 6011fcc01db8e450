//! The terminal that a person sits at: single keys without Enter, its size, and its modes given back however we end.
//!
//! Only line editing and echo are switched off (`termios(3)`, `ICANON` and `ECHO`): Ctrl-C and Ctrl-Z stay signals, and
//! what else is printed still looks as it should. A process in the background neither reads nor changes the terminal: the
//! kernel would stop it (`SIGTTIN`, `SIGTTOU`).
//!
//! Guarantees: the modes found are put back when `Keys` is dropped, while Ctrl-Z has us stopped, and where a signal ends the process
//! without unwinding (see [`crate::stop`]).

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

/// Where a terminal does not tell its size (`0 × 0`): what terminals have had since the VT100.
const SIZE_USUAL: Size = Size { columns: 80, rows: 24 };

/// What terminals of the VT100's kind take as: to the line's beginning, erase to the end of the screen (ECMA-48, ED).
pub const ERASE_BELOW: &[u8] = b"\r\x1b[J";

/// The modes that were found first; what a signal handler may look at.
static FOUND: OnceLock<Termios> = OnceLock::new();
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Columns and rows of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Characters in a row; at least 1.
    pub columns: u16,
    /// Rows; at least 1.
    pub rows: u16,
}

/// The terminal's keys, one by one; dropped, they are lines again.
#[derive(Debug)]
pub struct Keys {
    is_open: bool,
}

/// What waiting for a key ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// That many bytes of keys are in the buffer; commonly one key.
    Keys(usize),
    /// The other descriptor has something to read, or its writer has gone.
    Woken,
    /// Nothing for that long.
    Nothing,
}

/// Size of the terminal that standard error is.
#[must_use]
pub fn size() -> Size {
    let told = tcgetwinsize(stderr()).ok();
    told.map(|told| Size { columns: told.ws_col, rows: told.ws_row })
        .filter(|size| size.columns > 0 && size.rows > 0)
        .unwrap_or(SIZE_USUAL)
}

/// Whether the terminal is ours: we run in its foreground, or nobody controls jobs on it.
#[must_use]
pub fn is_ours() -> bool {
    match tcgetpgrp(stdin()) {
        Ok(group) => group == getpgrp(),
        Err(error) => error == Errno::NOTTY,
    }
}

/// Gives the terminal back its modes and erases what is below the cursor, if its keys are taken; they are not taken any more.
/// May be called by a signal handler.
pub fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        give_back();
    }
}

impl Keys {
    /// Takes the keys; nothing where standard input or standard error is no terminal, or is not ours.
    ///
    /// # Errors
    /// What `tcsetattr` answered.
    pub fn take() -> io::Result<Option<Keys>> {
        if !isatty(stdin()) || !isatty(stderr()) || !is_ours() {
            return Ok(None);
        }
        give_back_when_stopped()?;
        let found = tcgetattr(stdin())?;
        let _ = FOUND.set(found.clone());
        TAKEN.store(true, Ordering::SeqCst);
        let keys = Keys { is_open: true };
        take_singly(found)?;
        Ok(Some(keys))
    }

    /// Waits for keys, for `wake` or for that long, whichever comes first. Keys that come while we are in the background are
    /// somebody else's.
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

    /// A terminal that has gone has no more keys; asking again would be asked for ever.
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

impl Drop for Keys {
    fn drop(&mut self) {
        restore();
    }
}

/// Nothing but system calls that `signal-safety(7)` lists: `tcgetpgrp`, `tcsetattr`, `write`.
fn give_back() {
    if is_ours()
        && let Some(modes) = FOUND.get()
    {
        // There is nobody to tell that a terminal has gone.
        let _ = tcsetattr(stdin(), OptionalActions::Now, modes);
        let _ = rustix::io::write(stderr(), ERASE_BELOW);
    }
}

/// Has Ctrl-Z leave the terminal to the shell as it was; [`retake`] follows when we go on.
fn give_back_when_stopped() -> io::Result<()> {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if REGISTERED.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
    let action = || {
        if TAKEN.load(Ordering::SeqCst) {
            give_back();
        }
        // It is made to be called here; a signal that it does not know it could not stop us by either.
        let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
    };
    // SAFETY: the action reads atomics and makes system calls that `signal-safety(7)` lists; it takes no lock, allocates nothing
    // and cannot panic. The emulation is documented as safe in a signal handler.
    #[allow(unsafe_code)]
    unsafe {
        signal_hook::low_level::register(SIGTSTP, action)?;
    }
    Ok(())
}

/// A shell that had the terminal in between (Ctrl-Z, `fg`) may have left it with its own modes.
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
