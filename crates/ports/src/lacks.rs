//! The privileges and kernel devices that this process lacks for attaching and mounting.
//!
//! Guarantees: the check changes nothing; its answer contains everything that is missing, in one
//! line.

use std::fmt::{self, Display};
use std::fs::File;
use std::path::Path;

use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, capabilities, capability_is_in_bounding_set};

use crate::filesystem;
use crate::fuse::{DEVICE, HELPER};

/// Operations that the caller is about to perform.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// Mount a file system on a block device, which only root may do.
    pub mount: bool,
    /// Serve a disk over FUSE.
    pub fuse: bool,
    /// Show a file as a loop device.
    pub loop_device: bool,
}

impl Needs {
    /// The union of both.
    #[must_use]
    pub fn and(self, other: Needs) -> Needs {
        Needs {
            mount: self.mount || other.mount,
            fuse: self.fuse || other.fuse,
            loop_device: self.loop_device || other.loop_device,
        }
    }
}

/// A missing privilege or device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// The process does not run as root.
    Root,
    /// The process cannot obtain `CAP_SYS_ADMIN`, as in most containers (`capabilities(7)`).
    SysAdmin,
    /// The process is root in a user namespace, which cannot mount block devices
    /// (`user_namespaces(7)`).
    UserNamespace,
    /// The process is not root, and the program that mounts FUSE for users is missing.
    Helper,
    /// `/dev/fuse` does not exist.
    Fuse,
    /// `/dev/fuse` exists and may not be opened.
    FuseDenied,
    /// `/dev/loop-control` or every free `/dev/loopN` does not exist, or may not be opened.
    Loop,
}

/// Everything that is missing, at least one item; displayed as one line with the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacks(pub Vec<Lack>);

impl std::error::Error for Lacks {}

/// Privileges and devices that the process lacks for `needs`; `None` if it lacks nothing.
#[must_use]
pub fn lacks(needs: Needs) -> Option<Lacks> {
    let mut missing = of_rights(needs);
    let fuse = needs.fuse.then(of_fuse).flatten();
    // Root may open it.
    missing.extend(fuse.filter(|lack| *lack == Lack::Fuse || !missing.contains(&Lack::Root)));
    missing.extend((needs.loop_device && !has_loop_device()).then_some(Lack::Loop));
    (!missing.is_empty()).then_some(Lacks(missing))
}

fn of_rights(needs: Needs) -> Vec<Lack> {
    let is_root = geteuid().is_root();
    let needs_root = needs.mount || needs.loop_device;
    let mut missing = Vec::new();
    if needs_root && !is_root {
        missing.push(Lack::Root);
    }
    if (needs_root || needs.fuse) && !may_have_sys_admin() {
        missing.push(Lack::SysAdmin);
    } else if needs_root && is_root && !is_first_user_namespace() {
        missing.push(Lack::UserNamespace);
    } else if !needs_root && needs.fuse && !has_sys_admin() && !is_program(HELPER) {
        missing.push(Lack::Helper);
    }
    missing
}

/// Root has the capability or lacks it; other users can obtain it with `sudo` or a helper if the
/// bounding set contains it.
fn may_have_sys_admin() -> bool {
    match geteuid().is_root() {
        true => has_sys_admin(),
        false => capability_is_in_bounding_set(CapabilitySet::SYS_ADMIN).unwrap_or(true),
    }
}

fn has_sys_admin() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Returns true in the first user namespace, which maps all user ids to themselves
/// (`user_namespaces(7)`).
fn is_first_user_namespace() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let numbers: Vec<&str> = map.split_whitespace().collect();
    numbers.is_empty() || numbers == ["0", "0", "4294967295"]
}

fn is_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

fn of_fuse() -> Option<Lack> {
    if !Path::new(DEVICE).exists() {
        return Some(Lack::Fuse);
    }
    File::options().read(true).write(true).open(DEVICE).err().map(|_| Lack::FuseDenied)
}

