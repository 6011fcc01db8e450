//! The live view of a run: what is being done, how fast, what the device does, and the key that
//! ends it.
//!
//! A thread of its own paints at most twice a second, and when a key has changed something; it runs
//! where the load and the monitor do. Those only hand it numbers and never wait for the terminal.
//! Lines that stay are printed above it, as without it.
//!
//! Guarantees: the terminal is as it was when the view is dropped; a view that is in nobody's
//! foreground stays quiet.

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

/// Monitor and load tell something new once a second; with half of that nothing is shown later than
/// it is old.
const BETWEEN_PAINTS: Duration = Duration::from_millis(500);
/// A key that comes sooner after another than this ends no run: pasted, or held down, it was not
/// meant as an answer.
const BURST: Duration = Duration::from_millis(300);
/// The key of that name; it begins the sequences that other keys send (ECMA-48, 7-bit CSI).
const ESCAPE: u8 = 0x1b;

/// The view, while it is there.
#[derive(Debug)]
pub(crate) struct View {
    seen: Arc<Mutex<Seen>>,
    /// Closed, it ends the painter.
    wake: Option<PipeWriter>,
    painter: Option<JoinHandle<()>>,
}

/// What the thread owns.
struct Painter {
    seen: Arc<Mutex<Seen>>,
    interrupt: Interrupt,
    keys: KeyInput,
    wake: PipeReader,
    has_colors: bool,
    pressed: Option<Instant>,
}

impl View {
    /// Shows `seen`, painted on the CPUs given (empty: on any). Nothing where there is no terminal
    /// to show it on, or none that understands more than lines.
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
            // https://no-color.org: present and not empty.
            has_colors: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
            pressed: None,
        };
        let cpus = cpus.to_vec();
        let paint = move || {
            // Where it cannot be bound to them it runs where the run itself does.
            let _ = bind_thread(&cpus);
            painter.run();
        };
        let painter = std::thread::Builder::new().name("live".into()).spawn(paint).ok()?;
        Some(View { seen, wake: Some(wake), painter: Some(painter) })
    }

    /// Changes what is shown from the next painting on.
    pub fn change(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen.lock());
    }

    /// Whether the study is to end before another run.
    pub fn is_end_wanted(&self) -> bool {
        self.seen.lock().ending != Ending::None
    }
}

impl Drop for View {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(painter) = self.painter.take() {
            // One that panicked has said so and given the terminal back.
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
        // In the last column terminals differ in where the cursor is afterwards.
        let columns = usize::from(size.columns - 1).max(1);
        let lines = draw::draw(&shot, columns, draw::rows_on(size.rows));
        let texts: Vec<String> = lines.iter().map(|line| line.text(self.has_colors)).collect();
        screen::paint(&texts, size);
    }

    /// What there is to be seen now, as far as so many columns show it.
    fn look(&self, columns: usize) -> Seen {
        let mut seen = self.seen.lock();
        if self.interrupt.is_set() {
            seen.ending = Ending::Now;
        }
        seen.look(columns);
        seen.clone()
    }

    /// Whether the keys have changed something.
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

/// Whether what was typed begins with a key that asks for an end.
fn is_quit(bytes: &[u8]) -> bool {
    // Arrows and their like are one key each, and none of ours.
    let is_escape_sequence = bytes.len() > 1 && bytes[0] == ESCAPE;
    matches!(bytes, [b'q' | b'Q' | ESCAPE, ..]) && !is_escape_sequence
}

/// What becomes of a run by what was typed: by the first key of what came at once, for what is
/// pasted was not meant for us, and a run is lost by two keys, the second of which answers what the
/// first has shown.
fn after_keys(ending: Ending, bytes: &[u8]) -> Ending {
    match (ending, is_quit(bytes)) {
        (Ending::None, true) => Ending::AfterTrial,
        (Ending::AfterTrial, true) | (Ending::Now, _) => Ending::Now,
        (Ending::None | Ending::AfterTrial, false) => Ending::None,
    }
}
