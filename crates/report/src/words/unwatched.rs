//! What could not be watched, as sentences.

use assay_study::{Below, Role, Unwatched};

/// What is missing and, where there is something to do about it, what.
pub(super) fn text(what: &Unwatched) -> String {
    match what {
        Unwatched::Uncounted { device } => format!(
            "{device} is not monitored: its queue/iostats is 0; write 1 there to count its I/O"
        ),
        Unwatched::Device { device, error } => format!("{device} is not monitored: {error}"),
        Unwatched::DeviceGone { device, error } => {
            format!("the counters of {device} are gone: {error}")
        }
        Unwatched::Below { below, path, error } => no_disk(*below, path, error.as_deref()),
        Unwatched::Process { role, pid, error } => {
            format!("the {} process {pid} is not monitored: {error}", name(*role))
        }
        Unwatched::ProcessIo { role, pid, error } => format!(
            "bytes read and written by the {} process are not monitored: /proc/{pid}/io: {error}; run as the same user or as root",
            name(*role)
        ),
        Unwatched::ProcessEnded { role } => format!("the {} process has ended", name(*role)),
        Unwatched::Switches { role, threads_max } => format!(
            "context switches of the {} process are missing while it has more than {threads_max} threads; cpu_context_switches_per_s has those of the machine",
            name(*role)
        ),
        Unwatched::Server { error } => format!("the server's counters are not monitored: {error}"),
        Unwatched::ServerSilent => {
            "the server stopped answering the monitor; its counters are missing until it answers again".into()
        }
        Unwatched::Refused { prefix, error } => format!(
            "the server does not let the monitor read {prefix}*: {error}; grant PROCESS and SELECT on performance_schema"
        ),
        Unwatched::Drive { error } => format!("the drive is not monitored: {error}"),
        Unwatched::Model { error } => format!("the model is not monitored: {error}"),
        Unwatched::Others { error } => {
            format!("CPU time of other programs is not monitored: {error}")
        }
        Unwatched::Cpu { error } => format!("cannot read /proc/stat: {error}"),
        Unwatched::Space { path, error } => format!("cannot measure {path}: {error}"),
        Unwatched::Unbound { error } => {
            format!("the monitor could not be pinned to its CPUs: {error}")
        }
        Unwatched::ThreadEnded => {
            "a monitor thread ended early; later samples lack its layers".into()
        }
    }
}

fn no_disk(below: Below, path: &str, error: Option<&str>) -> String {
    let whose = match below {
        Below::Data => "the data",
        Below::Drive => "the drive",
        Below::Image => "the image",
    };
    match error {
        Some(error) => format!("no disk is monitored under {whose}: {path}: {error}"),
        None => format!(
            "no disk is monitored under {whose}: the file system of {path} has no block device of its own"
        ),
    }
}

fn name(role: Role) -> &'static str {
    match role {
        Role::Server => "server",
        Role::Serving => "serving",
        Role::Load => "load",
    }
}
