//! Traces a block device in a private instance of the kernel's tracing, so that nobody else's trace
//! is disturbed (`Documentation/trace/ftrace.rst`, "Instances").

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assay_ports::filesystem;
use assay_system::ledger::{Ledger, LedgerGuard};
use assay_system::resource::{OwnMount, Resource};
use assay_system::{new_name, state};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::line::{Event, parse};

/// The usual mount point.
const USUAL: &str = "/sys/kernel/tracing";

const EVENT: &str = "events/block/block_rq_issue";

/// Buffer on each CPU in KiB: several hundred thousand events.
const BUFFER_KIB: &str = "32768";

/// A running trace. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Tracing {
    pipe: File,
    instance: PathBuf,
    /// The device's number in the trace's format.
    device: String,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
    /// In drop order: the instance, then the mount and its directory if Assay made them.
    made: Vec<LedgerGuard>,
}

impl Tracing {
    /// Starts tracing the block device of that name.
    pub(super) fn start(ledger: &Arc<Ledger>, name: &str) -> Result<Tracing> {
        let number = fs::read_to_string(Path::new("/sys/class/block").join(name).join("dev"));
        let number = number.with_context(|| format!("there is no block device {name}"))?;
        let (major, minor) = number.trim().split_once(':').context("a device without a number")?;
        let (mounted, directory) = mounted(ledger)?;
        let instance = directory.join("instances").join(new_name("trace"));
        let of = |instance| Resource::Trace { instance };
        let made = ledger.make_with_directory(&instance, of)?;
        let pipe = begin(&instance, major, minor)?;
        Ok(Tracing {
            pipe,
            instance,
            device: format!("{major},{minor}"),
            rest: Vec::new(),
            made: std::iter::once(made).chain(mounted).collect(),
        })
    }

    /// Waits at most `patience` for events and hands them on; returns false if there were none.
    pub(super) fn read(&mut self, patience: Duration, note: &mut dyn FnMut(Event)) -> Result<bool> {
        let timeout = Timespec::try_from(patience).context("too long a time")?;
        let mut wanted = [PollFd::new(&self.pipe, PollFlags::IN)];
        match poll(&mut wanted, Some(&timeout)) {
            // A signal: the caller checks whether to stop.
            Err(Errno::INTR) => return Ok(false),
            waited => waited.context("cannot wait for the trace")?,
        };
        let mut piece = vec![0; 1 << 16];
        let length = match self.pipe.read(&mut piece) {
            Ok(0) => return Ok(false),
            Ok(length) => length,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                return Ok(false);
            }
            Err(error) => return Err(error).context("cannot read the trace"),
        };
        self.rest.extend_from_slice(&piece[..length]);
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        let lines = String::from_utf8_lossy(&lines);
        lines.lines().filter_map(|line| parse(line, &self.device)).for_each(note);
        Ok(true)
    }

    /// Stops recording events.
    pub(super) fn pause(&self) -> Result<()> {
        put(&self.instance.join(EVENT).join("enable"), "0")
    }

    /// Removes the trace.
    pub(super) fn take_down(self) -> Result<()> {
        drop(self.pipe);
        self.made.into_iter().try_for_each(LedgerGuard::remove)
    }
}

fn begin(instance: &Path, major: &str, minor: &str) -> Result<File> {
    put(&instance.join("buffer_size_kb"), BUFFER_KIB)?;
    // `MKDEV` of `linux/kdev_t.h`: the minor number has 20 bits.
    let number = |text: &str| text.parse::<u64>().context("a device without a number");
    let device = number(major)? << 20 | number(minor)?;
    put(&instance.join(EVENT).join("filter"), &format!("dev == {device}"))?;
    put(&instance.join(EVENT).join("enable"), "1")?;
    let pipe = instance.join("trace_pipe");
    const O_NONBLOCK: i32 = 0o4000;
    let opened = File::options().read(true).custom_flags(O_NONBLOCK).open(&pipe);
    opened.with_context(|| format!("cannot read {}", pipe.display()))
}

fn put(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The directory of the kernel's tracing: an existing mount, or a new one, which is returned with
/// it.
fn mounted(ledger: &Arc<Ledger>) -> Result<(Vec<LedgerGuard>, PathBuf)> {
    let usual = Path::new(USUAL);
    if usual.join(EVENT).is_dir() {
        return Ok((Vec::new(), usual.to_owned()));
    }
    if !rustix::process::geteuid().is_root() {
        bail!("tracing block devices needs root; run as root");
    }
    let target = state::below("traces")?.join(new_name("tracing"));
    let directory = ledger.make_directory(&target)?;
    let resource = Resource::Mount(OwnMount::of_kernels("tracefs", &target)?);
    let mount = || filesystem::mount_kernels("tracefs", &target);
    let mount = || mount().context("this kernel cannot trace block devices");
    let (mount, ()) = ledger.make(resource, mount)?;
    match target.join(EVENT).is_dir() {
        true => Ok((vec![mount, directory], target)),
        false => bail!("this kernel does not trace block devices (CONFIG_BLK_DEV_IO_TRACE)"),
    }
}
