//! Log pages (Base, 5.16; OCP, 4.8.6; discovery: Base, 5.16.1.23).

use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::command::{AdminOpcode, Submission};
use super::name::{FIELD_BYTES, Nqn};

/// The pages that are known here, by their numbers (LID).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum LogPage {
    /// Error Information.
    Errors = 0x01,
    /// SMART and health.
    Smart = 0x02,
    /// Firmware slots.
    FirmwareSlots = 0x03,
    /// Changed namespaces.
    ChangedNamespaces = 0x04,
    /// Commands that are supported, and their effects.
    CommandEffects = 0x05,
    /// Discovery.
    Discovery = 0x70,
    /// SMART of the Open Compute Project.
    OcpSmart = 0xc0,
}

impl LogPage {
    const ALL: [LogPage; 7] = [
        LogPage::Errors,
        LogPage::Smart,
        LogPage::FirmwareSlots,
        LogPage::ChangedNamespaces,
        LogPage::CommandEffects,
        LogPage::Discovery,
        LogPage::OcpSmart,
    ];

    /// The page with this number.
    #[must_use]
    pub fn of(number: u8) -> Option<LogPage> {
        LogPage::ALL.into_iter().find(|one| *one as u8 == number)
    }

    /// The command that gets `bytes` of the page from `offset` on, both multiples of 4; `bytes` is
    /// at least 4.
    #[must_use]
    pub fn get(self, namespace: u32, offset: u64, bytes: u32) -> Submission {
        let dwords_0 = bytes / 4 - 1;
        Submission::new(AdminOpcode::GetLogPage as u8, namespace)
            .with_word(10, (dwords_0 & 0xffff) << 16 | u32::from(self as u8))
            .with_word(11, dwords_0 >> 16)
            .with_word(12, offset as u32)
            .with_word(13, (offset >> 32) as u32)
    }
}

/// The part of a page that a command asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRange {
    /// Number of the page.
    pub number: u8,
    /// Whether an event that the page explains stays (RAE).
    pub keeps_event: bool,
    /// First byte.
    pub offset: u64,
    /// Bytes: at least 4.
    pub bytes: u64,
}

impl LogRange {
    /// Decodes a Get Log Page command.
    #[must_use]
    pub fn of(command: &Submission) -> LogRange {
        let (first, second) = (command.word(10), command.word(11));
        let dwords_0 = u64::from(second & 0xffff) << 16 | u64::from(first >> 16);
        LogRange {
            number: first as u8,
            keeps_event: first & 1 << 15 != 0,
            offset: u64::from(command.word(13)) << 32 | u64::from(command.word(12)),
            bytes: (dwords_0 + 1) * 4,
        }
    }
}

/// Bytes of a data unit in [`Smart`]: a thousand sectors of 512 bytes.
pub const DATA_UNIT_BYTES: u128 = 512_000;

/// SMART and health (Base, figure 207): 512 bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Smart {
    /// See [`critical`].
    pub critical_warning: u8,
    /// Temperature of the device, in kelvins.
    pub temperature_k: U16,
    /// Spare that is left, in percent.
    pub spare_percent: u8,
    /// Spare below which a warning is set, in percent.
    pub spare_threshold_percent: u8,
    /// Wear, in percent of the rating; 255 for more than 254.
    pub used_percent: u8,
    pub(crate) endurance_group_warning: u8,
    pub(crate) reserved_7: [u8; 25],
    /// Data that the host read, in [`DATA_UNIT_BYTES`], rounded up.
    pub read_units: U128,
    /// Data that the host wrote, likewise.
    pub written_units: U128,
    /// Read commands.
    pub reads: U128,
    /// Write commands.
    pub writes: U128,
    /// Minutes in which commands were outstanding.
    pub busy_minutes: U128,
    /// Starts.
    pub power_cycles: U128,
    /// Hours of being on.
    pub power_on_hours: U128,
    /// Ends without a shutdown before.
    pub unsafe_shutdowns: U128,
    /// Errors of media or of integrity that were found.
    pub media_errors: U128,
    /// Entries that the error log had over time.
    pub error_entries: U128,
    /// Minutes above the temperature of the warning.
    pub warning_minutes: U32,
    /// Minutes above the critical temperature.
    pub critical_minutes: U32,
    /// Temperatures of sensors, in kelvins; 0 for none.
    pub sensors_k: [U16; 8],
    pub(crate) reserved_216: [u8; 296],
}

