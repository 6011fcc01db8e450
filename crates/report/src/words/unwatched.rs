//! What could not be watched, as sentences.

use assay_study::{Below, Role, Unwatched};

/// What is missing and, where there is something to do about it, what.
pub(super) fn text(what: &Unwatched) -> String {
    match what {
        Unwatched::Uncounted { device } => format!(
            "{device} is not watched: its queue/iostats is 0; write 1 there to have its I/O counted"
        ),
        Unwatched::Device { device, error } => format!("{device} is not watched: {error}"),
        Unwatched::DeviceGone { device, error } => {
            format!("the counters of {device} are gone: {error}")
        }
        Unwatched::Below { below, path, error } => no_disk(*below, path, error.as_deref()),
        Unwatched::Process { role, pid, error } => {
            format!("the {} process {pid} is not watched: {error}", name(*role))
        }
        Unwatched::ProcessIo { role, pid, error } => format!(
            "bytes read and written by the {} process are not watched: /proc/{pid}/io: {error}; run as the same user or as root",
            name(*role)
        ),
        Unwatched::ProcessEnded { role } => format!("the {} process has ended", name(*role)),
        Unwatched::Switches { role, threads_max } => format!(
            "context switches of the {} process are a gap while it has more than {threads_max} threads; those of the whole machine \
             are in cpu_context_switches_per_s",
            name(*role)
        ),
        Unwatched::Server { error } => format!("the server is not watched from inside: {error}"),
        Unwatched::ServerSilent => {
            "the server stopped answering the watch; its counters are gaps from there on, until it answers again".into()
        }
        Unwatched::Refused { prefix, error } => format!(
            "the server does not let the watch read {prefix}*: {error}; grant PROCESS and SELECT on performance_schema"
        ),
        Unwatched::Drive { error } => format!("the drive is not watched: {error}"),
        Unwatched::Model { error } => format!("the model is not watched: {error}"),
        Unwatched::Others { error } => {
            format!("CPU time of other programs is not watched: {error}")
        }
        Unwatched::Cpu { error } => format!("cannot read /proc/stat: {error}"),
        Unwatched::Space { path, error } => format!("cannot measure {path}: {error}"),
        Unwatched::Unbound { error } => {
            format!("the watch could not be bound to its CPUs: {error}")
        }
        Unwatched::ThreadEnded => {
            "a thread of the watch ended early; later samples lack its layers".into()
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
        Some(error) => format!("no disk is watched under {whose}: {path}: {error}"),
        None => format!(
            "no disk is watched under {whose}: the file system of {path} has no block device of its own"
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
