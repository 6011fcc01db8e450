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

/// When a command will be answered as far as is known, and what it waited for longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    at: Time,
    longest: Time,
    resource: Resource,
}

impl Due {
    /// Answered at once, at `at`.
    #[must_use]
    pub fn at(at: Time) -> Due {
        Due { at, longest: Time::ZERO, resource: Resource::Nothing }
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
}