/// Returns true if root can attach a loop device: its control and a free device exist and can be
/// opened. If `/dev` is the kernel's own (devtmpfs), new devices appear in it; in a container's
/// they do not.
fn has_loop_device() -> bool {
    let may_open = |path: &str| match geteuid().is_root() {
        true => File::open(path).is_ok(),
        // Root can open any existing file.
        false => Path::new(path).exists(),
    };
    let grows = || {
        let mount = filesystem::mount_of(Path::new("/dev")).ok().flatten();
        mount.is_some_and(|mount| mount.file_system == "devtmpfs")
    };
    let is_free = |number: u32| {
        !Path::new(&format!("/sys/block/loop{number}/loop")).exists()
            && may_open(&format!("/dev/loop{number}"))
    };
    may_open("/dev/loop-control") && (grows() || (0..256).any(is_free))
}

impl Lack {
    fn name(self) -> &'static str {
        match self {
            Lack::Root => "root",
            Lack::SysAdmin => "the capability CAP_SYS_ADMIN",
            Lack::UserNamespace => "root outside a user namespace (rootless container)",
            Lack::Helper => "root or `fusermount3`",
            Lack::Fuse => "/dev/fuse",
            Lack::FuseDenied => "access to /dev/fuse",
            Lack::Loop => "loop devices",
        }
    }

    /// Options of `docker run` that provide it in a container.
    fn options(self) -> Option<&'static str> {
        match self {
            // Docker's AppArmor profile refuses mount(2) even with the capability.
            Lack::SysAdmin => Some("--cap-add SYS_ADMIN --security-opt apparmor=unconfined"),
            Lack::Fuse | Lack::FuseDenied => Some("--device /dev/fuse"),
            // 7 is the major number of loop devices (`Documentation/admin-guide/devices.txt`);
            // their nodes are made outside the container.
            Lack::Loop => {
                Some("--device /dev/loop-control --device-cgroup-rule \"b 7:* rmw\" -v /dev:/dev")
            }
            Lack::Root | Lack::UserNamespace | Lack::Helper => None,
        }
    }

    /// The remedy, unless it is an option of a container.
    fn remedy(self) -> Option<&'static str> {
        match self {
            Lack::Root => Some("run as root"),
            Lack::UserNamespace => Some("start the container as root"),
            Lack::Helper => Some("run as root or install the package fuse3"),
            Lack::SysAdmin | Lack::Fuse | Lack::FuseDenied | Lack::Loop => None,
        }
    }

    /// The kernel module that provides it.
    fn module(self) -> Option<&'static str> {
        match self {
            Lack::Fuse => Some("fuse"),
            Lack::Loop => Some("loop"),
            _ => None,
        }
    }
}

impl Display for Lacks {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = |part: fn(Lack) -> Option<&'static str>| -> Vec<&str> {
            self.0.iter().filter_map(|lack| part(*lack)).collect()
        };
        let names: Vec<&str> = self.0.iter().map(|lack| lack.name()).collect();
        write!(to, "missing here: {}", names.join(", "))?;
        for remedy in all(Lack::remedy) {
            write!(to, "; {remedy}")?;
        }
        let (options, modules) = (all(Lack::options), all(Lack::module));
        if !options.is_empty() {
            let options = options.join(" ");
            write!(
                to,
                "; start a container with `--privileged -v /dev:/dev`, or with `{options}`"
            )?;
        }
        if !modules.is_empty() {
            write!(to, "; elsewhere `modprobe -a {}`", modules.join(" "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_missing_is_one_line_with_its_remedies() {
        let all = Lacks(vec![Lack::Root, Lack::SysAdmin, Lack::Fuse, Lack::Loop]);
        assert_eq!(
            all.to_string(),
            "missing here: root, the capability CAP_SYS_ADMIN, /dev/fuse, loop devices; run as \
             root; start a container with \
             `--privileged -v /dev:/dev`, or with `--cap-add SYS_ADMIN --security-opt \
             apparmor=unconfined --device /dev/fuse \
             --device /dev/loop-control --device-cgroup-rule \"b 7:* rmw\" -v /dev:/dev`; \
             elsewhere `modprobe -a fuse loop`"
        );
        assert_eq!(Lacks(vec![Lack::Root]).to_string(), "missing here: root; run as root");
    }

    #[test]
    fn who_needs_nothing_lacks_nothing() {
        assert_eq!(lacks(Needs::default()), None);
    }
}
