//! Commands and completions (Base, 3.3.3 and 3.3.4; fabrics: Base, 3.3.1).

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::status::NvmeStatus;

/// A submission queue entry: 64 bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Submission {
    /// The opcode of [`AdminOpcode`] or [`IoOpcode`], by the queue.
    pub opcode: u8,
    /// Bits 7 and 6: the kind of data pointer, 01b for an SGL in every command over fabrics.
    pub flags: u8,
    /// Identifier, unique among the queue's commands in flight.
    pub id: U16,
    /// The namespace's number; of a fabrics command, its type in the lowest byte.
    pub namespace: U32,
    /// Command Dwords 2 and 3.
    pub words_2_3: [U32; 2],
    /// Metadata pointer, unused.
    pub metadata: U64,
    /// Place of the data.
    pub data: Sgl,
    /// Command Dwords 10 to 15.
    pub words: [U32; 6],
}

/// `flags` of a command whose data pointer is an SGL (PSDT 01b).
pub(crate) const WITH_SGL: u8 = 0x40;

impl Submission {
    /// A command without data.
    #[must_use]
    pub fn new(opcode: u8, namespace: u32) -> Submission {
        Submission {
            opcode,
            flags: WITH_SGL,
            id: U16::ZERO,
            namespace: U32::new(namespace),
            words_2_3: [U32::ZERO; 2],
            metadata: U64::ZERO,
            data: Sgl::none(),
            words: [U32::ZERO; 6],
        }
    }

    /// Command Dword `number`, from 10 to 15.
    #[must_use]
    pub fn word(&self, number: usize) -> u32 {
        self.words[number - 10].get()
    }

    /// Sets Command Dword `number`, from 10 to 15.
    #[must_use]
    pub fn with_word(mut self, number: usize, value: u32) -> Submission {
        self.words[number - 10] = U32::new(value);
        self
    }

    /// The first block of a read or write (SLBA, NVM 3.2).
    #[must_use]
    pub fn first_block(&self) -> u64 {
        u64::from(self.word(11)) << 32 | u64::from(self.word(10))
    }

    /// Number of blocks of a read or write, 1 to 65,536: the field is 0's based.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        u64::from(self.word(12) & 0xffff) + 1
    }

    /// The command on these blocks, at most 65,536.
    #[must_use]
    pub fn on_blocks(self, first: u64, blocks: u64) -> Submission {
        let count = (blocks - 1) as u32 & 0xffff;
        let word_12 = self.word(12) & !0xffff | count;
        self.with_word(10, first as u32).with_word(11, (first >> 32) as u32).with_word(12, word_12)
    }

    /// Returns true if the data must be durable before the completion (FUA, NVM 3.2.6).
    #[must_use]
    pub fn forces_unit_access(&self) -> bool {
        self.word(12) & FORCE_UNIT_ACCESS != 0
    }

    /// The command, which completes when its data are durable.
    #[must_use]
    pub fn forced(self) -> Submission {
        let word_12 = self.word(12) | FORCE_UNIT_ACCESS;
        self.with_word(12, word_12)
    }

    /// The command with this place of its data.
    #[must_use]
    pub fn with_data(mut self, data: Sgl) -> Submission {
        self.data = data;
        self
    }
}

/// The number that stands for all namespaces, or for none in particular (Base, 3.2.1).
pub const ALL_NAMESPACES: u32 = u32::MAX;

/// The bit of Dataset Management that deallocates; the others are hints (NVM 3.2.3).
pub const DEALLOCATE: u32 = 1 << 2;

/// The feature that sets the number of queues (Base, 5.27.1.5).
pub const QUEUES_FEATURE: u8 = 0x07;

const FORCE_UNIT_ACCESS: u32 = 1 << 30;

/// A completion queue entry: 16 bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Completion {
    /// Result of the command, 8 bytes: Dwords 0 and 1.
    pub result: U64,
    /// Head of the submission queue after this command.
    pub queue_head: U16,
    /// Unused over fabrics.
    pub queue: U16,
    /// Identifier of the command.
    pub id: U16,
    /// See [`NvmeStatus::to_wire`].
    pub status: U16,
}

impl Completion {
    /// The completion of command `id`.
    #[must_use]
    pub fn new(id: u16, status: NvmeStatus, result: u64) -> Completion {
        Completion {
            result: U64::new(result),
            queue_head: U16::ZERO,
            queue: U16::ZERO,
            id: U16::new(id),
            status: U16::new(status.to_wire()),
        }
    }

    /// The decoded status.
    #[must_use]
    pub fn status(&self) -> NvmeStatus {
        NvmeStatus::from_wire(self.status.get())
    }
}

/// A descriptor of the place of a command's data (SGL, Base 4.1.2).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Sgl {
    /// Offset in the capsule, or unused.
    pub address: U64,
    /// Bytes.
    pub length: U32,
    reserved: [u8; 3],
    kind: u8,
}

/// The kinds of descriptors of NVMe/TCP (TCP, 3.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SglKind {
    /// The data follow the command in its capsule, from the offset on: type 0, subtype 1.
    InCapsule,
    /// The data travel in PDUs of their own: type 5, subtype Ah.
    Transport,
    /// Any other.
    Other(u8),
}

