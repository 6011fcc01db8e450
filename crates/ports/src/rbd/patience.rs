//! Not waiting for ever for a cluster that does not answer.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::error::RbdError;

/// How long a pool may take to open an image: a store that has just failed is found out within seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// Does `work` on a thread of its own, and waits for it as long as is reasonable. Where it does not end its thread is left to
/// it: Ceph's calls cannot be called off.
///
/// # Errors
/// Those of `work`; [`RbdError::Unhealthy`], naming `what`.
pub(super) fn within<T: Send + 'static>(
    what: &str,
    work: impl FnOnce() -> Result<T, RbdError> + Send + 'static,
) -> Result<T, RbdError> {
    let (tell, hear) = channel();
    let thread = std::thread::Builder::new().name("rbd".into());
    let failed = |reason| RbdError::Io { what: what.into(), reason };
    thread.spawn(move || drop(tell.send(work()))).map_err(failed)?;
    match hear.recv_timeout(PATIENCE) {
        Ok(done) => done,
        Err(RecvTimeoutError::Timeout) => {
            Err(RbdError::Unhealthy { what: what.into(), seconds: PATIENCE.as_secs() })
        }
        Err(RecvTimeoutError::Disconnected) => {
            Err(failed(std::io::Error::other("its thread ended")))
        }
    }
}
