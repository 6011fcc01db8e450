//! An image as a disk.
//!
//! A write is answered when all stores required by the pool have it on stable media, so a flush
//! only waits for pending requests. The part of a write in one object is atomic; an image is
//! divided into objects, by default of 4 MiB, at multiples of their size, so the guaranteed atomic
//! unit of any write is a block.

use std::ffi::c_int;
use std::io;
use std::ptr;
use std::sync::Arc;

use assay_disk::{BLOCK_BYTES, Disk, DiskError, Guarantees, Result, check_range};
use parking_lot::RwLock;
use rustix::io::Errno;

use super::api::{self, Api, Completion, Image};
use super::cluster::{Cluster, ClusterAccess};
use super::completion::wait_for;
use super::error::{RbdError, errno, reason};
use super::lock;
use super::name::ImageName;
use super::patience::{PATIENCE, within};
use super::pool_io::PoolIo;
use crate::media::{Access, MediaCondition};

/// An open image. Dropping or closing it releases its lock.
#[derive(Debug)]
pub struct RbdMedia {
    /// `None` once it is closed.
    open: RwLock<Option<Open>>,
    name: String,
    size: u64,
    access: Access,
    keeps_zeroes: bool,
    condition: Arc<MediaCondition>,
}

/// The image's handle; dropping it closes the image, then the connection.
#[derive(Debug)]
struct Open {
    image: Image,
    has_lock: bool,
    io: PoolIo,
}

// SAFETY: requests may be made of an open image by any threads at a time (`rbd/librbd.h`).
#[allow(unsafe_code)]
unsafe impl Send for Open {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Open {}

impl RbdMedia {
    /// Connects to the cluster and opens the image. For writing it acquires the image's lock; a
    /// former writer with the address `dead` is known to have died, and its lock is broken.
    ///
    /// # Errors
    /// [`RbdError`], also if the cluster does not answer within half a minute.
    pub fn open(
        cluster: &ClusterAccess,
        name: &ImageName,
        access: Access,
        dead: Option<&str>,
    ) -> std::result::Result<RbdMedia, RbdError> {
        let (cluster, what) = (cluster.clone(), name.short());
        let (name, dead) = (name.clone(), dead.map(str::to_owned));
        within(PATIENCE, &what, move || {
            let io = PoolIo::open(&Arc::new(Cluster::connect(&cluster)?), &name.pool)?;
            RbdMedia::open_in(io, &name, access, dead.as_deref())
        })
    }

    fn open_in(
        io: PoolIo,
        name: &ImageName,
        access: Access,
        dead: Option<&str>,
    ) -> std::result::Result<RbdMedia, RbdError> {
        let api = io.cluster.api;
        let text = api::text(&name.image)?;
        let open = match access {
            Access::ReadOnly => api.rbd_open_read_only,
            Access::ReadWrite => api.rbd_open,
        };
        let mut image = ptr::null_mut();
        // SAFETY: the context is open, the name ends with a zero, and the image is written to the
        // place given.
        #[allow(unsafe_code)]
        let answer = unsafe { open(io.handle, text.as_ptr(), &mut image, ptr::null()) };
        let name = name.short();
        match answer {
            0.. => {}
            _ if errno(answer) == Errno::NOENT => return Err(RbdError::NoImage { image: name }),
            _ => return Err(RbdError::Io { what: name, reason: reason(answer) }),
        }
        // From here on, dropping the value closes the image.
        let mut open = Open { image, has_lock: false, io };
        let size = open.ask_size(&name)?;
        open.take(&name, access, dead)?;
        let (open, condition) = (RwLock::new(Some(open)), Arc::new(MediaCondition::of_remote()));
        Ok(RbdMedia { open, name, size, access, keeps_zeroes: true, condition })
    }

    /// Makes discarding a hint, as [`crate::media::FileMedia::discarding_loosely`] does.
    #[must_use]
    pub fn discarding_loosely(mut self) -> RbdMedia {
        self.keeps_zeroes = false;
        self
    }

    /// The condition, now and later.
    #[must_use]
    pub fn condition(&self) -> &Arc<MediaCondition> {
        &self.condition
    }

    /// The cluster's address of this writer; once it is dead, the address can be given to
    /// [`RbdMedia::open`].
    #[must_use]
    pub fn owner(&self) -> Option<String> {
        let open = self.open.read();
        open.as_ref().and_then(|open| lock::owner(open.api(), open.image))
    }

    /// Closes the image after pending requests, and ends the connection; later requests fail.
    pub fn close(&self) {
        let open = self.open.write().take();
        drop(open);
    }

    fn check_writable(&self) -> Result<()> {
        match self.access {
            Access::ReadWrite => Ok(()),
            Access::ReadOnly => Err(DiskError::ReadOnly {
                reason: format!("{} was opened for reading only", self.name),
            }),
        }
    }

