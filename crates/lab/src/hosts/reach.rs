//! Reaches hosts, the first time and again.

use std::fmt;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use assay_base::HostSpec;
use assay_base::text::size;
use assay_hosts::{ConnectStep, Failure, FailureReason, HostSession, RemoteHost, Result};
use assay_system::interrupt::Interrupt;
use assay_system::ledger::Ledger;

/// Time for a lost host to come back: about a reboot.
const BACK_WITHIN: Duration = Duration::from_secs(120);

/// The consequence of a host that does not come back.
pub(super) const STOPS: &str = "the study stops here, and the same command resumes it";

/// Pause between two tries, and the delay after which Ctrl-C is noticed.
const TRY_EVERY: Duration = Duration::from_secs(2);
const STOP_SEEN_WITHIN: Duration = Duration::from_millis(100);

/// The context for reaching any host.
#[derive(Clone)]
pub struct HostContext<'a> {
    /// Lists the resources of this process, logins included.
    pub ledger: Arc<Ledger>,
    pub interrupt: Interrupt,
    /// Reports slow steps.
    pub say: &'a (dyn Fn(&str) + Sync),
}

impl HostContext<'_> {
    /// Logs in, copies the program, and starts a session.
    ///
    /// # Errors
    /// The host is left as it was.
    pub(super) fn to(&self, spec: &HostSpec) -> Result<HostSession> {
        let tell = |ConnectStep::Copying { bytes }| {
            (self.say)(&format!("copying the program to {} ({})", spec.ssh, size(bytes as f64)));
        };
        RemoteHost::connect(spec, &self.ledger, &self.interrupt, &tell)?.session()
    }

    /// The same with a lost host, which may take a while to come back.
    ///
    /// # Errors
    /// It does not come back, or cannot be reached for another reason.
    pub(super) fn back_to(&self, spec: &HostSpec) -> Result<HostSession> {
        let until = Instant::now() + BACK_WITHIN;
        loop {
            match self.to(spec) {
                Err(failure) if may_pass(&failure) && Instant::now() < until => self.pause(),
                ended => return ended,
            }
        }
    }

    fn pause(&self) {
        let until = Instant::now() + TRY_EVERY;
        while Instant::now() < until && !self.interrupt.is_set() {
            sleep(STOP_SEEN_WITHIN);
        }
    }
}

/// Returns true if another try may succeed.
fn may_pass(failure: &Failure) -> bool {
    matches!(failure.reason, FailureReason::Unreachable(_) | FailureReason::Lost(_))
}

impl fmt::Debug for HostContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostContext").finish_non_exhaustive()
    }
}