/// Bits of [`Smart::critical_warning`].
pub mod critical {
    /// The spare has fallen below its threshold.
    pub const SPARE: u8 = 1 << 0;
    /// A temperature is outside its limits.
    pub const TEMPERATURE: u8 = 1 << 1;
    /// Errors of media have made the device less reliable.
    pub const RELIABILITY: u8 = 1 << 2;
    /// The device takes no writes.
    pub const READ_ONLY: u8 = 1 << 3;
    /// Its protection of volatile memory has failed.
    pub const BACKUP: u8 = 1 << 4;
}

/// The OCP page of extended SMART (OCP, 4.8.6): 512 bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct OcpSmart {
    /// Bytes written to the media.
    pub media_written_bytes: U128,
    /// Bytes read from the media.
    pub media_read_bytes: U128,
    /// Bad blocks of the user's part: normalised in the upper two bytes, raw count below.
    pub bad_user_blocks: U64,
    /// Bad blocks of the system's part, likewise.
    pub bad_system_blocks: U64,
    /// Reads that were recovered by parity over dies.
    pub xor_recoveries: U64,
    /// Reads that could not be corrected.
    pub uncorrectable_reads: U64,
    /// Reads that needed soft decoding.
    pub soft_errors: U64,
    /// Errors that the end-to-end check found, and corrected.
    pub end_to_end: [U32; 2],
    /// Use of the system's part, in percent.
    pub system_used_percent: u8,
    /// Refreshes of blocks, 7 bytes.
    pub refreshes: [u8; 7],
    /// Highest and lowest number of erasures of a user's block.
    pub erasures_max_min: [U32; 2],
    /// Times that heat slowed the device, and by how much it does now.
    pub throttling: [u8; 2],
    /// Version of the OCP specification.
    pub specification: [u8; 6],
    /// Errors of PCIe that were corrected.
    pub pcie_errors: U64,
    /// Shutdowns that were not completed.
    pub incomplete_shutdowns: U32,
    pub(crate) reserved_116: [u8; 4],
    /// Free blocks, in percent.
    pub free_percent: u8,
    pub(crate) reserved_121: [u8; 7],
    /// Charge of the capacitors, in percent of the least that suffices; FFFFh without.
    pub capacitors_percent: U16,
    pub(crate) nvme_errata: u8,
    pub(crate) reserved_131: [u8; 5],
    /// Writes that were not aligned with the media's unit.
    pub unaligned_writes: U64,
    /// Number of the security version.
    pub security_version: U64,
    /// Blocks in use (NUSE).
    pub used_blocks: U64,
    /// Starts of the protection against power loss.
    pub power_loss_starts: U128,
    /// Bytes that the media can be written in all, by the rating.
    pub endurance_bytes: U128,
    pub(crate) pcie_retraining: U64,
    pub(crate) power_state_changes: U64,
    pub(crate) reserved_208: [u8; 286],
    /// Version of the page.
    pub page_version: U16,
    /// Identifies the page, see [`OcpSmart::GUID`].
    pub guid: [u8; 16],
}

impl OcpSmart {
    /// AFD514C97C6F4F9CA4F2BFEA2810AFC5h, little-endian.
    pub const GUID: [u8; 16] = 0xAFD5_14C9_7C6F_4F9C_A4F2_BFEA_2810_AFC5_u128.to_le_bytes();

