//! Not waiting for ever for a cluster that does not answer.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::error::RbdError;
use crate::waiting::Waiting;

/// How long a pool may take for what is done at once: a store that has just failed is found out within seconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How long it may take to remove an image, object by object.
pub(super) const REMOVAL_PATIENCE: Duration = Duration::from_secs(600);

/// Does `work` on a thread of its own, and waits for it as long as `patience` lasts. Where it does not end its thread is left to
/// it: Ceph's calls cannot be called off.
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
