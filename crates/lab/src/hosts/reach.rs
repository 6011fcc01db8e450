//! How hosts are reached, the first time and again.

use std::fmt;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use assay_base::HostSpec;
use assay_base::text::size;
use assay_hosts::{Failure, Host, Reason, Result, Session, Step};
use assay_system::interrupt::Interrupt;
use assay_system::ledger::Ledger;

/// How long a host that was lost may take to come back: what a machine takes to start again.
const BACK_WITHIN: Duration = Duration::from_secs(120);

/// What becomes of a study whose host does not come back.
pub(super) const STOPS: &str = "the study stops here, and the same command resumes it";

/// How long between two tries, and how soon Ctrl-C is seen meanwhile.
const TRY_EVERY: Duration = Duration::from_secs(2);
const STOP_SEEN_WITHIN: Duration = Duration::from_millis(100);

/// What is needed to reach any host.
#[derive(Clone)]
pub struct HostContext<'a> {
    /// What this process makes on this machine, which logins do too.
    pub ledger: Arc<Ledger>,
    /// Set by Ctrl-C.
    pub interrupt: Interrupt,
    /// Told of what takes time.
    pub say: &'a (dyn Fn(&str) + Sync),
}

impl HostContext<'_> {
    /// Logs in, brings the program there, and begins a session with it.
    ///
    /// # Errors
    /// Whatever is in the way; the host is then as it was.
    pub(super) fn to(&self, spec: &HostSpec) -> Result<Session> {
        let tell = |Step::Copying { bytes }| {
            (self.say)(&format!("copying the program to {} ({})", spec.ssh, size(bytes as f64)));
        };
        Host::connect(spec, &self.ledger, &self.interrupt, &tell)?.session()
    }

    /// The same with a host that was lost, which may take a while to be back.
    ///
    /// # Errors
    /// It is not, or there is another reason why it cannot be reached.
    pub(super) fn back_to(&self, spec: &HostSpec) -> Result<Session> {
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

/// Whether the same may go well a little later.
fn may_pass(failure: &Failure) -> bool {
    matches!(failure.reason, Reason::Unreachable(_) | Reason::Lost(_))
}

impl fmt::Debug for HostContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostContext").finish_non_exhaustive()
    }
}