    /// A page of version 3 of the OCP specification 2.0 with all counts zero.
    #[must_use]
    pub fn empty() -> OcpSmart {
        OcpSmart {
            // Errata, point and minor, major (2).
            specification: [0, 0, 0, 0, 0, 2],
            capacitors_percent: U16::new(u16::MAX),
            page_version: U16::new(3),
            guid: OcpSmart::GUID,
            ..OcpSmart::new_zeroed()
        }
    }

    /// Returns true if the page is one of this layout.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.guid == OcpSmart::GUID
    }
}

/// The head of the discovery log (Base, figure 264): 1,024 bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct DiscoveryHeader {
    /// Changes with the records.
    pub generation: U64,
    /// Records that follow.
    pub records: U64,
    /// Format of the records: 0.
    pub format: U16,
    pub(crate) reserved: [u8; 1006],
}

impl DiscoveryHeader {
    /// The head of `records` records.
    #[must_use]
    pub fn new(generation: u64, records: u64) -> DiscoveryHeader {
        DiscoveryHeader {
            generation: U64::new(generation),
            records: U64::new(records),
            ..DiscoveryHeader::new_zeroed()
        }
    }
}

/// A subsystem's entry in the discovery log: 1,024 bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct DiscoveryRecord {
    pub(crate) transport: u8,
    pub(crate) address_family: u8,
    /// 2: an NVM subsystem; 3: this discovery service.
    pub kind: u8,
    /// Bits 0 and 1: whether a secure channel is required (1), not (2).
    pub requirements: u8,
    /// Number of the port.
    pub port: U16,
    pub(crate) controller: U16,
    pub(crate) admin_queue: U16,
    pub(crate) flags: U16,
    pub(crate) reserved_12: [u8; 20],
    pub(crate) service: [u8; 32],
    pub(crate) reserved_64: [u8; 192],
    pub(crate) subsystem: [u8; FIELD_BYTES],
    pub(crate) address: [u8; FIELD_BYTES],
    pub(crate) transport_specific: [u8; FIELD_BYTES],
}

const TCP: u8 = 3;
const DYNAMIC_CONTROLLER: u16 = 0xffff;
/// Least entries of an admin queue that the record may give.
const ADMIN_QUEUE: u16 = 32;
/// [`DiscoveryRecord::kind`] of a subsystem with namespaces.
pub const NVM_SUBSYSTEM: u8 = 2;
/// [`DiscoveryRecord::kind`] of the discovery service itself.
pub const THIS_DISCOVERY: u8 = 3;
const NO_SECURE_CHANNEL: u8 = 2;

impl DiscoveryRecord {
    /// The record of a subsystem at a TCP address.
    #[must_use]
    pub fn new(subsystem: &Nqn, address: std::net::SocketAddr) -> DiscoveryRecord {
        let kind = if subsystem.is_discovery() { THIS_DISCOVERY } else { NVM_SUBSYSTEM };
        DiscoveryRecord {
            transport: TCP,
            address_family: if address.is_ipv4() { 1 } else { 2 },
            kind,
            requirements: NO_SECURE_CHANNEL,
            port: U16::new(1),
            controller: U16::new(DYNAMIC_CONTROLLER),
            admin_queue: U16::new(ADMIN_QUEUE),
            service: ascii(&address.port().to_string()),
            subsystem: subsystem.to_field(),
            address: ascii(&address.ip().to_string()),
            ..DiscoveryRecord::new_zeroed()
        }
    }

    /// The subsystem of the record, if it is one.
    #[must_use]
    pub fn subsystem(&self) -> Option<Nqn> {
        Nqn::of_field(&self.subsystem)
    }

    /// The TCP address, if it is one.
    #[must_use]
    pub fn address(&self) -> Option<std::net::SocketAddr> {
        let part = |field: &[u8]| super::identify::text(field);
        let port = part(&self.service).parse().ok().filter(|_| self.transport == TCP)?;
        Some(std::net::SocketAddr::new(part(&self.address).parse().ok()?, port))
    }
}

/// ASCII text that zeroes follow.
fn ascii<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [0; N];
    for (byte, sign) in field.iter_mut().zip(text.bytes()) {
        *byte = sign;
    }
    field
}

