//! A disk as a file in a FUSE mount, served by threads of this process.
//!
//! The directory holds the file [`DISK_FILE`], with the size of the disk, and any number of small
//! texts. Commands bypass the page cache: an aligned read or write of up to 1 MiB is one command of
//! the disk, several run concurrently, `fsync` is a flush, a write with `O_SYNC` or `O_DSYNC` is
//! forced, and `fallocate` that punches holes or zeroes is a discard. A request that begins or ends
//! within a block is read, changed and written back. Damage and all failures below become `EIO`, a
//! full disk `ENOSPC`, a read-only disk `EROFS`; the log has the words.
//!
//! Guarantees: dropping the value removes the mount; a server that dies leaves a mount that
//! [`abort_and_unmount`] removes.

mod bytes;
mod copies;
mod failures;
mod mounting;
mod server;

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use assay_disk::Disk;
use fuser::{Config, Session, SessionACL};
use thiserror::Error;

use self::bytes::Bytes;
use self::mounting::NewMount;
pub(crate) use self::mounting::{DEVICE, HELPER};
pub use self::mounting::{FILE_SYSTEM, abort, abort_and_unmount, unmount};
use self::server::Server;
use crate::child;
use crate::program::first_lines;
use crate::survival::stay_out_of_write_back;

/// Name of the disk's file in the mount.
pub const DISK_FILE: &str = "disk";

/// Default number of threads. A thread waits as long as the disk does, so threads are commands in
/// flight: on two CPUs, a disk that took 100 µs per command served 9, 18 and 66 thousand random
/// reads of 4 KiB a second with 2, 4 and 16 threads, and no more with 32. A disk in memory showed
/// no difference beyond noise: 130 to 170 thousand with 1 to 16 threads, through a loop device at
/// depth 32.
pub const DEFAULT_THREADS: usize = 16;

/// Time limit for the threads to report why they ended.
const SAY_PATIENCE: Duration = Duration::from_secs(1);

/// Time limit for the threads to end after the unmount.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// Options of a mount.
#[derive(Debug, Clone)]
pub struct FuseOptions {
    /// The directory to mount on.
    pub mount_point: PathBuf,
    /// The source shown in the list of mounts, e.g. the path of the media.
    pub name: String,
    /// Number of threads that answer the kernel, and so of concurrent commands of the disk; see
    /// [`DEFAULT_THREADS`].
    pub threads: usize,
    /// The process that asks the mount for its first answer; `None` if this process may use its own
    /// mount. A process that is killed while it waits for its own threads never ends: the threads
    /// are gone at once, and the connection, whose end would end the wait, ends only with the
    /// process. So a server that may be killed leaves its mount to others; its own lookups and
    /// opens are refused with `EDEADLK`.
    pub asked_by: Option<Asker>,
}

/// Makes a command that fails if it cannot get the metadata of the file at this path.
pub type Asker = fn(&Path) -> Command;

/// A small text file next to the disk.
pub struct TextFile {
    /// Name in the directory.
    pub name: String,
    /// Returns the contents; called whenever the file is opened.
    pub content: Box<dyn Fn() -> String + Send + Sync>,
}

/// Resizes the disk to a number of bytes when its file is truncated or extended.
pub type Resize = Box<dyn Fn(u64) -> assay_disk::Result<()> + Send + Sync>;

/// The remedy if `/dev/fuse` cannot be opened.
fn remedy(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::PermissionDenied => {
            "run as root, or start the container with `--device /dev/fuse` and rights to it"
        }
        _ => "load it with `modprobe fuse`, or start the container with `--device /dev/fuse`",
    }
}

