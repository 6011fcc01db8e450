//! Excludes a second writer of an image, on any machine.
//!
//! A client that has an image open for writing watches it, and the cluster lists the watchers; a
//! writer also has the image's exclusive lock. Breaking the lock of a dead client puts it on the
//! cluster's blocklist, so that its pending requests are refused.

use std::ffi::c_int;
use std::ptr;

use rustix::io::Errno;

use super::api::{self, Api, Image, Watcher};
use super::cluster::copied;
use super::error::{RbdError, errno, reason};

/// `RBD_LOCK_MODE_EXCLUSIVE` (`rbd/librbd.h`).
const EXCLUSIVE: c_int = 0;

/// Limit for the watchers of one image.
const WATCHERS_MAX: usize = 64;

/// Acquires the lock of an open image. A client with the address `dead` is known to have died; its
/// lock is broken.
///
/// # Errors
/// [`RbdError::InUse`]; [`RbdError::NoLock`].
pub(super) fn acquire(
    api: &'static Api,
    image: Image,
    name: &str,
    our_id: u64,
    dead: Option<&str>,
) -> Result<(), RbdError> {
    ensure_alone(api, image, name, our_id, dead)?;
    if let Some(owner) = owner(api, image).filter(|owner| Some(owner.as_str()) == dead) {
        take_from(api, image, &owner)?;
    }
    // SAFETY: the image is open.
    #[allow(unsafe_code)]
    let answer = unsafe { (api.rbd_lock_acquire)(image, EXCLUSIVE) };
    if answer >= 0 {
        return Ok(());
    }
    Err(match errno(answer) {
        Errno::INVAL | Errno::NOSYS => RbdError::NoLock { image: name.into() },
        _ => RbdError::InUse {
            image: name.into(),
            owner: owner(api, image).unwrap_or_else(|| reason(answer).to_string()),
        },
    })
}

/// Checks that no other client has the image open for writing, except the dead one.
///
/// # Errors
/// [`RbdError::InUse`].
pub(super) fn ensure_alone(
    api: &'static Api,
    image: Image,
    name: &str,
    our_id: u64,
    dead: Option<&str>,
) -> Result<(), RbdError> {
    let others = watchers(api, image).into_iter().filter(|(id, _)| *id != our_id);
    let mut living = others.map(|(_, address)| address).filter(|at| Some(at.as_str()) != dead);
    match living.next() {
        Some(owner) => Err(RbdError::InUse { image: name.into(), owner }),
        None => Ok(()),
    }
}

/// The address of the client that holds the lock.
pub(super) fn owner(api: &'static Api, image: Image) -> Option<String> {
    let (mut mode, mut owners, mut count) = (EXCLUSIVE, [ptr::null_mut(); 1], 1);
    // SAFETY: there is space for one owner, as is said; what was written is copied before it is
    // given back.
    #[allow(unsafe_code)]
    unsafe {
        let answer = (api.rbd_lock_get_owners)(image, &mut mode, owners.as_mut_ptr(), &mut count);
        if answer < 0 || count == 0 {
            return None;
        }
        let owner = copied(owners[0]);
        (api.rbd_lock_get_owners_cleanup)(owners.as_mut_ptr(), count);
        Some(owner)
    }
}

fn take_from(api: &'static Api, image: Image, owner: &str) -> Result<(), RbdError> {
    let address = api::text(owner)?;
    // SAFETY: the image is open, and the address ends with a zero.
    #[allow(unsafe_code)]
    let answer = unsafe { (api.rbd_lock_break)(image, EXCLUSIVE, address.as_ptr()) };
    match answer {
        0.. => Ok(()),
        // The lock was broken, or released, meanwhile.
        _ if matches!(errno(answer), Errno::NOENT) => Ok(()),
        _ => Err(RbdError::Io {
            what: format!("the lock of the client {owner}, which died, cannot be taken over"),
            reason: reason(answer),
        }),
    }
}

/// Numbers and addresses of the clients that have the image open for writing.
fn watchers(api: &'static Api, image: Image) -> Vec<(u64, String)> {
    let none = Watcher { address: ptr::null_mut(), id: 0, cookie: 0 };
    let (mut watchers, mut count) = ([none; WATCHERS_MAX], WATCHERS_MAX);
    // SAFETY: there is space for as many as is said; what was written is copied before it is given
    // back.
    #[allow(unsafe_code)]
    unsafe {
        let answer = (api.rbd_watchers_list)(image, watchers.as_mut_ptr(), &mut count);
        if answer < 0 {
            return Vec::new();
        }
        let found = watchers[..count].iter();
        let found =
            found.map(|watcher| (watcher.id.cast_unsigned(), copied(watcher.address))).collect();
        (api.rbd_watchers_list_cleanup)(watchers.as_mut_ptr(), count);
        found
    }
}
