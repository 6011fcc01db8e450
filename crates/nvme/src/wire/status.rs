//! The status of a completed command (Base, 4.2.3).

/// A status: a type, a code within it, and whether the same command may succeed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NvmeStatus {
    kind: u8,
    code: u8,
    do_not_retry: bool,
}

/// Status code types (Base, figure 93).
const GENERIC: u8 = 0;
const SPECIFIC: u8 = 1;
const MEDIA: u8 = 2;
const PATH: u8 = 3;

impl NvmeStatus {
    /// The command succeeded.
    pub const SUCCESS: NvmeStatus = NvmeStatus { kind: GENERIC, code: 0x00, do_not_retry: false };
    /// There is no such command.
    pub const INVALID_OPCODE: NvmeStatus = NvmeStatus::generic(0x01);
    /// A field has a value that the controller does not take.
    pub const INVALID_FIELD: NvmeStatus = NvmeStatus::generic(0x02);
    /// Another command of the queue has this identifier.
    pub const ID_CONFLICT: NvmeStatus = NvmeStatus::generic(0x03);
    /// Data of the command did not arrive whole; the same command may succeed.
    pub const DATA_TRANSFER_ERROR: NvmeStatus = NvmeStatus::transient(GENERIC, 0x04);
    /// The controller failed; the same command may succeed.
    pub const INTERNAL_ERROR: NvmeStatus = NvmeStatus::transient(GENERIC, 0x06);
    /// Abort ended the command.
    pub const ABORTED: NvmeStatus = NvmeStatus::transient(GENERIC, 0x07);
    /// There is no such namespace.
    pub const INVALID_NAMESPACE: NvmeStatus = NvmeStatus::generic(0x0b);
    /// Commands came in an order that the specification forbids.
    pub const SEQUENCE_ERROR: NvmeStatus = NvmeStatus::generic(0x0c);
    /// The length of the data differs from the descriptor's.
    pub const SGL_LENGTH_INVALID: NvmeStatus = NvmeStatus::generic(0x0f);
    /// The descriptor has a type that the transport does not have.
    pub const SGL_TYPE_INVALID: NvmeStatus = NvmeStatus::generic(0x11);
    /// The data in the capsule begin at another place.
    pub const SGL_OFFSET_INVALID: NvmeStatus = NvmeStatus::generic(0x16);
    /// The host has no right to the command.
    pub const OPERATION_DENIED: NvmeStatus = NvmeStatus::generic(0x15);
    /// The keep alive timer has a value that the controller does not take.
    pub const KEEP_ALIVE_INVALID: NvmeStatus = NvmeStatus::generic(0x1a);
    /// The transport damaged the data; the same command may succeed.
    pub const TRANSIENT_TRANSPORT: NvmeStatus = NvmeStatus::transient(GENERIC, 0x22);
    /// The namespace takes no writes.
    pub const WRITE_PROTECTED: NvmeStatus = NvmeStatus::generic(0x20);
    /// The blocks do not lie on the namespace.
    pub const LBA_OUT_OF_RANGE: NvmeStatus = NvmeStatus::generic(0x80);
    /// There is no room for the write. Room may be made, but not by repeating the write.
    pub const CAPACITY_EXCEEDED: NvmeStatus = NvmeStatus::generic(0x81);
    /// The namespace does not answer now; the same command may succeed.
    pub const NOT_READY: NvmeStatus = NvmeStatus::transient(GENERIC, 0x82);
    /// More asynchronous event requests than the controller takes.
    pub const EVENT_LIMIT_EXCEEDED: NvmeStatus = NvmeStatus::specific(0x05);
    /// There is no such log page.
    pub const INVALID_LOG_PAGE: NvmeStatus = NvmeStatus::specific(0x09);
    /// The feature has no value that is kept over a reset.
    pub const FEATURE_NOT_SAVEABLE: NvmeStatus = NvmeStatus::specific(0x0d);
    /// The feature cannot be set.
    pub const FEATURE_NOT_CHANGEABLE: NvmeStatus = NvmeStatus::specific(0x0e);
    /// Connect has a format that the controller does not take.
    pub const CONNECT_FORMAT: NvmeStatus = NvmeStatus::specific(0x80);
    /// All controllers are taken; the same command may succeed.
    pub const CONNECT_BUSY: NvmeStatus = NvmeStatus::transient(SPECIFIC, 0x81);
    /// A field of Connect is invalid; the completion says which.
    pub const CONNECT_INVALID: NvmeStatus = NvmeStatus::specific(0x82);
    /// The host has no right to the subsystem.
    pub const CONNECT_HOST: NvmeStatus = NvmeStatus::specific(0x84);
    /// The queue has to authenticate its host first.
    pub const AUTHENTICATION_REQUIRED: NvmeStatus = NvmeStatus::specific(0x91);
    /// A write did not reach the media.
    pub const WRITE_FAULT: NvmeStatus = NvmeStatus::media(0x80);
    /// Data on the media are damaged.
    pub const UNRECOVERED_READ: NvmeStatus = NvmeStatus::media(0x81);
    /// The connection ended before the command: made by an initiator, never sent.
    pub const PATH_ERROR: NvmeStatus = NvmeStatus::transient(PATH, 0x70);

