//! Waits for one request to the cluster.

use std::ffi::c_int;
use std::ptr;

use rustix::io::Errno;

use super::api::{Api, Completion};
use super::error::errno;

/// Calls `submit`, which sends a request, and waits for the answer: at least zero, or the error.
///
/// Memory that the request reads or writes must stay until this returns, as anything borrowed by
/// `submit` does.
pub(super) fn wait_for(
    api: &'static Api,
    submit: impl FnOnce(Completion) -> c_int,
) -> Result<usize, Errno> {
    let mut completion: Completion = ptr::null_mut();
    // SAFETY: the completion is ours until it is released below, once the request has come back or
    // was not sent.
    #[allow(unsafe_code)]
    unsafe {
        let made = (api.rbd_aio_create_completion)(ptr::null_mut(), ptr::null(), &mut completion);
        if made < 0 {
            return Err(errno(made));
        }
        let sent = submit(completion);
        let answer = match sent {
            0.. => {
                (api.rbd_aio_wait_for_complete)(completion);
                (api.rbd_aio_get_return_value)(completion)
            }
            _ => sent as isize,
        };
        (api.rbd_aio_release)(completion);
        usize::try_from(answer).map_err(|_| errno(answer as i32))
    }
}
