//! The live view of a run: the current step, throughput, the device's activity, and the key that
//! ends the run.
//!
//! A thread paints at most twice a second, and after a key press; it runs on the CPUs of load and
//! monitor, which only hand it numbers and never wait for the terminal. Lines that stay are printed
//! above the view.
//!
//! Guarantees: dropping the view restores the terminal; a view in the background prints nothing.

mod draw;
mod line;
mod phases;
mod seen;

#[cfg(test)]
mod tests;

use parking_lot::Mutex;
use std::io::{PipeReader, PipeWriter, pipe};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assay_ports::cpu::bind_thread;
use assay_ports::stop::end_at_once;
use assay_ports::terminal::{self, KeyInput, Waited};

use crate::print::screen;
use assay_system::interrupt::Interrupt;
pub(crate) use phases::PhaseNames;
use seen::Ending;
pub(crate) use seen::{DISK_SERIES, Seen};

/// Shortest interval between paintings. Monitor and load report once a second; at half of that no
/// figure is shown late.
const BETWEEN_PAINTS: Duration = Duration::from_millis(500);
/// A key within this time after another is ignored: it was pasted or held down.
const BURST: Duration = Duration::from_millis(300);
/// Code of the Escape key, which also begins the sequences of other keys (ECMA-48, 7-bit CSI).
const ESCAPE: u8 = 0x1b;

#[derive(Debug)]
pub(crate) struct View {
    seen: Arc<Mutex<Seen>>,
    /// Wakes and ends the painter when closed.
    wake: Option<PipeWriter>,
    painter: Option<JoinHandle<()>>,
}

/// State of the painting thread.
struct Painter {
    seen: Arc<Mutex<Seen>>,
    interrupt: Interrupt,
    keys: KeyInput,
    wake: PipeReader,
    has_colors: bool,
    pressed: Option<Instant>,
}

impl View {
    /// Shows `seen`, painted on `cpus` (empty: any). Returns `None` without a terminal, or on one
    /// that only understands lines.
    pub fn open(seen: Seen, interrupt: &Interrupt, cpus: &[usize]) -> Option<View> {
        let terminal = std::env::var("TERM").unwrap_or_default();
        if terminal.is_empty() || terminal == "dumb" {
            return None;
        }
        let (wake_reader, wake) = pipe().ok()?;
        let keys = KeyInput::take().ok()??;
        let seen = Arc::new(Mutex::new(seen));
        let painter = Painter {
            seen: Arc::clone(&seen),
            interrupt: interrupt.clone(),
            keys,
            wake: wake_reader,
            // https://no-color.org: set and not empty.
            has_colors: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
            pressed: None,
        };
        let cpus = cpus.to_vec();
        let paint = move || {
            // If the thread cannot be bound to these CPUs, it runs on those of the process.
            let _ = bind_thread(&cpus);
            painter.run();
        };
        let painter = std::thread::Builder::new().name("live".into()).spawn(paint).ok()?;
        Some(View { seen, wake: Some(wake), painter: Some(painter) })
    }

    /// Changes the state for the next painting.
    pub fn change(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen.lock());
    }

    /// Whether the user wants the study to end.
    pub fn is_end_wanted(&self) -> bool {
        self.seen.lock().ending != Ending::None
    }
}

impl Drop for View {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(painter) = self.painter.take() {
            // A painter that panicked has printed that and restored the terminal.
            let _ = painter.join();
        }
        screen::end();
    }
}

impl Painter {
    fn run(mut self) {
        let mut bytes = [0; 64];
        loop {
            self.paint();
            let due = Instant::now() + BETWEEN_PAINTS;
            while let left = due.saturating_duration_since(Instant::now())
                && !left.is_zero()
            {
                match self.keys.wait(self.wake.as_fd(), left, &mut bytes) {
                    Waited::Woken => return,
                    Waited::Keys(count) if self.press(&bytes[..count]) => break,
                    Waited::Keys(_) | Waited::Nothing => {}
                }
            }
        }
    }

    fn paint(&self) {
        if !terminal::is_ours() {
            return screen::forget();
        }
        let size = terminal::size();
        let shot = self.look(size.columns.into());
        // Terminals differ in the cursor's position after a character in the last column.
        let columns = usize::from(size.columns - 1).max(1);
        let lines = draw::draw(&shot, columns, draw::rows_on(size.rows));
        let texts: Vec<String> = lines.iter().map(|line| line.text(self.has_colors)).collect();
        screen::paint(&texts, size);
    }

    /// Copies the state, with as much history as `columns` can show.
    fn look(&self, columns: usize) -> Seen {
        let mut seen = self.seen.lock();
        if self.interrupt.is_set() {
            seen.ending = Ending::Now;
        }
        seen.look(columns);
        seen.clone()
    }

    /// Handles keys; returns true if they changed the state.
    fn press(&mut self, bytes: &[u8]) -> bool {
        let pressed = self.pressed.replace(Instant::now());
        let is_burst = pressed.is_some_and(|pressed| pressed.elapsed() < BURST);
        let mut seen = self.seen.lock();
        let before = seen.ending;
        if before == Ending::Now && is_quit(bytes) && !is_burst && self.interrupt.is_set() {
            end_at_once();
        }
        seen.ending = match after_keys(before, bytes) {
            Ending::Now if is_burst => before,
            ending => ending,
        };
        if seen.ending == Ending::Now {
            self.interrupt.set();
        }
        seen.ending != before
    }
}

/// Whether the input begins with a key that ends the run.
fn is_quit(bytes: &[u8]) -> bool {
    // Arrows and other special keys are escape sequences, and none of them ends a run.
    let is_escape_sequence = bytes.len() > 1 && bytes[0] == ESCAPE;
    matches!(bytes, [b'q' | b'Q' | ESCAPE, ..]) && !is_escape_sequence
}

/// State after a burst of keys, by its first key: pasted text is not meant as an answer, and ending
/// a run takes two keys, the second of which answers the prompt of the first.
fn after_keys(ending: Ending, bytes: &[u8]) -> Ending {
    match (ending, is_quit(bytes)) {
        (Ending::None, true) => Ending::AfterTrial,
        (Ending::AfterTrial, true) | (Ending::Now, _) => Ending::Now,
        (Ending::None | Ending::AfterTrial, false) => Ending::None,
    }
}
