//! What can go wrong with a host, one variant for each thing that its user would do differently.

use std::fmt;

use assay_base::text::size;

/// That something went wrong with a host. Its text is one line that says what to do.
#[derive(Debug)]
pub struct Failure {
    /// As the user named it.
    pub host: String,
    /// What it was.
    pub reason: Reason,
}

/// The result of what is done with a host.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Debug)]
pub enum Reason {
    /// It cannot be named so.
    Spec(String),
    /// The user wants us to stop.
    Interrupted,
    /// There is no `ssh` here.
    NoClient,
    /// No connection at all; with the client's words.
    Unreachable(String),
    /// Its key is not among the known ones.
    HostKeyUnknown,
    /// Its key is another than the known one.
    HostKeyChanged {
        /// File and line of the known one, where the client tells them.
        known_at: Option<String>,
    },
    /// No such user, or no key that is taken.
    LoginRefused {
        /// By which methods one may log in there, as the client lists them.
        methods: String,
    },
    /// The client refused for another reason; its words.
    Client(String),
    /// No space for the program.
    NoSpace {
        /// Where.
        directory: String,
        /// How much is free, in bytes.
        free_bytes: u64,
        /// How much is needed, in bytes.
        needed_bytes: u64,
    },
    /// The directory cannot be written to; the system's words.
    Unwritable {
        /// Where.
        directory: String,
        /// Why.
        words: String,
    },
    /// It is another kind of machine.
    OtherMachine {
        /// As `uname -sm` tells it.
        theirs: String,
    },
    /// Its C library is too old for this program.
    OldLibrary {
        /// The version that is there.
        there: String,
        /// The version that the program needs.
        needed: String,
    },
    /// The program does not run there; what it or the system said.
    CannotRun {
        /// Its path there.
        program: String,
        /// Why.
        words: String,
    },
    /// The program at the other end is another version.
    OtherVersion {
        /// Which.
        theirs: String,
    },
    /// Its clock cannot be compared closely enough.
    ClockUncertain {
        /// By how much its offset may be wrong, in ms.
        uncertainty_ms: f64,
        /// By how much it might be, in ms.
        allowed_ms: f64,
    },
    /// Its clock was set, or drifted, while it was needed.
    ClockMoved {
        /// By how much, in ms.
        by_ms: f64,
    },
    /// The connection ended, or nothing came over it any more; with what the client said of it.
    Lost(Option<String>),
    /// It heard too late when to begin, in ms.
    Late(f64),
    /// What it answered is not what was asked for.
    Protocol(String),
    /// The load failed there.
    Load(assay_load::Error),
    /// The work failed there; in words.
    Work(String),
    /// Something failed on this machine.
    Here(String),
}

impl Reason {
    /// Of this host.
    pub(crate) fn of(self, host: &str) -> Failure {
        Failure { host: host.to_owned(), reason: self }
    }
}

impl std::error::Error for Failure {}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = &self.host;
        match &self.reason {
            Reason::Spec(words) | Reason::Here(words) => f.write_str(words),
            Reason::Interrupted => f.write_str("interrupted"),
            Reason::NoClient => {
                f.write_str("there is no `ssh` on this machine; install openssh-client")
            }
            Reason::Unreachable(words) => write!(
                f,
                "{host} cannot be reached: {words}; check its name, the network, and that sshd runs there"
            ),
            Reason::HostKeyUnknown => write!(
                f,
                "the host key of {host} is unknown; run `ssh {host}` once, check the key and accept it"
            ),
            Reason::HostKeyChanged { known_at } => {
                let at = known_at.as_ref().map(|at| format!(" in {at}")).unwrap_or_default();
                write!(
                    f,
                    "the host key of {host} is not the known one{at}; find out why, and if it was meant to change remove the old one \
                     with `ssh-keygen -R`"
                )
            }
            Reason::LoginRefused { methods } => write!(
                f,
                "{host} refuses the login ({methods}); check the user's name, and that `ssh {host}` asks for nothing: use an agent, or a \
                 key without a passphrase"
            ),
            Reason::Client(words) => {
                write!(f, "`ssh` to {host} failed: {words}; check with `ssh {host}`")
            }
            Reason::NoSpace { directory, free_bytes, needed_bytes } => write!(
                f,
                "{host} has {} free in {directory}, and the program takes {}; free some, or give another directory there",
                size(*free_bytes as f64),
                size(*needed_bytes as f64)
            ),
            Reason::Unwritable { directory, words } => {
                write!(
                    f,
                    "{host}: cannot write to {directory}: {words}; give another directory there"
                )
            }
            Reason::OtherMachine { theirs } => write!(
                f,
                "{host} is {theirs}, and this program runs on Linux {} only; use such a host, or build Assay there",
                std::env::consts::ARCH
            ),
            Reason::OldLibrary { there, needed } => write!(
                f,
                "{host} has {there}, and this program needs glibc {needed}; build Assay on a machine with a library as old"
            ),
            Reason::CannotRun { program, words } => write!(
                f,
                "the program does not run on {host} as {program}: {words}; give a directory there that allows programs"
            ),
            Reason::OtherVersion { theirs } => write!(
                f,
                "{host} runs another version of Assay ({theirs}, here {}); run `assay clean --cache --host {host}` and try again",
                env!("CARGO_PKG_VERSION")
            ),
            Reason::ClockUncertain { uncertainty_ms, allowed_ms } => write!(
                f,
                "the clock of {host} can be compared to ±{uncertainty_ms:.0} ms only, but matching its seconds with others needs \
                 ±{allowed_ms:.0} ms; use a nearer host or a less busy link"
            ),
            Reason::ClockMoved { by_ms } => write!(
                f,
                "the clock of {host} moved by {by_ms:.0} ms meanwhile; wait until chrony or ntpd has settled on both machines, then run again"
            ),
            Reason::Lost(words) => {
                let words = words.as_ref().map(|words| format!(" ({words})")).unwrap_or_default();
                write!(
                    f,
                    "the connection to {host} was lost{words}; check network and host, then run again"
                )
            }
            Reason::Late(late_ms) => write!(
                f,
                "{host} received the start time {late_ms:.0} ms too late; use a less busy link, then run again"
            ),
            Reason::Protocol(words) => write!(
                f,
                "{host} sent an answer that Assay does not understand ({words}); check what its shell prints at login"
            ),
            Reason::Load(error) => write!(f, "{host}: {error}"),
            Reason::Work(words) => write!(f, "{host}: {words}"),
        }
    }
}
