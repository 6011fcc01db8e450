//! The result of a model: the time of a device's answer, and the resource that delayed it.

use super::time::Time;

/// The kind of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    Read,
    Write,
    /// Makes completed writes durable.
    Flush,
    /// Gives blocks back.
    Discard,
}

/// A command as a device sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    pub kind: Kind,
    /// First byte; zero for a flush.
    pub offset: u64,
    /// Bytes; zero for a flush.
    pub length: u64,
    /// Whether a write must be durable when it is answered.
    pub force_unit_access: bool,
    pub arrival: Time,
}

macro_rules! resources {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)+) => {
        /// A resource for which a command waits: busy with others, or working on the command
        /// itself.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Resource {
            $($(#[$doc])* $name,)+
        }

        impl Resource {
            /// All resources, in the order of their numbers.
            pub const ALL: &[Resource] = &[$(Resource::$name,)+];

            /// The name, as reports print it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Resource::$name => $text,)+
                }
            }
        }
    };
}

resources! {
    /// None: it was answered on arrival.
    Nothing = "nothing",
    /// The device's own program.
    Firmware = "firmware",
    /// The controller's operations a second.
    Controller = "controller",
    /// The link between host and device.
    Link = "link",
    /// The engine that compresses.
    Engine = "engine",
    /// Room in the write buffer.
    Buffer = "buffer",
    /// The flash cells of its own reads.
    Flash = "flash",
    /// A die, busy with others.
    Die = "die",
    /// A channel between controller and dies.
    Channel = "channel",
    /// The arm's way to its track.
    Seek = "seek",
    /// The rotation of the platter to the data.
    Rotation = "rotation",
    /// The transfer under the head.
    Platter = "platter",
    /// A spindle, busy with others.
    Spindle = "spindle",
    /// The volume's operations a second.
    Operations = "operations",
    /// The volume's bytes a second.
    Bytes = "bytes",
    /// The network and the node at its other end.
    Network = "network",
    /// A fault injected by a test.
    Fault = "fault",
}

/// The name of a command in a queue whose order may still change, see [`Timing::settle`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// The answer time of a command as far as it is known, and the resource for which it waited
/// longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    at: Time,
    longest: Time,
    resource: Resource,
    ticket: Option<Ticket>,
}

impl Due {
    /// An answer at `at`, without waiting.
    #[must_use]
    pub fn at(at: Time) -> Due {
        Due { at, longest: Time::ZERO, resource: Resource::Nothing, ticket: None }
    }

    /// The answer time.
    #[must_use]
    pub fn when(self) -> Time {
        self.at
    }

    /// The resource for which it waited longest without a break.
    #[must_use]
    pub fn resource(self) -> Resource {
        self.resource
    }

    /// Waits for `resource` until `until`, if that is later.
    pub fn wait(&mut self, until: Time, resource: Resource) {
        let span = until - self.at;
        if span > self.longest {
            (self.longest, self.resource) = (span, resource);
        }
        self.at = self.at.max(until);
    }

    /// Spends `span` on `resource`.
    pub fn spend(&mut self, span: Time, resource: Resource) {
        self.wait(self.at + span, resource);
    }

    /// The command's name in a queue in which others may still be put before it.
    #[must_use]
    pub fn ticket(self) -> Option<Ticket> {
        self.ticket
    }

    /// Sets the command's name in a queue; `None` if it can no longer be moved.
    pub fn set_ticket(&mut self, ticket: Option<Ticket>) {
        self.ticket = ticket;
    }

    /// Delays the answer by `span`, so that it has waited `waited` for `resource` without a break.
    pub fn put_off(&mut self, span: Time, waited: Time, resource: Resource) {
        self.at += span;
        if waited > self.longest {
            (self.longest, self.resource) = (waited, resource);
        }
    }

    /// Converts to a clock whose times are `times` / `parts` of this one's.
    #[must_use]
    pub(super) fn scaled(self, times: u64, parts: u64) -> Due {
        let (at, longest) = (self.at.scaled(times, parts), self.longest.scaled(times, parts));
        Due { at, longest, ..self }
    }

    /// Adds a part that is answered at `part`; the last part counts.
    pub fn join(&mut self, part: Due) {
        if part.at > self.at {
            self.at = part.at;
            if part.longest > self.longest {
                (self.longest, self.resource) = (part.longest, part.resource);
            }
        }
    }
}

/// A device's arithmetic. Commands come roughly in order of arrival, and several are in flight.
pub trait Timing: Send {
    /// Moves `due` from the arrival of `command` to the beginning of the work below.
    fn begin(&mut self, command: &Command, due: &mut Due);

    /// Moves `due` from the end of the work below to the answer.
    fn end(&mut self, command: &Command, due: &mut Due);

    /// Moves `due`, whose time has come and before which no command can arrive, to the final answer
    /// if others were put before this command. If it does not move, the command is answered and
    /// must not be settled again.
    ///
    /// Must be called when the time of each [`Due`] with a [`Ticket`] has come, and again whenever
    /// it moved. If it is called ahead of time, the queue is served up to that time.
    fn settle(&mut self, _due: &mut Due) {}
}

impl<T: Timing + ?Sized> Timing for Box<T> {
    fn begin(&mut self, command: &Command, due: &mut Due) {
        (**self).begin(command, due);
    }

    fn end(&mut self, command: &Command, due: &mut Due) {
        (**self).end(command, due);
    }

    fn settle(&mut self, due: &mut Due) {
        (**self).settle(due);
    }
}

/// A device that takes no time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Immediate;

impl Timing for Immediate {
    fn begin(&mut self, _command: &Command, _due: &mut Due) {}

    fn end(&mut self, _command: &Command, _due: &mut Due) {}
}
