//! Handles Ctrl-C: the first sets a flag that long work checks, the second ends the process at
//! once.
//!
//! Resources left by a second Ctrl-C are in the ledger, and servers die with this process.
//! [`assay_ports::stop`] decides which signals count. A process that only waits receives each
//! signal by a callback ([`on_signal`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use assay_ports::stop::{Stop, is_ignored};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

/// The flag that a Ctrl-C sets.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Stop>);

impl Interrupt {
    /// Installs the signal handlers.
    pub fn listen() -> Result<Interrupt> {
        let interrupt = Interrupt::default();
        interrupt.0.listen().context("cannot listen for Ctrl-C")?;
        Ok(interrupt)
    }

    /// The flag, for callees that take a plain flag.
    #[must_use]
    pub fn flag(&self) -> &AtomicBool {
        self.0.flag()
    }

    /// Sets the flag, as the first Ctrl-C does.
    pub fn set(&self) {
        self.0.ask();
    }

    #[must_use]
    pub fn is_set(&self) -> bool {
        self.flag().load(Ordering::Relaxed)
    }

    /// Returns an error once the flag is set.
    pub fn check(&self) -> Result<()> {
        if self.is_set() {
            bail!("interrupted");
        }
        Ok(())
    }
}

/// Calls `tell` on a thread of its own for each terminating signal, and replaces the signal's
/// default action. `SIGHUP` is left out if it was ignored at the start (`nohup`).
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
        // If SIGHUP is neither ignored nor handled, this ends the process.
        signal_hook::low_level::raise(SIGHUP).unwrap();
        match is_ignored(SIGHUP) {
            true => assert!(hears.try_recv().is_err()),
            false => hears.recv_timeout(Duration::from_secs(10)).unwrap(),
        }
        signal_hook::low_level::raise(SIGTERM).unwrap();
        hears.recv_timeout(Duration::from_secs(10)).unwrap();
    }
}