    const fn generic(code: u8) -> NvmeStatus {
        NvmeStatus { kind: GENERIC, code, do_not_retry: true }
    }

    const fn specific(code: u8) -> NvmeStatus {
        NvmeStatus { kind: SPECIFIC, code, do_not_retry: true }
    }

    const fn media(code: u8) -> NvmeStatus {
        NvmeStatus { kind: MEDIA, code, do_not_retry: true }
    }

    const fn transient(kind: u8, code: u8) -> NvmeStatus {
        NvmeStatus { kind, code, do_not_retry: false }
    }

    /// The status in the two bytes of a completion; the phase bit is zero, as in all of fabrics.
    #[must_use]
    pub fn to_wire(self) -> u16 {
        let retry = if self.do_not_retry { 1 << 15 } else { 0 };
        u16::from(self.code) << 1 | u16::from(self.kind) << 9 | retry
    }

    /// Decodes the two bytes of a completion.
    #[must_use]
    pub fn from_wire(wire: u16) -> NvmeStatus {
        let kind = ((wire >> 9) & 0x7) as u8;
        NvmeStatus { kind, code: ((wire >> 1) & 0xff) as u8, do_not_retry: wire >> 15 == 1 }
    }

    /// Returns true for a command that succeeded.
    #[must_use]
    pub fn is_success(self) -> bool {
        self.kind == GENERIC && self.code == 0
    }

    /// Returns true if the two are of one code, whether or not it is worth a repetition.
    #[must_use]
    pub fn is(self, other: NvmeStatus) -> bool {
        (self.kind, self.code) == (other.kind, other.code)
    }

    /// Returns true if the same command may not succeed later (DNR).
    #[must_use]
    pub fn do_not_retry(self) -> bool {
        self.do_not_retry
    }
}

impl std::fmt::Display for NvmeStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named = NAMES.iter().find(|(status, _)| status.is(*self));
        match named {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "status {:#x} of type {}", self.code, self.kind),
        }
    }
}

/// Names of the specification, for messages.
const NAMES: [(NvmeStatus, &str); 29] = [
    (NvmeStatus::SUCCESS, "success"),
    (NvmeStatus::INVALID_OPCODE, "invalid opcode"),
    (NvmeStatus::INVALID_FIELD, "invalid field in command"),
    (NvmeStatus::ID_CONFLICT, "command identifier conflict"),
    (NvmeStatus::DATA_TRANSFER_ERROR, "data transfer error"),
    (NvmeStatus::INTERNAL_ERROR, "internal error"),
    (NvmeStatus::ABORTED, "command aborted"),
    (NvmeStatus::INVALID_NAMESPACE, "invalid namespace"),
    (NvmeStatus::SEQUENCE_ERROR, "command sequence error"),
    (NvmeStatus::SGL_LENGTH_INVALID, "data length invalid"),
    (NvmeStatus::SGL_TYPE_INVALID, "descriptor type invalid"),
    (NvmeStatus::SGL_OFFSET_INVALID, "data offset invalid"),
    (NvmeStatus::OPERATION_DENIED, "operation denied"),
    (NvmeStatus::KEEP_ALIVE_INVALID, "keep alive timeout invalid"),
    (NvmeStatus::TRANSIENT_TRANSPORT, "transient transport error"),
    (NvmeStatus::WRITE_PROTECTED, "namespace is write protected"),
    (NvmeStatus::LBA_OUT_OF_RANGE, "block out of range"),
    (NvmeStatus::CAPACITY_EXCEEDED, "capacity exceeded"),
    (NvmeStatus::NOT_READY, "namespace not ready"),
    (NvmeStatus::EVENT_LIMIT_EXCEEDED, "asynchronous event request limit exceeded"),
    (NvmeStatus::INVALID_LOG_PAGE, "invalid log page"),
    (NvmeStatus::CONNECT_FORMAT, "incompatible connect format"),
    (NvmeStatus::CONNECT_BUSY, "controller busy"),
    (NvmeStatus::CONNECT_INVALID, "connect invalid parameters"),
    (NvmeStatus::CONNECT_HOST, "host not allowed"),
    (NvmeStatus::AUTHENTICATION_REQUIRED, "authentication required"),
    (NvmeStatus::WRITE_FAULT, "write fault"),
    (NvmeStatus::UNRECOVERED_READ, "unrecovered read error"),
    (NvmeStatus::PATH_ERROR, "the connection ended"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_survives_the_wire_and_has_a_name() {
        for (status, name) in NAMES {
            assert_eq!(NvmeStatus::from_wire(status.to_wire()), status);
            assert_eq!(status.to_string(), name);
        }
        assert_eq!(NvmeStatus::from_wire(0x0001), NvmeStatus::SUCCESS, "whatever the phase bit");
    }

    #[test]
    fn codes_lie_where_the_specification_has_them() {
        // Write Protected is 20h of type 0 with DNR, an unrecovered read 81h of type 2.
        assert_eq!(NvmeStatus::WRITE_PROTECTED.to_wire(), 0x8040);
        assert_eq!(NvmeStatus::UNRECOVERED_READ.to_wire(), 0x8502);
        assert_eq!(NvmeStatus::CONNECT_BUSY.to_wire(), 0x0302);
    }
}
