//! Fabrics commands: Connect, properties and authentication (Base, chapter 6).

use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::command::{AdminOpcode, Sgl, Submission};
use super::name::{FIELD_BYTES, Nqn};

/// The kinds of fabrics commands (Base, figure 380).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FabricsKind {
    /// Sets a property.
    PropertySet = 0x00,
    /// Connects a queue.
    Connect = 0x01,
    /// Gets a property.
    PropertyGet = 0x04,
    /// Sends a message of authentication.
    AuthenticationSend = 0x05,
    /// Receives a message of authentication.
    AuthenticationReceive = 0x06,
    /// Ends an I/O queue.
    Disconnect = 0x08,
}

impl FabricsKind {
    const ALL: [FabricsKind; 6] = [
        FabricsKind::PropertySet,
        FabricsKind::Connect,
        FabricsKind::PropertyGet,
        FabricsKind::AuthenticationSend,
        FabricsKind::AuthenticationReceive,
        FabricsKind::Disconnect,
    ];

    /// The kind of a fabrics command.
    #[must_use]
    pub fn of(command: &Submission) -> Option<FabricsKind> {
        let number = command.namespace.get() & 0xff;
        FabricsKind::ALL.into_iter().find(|one| *one as u32 == number)
    }

    /// A fabrics command of this kind.
    #[must_use]
    pub fn command(self) -> Submission {
        Submission::new(AdminOpcode::Fabrics as u8, self as u32)
    }
}

/// Properties of a controller (Base, 3.1.3), by their offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Property {
    /// Controller Capabilities, 8 bytes.
    Capabilities = 0x00,
    /// Version.
    Version = 0x08,
    /// Controller Configuration.
    Configuration = 0x14,
    /// Controller Status.
    Status = 0x1c,
}

impl Property {
    const ALL: [Property; 4] =
        [Property::Capabilities, Property::Version, Property::Configuration, Property::Status];

    /// The property at this offset.
    #[must_use]
    pub fn at(offset: u32) -> Option<Property> {
        Property::ALL.into_iter().find(|one| *one as u32 == offset)
    }

    /// Bytes of the property: 4 or 8.
    #[must_use]
    pub fn bytes(self) -> u32 {
        if self == Property::Capabilities { 8 } else { 4 }
    }

    /// The command that gets the property.
    #[must_use]
    pub fn get(self) -> Submission {
        self.named(FabricsKind::PropertyGet.command())
    }

    /// The command that sets the property.
    #[must_use]
    pub fn set(self, value: u64) -> Submission {
        let command = self.named(FabricsKind::PropertySet.command());
        command.with_word(12, value as u32).with_word(13, (value >> 32) as u32)
    }

    fn named(self, command: Submission) -> Submission {
        let attributes = u32::from(self.bytes() == 8);
        command.with_word(10, attributes).with_word(11, self as u32)
    }

    /// The offset and the length of the property that a command gets or sets.
    #[must_use]
    pub fn of(command: &Submission) -> (u32, u32) {
        let bytes = if command.word(10) & 0x7 == 1 { 8 } else { 4 };
        (command.word(11), bytes)
    }

    /// The value that a command sets.
    #[must_use]
    pub fn value(command: &Submission) -> u64 {
        u64::from(command.word(13)) << 32 | u64::from(command.word(12))
    }
}

/// Bytes of [`ConnectData`].
pub const CONNECT_DATA_BYTES: usize = 1024;

/// `controller` of a Connect that asks for any: the dynamic model (Base, 3.1.1).
const ANY_CONTROLLER: u16 = 0xffff;

/// The data of Connect (Base, figure 385): 1,024 bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct ConnectData {
    /// Identifier of the host, not zero.
    pub host_id: [u8; 16],
    /// Number of the controller; FFFFh for a new one.
    pub controller: U16,
    reserved: [u8; 238],
    subsystem: [u8; FIELD_BYTES],
    host: [u8; FIELD_BYTES],
    reserved_2: [u8; 256],
}

/// The field of Connect that a target refuses: an offset in the command or in its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectRefusal {
    /// A byte of the command.
    Command(u16),
    /// A byte of the data.
    Data(u16),
}

