//! What a model computes: when a device answers, and what kept it.

use super::time::Time;

/// What a command asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// To read.
    Read,
    /// To write.
    Write,
    /// To make durable what was written.
    Flush,
    /// To give blocks back.
    Discard,
}

/// A command as a device sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// What it asks for.
    pub kind: Kind,
    /// First byte; zero of a flush.
    pub offset: u64,
    /// Bytes; zero of a flush.
    pub length: u64,
    /// Whether a write must be durable when it is answered.
    pub force_unit_access: bool,
    /// When it came.
    pub arrival: Time,
}

macro_rules! resources {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)+) => {
        /// What a command waits for: what is busy with others, or what works on the command itself.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Resource {
            $($(#[$doc])* $name,)+
        }

        impl Resource {
            /// Every one, in the order of their numbers.
            pub const ALL: &[Resource] = &[$(Resource::$name,)+];

            /// The word for it, as reports print it.
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
    /// Nothing: it was answered as it came.
    Nothing = "nothing",
    /// The device's own program.
    Firmware = "firmware",
    /// The operations that a controller takes a second.
    Controller = "controller",
    /// The link between host and device.
    Link = "link",
    /// The engine that compresses.
    Engine = "engine",
    /// Room in the write buffer.
    Buffer = "buffer",
    /// The flash cells of its own reads.
    Flash = "flash",
    /// A die that is busy with others.
    Die = "die",
    /// A channel between controller and dies.
    Channel = "channel",
    /// An arm to come to its track.
    Seek = "seek",
    /// A platter to come round.
    Rotation = "rotation",
    /// Data to pass under a head.
    Platter = "platter",
    /// A spindle that is busy with others.
    Spindle = "spindle",
    /// Operations that were paid for.
    Operations = "operations",
    /// Bytes that were paid for.
    Bytes = "bytes",
    /// The network and what lies at its other end.
    Network = "network",
    /// A fault that a test has put there.
    Fault = "fault",
}

/// A command in a queue whose order may still change: by this a model knows it again, see [`Timing::settle`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// When a command will be answered as far as is known, and what it waited for longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    at: Time,
    longest: Time,
    resource: Resource,
    ticket: Option<Ticket>,
}

impl Due {
    /// Answered at once, at `at`.
    #[must_use]
    pub fn at(at: Time) -> Due {
        Due { at, longest: Time::ZERO, resource: Resource::Nothing, ticket: None }
    }

    /// When.
    #[must_use]
    pub fn when(self) -> Time {
        self.at
    }

    /// What it waited for longest in one go.
    #[must_use]
    pub fn resource(self) -> Resource {
        self.resource
    }

    /// It must wait for `resource` until `until`, if that is still to come.
    pub fn wait(&mut self, until: Time, resource: Resource) {
        let span = until - self.at;
        if span > self.longest {
            (self.longest, self.resource) = (span, resource);
        }
        self.at = self.at.max(until);
    }

    /// It takes `span` of `resource`.
    pub fn spend(&mut self, span: Time, resource: Resource) {
        self.wait(self.at + span, resource);
    }

    /// The command's place in a queue, while others may still be put before it.
    #[must_use]
    pub fn ticket(self) -> Option<Ticket> {
        self.ticket
    }

    /// From now on the command is known by `ticket`, or can no longer be moved.
    pub fn set_ticket(&mut self, ticket: Option<Ticket>) {
        self.ticket = ticket;
    }

    /// It is put off by `span`, so that it has waited `waited` for `resource` in one go.
    pub fn put_off(&mut self, span: Time, waited: Time, resource: Resource) {
        self.at += span;
        if waited > self.longest {
            (self.longest, self.resource) = (waited, resource);
        }
    }

    /// The same on a clock whose times are `times` / `parts` of this one's.
    #[must_use]
    pub(super) fn scaled(self, times: u64, parts: u64) -> Due {
        let (at, longest) = (self.at.scaled(times, parts), self.longest.scaled(times, parts));
        Due { at, longest, ..self }
    }

    /// A part of it is answered as `part` says; the last part counts.
    pub fn join(&mut self, part: Due) {
        if part.at > self.at {
            self.at = part.at;
            if part.longest > self.longest {
                (self.longest, self.resource) = (part.longest, part.resource);
            }
        }
    }
}

/// A device's arithmetic. Commands come roughly in the order of their arrival; several are in hand at once.
pub trait Timing: Send {
    /// A command has come; moves `due`, which is its arrival, to when what lies below begins to work on it.
    fn begin(&mut self, command: &Command, due: &mut Due);

    /// Below is done with it at `due`; moves that to when the command is answered.
    fn end(&mut self, command: &Command, due: &mut Due);

    /// The time of `due` has come, and no command will come before it any more: moves it to when the command is answered
    /// after all, if others were put before it. Unmoved, it is answered and must not be asked about again.
    ///
    /// To be asked once the time of each [`Due`] with a [`Ticket`] has come, and again whenever it moved. Who asks ahead of
    /// time is answered at once, and the queue served as far.
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
