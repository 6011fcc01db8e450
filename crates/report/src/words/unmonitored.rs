//! Sentences about what could not be monitored.

use assay_study::{Below, Role, Unmonitored};

/// The missing part and, if there is one, a remedy.
pub(super) fn text(what: &Unmonitored) -> String {
    match what {
        Unmonitored::Uncounted { device } => format!(
            "{device} is not monitored: its queue/iostats is 0; write 1 there to count its I/O"
        ),
        Unmonitored::Device { device, error } => format!("{device} is not monitored: {error}"),
        Unmonitored::DeviceGone { device, error } => {
            format!("the counters of {device} are gone: {error}")
        }
        Unmonitored::Below { below, path, error } => no_disk(*below, path, error.as_deref()),
        Unmonitored::Process { role, pid, error } => {
            format!("the {} process {pid} is not monitored: {error}", name(*role))
        }
        Unmonitored::ProcessIo { role, pid, error } => format!(
            "bytes read and written by the {} process are not monitored: /proc/{pid}/io: \
            {error}; run as the same user or as root",
            name(*role)
        ),
        Unmonitored::ProcessEnded { role } => format!("the {} process has ended", name(*role)),
        Unmonitored::Switches { role, threads_max } => format!(
            "context switches of the {} process are missing while it has more than {threads_max} \
            threads; cpu_context_switches_per_s has those of the machine",
            name(*role)
        ),
        Unmonitored::Server { error } => format!(
            "the server's counters are not monitored: \
            {error}"
        ),
        Unmonitored::ServerSilent => {
            "the server stopped answering the monitor; its counters are missing until it answers \
            again"
                .into()
        }
        Unmonitored::Refused { prefix, error } => format!(
            "the server does not let the monitor read {prefix}*: {error}; grant PROCESS and \
            SELECT on performance_schema"
        ),
        Unmonitored::Drive { error } => format!("the drive is not monitored: {error}"),
        Unmonitored::Pool { error } => format!("the pool is not monitored: {error}"),
        Unmonitored::Model { error } => format!("the model is not monitored: {error}"),
        Unmonitored::Others { error } => {
            format!("CPU time of other programs is not monitored: {error}")
        }
        Unmonitored::Cpu { error } => format!("cannot read /proc/stat: {error}"),
        Unmonitored::Space { path, error } => format!("cannot measure {path}: {error}"),
        Unmonitored::Unbound { error } => {
            format!("the monitor could not be pinned to its CPUs: {error}")
        }
        Unmonitored::ThreadEnded => {
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
            "no disk is monitored under {whose}: the file system of {path} has no block device \
            of its own"
        ),
    }
}

fn name(role: Role) -> &'static str {
    match role {
        Role::Server => "server",
        Role::Daemon => "daemon",
        Role::Load => "load",
    }
}
