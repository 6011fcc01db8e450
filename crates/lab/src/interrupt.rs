//! Ctrl-C, asked politely: the first sets a flag that long work looks at, the second ends the process at once.
//!
//! What a second one leaves behind is in the ledger, and servers die with us. What does nothing but wait has each
//! signal told to it instead ([`on_signal`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Whether the user wants us to stop.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Begins to listen for `SIGINT`, `SIGTERM` and `SIGHUP`.
    ///
    /// # Errors
    /// The handlers cannot be set.
    pub fn listen() -> Result<Interrupt> {
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the first signal finds the flag unset and only sets it, the next one exits, after the terminal
            // has got its modes back.
            assay_ports::terminal::restore_at_second(signal, Arc::clone(&interrupt.0))
                .and_then(|()| {
                    let flag = Arc::clone(&interrupt.0);
                    signal_hook::flag::register_conditional_shutdown(signal, 2, flag)
                })
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&interrupt.0)))
                .context("cannot listen for Ctrl-C")?;
        }
        Ok(interrupt)
    }

    /// The flag itself, for what only takes a flag.
    #[must_use]
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// As if Ctrl-C had been pressed for the first time.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether to stop.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
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

/// Calls `tell` on a thread of its own for each `SIGINT`, `SIGTERM` and `SIGHUP`, which then do nothing else.
///
/// # Errors
/// The handlers cannot be set, or no thread started.
pub fn on_signal(tell: impl Fn() + Send + 'static) -> Result<()> {
    let mut signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot listen for Ctrl-C")?;
    let listen = move || signals.forever().for_each(|_| tell());
    std::thread::Builder::new().name("signals".into()).spawn(listen)?;
    Ok(())
}