const IN_CAPSULE: u8 = 0x01;
const TRANSPORT: u8 = 0x5a;

impl Sgl {
    /// The descriptor of a command without data.
    #[must_use]
    pub fn none() -> Sgl {
        Sgl::transport(0)
    }

    /// `length` bytes right after the command.
    #[must_use]
    pub fn in_capsule(length: u32) -> Sgl {
        Sgl { address: U64::ZERO, length: U32::new(length), reserved: [0; 3], kind: IN_CAPSULE }
    }

    /// `length` bytes in PDUs of their own.
    #[must_use]
    pub fn transport(length: u32) -> Sgl {
        Sgl { address: U64::ZERO, length: U32::new(length), reserved: [0; 3], kind: TRANSPORT }
    }

    /// The decoded kind.
    #[must_use]
    pub fn kind(&self) -> SglKind {
        match self.kind {
            IN_CAPSULE => SglKind::InCapsule,
            TRANSPORT => SglKind::Transport,
            other => SglKind::Other(other),
        }
    }
}

/// A range of Dataset Management (NVM 3.2.3): 16 bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Range {
    /// Hints, ignored.
    pub attributes: U32,
    /// Number of blocks.
    pub blocks: U32,
    /// First block.
    pub first: U64,
}

/// Opcodes of the admin queue (Base, figure 138).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum AdminOpcode {
    /// Get Log Page.
    GetLogPage = 0x02,
    /// Identify.
    Identify = 0x06,
    /// Abort.
    Abort = 0x08,
    /// Set Features.
    SetFeatures = 0x09,
    /// Get Features.
    GetFeatures = 0x0a,
    /// Asynchronous Event Request.
    AsyncEvent = 0x0c,
    /// Keep Alive.
    KeepAlive = 0x18,
    /// Format NVM.
    Format = 0x80,
    /// A fabrics command, see [`super::FabricsKind`].
    Fabrics = 0x7f,
}

impl AdminOpcode {
    const ALL: [AdminOpcode; 9] = [
        AdminOpcode::GetLogPage,
        AdminOpcode::Identify,
        AdminOpcode::Abort,
        AdminOpcode::SetFeatures,
        AdminOpcode::GetFeatures,
        AdminOpcode::AsyncEvent,
        AdminOpcode::KeepAlive,
        AdminOpcode::Format,
        AdminOpcode::Fabrics,
    ];

    /// The opcode with this number.
    #[must_use]
    pub fn of(number: u8) -> Option<AdminOpcode> {
        AdminOpcode::ALL.into_iter().find(|one| *one as u8 == number)
    }
}

/// Opcodes of I/O queues (NVM, figure 21).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum IoOpcode {
    /// Flush.
    Flush = 0x00,
    /// Write.
    Write = 0x01,
    /// Read.
    Read = 0x02,
    /// Write Zeroes.
    WriteZeroes = 0x08,
    /// Dataset Management.
    DatasetManagement = 0x09,
    /// A fabrics command: Connect, or one of authentication.
    Fabrics = 0x7f,
}

impl IoOpcode {
    const ALL: [IoOpcode; 6] = [
        IoOpcode::Flush,
        IoOpcode::Write,
        IoOpcode::Read,
        IoOpcode::WriteZeroes,
        IoOpcode::DatasetManagement,
        IoOpcode::Fabrics,
    ];

    /// The opcode with this number.
    #[must_use]
    pub fn of(number: u8) -> Option<IoOpcode> {
        IoOpcode::ALL.into_iter().find(|one| *one as u8 == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_the_sizes_of_the_specification() {
        assert_eq!(size_of::<Submission>(), 64);
        assert_eq!(size_of::<Completion>(), 16);
        assert_eq!((size_of::<Sgl>(), size_of::<Range>()), (16, 16));
    }

    #[test]
    fn fields_lie_where_the_specification_has_them() {
        let command = Submission::new(IoOpcode::Write as u8, 3)
            .on_blocks(0x1_0000_0002, 0x10000)
            .forced()
            .with_data(Sgl::in_capsule(4096));
        let bytes = command.as_bytes();
        assert_eq!((bytes[0], bytes[1], bytes[4]), (0x01, 0x40, 3));
        assert_eq!(bytes[32..36], [0, 16, 0, 0], "length of the descriptor");
        assert_eq!(bytes[39], 0x01, "kind of the descriptor");
        assert_eq!(bytes[40..48], [2, 0, 0, 0, 1, 0, 0, 0], "first block");
        assert_eq!(bytes[48..52], [0xff, 0xff, 0, 0x40], "blocks and FUA");
        assert_eq!((command.first_block(), command.blocks()), (0x1_0000_0002, 0x10000));
        assert!(command.forces_unit_access());
    }

    #[test]
    fn opcodes_are_found_by_their_numbers_and_no_others_are() {
        for number in 0..=u8::MAX {
            assert!(AdminOpcode::of(number).is_none_or(|one| one as u8 == number));
            assert!(IoOpcode::of(number).is_none_or(|one| one as u8 == number));
        }
        assert_eq!(AdminOpcode::of(0x06), Some(AdminOpcode::Identify));
        assert_eq!(IoOpcode::of(0x05), None, "Compare is not built");
    }
}