/// Why a disk is not served; one variant for each reaction.
#[derive(Debug, Error)]
pub enum FuseError {
    /// FUSE is not available.
    #[error("FUSE is not available: /dev/fuse: {reason}; {}", remedy(reason))]
    NoFuse {
        /// The system's error.
        reason: io::Error,
    },
    /// The options are invalid.
    #[error("{what}")]
    Options {
        /// The fault and the remedy.
        what: String,
    },
    /// A disk is served there already, or was until its server died.
    #[error(
        "{mount_point} is already in use as a mount point of a disk; unmount it first, or give \
         another directory"
    )]
    Taken {
        /// The mount point.
        mount_point: PathBuf,
    },
    /// Mounting failed.
    #[error("cannot mount on {mount_point}: {reason}")]
    Mount {
        /// The mount point.
        mount_point: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
    /// A file of the mount is open; the disk is still served.
    #[error("{mount_point} is in use{}; close or detach what uses it", by(users))]
    InUse {
        /// The mount point.
        mount_point: PathBuf,
        /// Loop devices that use it.
        users: Vec<PathBuf>,
    },
    /// Unmounting failed.
    #[error("cannot unmount {mount_point}: {reason}")]
    Unmount {
        /// The mount point.
        mount_point: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
    /// The serving threads failed.
    #[error("the server of {mount_point} failed: {reason}")]
    Server {
        /// The mount point.
        mount_point: PathBuf,
        /// The threads' error.
        reason: String,
    },
}

fn by(users: &[PathBuf]) -> String {
    let names: Vec<_> = users.iter().map(|user| user.display().to_string()).collect();
    if names.is_empty() { String::new() } else { format!(" by {}", names.join(", ")) }
}

/// A served disk. Dropping it unmounts it; remaining users get errors.
#[derive(Debug)]
pub struct FuseMount {
    mount_point: PathBuf,
    device_number: String,
    end: Arc<End>,
}

/// How the serving ended, with the threads' error if they failed; `None` while it goes on.
#[derive(Debug)]
struct End {
    result: Mutex<Option<Result<(), String>>>,
    has_come: Condvar,
}

impl FuseMount {
    /// Mounts and serves `disk`, with `texts` next to it. Without `resize` the disk keeps its size.
    ///
    /// # Errors
    /// [`FuseError`]; nothing is mounted then.
    pub fn serve(
        options: FuseOptions,
        disk: Arc<dyn Disk>,
        texts: Vec<TextFile>,
        resize: Option<Resize>,
    ) -> Result<FuseMount, FuseError> {
        check(&options, &texts)?;
        let failed = |reason| FuseError::Mount { mount_point: options.mount_point.clone(), reason };
        let NewMount { connection, mount_point, device_number } =
            mounting::mount(&options.mount_point, &options.name)?;
        // From here on, dropping the value unmounts.
        let mount = FuseMount { mount_point, device_number, end: Arc::new(End::come()) };
        let server = Server::new(Bytes::new(disk), texts, resize, options.asked_by.is_none());
        let session = Session::from_fd(server, connection, SessionACL::Owner, config(&options));
        mount.run(session.map_err(failed)?).map_err(failed)?;
        match mount.is_answered(options.asked_by) {
            Ok(()) => Ok(mount),
            // Without its threads the connection ends, and they report the reason.
            Err(error) if mount.ends_within(SAY_PATIENCE) => mount.wait().and(Err(failed(error))),
            Err(error) => Err(failed(error)),
        }
    }

    /// The first answer shows that the threads run.
    fn is_answered(&self, asked_by: Option<Asker>) -> io::Result<()> {
        let disk = self.disk_path();
        let Some(asker) = asked_by else { return std::fs::metadata(disk).map(drop) };
        let output = child::output(asker(&disk))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(io::Error::other(
                first_lines(&String::from_utf8_lossy(&output.stderr))
                    .unwrap_or_else(|| child::describe(output.status)),
            )),
        }
    }

    fn run(&self, session: Session<Server>) -> io::Result<()> {
        let ends = Ends::with(Arc::clone(&self.end));
        let serve = move || {
            // Without permission, the thread is like any other.
            let _ = stay_out_of_write_back();
            ends.say(session.run().or_else(taken_away).map_err(|error| error.to_string()));
        };
        std::thread::Builder::new().name("fuse".into()).spawn(serve).map(drop)
    }

    /// The disk's file.
    #[must_use]
    pub fn disk_path(&self) -> PathBuf {
        self.mount_point.join(DISK_FILE)
    }

    /// The mount point, without links.
    #[must_use]
    pub fn mount_point(&self) -> &Path {
        &self.mount_point
    }

    /// Waits until the disk is unmounted, by [`FuseMount::unmount`] on another thread or by anyone
    /// else.
    ///
    /// # Errors
    /// [`FuseError::Server`] if the threads failed.
    pub fn wait(&self) -> Result<(), FuseError> {
        let mut result = self.end.result();
        loop {
            match &*result {
                Some(Ok(())) => return Ok(()),
                Some(Err(reason)) => {
                    return Err(FuseError::Server {
                        mount_point: self.mount_point.clone(),
                        reason: reason.clone(),
                    });
                }
                None => self.end.has_come.wait(&mut result),
            }
        }
    }

    /// Unmounts the disk and waits until the last command has been answered. Nothing is flushed;
    /// the caller can flush the disk. An unmounted disk is no error.
    ///
    /// # Errors
    /// [`FuseError::InUse`] while somebody uses the disk, which is still served; other
    /// [`FuseError`].
    pub fn unmount(&self) -> Result<(), FuseError> {
        if self.is_mounted()? {
            mounting::unmount(&self.mount_point)?;
        }
        match self.ends_within(END_PATIENCE) {
            true => self.wait(),
            false => Err(FuseError::InUse { mount_point: self.mount_point.clone(), users: vec![] }),
        }
    }

    /// Returns true if this mount is there, and not another in its place, perhaps with the same
    /// device number: a mount whose server has ended reports at once that it is not connected.
    fn is_mounted(&self) -> Result<bool, FuseError> {
        let mounted = mounting::mounted(&self.mount_point)?;
        let is_listed = mounted.is_some_and(|mount| mount.device_number == self.device_number);
        let is_dead = || {
            let answer = std::fs::metadata(&self.mount_point);
            answer.is_err_and(|error| error.kind() == io::ErrorKind::NotConnected)
        };
        Ok(is_listed && (self.end.result().is_none() || is_dead()))
    }

    fn ends_within(&self, patience: Duration) -> bool {
        let mut result = self.end.result();
        self.end.has_come.wait_while_for(&mut result, |result| result.is_none(), patience);
        result.is_some()
    }
}