impl ConnectRefusal {
    /// The number of the queue.
    pub const QUEUE: ConnectRefusal = ConnectRefusal::Command(42);
    /// The depth of the queue.
    pub const QUEUE_SIZE: ConnectRefusal = ConnectRefusal::Command(44);
    /// The host's identifier.
    pub const HOST_ID: ConnectRefusal = ConnectRefusal::Data(0);
    /// The number of the controller.
    pub const CONTROLLER: ConnectRefusal = ConnectRefusal::Data(16);
    /// The name of the subsystem.
    pub const SUBSYSTEM: ConnectRefusal = ConnectRefusal::Data(256);
    /// The name of the host.
    pub const HOST: ConnectRefusal = ConnectRefusal::Data(512);

    /// The result of a completion with [`super::NvmeStatus::CONNECT_INVALID`] (Base, figure 388):
    /// the offset, and in bit 16 whether it lies in the data.
    #[must_use]
    pub fn result(self) -> u64 {
        match self {
            ConnectRefusal::Command(offset) => u64::from(offset),
            ConnectRefusal::Data(offset) => 1 << 16 | u64::from(offset),
        }
    }
}

impl ConnectData {
    /// The data of `host`, which asks for a new controller, or for a queue of `controller`.
    #[must_use]
    pub fn new(host_id: [u8; 16], host: &Nqn, subsystem: &Nqn, controller: Option<u16>) -> Self {
        ConnectData {
            host_id,
            controller: U16::new(controller.unwrap_or(ANY_CONTROLLER)),
            subsystem: subsystem.to_field(),
            host: host.to_field(),
            ..ConnectData::new_zeroed()
        }
    }

    /// The named subsystem.
    ///
    /// # Errors
    /// The refusal.
    pub fn subsystem(&self) -> Result<Nqn, ConnectRefusal> {
        Nqn::of_field(&self.subsystem).ok_or(ConnectRefusal::SUBSYSTEM)
    }

    /// The named host.
    ///
    /// # Errors
    /// The refusal.
    pub fn host(&self) -> Result<Nqn, ConnectRefusal> {
        Nqn::of_field(&self.host).ok_or(ConnectRefusal::HOST)
    }

    /// The named controller; `None` for a new one.
    #[must_use]
    pub fn controller(&self) -> Option<u16> {
        Some(self.controller.get()).filter(|number| *number != ANY_CONTROLLER)
    }
}

/// Parameters of a queue in its Connect command (Base, figure 384).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectCommand {
    /// Format of the record, 0.
    pub format: u16,
    /// Number of the queue: 0 is the admin queue.
    pub queue: u16,
    /// Entries of the queue, 0's based.
    pub size_0: u16,
    /// Whether the host asks to disable flow control of the submission queue.
    pub no_flow_control: bool,
    /// Keep alive timeout in ms; 0 for none.
    pub keep_alive_ms: u32,
}

impl ConnectCommand {
    /// Decodes a Connect command.
    #[must_use]
    pub fn of(command: &Submission) -> ConnectCommand {
        let (format_queue, size_attributes) = (command.word(10), command.word(11));
        ConnectCommand {
            format: format_queue as u16,
            queue: (format_queue >> 16) as u16,
            size_0: size_attributes as u16,
            no_flow_control: size_attributes >> 16 & 0x4 != 0,
            keep_alive_ms: command.word(12),
        }
    }

    /// Encodes a Connect command, whose data follow in the capsule.
    #[must_use]
    pub fn command(&self) -> Submission {
        let attributes: u32 = if self.no_flow_control { 0x4 } else { 0 };
        FabricsKind::Connect
            .command()
            .with_data(Sgl::in_capsule(CONNECT_DATA_BYTES as u32))
            .with_word(10, u32::from(self.queue) << 16 | u32::from(self.format))
            .with_word(11, attributes << 16 | u32::from(self.size_0))
            .with_word(12, self.keep_alive_ms)
    }
}

/// `Controller Configuration` (Base, 3.1.3.5) as far as a host sets it over fabrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Configuration(pub u32);

impl Configuration {
    /// Enabled, with submission entries of 2^6 and completion entries of 2^4 bytes.
    pub const ENABLED: Configuration = Configuration(1 | 6 << 16 | 4 << 20);

    /// Returns true if the controller is to run (EN).
    #[must_use]
    pub fn is_enabled(self) -> bool {
        self.0 & 1 != 0
    }

    /// Returns true if the host announces a shutdown, normal or abrupt (SHN).
    #[must_use]
    pub fn is_shutdown(self) -> bool {
        self.0 >> 14 & 0x3 != 0
    }

