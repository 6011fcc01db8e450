//! Limits the wait for a cluster that does not answer.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::error::RbdError;
use crate::waiting::Waiting;

/// Time limit for short operations: a failed store is detected within seconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Time limit for removing an image, object by object.
pub(super) const REMOVAL_PATIENCE: Duration = Duration::from_secs(600);

/// Runs `work` on a thread of its own, and waits for it up to `patience`. After that the thread is
/// abandoned, because Ceph's calls cannot be cancelled.
///
/// # Errors
/// Those of `work`; [`RbdError::Unhealthy`], naming `what`.
pub(super) fn within<T: Send + 'static>(
    patience: Duration,
    what: &str,
    work: impl FnOnce() -> Result<T, RbdError> + Send + 'static,
) -> Result<T, RbdError> {
    let (tell, hear) = channel();
    let thread = std::thread::Builder::new().name("rbd".into());
    let failed = |reason| RbdError::Io { what: what.into(), reason };
    thread.spawn(move || drop(tell.send(work()))).map_err(failed)?;
    let name = what.to_owned();
    let _waiting =
        Waiting::on(move || format!("the cluster: {name}; `assay pool status` shows its health"));
    match hear.recv_timeout(patience) {
        Ok(done) => done,
        Err(RecvTimeoutError::Timeout) => {
            Err(RbdError::Unhealthy { what: what.into(), seconds: patience.as_secs() })
        }
        Err(RecvTimeoutError::Disconnected) => {
            Err(failed(std::io::Error::other("its thread ended")))
        }
    }
}
