//! Failures of a host: one variant for each that the user would handle differently.

use std::fmt;

use assay_base::text::size;

/// A failure of a host. Its text is one line that says what to do.
#[derive(Debug)]
pub struct Failure {
    /// The host's name, as given by the user.
    pub host: String,
    pub reason: FailureReason,
}

pub type Result<T, E = Failure> = std::result::Result<T, E>;

#[derive(Debug)]
pub enum FailureReason {
    /// The name is not valid.
    Spec(String),
    Interrupted,
    /// `ssh` is not installed on this machine.
    NoClient,
    /// The connection failed; with the client's message.
    Unreachable(String),
    HostKeyUnknown,
    /// The host's key differs from the known one.
    HostKeyChanged {
        /// File and line of the known key, if the client prints them.
        known_at: Option<String>,
    },
    /// The user is unknown, or none of the keys is accepted.
    LoginRefused {
        /// The methods of logging in that the client lists.
        methods: String,
    },
    /// Another refusal of the client, with its message.
    Client(String),
    /// The disk has no space for the program.
    NoSpace {
        directory: String,
        free_bytes: u64,
        needed_bytes: u64,
    },
    /// The directory is not writable; with the system's message.
    Unwritable {
        directory: String,
        words: String,
    },
    /// The host has another operating system or processor.
    OtherMachine {
        /// The output of `uname -sm`.
        theirs: String,
    },
    /// The host's C library is too old for this program.
    OldLibrary {
        there: String,
        needed: String,
    },
    /// The program does not run there; with its own or the system's message.
    CannotRun {
        program: String,
        words: String,
    },
    /// The program at the other end has another version.
    OtherVersion {
        theirs: String,
    },
    /// The clock cannot be compared closely enough.
    ClockUncertain {
        /// The uncertainty of its offset, in ms.
        uncertainty_ms: f64,
        /// The highest uncertainty allowed, in ms.
        allowed_ms: f64,
    },
    /// The clock was set, or drifted, during the load.
    ClockMoved {
        by_ms: f64,
    },
    /// The connection ended, or became silent; with the client's message.
    Lost(Option<String>),
    /// The host received the start time too late, by this many ms.
    Late(f64),
    /// The host's answer violates the protocol.
    Protocol(String),
    Load(assay_load::Error),
    /// The job failed there; with its message.
    Work(String),
    Here(String),
}

impl FailureReason {
    pub(crate) fn of(self, host: &str) -> Failure {
        Failure { host: host.to_owned(), reason: self }
    }
}

impl std::error::Error for Failure {}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = &self.host;
        match &self.reason {
            FailureReason::Spec(words) | FailureReason::Here(words) => f.write_str(words),
            FailureReason::Interrupted => f.write_str("interrupted"),
            FailureReason::NoClient => {
                f.write_str("there is no `ssh` on this machine; install openssh-client")
            }
            FailureReason::Unreachable(words) => write!(
                f,
                "{host} cannot be reached: {words}; check its name, the network, and that sshd \
                 runs there"
            ),
            FailureReason::HostKeyUnknown => write!(
                f,
                "the host key of {host} is unknown; run `ssh {host}` once, check the key and \
                 accept it"
            ),
            FailureReason::HostKeyChanged { known_at } => {
                let at = known_at.as_ref().map(|at| format!(" in {at}")).unwrap_or_default();
                write!(
                    f,
                    "the host key of {host} is not the known one{at}; find out why, and if it was \
                     meant to change remove the old one \
                     with `ssh-keygen -R`"
                )
            }
            FailureReason::LoginRefused { methods } => write!(
                f,
                "{host} refuses the login ({methods}); check the user's name, and that `ssh \
                 {host}` asks for nothing: use an agent, or a \
                 key without a passphrase"
            ),
            FailureReason::Client(words) => {
                write!(f, "`ssh` to {host} failed: {words}; check with `ssh {host}`")
            }
            FailureReason::NoSpace { directory, free_bytes, needed_bytes } => write!(
                f,
                "{host} has {} free in {directory}, and the program takes {}; free some, or give \
                 another directory there",
                size(*free_bytes as f64),
                size(*needed_bytes as f64)
            ),
            FailureReason::Unwritable { directory, words } => {
                write!(
                    f,
                    "{host}: cannot write to {directory}: {words}; give another directory there"
                )
            }
            FailureReason::OtherMachine { theirs } => write!(
                f,
                "{host} is {theirs}, and this program runs on Linux {} only; use such a host, or \
                 build Assay there",
                std::env::consts::ARCH
            ),
            FailureReason::OldLibrary { there, needed } => write!(
                f,
                "{host} has {there}, and this program needs glibc {needed}; build Assay on a \
                 machine with a library as old"
            ),
            FailureReason::CannotRun { program, words } => write!(
                f,
                "the program does not run on {host} as {program}: {words}; give a directory there \
                 that allows programs"
            ),
            FailureReason::OtherVersion { theirs } => write!(
                f,
                "{host} runs another version of Assay ({theirs}, here {}); run `assay clean \
                 --cache --host {host}` and try again",
                env!("CARGO_PKG_VERSION")
            ),
            FailureReason::ClockUncertain { uncertainty_ms, allowed_ms } => write!(
                f,
                "the clock of {host} can be compared to ±{uncertainty_ms:.0} ms only, but matching \
                 its seconds with others needs \
                 ±{allowed_ms:.0} ms; use a nearer host or a less busy link"
            ),
            FailureReason::ClockMoved { by_ms } => write!(
                f,
                "the clock of {host} moved by {by_ms:.0} ms meanwhile; wait until chrony or ntpd \
                 has settled on both machines, then run again"
            ),
            FailureReason::Lost(words) => {
                let words = words.as_ref().map(|words| format!(" ({words})")).unwrap_or_default();
                write!(
                    f,
                    "the connection to {host} was lost{words}; check network and host, then run \
                     again"
                )
            }
            FailureReason::Late(late_ms) => write!(
                f,
                "{host} received the start time {late_ms:.0} ms too late; use a less busy link, \
                 then run again"
            ),
            FailureReason::Protocol(words) => write!(
                f,
                "{host} sent an answer that Assay does not understand ({words}); check what its \
                 shell prints at login"
            ),
            FailureReason::Load(error) => write!(f, "{host}: {error}"),
            FailureReason::Work(words) => write!(f, "{host}: {words}"),
        }
    }
}