impl Drop for FuseMount {
    fn drop(&mut self) {
        if matches!(self.is_mounted(), Ok(false)) {
            return;
        }
        let unmounted = mounting::unmount(&self.mount_point).or_else(|error| {
            log::warn!("{error}; it is removed anyway");
            abort_and_unmount(&self.mount_point)
        });
        if let Err(error) = unmounted {
            log::error!("{error}");
        }
        self.ends_within(END_PATIENCE);
    }
}

impl End {
    fn come() -> End {
        End { result: Mutex::new(Some(Ok(()))), has_come: Condvar::new() }
    }

    fn result(&self) -> MutexGuard<'_, Option<Result<(), String>>> {
        self.result.lock()
    }
}

/// Wakes those who wait for the end, even if the thread that holds this panics.
struct Ends(Arc<End>);

impl Ends {
    fn with(end: Arc<End>) -> Ends {
        *end.result() = None;
        Ends(end)
    }

    fn say(self, result: Result<(), String>) {
        *self.0.result() = Some(result);
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        let broken = || Err("its thread ended unexpectedly; this is a bug".into());
        self.0.result().get_or_insert_with(broken);
        self.0.has_come.notify_all();
    }
}

fn check(options: &FuseOptions, texts: &[TextFile]) -> Result<(), FuseError> {
    let wrong = |what: &str| Err(FuseError::Options { what: what.into() });
    if options.threads == 0 {
        return wrong("a disk is served by at least one thread");
    }
    let is_name = |name: &str| !name.is_empty() && !name.contains(['/', '\0']) && name != DISK_FILE;
    match texts.iter().find(|text| !is_name(&text.name)) {
        Some(text) => {
            wrong(&format!("`{}` cannot be the name of a text beside the disk", text.name))
        }
        None => Ok(()),
    }
}

fn config(options: &FuseOptions) -> Config {
    let mut config = Config::default();
    config.n_threads = Some(options.threads);
    // A connection per thread avoids a common lock. On two CPUs it made no difference.
    config.clone_fd = true;
    config
}

/// Unmounting while a thread takes a request from it ends that thread with this error; all other
/// threads, and this one at any other moment, get `ENODEV` (`fuse_dev_do_read` in the kernel's
/// `fs/fuse/dev.c`), which is no error.
fn taken_away(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::ConnectionAborted { Ok(()) } else { Err(error) }
}