/// The page of commands and effects (Base, figure 213): the commands of the two lists are
/// supported, those of `changing` change data.
#[must_use]
pub fn command_effects(admin: &[u8], io: &[u8], changing: &[u8]) -> Vec<u8> {
    const SUPPORTED: u32 = 1;
    const CHANGES_BLOCKS: u32 = 1 << 1;
    let effect = |list: &[u8], changing: &[u8], opcode: u8| match list.contains(&opcode) {
        true if changing.contains(&opcode) => SUPPORTED | CHANGES_BLOCKS,
        true => SUPPORTED,
        false => 0,
    };
    let entries = (0..=u8::MAX).map(|opcode| effect(admin, &[], opcode));
    let entries = entries.chain((0..=u8::MAX).map(|opcode| effect(io, changing, opcode)));
    let mut page: Vec<u8> = entries.flat_map(u32::to_le_bytes).collect();
    page.resize(4096, 0);
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn pages_have_the_sizes_and_offsets_of_their_specifications() {
        assert_eq!((size_of::<Smart>(), size_of::<OcpSmart>()), (512, 512));
        assert_eq!((size_of::<DiscoveryHeader>(), size_of::<DiscoveryRecord>()), (1024, 1024));
        let smart = [
            offset_of!(Smart, used_percent),
            offset_of!(Smart, read_units),
            offset_of!(Smart, unsafe_shutdowns),
            offset_of!(Smart, sensors_k),
        ];
        assert_eq!(smart, [5, 32, 144, 200]);
        let ocp = [
            offset_of!(OcpSmart, bad_user_blocks),
            offset_of!(OcpSmart, system_used_percent),
            offset_of!(OcpSmart, erasures_max_min),
            offset_of!(OcpSmart, specification),
            offset_of!(OcpSmart, incomplete_shutdowns),
            offset_of!(OcpSmart, free_percent),
            offset_of!(OcpSmart, capacitors_percent),
            offset_of!(OcpSmart, unaligned_writes),
            offset_of!(OcpSmart, used_blocks),
            offset_of!(OcpSmart, endurance_bytes),
            offset_of!(OcpSmart, page_version),
            offset_of!(OcpSmart, guid),
        ];
        assert_eq!(ocp, [32, 80, 88, 98, 112, 120, 128, 136, 152, 176, 494, 496]);
        assert_eq!(OcpSmart::GUID[..4], [0xc5, 0xaf, 0x10, 0x28]);
    }

    #[test]
    fn a_range_of_a_page_comes_back() {
        let command = LogPage::Discovery.get(0, 0x1_0000_0400, 1024);
        let range = LogRange::of(&command);
        assert_eq!((range.number, range.offset, range.bytes), (0x70, 0x1_0000_0400, 1024));
        let largest = LogRange::of(&LogPage::Smart.get(0, 0, 1 << 20));
        assert_eq!(largest.bytes, 1 << 20);
    }

    #[test]
    fn a_record_of_discovery_comes_back() {
        let name = Nqn::parse("nqn.2026-11.a:volume").unwrap();
        for address in ["127.0.0.1:4420", "[::1]:8009"] {
            let address = address.parse().unwrap();
            let record = DiscoveryRecord::new(&name, address);
            assert_eq!((record.subsystem(), record.address()), (Some(name.clone()), Some(address)));
            assert_eq!(record.kind, NVM_SUBSYSTEM);
        }
        assert_eq!(DiscoveryRecord::new_zeroed().address(), None);
    }

    #[test]
    fn effects_name_the_commands_that_there_are() {
        let page = command_effects(&[0x06], &[0x01, 0x02], &[0x01]);
        assert_eq!(page.len(), 4096);
        let effect = |at: usize| u32::from_le_bytes(page[4 * at..][..4].try_into().unwrap());
        assert_eq!((effect(0x06), effect(0x08)), (1, 0));
        assert_eq!((effect(256 + 1), effect(256 + 2), effect(256 + 3)), (3, 1, 0));
    }
}
