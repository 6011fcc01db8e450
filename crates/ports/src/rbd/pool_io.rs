//! Operations on a pool of a cluster and on its images.

use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;

use super::api::{self, IoContext};
use super::cluster::Cluster;
use super::error::{RbdError, errno, reason};
use super::patience::{self, PATIENCE};

/// An open pool.
#[derive(Debug)]
pub struct PoolIo {
    pub(super) cluster: Arc<Cluster>,
    pub(super) handle: IoContext,
    pub(super) pool: String,
}

// SAFETY: what is sent through it may come from any threads at a time; what changes it itself is
// not called after `open`.
#[allow(unsafe_code)]
unsafe impl Send for PoolIo {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for PoolIo {}

impl PoolIo {
    /// Opens the pool of that name. If it is full, requests fail from then on instead of waiting
    /// for space.
    ///
    /// # Errors
    /// [`RbdError::NoPool`].
    pub fn open(cluster: &Arc<Cluster>, pool: &str) -> Result<PoolIo, RbdError> {
        let name = api::text(pool)?;
        let mut handle = ptr::null_mut();
        // SAFETY: the cluster is connected, the name ends with a zero, and the context is written
        // to the place given.
        #[allow(unsafe_code)]
        let answer =
            unsafe { (cluster.api.rados_ioctx_create)(cluster.handle, name.as_ptr(), &mut handle) };
        match answer {
            0.. => {
                // SAFETY: the context was just made, and nobody else has it.
                #[allow(unsafe_code)]
                unsafe {
                    (cluster.api.rados_set_pool_full_try)(handle);
                }
                Ok(PoolIo { cluster: Arc::clone(cluster), handle, pool: pool.to_owned() })
            }
            _ if errno(answer) == Errno::NOENT => Err(RbdError::NoPool { pool: pool.to_owned() }),
            _ => Err(RbdError::Io { what: pool.to_owned(), reason: reason(answer) }),
        }
    }

    /// Runs `work` on a thread of its own, over the pool opened anew, and waits for it up to
    /// `patience`.
    ///
    /// # Errors
    /// Those of `work`; [`RbdError::Unhealthy`], naming `what`.
    pub(super) fn within<T: Send + 'static>(
        &self,
        patience: Duration,
        what: &str,
        work: impl FnOnce(&PoolIo) -> Result<T, RbdError> + Send + 'static,
    ) -> Result<T, RbdError> {
        let (cluster, pool) = (Arc::clone(&self.cluster), self.pool.clone());
        patience::within(patience, what, move || work(&PoolIo::open(&cluster, &pool)?))
    }

    /// Stores `value` under `key` with the pool's images: a key that begins with `conf_` is an
    /// option for clients that open one.
    ///
    /// # Errors
    /// The cluster's error; [`RbdError::Unhealthy`] if it does not answer.
    pub fn set_metadata(&self, key: &str, value: &str) -> Result<(), RbdError> {
        let what = format!("{key} of pool {}", self.pool);
        let (key, value) = (key.to_owned(), value.to_owned());
        self.within(PATIENCE, &what, move |io| io.set_metadata_here(&key, &value))
    }

    fn set_metadata_here(&self, key: &str, value: &str) -> Result<(), RbdError> {
        let (key_text, value) = (api::text(key)?, api::text(value)?);
        // SAFETY: the context is open, and both texts end with a zero.
        #[allow(unsafe_code)]
        let answer = unsafe {
            let set = self.cluster.api.rbd_pool_metadata_set;
            set(self.handle, key_text.as_ptr(), value.as_ptr())
        };
        match answer {
            0.. => Ok(()),
            _ => Err(RbdError::Io {
                what: format!("{key} of {}", self.pool),
                reason: reason(answer),
            }),
        }
    }

    /// The value under `key`; `None` if there is none.
    ///
    /// # Errors
    /// The cluster's error, also for a value longer than any option's; [`RbdError::Unhealthy`] if
    /// it does not answer.
    pub fn metadata(&self, key: &str) -> Result<Option<String>, RbdError> {
        let what = format!("{key} of pool {}", self.pool);
        let key = key.to_owned();
        self.within(PATIENCE, &what, move |io| io.metadata_here(&key))
    }

    fn metadata_here(&self, key: &str) -> Result<Option<String>, RbdError> {
        let key_text = api::text(key)?;
        let mut value = [0u8; VALUE_BYTES];
        let mut length = value.len();
        // SAFETY: the context is open, the key ends with a zero, and no more than `length` bytes
        // are written.
        #[allow(unsafe_code)]
        let answer = unsafe {
            let get = self.cluster.api.rbd_pool_metadata_get;
            get(self.handle, key_text.as_ptr(), value.as_mut_ptr().cast(), &raw mut length)
        };
        match answer {
            0.. => {
                let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
                Ok(Some(String::from_utf8_lossy(&value[..end]).into_owned()))
            }
            _ if errno(answer) == Errno::NOENT => Ok(None),
            _ => Err(RbdError::Io {
                what: format!("{key} of {}", self.pool),
                reason: reason(answer),
            }),
        }
    }
}

/// Options are numbers and short words.
const VALUE_BYTES: usize = 4096;

impl Drop for PoolIo {
    fn drop(&mut self) {
        // SAFETY: images over it hold it, so nothing of it is in use any more.
        #[allow(unsafe_code)]
        unsafe {
            (self.cluster.api.rados_ioctx_destroy)(self.handle);
        }
    }
}