    /// The same, with a normal shutdown announced.
    #[must_use]
    pub fn shut_down(self) -> Configuration {
        Configuration(self.0 | 1 << 14)
    }
}

/// Bits of `Controller Status` (Base, 3.1.3.6).
pub mod controller_status {
    /// The controller takes commands (RDY).
    pub const READY: u32 = 1;
    /// The controller failed and has to be connected again (CFS).
    pub const FATAL: u32 = 1 << 1;
    /// The shutdown is complete (SHST 10b).
    pub const SHUT_DOWN: u32 = 2 << 2;
}

/// The `Controller Capabilities` of a controller with queues of `entries` (Base, 3.1.3.1):
/// contiguous queues, a timeout of `timeout_ms`, the NVM command set, pages of 4 KiB.
#[must_use]
pub fn capabilities(entries: u16, timeout_ms: u32) -> u64 {
    let timeout = u64::from(timeout_ms.div_ceil(500).min(0xff));
    u64::from(entries - 1) | 1 << 16 | timeout << 24 | 1 << 37
}

/// The number of queue entries in `Controller Capabilities`.
#[must_use]
pub fn queue_entries(capabilities: u64) -> u32 {
    (capabilities & 0xffff) as u32 + 1
}

/// NVMe 2.0 as the value of the property and of Identify (Base, 3.1.3.2).
pub const VERSION_2_0: u32 = 2 << 16;

/// A 64-bit number as the result of a Connect (Base, figure 387): the controller, and whether it
/// requires authentication.
#[must_use]
pub fn connect_result(controller: u16, authenticate: bool) -> u64 {
    let requires: u64 = if authenticate { 1 << 17 } else { 0 };
    u64::from(controller) | requires
}

/// Decodes [`connect_result`]: the controller, and whether it requires authentication.
#[must_use]
pub fn connected(result: U64) -> (u16, bool) {
    let result = result.get();
    (result as u16, result >> 16 & 0x3 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connect_comes_back_and_lies_where_the_specification_has_it() {
        let connect = ConnectCommand {
            format: 0,
            queue: 3,
            size_0: 127,
            no_flow_control: true,
            keep_alive_ms: 5000,
        };
        let command = connect.command();
        assert_eq!(ConnectCommand::of(&command), connect);
        let bytes = command.as_bytes();
        assert_eq!((bytes[0], bytes[4]), (0x7f, 0x01));
        assert_eq!(bytes[40..52], [0, 0, 3, 0, 127, 0, 4, 0, 0x88, 0x13, 0, 0]);
        assert_eq!(FabricsKind::of(&command), Some(FabricsKind::Connect));
    }

    #[test]
    fn connect_data_come_back_with_their_offsets() {
        assert_eq!(size_of::<ConnectData>(), CONNECT_DATA_BYTES);
        let (host, subsystem) = (Nqn::parse("nqn.2026-11.h").unwrap(), Nqn::discovery());
        let data = ConnectData::new([7; 16], &host, &subsystem, None);
        assert_eq!((data.host(), data.subsystem()), (Ok(host), Ok(subsystem)));
        assert_eq!(data.controller(), None);
        let bytes = data.as_bytes();
        assert_eq!(bytes[256..260], *b"nqn.");
        assert_eq!(bytes[512..525], *b"nqn.2026-11.h");
        assert_eq!(ConnectRefusal::HOST.result(), 0x1_0200);
        assert_eq!(ConnectData::new_zeroed().host(), Err(ConnectRefusal::HOST));
    }

    #[test]
    fn properties_are_set_and_got_by_their_offsets() {
        let command = Property::Configuration.set(0x0046_0001);
        assert_eq!(Property::of(&command), (0x14, 4));
        assert_eq!(Property::value(&command), u64::from(Configuration::ENABLED.0));
        assert_eq!(Property::of(&Property::Capabilities.get()), (0, 8));
        assert_eq!(Property::at(0x1c), Some(Property::Status));
        assert_eq!(Property::at(0x20), None);
        assert!(Configuration::ENABLED.shut_down().is_shutdown());
        assert_eq!(queue_entries(capabilities(128, 30_000)), 128);
        assert_eq!(capabilities(128, 30_000) >> 24 & 0xff, 60, "in units of 500 ms");
    }

    #[test]
    fn connects_result_says_whether_to_authenticate() {
        for authenticate in [false, true] {
            let result = U64::new(connect_result(9, authenticate));
            assert_eq!(connected(result), (9, authenticate));
        }
    }
}
