//! A connection to a cluster, and its commands.

use std::ffi::{CStr, c_char, c_int};
use std::fmt;
use std::path::PathBuf;
use std::ptr;

use rustix::io::Errno;

use super::api::{self, Api, Libraries, Rados};
use super::error::{RbdError, errno, reason};

/// Time limit for an answer of the monitors, in seconds.
const MONITOR_SECONDS: &str = "20";

/// Settings of this connection in addition to the cluster's file: messages become errors instead of
/// output, unwritten data are not cached, and waiting for missing monitors is limited.
const SETTINGS: [(&str, &str); 9] = [
    ("log_to_stderr", "false"),
    ("err_to_stderr", "false"),
    ("log_file", "/dev/null"),
    ("admin_socket", ""),
    ("client_mount_timeout", MONITOR_SECONDS),
    ("rados_mon_op_timeout", MONITOR_SECONDS),
    ("rbd_cache", "false"),
    // A discard of a part of an object would otherwise keep the data.
    ("rbd_skip_partial_discard", "false"),
    ("rbd_discard_granularity_bytes", "4096"),
];

/// The connection parameters of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterAccess {
    /// The cluster's configuration file.
    pub conf: PathBuf,
    /// The user's name, e.g. `client.admin`.
    pub user: String,
    /// The client library.
    pub libraries: Libraries,
}

/// The recipient of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandTarget {
    /// The monitors, which hold the cluster's configuration.
    Monitor,
    /// The manager, which holds statistics.
    Manager,
}

/// A connection. Dropping it closes it.
pub struct Cluster {
    pub(super) api: &'static Api,
    pub(super) handle: Rados,
    access: ClusterAccess,
}

// SAFETY: a connection may be used by any threads at a time (`rados/librados.h`).
#[allow(unsafe_code)]
unsafe impl Send for Cluster {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Cluster {}

impl Cluster {
    /// Connects to a cluster.
    ///
    /// # Errors
    /// [`RbdError`]: no library, no such configuration, no answer, refused.
    pub fn connect(access: &ClusterAccess) -> Result<Cluster, RbdError> {
        let conf = || access.conf.clone();
        let unusable = |reason| RbdError::Conf { conf: conf(), reason };
        // Ceph would report no reason.
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

    fn begin(api: &'static Api, access: &ClusterAccess) -> Result<Cluster, RbdError> {
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

    /// An option that this version does not know is not needed.
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
        let ClusterAccess { conf, user, .. } = self.access.clone();
        match errno(answer) {
            Errno::TIMEDOUT => RbdError::Unreachable { conf },
            // Without a keyring, or with one that lacks the user, the entry does not exist.
            _ => RbdError::Refused { conf, user, reason: reason(answer) },
        }
    }

    /// The connection parameters.
    #[must_use]
    pub fn access(&self) -> &ClusterAccess {
        &self.access
    }

    /// Sends `command`, a JSON object with its `prefix`, to `target` with `input`; returns the
    /// output, mostly JSON.
    ///
    /// # Errors
    /// [`RbdError::Command`] with the cluster's message.
    pub fn command(
        &self,
        target: CommandTarget,
        command: &str,
        input: &[u8],
    ) -> Result<Vec<u8>, RbdError> {
        let line = api::text(command)?;
        let (mut output, mut said) = (Text::none(self.api), Text::none(self.api));
        let send = match target {
            CommandTarget::Monitor => self.api.rados_mon_command,
            CommandTarget::Manager => self.api.rados_mgr_command,
        };
        // SAFETY: the line ends with a zero, the input is as long as said, and what comes back is
        // the caller's to free with `rados_buffer_free`, as `Text` does.
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

    /// The cluster's number for this connection.
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
        // SAFETY: all that was opened over it holds it, so it is the last. The handle of a
        // connection that failed is shut down as well (`rados/librados.h`).
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

/// The output of a command, in Ceph's memory.
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

/// A copy of a C text.
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
