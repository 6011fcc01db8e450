//! Resources that an earlier session has left on this machine, because its program was killed or
//! its connection was lost.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use assay_pool::locate;
use assay_ports::child::{Identity, identity};
use assay_system::interrupt::Interrupt;
use assay_system::ledger;
use assay_system::resource::Asking;

/// Time for noticing a lost connection and removing resources.
const END_WITHIN: Duration = Duration::from_secs(120);

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Waits until the program has ended, then removes the resources that its ledger still names.
///
/// # Errors
/// The program does not end, or a resource cannot be removed and stays in the ledger.
pub(super) fn clear(former: Identity, interrupt: &Interrupt) -> Result<()> {
    let until = Instant::now() + END_WITHIN;
    while identity(former.pid) == Some(former) {
        interrupt.check()?;
        if Instant::now() > until {
            bail!(
                "the program of the session before (process {}) still takes down what it made; \
                 wait for it, then run again",
                former.pid
            );
        }
        sleep(LOOK_EVERY);
    }
    for found in ledger::found()?.into_iter().filter(|found| found.is_of(former)) {
        let found = locate::with_client_library(found);
        for resource in found.left(Asking::Everyone)? {
            resource.remove()?;
        }
        found.close_if_done(Asking::Everyone)?;
    }
    Ok(())
}
