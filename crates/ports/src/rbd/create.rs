//! Makes and removes images.

use std::ffi::c_int;
use std::ptr;

use assay_disk::BLOCK_BYTES;
use rustix::io::Errno;

use super::api::{self, ImageOptions};
use super::error::{RbdError, errno, reason};
use super::name::ImageName;
use super::patience::{PATIENCE, REMOVAL_PATIENCE};
use super::pool_io::PoolIo;

/// `RBD_IMAGE_OPTION_DATA_POOL` (`rbd/librbd.h`).
const DATA_POOL: c_int = 10;

/// The parameters of a new image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewImage {
    /// Size in bytes, a multiple of 4096.
    pub bytes: u64,
    /// The pool for its data; `None`: its own pool, or the data pool that this names.
    pub data_pool: Option<String>,
}

/// Makes the image `name` in its pool, with the cluster's default features.
///
/// # Errors
/// [`RbdError`]; there is no such image then, unless there was one before. [`RbdError::Unhealthy`]
/// if the cluster does not answer; it may make the image once it does.
pub fn create(io: &PoolIo, name: &ImageName, new: &NewImage) -> Result<(), RbdError> {
    let what = format!("creating {}", name.short());
    let (name, new) = (name.clone(), new.clone());
    io.within(PATIENCE, &what, move |io| create_here(io, &name, &new))
}

fn create_here(io: &PoolIo, name: &ImageName, new: &NewImage) -> Result<(), RbdError> {
    if new.bytes == 0 || !new.bytes.is_multiple_of(BLOCK_BYTES) {
        return Err(RbdError::Size { image: name.short(), size: new.bytes });
    }
    let image = api::text(&name.image)?;
    let data_pool = new.data_pool.as_deref().map(api::text).transpose()?;
    let api = io.cluster.api;
    let mut options: ImageOptions = ptr::null_mut();
    // SAFETY: the options are made, used and destroyed here, and all texts end with a zero.
    #[allow(unsafe_code)]
    let answer = unsafe {
        (api.rbd_image_options_create)(&mut options);
        let set = data_pool.as_ref().map_or(0, |pool| {
            (api.rbd_image_options_set_string)(options, DATA_POOL, pool.as_ptr())
        });
        let made = match set {
            0.. => (api.rbd_create4)(io.handle, image.as_ptr(), new.bytes, options),
            _ => set,
        };
        (api.rbd_image_options_destroy)(options);
        made
    };
    if answer >= 0 {
        return Ok(());
    }
    let image = name.short();
    Err(match errno(answer) {
        Errno::EXIST => RbdError::Exists { image },
        Errno::NOSPC | Errno::DQUOT => RbdError::Full { image, size: new.bytes },
        // Ceph tries an overwrite, and reports a pool that refuses it as invalid.
        Errno::INVAL if new.data_pool.is_some() => RbdError::NoOverwrites { image },
        Errno::OPNOTSUPP => RbdError::NoMetadata { image },
        Errno::NOENT => RbdError::NoPool { pool: new.data_pool.clone().unwrap_or(io.pool.clone()) },
        _ => RbdError::Io { what: format!("{image} cannot be created"), reason: reason(answer) },
    })
}

/// The id of the image with that name, unique in the cluster's lifetime; `None` if there is no such
/// image.
///
/// # Errors
/// [`RbdError::Io`]; [`RbdError::Unhealthy`] if the cluster does not answer.
pub fn id(io: &PoolIo, name: &ImageName) -> Result<Option<String>, RbdError> {
    let name = name.clone();
    io.within(PATIENCE, &name.short(), move |io| id_here(io, &name))
}

/// Longer than any image's id, which has some 14 characters (`RBD_MAX_IMAGE_ID_LENGTH` of Ceph's
/// `librbd/Types.h`).
const ID_BYTES_MAX: usize = 64;

fn id_here(io: &PoolIo, name: &ImageName) -> Result<Option<String>, RbdError> {
    let text = api::text(&name.image)?;
    let mut image = ptr::null_mut();
    let mut id = [0_u8; ID_BYTES_MAX];
    let api = io.cluster.api;
    // SAFETY: the context is open, the name ends with a zero, the image is written to the place
    // given, and closed once; what is told of it is written within the length given, a zero at its
    // end.
    #[allow(unsafe_code)]
    let answer = unsafe {
        match (api.rbd_open_read_only)(io.handle, text.as_ptr(), &mut image, ptr::null()) {
            0.. => {
                let answer = (api.rbd_get_id)(image, id.as_mut_ptr().cast(), id.len());
                (api.rbd_close)(image);
                answer
            }
            refused => refused,
        }
    };
    match answer {
        0.. => Ok(Some(until_zero(&id))),
        _ if errno(answer) == Errno::NOENT => Ok(None),
        _ => Err(RbdError::Io { what: name.short(), reason: reason(answer) }),
    }
}

fn until_zero(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// Removes the image `name` with its contents; an image in use stays.
///
/// # Errors
/// [`RbdError`]: there is none, or it is in use; [`RbdError::Unhealthy`] if the cluster does not
/// answer.
pub fn remove(io: &PoolIo, name: &ImageName) -> Result<(), RbdError> {
    let what = format!("removing {}", name.short());
    let name = name.clone();
    io.within(REMOVAL_PATIENCE, &what, move |io| remove_here(io, &name))
}

fn remove_here(io: &PoolIo, name: &ImageName) -> Result<(), RbdError> {
    let image = api::text(&name.image)?;
    // SAFETY: the context is open, and the name ends with a zero.
    #[allow(unsafe_code)]
    let answer = unsafe { (io.cluster.api.rbd_remove)(io.handle, image.as_ptr()) };
    match answer {
        0.. => Ok(()),
        _ => Err(match errno(answer) {
            Errno::NOENT => RbdError::NoImage { image: name.short() },
            Errno::BUSY => {
                RbdError::InUse { image: name.short(), owner: "that has it open".into() }
            }
            _ => RbdError::Io {
                what: format!("{} cannot be removed", name.short()),
                reason: reason(answer),
            },
        }),
    }
}
