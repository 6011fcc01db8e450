//! A connection to a cluster, and the commands that it takes.

use std::ffi::{CStr, c_char, c_int};
use std::fmt;
use std::path::PathBuf;
use std::ptr;

use rustix::io::Errno;

use super::api::{self, Api, Libraries, Rados};
use super::error::{RbdError, errno, reason};

/// How long the monitors may take to answer, in seconds.
const MONITOR_SECONDS: &str = "20";

/// What this connection is told beside the cluster's file: what it has to say comes back as errors and not on our output, it
/// keeps nothing in memory that was not written, and monitors that are not there are not waited for for ever.
const SETTINGS: [(&str, &str); 9] = [
    ("log_to_stderr", "false"),
    ("err_to_stderr", "false"),
    ("log_file", "/dev/null"),
    ("admin_socket", ""),
    ("client_mount_timeout", MONITOR_SECONDS),
    ("rados_mon_op_timeout", MONITOR_SECONDS),
    ("rbd_cache", "false"),
    // Or a discard of less would leave what was there.
    ("rbd_skip_partial_discard", "false"),
    ("rbd_discard_granularity_bytes", "4096"),
];

/// How a cluster is come by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Its configuration file.
    pub conf: PathBuf,
    /// Who asks, e.g. `client.admin`.
    pub user: String,
    /// Where the client library is.
    pub libraries: Libraries,
}

/// Who takes a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The monitors, which know what there is.
    Monitor,
    /// The manager, which knows how it is.
    Manager,
}

/// A connection. Dropped, it ends.
pub struct Cluster {
    pub(super) api: &'static Api,
    pub(super) handle: Rados,
    access: Access,
}

// SAFETY: a connection may be used by any threads at a time (`rados/librados.h`).
#[allow(unsafe_code)]
unsafe impl Send for Cluster {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Cluster {}

impl Cluster {
    /// Connects.
    ///
    /// # Errors
    /// [`RbdError`]: no library, no such configuration, nobody there, refused.
    pub fn connect(access: &Access) -> Result<Cluster, RbdError> {
        let conf = || access.conf.clone();
        let unusable = |reason| RbdError::Conf { conf: conf(), reason };
        // Ceph would only say that it could not.
        std::fs::File::open(&access.conf).map_err(unusable)?;
        let api = api::load(&access.libraries)?;
        let cluster = Cluster::begin(api, access)?;
        let path = api::text(&access.conf.to_string_lossy())?;
        // SAFETY: the handle was made by `begin`, and the path ends with a zero.
        #[allow(unsafe_code)]
        let read = unsafe { (api.rados_conf_read_file)(cluster.handle, path.as_ptr()) };
        if read < 0 {
            return Err(unusable(reason(read)));
        }
        SETTINGS.iter().for_each(|(name, value)| cluster.set(name, value));
        // SAFETY: the handle is not connected yet.
        #[allow(unsafe_code)]
        let connected = unsafe { (api.rados_connect)(cluster.handle) };
        if connected < 0 { Err(cluster.in_words(connected)) } else { Ok(cluster) }
    }

    fn begin(api: &'static Api, access: &Access) -> Result<Cluster, RbdError> {
        let mut handle = ptr::null_mut();
        let user = api::text(&access.user)?;
        // SAFETY: the texts end with a zero, and the handle is written to the place that is given.
        #[allow(unsafe_code)]
        let made = unsafe { (api.rados_create2)(&mut handle, c"ceph".as_ptr(), user.as_ptr(), 0) };
        if made < 0 {
            return Err(RbdError::Io { what: access.user.clone(), reason: reason(made) });
        }
        Ok(Cluster { api, handle, access: access.clone() })
    }

    /// An option that this version does not know is none that it needs.
    fn set(&self, name: &str, value: &str) {
        let (Ok(name_text), Ok(value)) = (api::text(name), api::text(value)) else { return };
        // SAFETY: both texts end with a zero.
        #[allow(unsafe_code)]
        let answer =
            unsafe { (self.api.rados_conf_set)(self.handle, name_text.as_ptr(), value.as_ptr()) };
        if answer < 0 {
            log::debug!("Ceph does not take {name}: {}", reason(answer));
        }
    }

    fn in_words(&self, answer: c_int) -> RbdError {
        let Access { conf, user, .. } = self.access.clone();
        match errno(answer) {
            Errno::TIMEDOUT => RbdError::Unreachable { conf },
            // Without a keyring, or with one that does not name who asks, there is no such thing.
            _ => RbdError::Refused { conf, user, reason: reason(answer) },
        }
    }

    /// How it is come by.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Has `target` carry out `command`, a JSON object with its `prefix`, on `input`; gives what comes back, mostly JSON.
    ///
    /// # Errors
    /// [`RbdError::Command`] with what it said.
    pub fn command(
        &self,
        target: Target,
        command: &str,
        input: &[u8],
    ) -> Result<Vec<u8>, RbdError> {
        let line = api::text(command)?;
        let (mut output, mut said) = (Text::none(self.api), Text::none(self.api));
        let send = match target {
            Target::Monitor => self.api.rados_mon_command,
            Target::Manager => self.api.rados_mgr_command,
        };
        // SAFETY: the line ends with a zero, the input is as long as said, and what comes back is the caller's to free with
        // `rados_buffer_free`, as `Text` does.
        #[allow(unsafe_code)]
        let answer = unsafe {
            send(
                self.handle,
                &line.as_ptr(),
                1,
                input.as_ptr().cast(),
                input.len(),
                &mut output.start,
                &mut output.bytes,
                &mut said.start,
                &mut said.bytes,
            )
        };
        match answer {
            0.. => Ok(output.copy()),
            _ => Err(RbdError::Command {
                command: command.to_owned(),
                code: -answer,
                said: match String::from_utf8_lossy(&said.copy()).trim() {
                    "" => reason(answer).to_string(),
                    words => words.lines().collect::<Vec<_>>().join("; "),
                },
            }),
        }
    }

    /// The number by which the cluster knows this connection.
    pub(super) fn id(&self) -> u64 {
        // SAFETY: the handle is connected.
        #[allow(unsafe_code)]
        unsafe {
            (self.api.rados_get_instance_id)(self.handle)
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // SAFETY: all that was opened over it holds it, so it is the last. The handle of a connection that failed is shut
        // down as well (`rados/librados.h`).
        #[allow(unsafe_code)]
        unsafe {
            (self.api.rados_shutdown)(self.handle);
        }
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cluster({})", self.access.conf.display())
    }
}

/// What a command wrote, in Ceph's memory.
struct Text {
    api: &'static Api,
    start: *mut c_char,
    bytes: usize,
}

impl Text {
    fn none(api: &'static Api) -> Text {
        Text { api, start: ptr::null_mut(), bytes: 0 }
    }

    fn copy(&self) -> Vec<u8> {
        if self.start.is_null() {
            return Vec::new();
        }
        // SAFETY: Ceph wrote so many bytes there, and they are freed only when this is dropped.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.start.cast::<u8>(), self.bytes).to_vec()
        }
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        if !self.start.is_null() {
            // SAFETY: it came from a command of this library, and is freed once.
            #[allow(unsafe_code)]
            unsafe {
                (self.api.rados_buffer_free)(self.start);
            }
        }
    }
}

/// A text of C as it is.
///
/// # Safety
/// `start` is null, or the start of a text that ends with a zero and stays until this returns.
#[allow(unsafe_code)]
pub(super) unsafe fn copied(start: *const c_char) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: the caller says so.
    unsafe { CStr::from_ptr(start) }.to_string_lossy().into_owned()
}