    /// Sends a request and waits for its answer.
    fn ask(
        &self,
        what: &str,
        offset: u64,
        submit: impl FnOnce(&Api, Image, Completion) -> c_int,
    ) -> Result<usize> {
        let open = self.open.read();
        let Some(open) = &*open else {
            return Err(DiskError::Stopped { reason: format!("{} is closed", self.name) });
        };
        let submit = |completion| submit(open.api(), open.image, completion);
        wait_for(open.api(), submit).map_err(|errno| self.in_words(what, offset, errno))
    }

    fn in_words(&self, what: &str, offset: u64, errno: Errno) -> DiskError {
        let name = &self.name;
        match errno {
            Errno::NOSPC | Errno::DQUOT => DiskError::Full,
            // The cluster has this client on its blocklist (`EBLOCKLISTED`), or the lock was
            // broken.
            Errno::SHUTDOWN | Errno::ROFS => DiskError::Stopped {
                reason: format!("another client took {name} over; detach it here"),
            },
            _ => {
                let reason = io::Error::from(errno);
                let text = format!("{name}: cannot {what} at byte {offset}: {reason}");
                DiskError::Io(io::Error::new(reason.kind(), text))
            }
        }
    }
}

impl Disk for RbdMedia {
    fn size(&self) -> u64 {
        self.size
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees { atomic_write_bytes: BLOCK_BYTES, volatile_cache: false }
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        check_range(offset, data.len() as u64, self.size)?;
        let (start, length) = (data.as_mut_ptr().cast(), data.len());
        let read = self.ask("read", offset, |api, image, completion| {
            // SAFETY: the image is open, and the data are ours and stay until the answer is there.
            #[allow(unsafe_code)]
            unsafe {
                (api.rbd_aio_read)(image, offset, length, start, completion)
            }
        });
        read.map(drop).inspect_err(|error| self.condition.note_failed_read(error.to_string()))
    }

    fn write(&self, offset: u64, data: &[u8], _force_unit_access: bool) -> Result<()> {
        check_range(offset, data.len() as u64, self.size)?;
        self.check_writable()?;
        let written = self.ask("write", offset, |api, image, completion| {
            // SAFETY: the image is open, and the data stay until the answer is there.
            #[allow(unsafe_code)]
            unsafe {
                let (start, length) = (data.as_ptr().cast(), data.len());
                (api.rbd_aio_write)(image, offset, length, start, completion)
            }
        });
        written.map(drop)
    }

    fn flush(&self) -> Result<()> {
        let flushed = self.ask("flush", 0, |api, image, completion| {
            // SAFETY: the image is open.
            #[allow(unsafe_code)]
            unsafe {
                (api.rbd_aio_flush)(image, completion)
            }
        });
        flushed.map(drop)
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        check_range(offset, length, self.size)?;
        self.check_writable()?;
        if length == 0 {
            return Ok(());
        }
        let discarded = self.ask("discard", offset, |api, image, completion| {
            // SAFETY: the image is open.
            #[allow(unsafe_code)]
            unsafe {
                match self.keeps_zeroes {
                    true => {
                        let zero = api.rbd_aio_write_zeroes;
                        zero(image, offset, length as usize, completion, 0, 0)
                    }
                    false => (api.rbd_aio_discard)(image, offset, length, completion),
                }
            }
        });
        discarded.map(drop)
    }
}

impl Open {
    fn api(&self) -> &'static Api {
        self.io.cluster.api
    }

    fn ask_size(&self, name: &str) -> std::result::Result<u64, RbdError> {
        let mut size = 0;
        // SAFETY: the image is open, and the size is written to the place given.
        #[allow(unsafe_code)]
        let answer = unsafe { (self.api().rbd_get_size)(self.image, &mut size) };
        let image = name.to_owned();
        match answer {
            0.. if size > 0 && size.is_multiple_of(BLOCK_BYTES) => Ok(size),
            0.. => Err(RbdError::Size { image, size }),
            _ => Err(RbdError::Io { what: image, reason: reason(answer) }),
        }
    }

    fn take(
        &mut self,
        name: &str,
        access: Access,
        dead: Option<&str>,
    ) -> std::result::Result<(), RbdError> {
        let our_id = self.io.cluster.id();
        match access {
            Access::ReadOnly => lock::ensure_alone(self.api(), self.image, name, our_id, dead),
            Access::ReadWrite => {
                lock::acquire(self.api(), self.image, name, our_id, dead)?;
                self.has_lock = true;
                Ok(())
            }
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: nobody has it any more; closing waits for what is on its way.
        #[allow(unsafe_code)]
        unsafe {
            if self.has_lock {
                (self.api().rbd_lock_release)(self.image);
            }
            (self.api().rbd_close)(self.image);
        }
    }
}
