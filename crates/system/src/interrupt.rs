//! Ctrl-C, asked politely: the first sets a flag that long work looks at, the second ends the process at once.
//!
//! What a second one leaves behind is in the ledger, and servers die with us. Which signals ask, and what counts as a second one, is
//! [`assay_ports::stop`]'s. What does nothing but wait has each signal told to it instead ([`on_signal`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use assay_ports::stop::{Stop, is_ignored};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

/// Whether the user wants us to stop.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Stop>);

impl Interrupt {
    /// Begins to listen for signals.
    ///
    /// # Errors
    /// The handlers cannot be set.
    pub fn listen() -> Result<Interrupt> {
        let interrupt = Interrupt::default();
        interrupt.0.listen().context("cannot listen for Ctrl-C")?;
        Ok(interrupt)
    }

    /// The flag itself, for what only takes a flag.
    #[must_use]
    pub fn flag(&self) -> &AtomicBool {
        self.0.flag()
    }

    /// As if Ctrl-C had been pressed for the first time.
    pub fn set(&self) {
        self.0.ask();
    }

    /// Whether to stop.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.flag().load(Ordering::Relaxed)
    }

    /// Ends the work in hand if the user wants us to stop.
    ///
    /// # Errors
    /// "interrupted".
    pub fn check(&self) -> Result<()> {
        if self.is_set() {
            bail!("interrupted");
        }
        Ok(())
    }
}

/// Calls `tell` on a thread of its own for each signal that asks for an end, which then does nothing else; `SIGHUP` is none of
/// them where it was ignored when we began (`nohup`).
///
/// # Errors
/// The handlers cannot be set, or no thread started.
pub fn on_signal(tell: impl Fn() + Send + 'static) -> Result<()> {
    let hangup = Some(SIGHUP).filter(|signal| !is_ignored(*signal));
    let asking = [SIGINT, SIGQUIT, SIGTERM].into_iter().chain(hangup);
    let mut signals = Signals::new(asking).context("cannot listen for Ctrl-C")?;
    let listen = move || signals.forever().for_each(|_| tell());
    std::thread::Builder::new().name("signals".into()).spawn(listen)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_terminal_that_is_closed_is_heard_unless_the_caller_ignores_it() {
        let (heard, hears) = mpsc::channel();
        on_signal(move || heard.send(()).unwrap()).unwrap();
        // Where SIGHUP is not ignored and not listened to, this ends the process.
        signal_hook::low_level::raise(SIGHUP).unwrap();
        match is_ignored(SIGHUP) {
            true => assert!(hears.try_recv().is_err()),
            false => hears.recv_timeout(Duration::from_secs(10)).unwrap(),
        }
        signal_hook::low_level::raise(SIGTERM).unwrap();
        hears.recv_timeout(Duration::from_secs(10)).unwrap();
    }
}
