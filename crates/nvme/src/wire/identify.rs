//! Identify data (Base, 5.17; NVM, 4.1.5).

use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::IDENTIFY_BYTES;
use super::name::{FIELD_BYTES, Nqn};

/// The structure that Identify asks for (CNS, Base, figure 273).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Selector {
    /// A namespace, for the NVM command set.
    Namespace = 0x00,
    /// The controller.
    Controller = 0x01,
    /// Numbers of the active namespaces.
    Active = 0x02,
    /// Identifiers of a namespace, see [`descriptors`].
    Descriptors = 0x03,
    /// A namespace, what one command set says of it.
    NamespaceOfSet = 0x05,
    /// The controller, what one command set says of it.
    ControllerOfSet = 0x06,
    /// A namespace, whatever its command set.
    NamespaceOfAll = 0x08,
}

impl Selector {
    const ALL: [Selector; 7] = [
        Selector::Namespace,
        Selector::Controller,
        Selector::Active,
        Selector::Descriptors,
        Selector::NamespaceOfSet,
        Selector::ControllerOfSet,
        Selector::NamespaceOfAll,
    ];

    /// The selector with this number.
    #[must_use]
    pub fn of(number: u8) -> Option<Selector> {
        Selector::ALL.into_iter().find(|one| *one as u8 == number)
    }
}

/// Identify data of a controller (Base, figure 275): 4,096 bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct ControllerData {
    /// PCI vendor (VID); 0 over fabrics.
    pub vendor: U16,
    /// PCI subsystem vendor (SSVID).
    pub subsystem_vendor: U16,
    /// Serial number, padded with spaces (SN).
    pub serial: [u8; 20],
    /// Model, padded with spaces (MN).
    pub model: [u8; 40],
    /// Firmware revision, padded with spaces (FR).
    pub firmware: [u8; 8],
    pub(crate) recommended_burst: u8,
    pub(crate) oui: [u8; 3],
    /// Whether the subsystem has several ports or controllers (CMIC).
    pub multi_path: u8,
    /// Largest transfer, as a power of two of 4 KiB pages (MDTS); 0 for any.
    pub max_transfer: u8,
    /// Number of the controller (CNTLID).
    pub id: U16,
    /// Version (VER).
    pub version: U32,
    pub(crate) resume_latency: U32,
    pub(crate) entry_latency: U32,
    /// Asynchronous events that the controller sends (OAES).
    pub events: U32,
    /// Attributes (CTRATT).
    pub attributes: U32,
    pub(crate) reserved_100: [u8; 11],
    /// 1 for I/O, 2 for discovery (CNTRLTYPE).
    pub kind: u8,
    pub(crate) reserved_112: [u8; 144],
    /// Optional admin commands (OACS).
    pub optional_admin: U16,
    /// Most concurrent aborts, 0's based (ACL).
    pub abort_limit_0: u8,
    /// Most asynchronous event requests, 0's based (AERL).
    pub event_limit_0: u8,
    /// Firmware slots (FRMW).
    pub firmware_slots: u8,
    /// Attributes of log pages (LPA).
    pub log_attributes: u8,
    /// Entries of the error log, 0's based (ELPE).
    pub error_entries_0: u8,
    pub(crate) power_states_0: u8,
    pub(crate) reserved_264: [u8; 2],
    /// Temperature of the warning, in kelvins (WCTEMP).
    pub warning_temperature: U16,
    /// Temperature of the critical warning, in kelvins (CCTEMP).
    pub critical_temperature: U16,
    pub(crate) reserved_270: [u8; 10],
    /// Capacity, in bytes (TNVMCAP).
    pub capacity: U128,
    /// Capacity without namespaces, in bytes (UNVMCAP).
    pub unallocated_capacity: U128,
    pub(crate) reserved_312: [u8; 8],
    /// Granularity of the keep alive timer, in units of 100 ms (KAS).
    pub keep_alive_granularity: U16,
    pub(crate) reserved_322: [u8; 190],
    /// Sizes of submission entries, as powers of two: required, largest (SQES).
    pub submission_entry: u8,
    /// Sizes of completion entries (CQES).
    pub completion_entry: u8,
    /// Most outstanding commands of a queue (MAXCMD).
    pub max_commands: U16,
    /// Largest number of a namespace (NN).
    pub namespaces: U32,
    /// Optional I/O commands (ONCS).
    pub optional_io: U16,
    pub(crate) fused: U16,
    /// Attributes of Format (FNA).
    pub format_attributes: u8,
    /// Whether there is a volatile write cache (VWC).
    pub volatile_cache: u8,
    /// Largest write that is atomic for readers, in blocks, 0's based (AWUN).
    pub atomic_write_0: U16,
    /// Largest write that is atomic under a power cut, likewise (AWUPF).
    pub atomic_write_power_fail_0: U16,
    pub(crate) reserved_530: u8,
    /// Kinds of write protection (NWPC).
    pub write_protection: u8,
    pub(crate) reserved_532: [u8; 4],
    /// Support of SGLs (SGLS).
    pub sgls: U32,
    /// Most namespaces (MNAN).
    pub max_namespaces: U32,
    pub(crate) reserved_544: [u8; 224],
    pub(crate) subsystem: [u8; FIELD_BYTES],
    pub(crate) reserved_1024: [u8; 768],
    /// Largest capsule of an I/O command, in units of 16 bytes (IOCCSZ).
    pub command_capsule: U32,
    /// Largest capsule of a response, in units of 16 bytes (IORCSZ).
    pub response_capsule: U32,
    /// Offset of data in a capsule, in units of 16 bytes from byte 64 on (ICDOFF).
    pub capsule_data_offset: U16,
    /// Attributes of fabrics controllers (FCATT).
    pub fabrics_attributes: u8,
    /// Most descriptors of a capsule (MSDBD).
    pub max_descriptors: u8,
    pub(crate) reserved_1804: [u8; 244],
    pub(crate) power_states: [u8; 1024],
    pub(crate) vendor_specific: [u8; 1024],
}

/// Bits of [`ControllerData::optional_io`].
pub mod optional_io {
    /// Dataset Management.
    pub const DATASET_MANAGEMENT: u16 = 1 << 2;
    /// Write Zeroes.
    pub const WRITE_ZEROES: u16 = 1 << 3;
}

/// Bits of [`ControllerData::sgls`].
pub mod sgls {
    /// SGLs of any alignment.
    pub const SUPPORTED: u32 = 1;
    /// Descriptors with an offset in the capsule.
    pub const OFFSETS: u32 = 1 << 20;
}

/// Bits of [`ControllerData::events`] and of the feature that enables them (Base, figure 275).
pub mod events {
    /// The list of namespaces, or what one says of itself, changed.
    pub const NAMESPACE_ATTRIBUTES: u32 = 1 << 8;
    /// A discovery log changed.
    pub const DISCOVERY_LOG: u32 = 1 << 31;
}

impl ControllerData {
    /// A structure with the name of its subsystem and texts; all numbers are zero.
    #[must_use]
    pub fn named(subsystem: &Nqn, serial: &str, model: &str, firmware: &str) -> ControllerData {
        ControllerData {
            serial: padded(serial),
            model: padded(model),
            firmware: padded(firmware),
            subsystem: subsystem.to_field(),
            ..ControllerData::new_zeroed()
        }
    }

    /// Name of the subsystem (SUBNQN), if it is one.
    #[must_use]
    pub fn subsystem(&self) -> Option<Nqn> {
        Nqn::of_field(&self.subsystem)
    }

    /// The largest transfer in bytes; `None` for any.
    #[must_use]
    pub fn max_transfer_bytes(&self) -> Option<u64> {
        match self.max_transfer {
            0 => None,
            power => Some(4096_u64.checked_shl(power.into()).unwrap_or(u64::MAX)),
        }
    }

    /// Most bytes of data in an I/O command's capsule.
    #[must_use]
    pub fn in_capsule_bytes(&self) -> u64 {
        (u64::from(self.command_capsule.get()) * 16).saturating_sub(64)
    }
}

/// ASCII text, padded with spaces, cut to the field; other characters become `?`.
fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    for (byte, sign) in field.iter_mut().zip(text.chars()) {
        *byte = if matches!(sign, ' '..='~') { sign as u8 } else { b'?' };
    }
    field
}

/// The text of a field that is padded with spaces.
#[must_use]
pub fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(field).trim_matches([' ', '\0']).to_owned()
}

/// A format of blocks (LBAF, NVM, figure 98).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct LbaFormat {
    /// Bytes of metadata of a block (MS).
    pub metadata_bytes: U16,
    /// Bytes of a block, as a power of two (LBADS).
    pub block_power: u8,
    /// Relative performance (RP): 0 is best.
    pub performance: u8,
}

/// Identify data of a namespace (NVM, figure 97): 4,096 bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct NamespaceData {
    /// Blocks (NSZE).
    pub blocks: U64,
    /// Blocks that can be allocated (NCAP).
    pub capacity_blocks: U64,
    /// Blocks that are allocated (NUSE).
    pub used_blocks: U64,
    /// See [`features`] (NSFEAT).
    pub features: u8,
    /// Number of formats, 0's based (NLBAF).
    pub formats_0: u8,
    /// The format in use (FLBAS).
    pub format: u8,
    pub(crate) metadata: u8,
    pub(crate) protection: u8,
    pub(crate) protection_in_use: u8,
    /// Whether controllers share the namespace (NMIC).
    pub sharing: u8,
    pub(crate) reservations: u8,
    pub(crate) format_progress: u8,
    /// How deallocated blocks read (DLFEAT): 1 for zeroes, bit 3 for Write Zeroes that deallocates.
    pub deallocated: u8,
    /// Largest write that is atomic for readers, in blocks, 0's based (NAWUN).
    pub atomic_write_0: U16,
    /// Largest write that is atomic under a power cut, likewise (NAWUPF).
    pub atomic_write_power_fail_0: U16,
    /// Likewise for Compare and Write (NACWU).
    pub atomic_compare_write_0: U16,
    /// Boundary that an atomic write may not cross, in blocks, 0's based (NABSN); 0 for none.
    pub atomic_boundary_0: U16,
    /// Offset of the first boundary (NABO).
    pub atomic_boundary_offset: U16,
    /// Boundary under a power cut (NABSPF).
    pub atomic_boundary_power_fail_0: U16,
    /// Optimal boundary of I/O (NOIOB).
    pub io_boundary: U16,
    /// Bytes allocated to the namespace (NVMCAP).
    pub capacity_bytes: U128,
    /// Preferred granularity of writes, in blocks, 0's based (NPWG).
    pub write_granularity_0: U16,
    /// Preferred alignment of writes (NPWA).
    pub write_alignment_0: U16,
    /// Preferred granularity of deallocation (NPDG).
    pub deallocate_granularity_0: U16,
    /// Preferred alignment of deallocation (NPDA).
    pub deallocate_alignment_0: U16,
    /// Optimal size of a write (NOWS).
    pub optimal_write_0: U16,
    pub(crate) copy_limits: [u8; 7],
    pub(crate) reserved_81: [u8; 11],
    pub(crate) ana_group: U32,
    pub(crate) reserved_96: [u8; 3],
    /// Bit 0: the namespace takes no writes now (NSATTR).
    pub attributes: u8,
    pub(crate) nvm_set: U16,
    pub(crate) endurance_group: U16,
    /// Globally unique identifier (NGUID).
    pub nguid: [u8; 16],
    pub(crate) eui64: [u8; 8],
    /// Formats.
    pub formats: [LbaFormat; 64],
    /// Bytes of the vendor.
    pub vendor_specific: [u8; 3712],
}

/// Bits of [`NamespaceData::features`].
pub mod features {
    /// The namespace has fewer blocks than it shows: thin provisioning.
    pub const THIN: u8 = 1 << 0;
    /// The atomic limits of the namespace are valid (NSABP).
    pub const ATOMIC: u8 = 1 << 1;
    /// The preferred and optimal sizes are valid (OPTPERF).
    pub const OPTIMAL: u8 = 1 << 4;
}

/// Bits of [`NamespaceData::deallocated`].
pub mod deallocated {
    /// Deallocated blocks read as zeroes.
    pub const ZEROES: u8 = 1;
    /// Write Zeroes can deallocate.
    pub const BY_WRITE_ZEROES: u8 = 1 << 3;
}

impl NamespaceData {
    /// Bytes of a block in the format in use.
    #[must_use]
    pub fn block_bytes(&self) -> Option<u64> {
        let format = self.formats[usize::from(self.format & 0xf)];
        (9..32).contains(&format.block_power).then(|| 1 << format.block_power)
    }

    /// The largest write in bytes that is atomic under a power cut, as Linux reads it: by the
    /// namespace's own limit, if the bit says that it is valid, no offset is set and no boundary.
    #[must_use]
    pub fn atomic_bytes(&self) -> Option<u64> {
        let blocks = u64::from(self.atomic_write_power_fail_0.get()) + 1;
        let is_valid = self.features & features::ATOMIC != 0
            && self.atomic_boundary_offset.get() == 0
            && self.atomic_boundary_power_fail_0.get() == 0;
        Some(blocks * self.block_bytes()?).filter(|_| is_valid)
    }
}

/// The numbers of active namespaces (CNS 02h) behind `after`, in ascending order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Active {
    /// Numbers; zeroes follow the last.
    pub numbers: [U32; IDENTIFY_BYTES / 4],
}

impl Active {
    /// The list of these numbers, as far as it has room.
    #[must_use]
    pub fn of(numbers: impl Iterator<Item = u32>) -> Active {
        let mut list = Active::new_zeroed();
        for (place, number) in list.numbers.iter_mut().zip(numbers) {
            *place = U32::new(number);
        }
        list
    }

    /// The numbers of the list.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.numbers.iter().map(|number| number.get()).take_while(|number| *number != 0)
    }
}

/// Kinds of identifiers in the list of CNS 03h (Base, figure 276).
const NGUID_KIND: u8 = 2;
const UUID_KIND: u8 = 3;
const COMMAND_SET_KIND: u8 = 4;

/// The list of a namespace's identifiers (CNS 03h): NGUID, UUID and the NVM command set.
#[must_use]
pub fn descriptors(nguid: [u8; 16], uuid: [u8; 16]) -> [u8; IDENTIFY_BYTES] {
    let mut list = [0; IDENTIFY_BYTES];
    let mut at = 0;
    for (kind, value) in
        [(NGUID_KIND, &nguid[..]), (UUID_KIND, &uuid[..]), (COMMAND_SET_KIND, &[0])]
    {
        list[at] = kind;
        list[at + 1] = value.len() as u8;
        list[at + 4..at + 4 + value.len()].copy_from_slice(value);
        at += 4 + value.len();
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offset of a field.
    macro_rules! at {
        ($structure:ty, $field:ident) => {
            std::mem::offset_of!($structure, $field)
        };
    }

    #[test]
    fn fields_of_a_controller_lie_where_the_specification_has_them() {
        assert_eq!(size_of::<ControllerData>(), IDENTIFY_BYTES);
        let found = [
            at!(ControllerData, serial),
            at!(ControllerData, multi_path),
            at!(ControllerData, max_transfer),
            at!(ControllerData, id),
            at!(ControllerData, version),
            at!(ControllerData, events),
            at!(ControllerData, kind),
            at!(ControllerData, optional_admin),
            at!(ControllerData, log_attributes),
            at!(ControllerData, warning_temperature),
            at!(ControllerData, capacity),
            at!(ControllerData, keep_alive_granularity),
            at!(ControllerData, submission_entry),
            at!(ControllerData, max_commands),
            at!(ControllerData, optional_io),
            at!(ControllerData, volatile_cache),
            at!(ControllerData, atomic_write_power_fail_0),
            at!(ControllerData, write_protection),
            at!(ControllerData, sgls),
            at!(ControllerData, subsystem),
            at!(ControllerData, command_capsule),
            at!(ControllerData, max_descriptors),
            at!(ControllerData, power_states),
        ];
        let specified = [
            4, 76, 77, 78, 80, 92, 111, 256, 261, 266, 280, 320, 512, 514, 520, 525, 528, 531, 536,
            768, 1792, 1803, 2048,
        ];
        assert_eq!(found, specified);
    }

    #[test]
    fn fields_of_a_namespace_lie_where_the_specification_has_them() {
        assert_eq!(size_of::<NamespaceData>(), IDENTIFY_BYTES);
        let found = [
            at!(NamespaceData, features),
            at!(NamespaceData, format),
            at!(NamespaceData, sharing),
            at!(NamespaceData, deallocated),
            at!(NamespaceData, atomic_write_power_fail_0),
            at!(NamespaceData, atomic_boundary_offset),
            at!(NamespaceData, atomic_boundary_power_fail_0),
            at!(NamespaceData, capacity_bytes),
            at!(NamespaceData, write_granularity_0),
            at!(NamespaceData, optimal_write_0),
            at!(NamespaceData, attributes),
            at!(NamespaceData, nguid),
            at!(NamespaceData, formats),
            at!(NamespaceData, vendor_specific),
        ];
        assert_eq!(found, [24, 26, 30, 33, 36, 42, 44, 48, 64, 72, 99, 104, 128, 384]);
    }

    #[test]
    fn atomic_bytes_count_only_where_their_bit_is_set_and_no_boundary_is() {
        let mut data = NamespaceData::new_zeroed();
        data.formats[0].block_power = 12;
        data.atomic_write_power_fail_0 = U16::new(63);
        assert_eq!(data.atomic_bytes(), None, "without NSABP");
        data.features = features::ATOMIC;
        assert_eq!(data.atomic_bytes(), Some(256 << 10));
        data.atomic_boundary_offset = U16::new(1);
        assert_eq!(data.atomic_bytes(), None, "an offset switches it off");
    }

    #[test]
    fn texts_are_padded_and_come_back() {
        let name = Nqn::parse("nqn.2026-11.a").unwrap();
        let data = ControllerData::named(&name, "0001", "drivé", "1");
        assert_eq!((text(&data.serial), text(&data.model)), ("0001".into(), "driv?".into()));
        assert_eq!(data.subsystem(), Some(name));
        assert_eq!(data.max_transfer_bytes(), None);
    }

    #[test]
    fn lists_end_with_zeroes() {
        let list = Active::of([1, 5, 9].into_iter());
        assert_eq!(list.iter().collect::<Vec<_>>(), [1, 5, 9]);
        let list = descriptors([1; 16], [2; 16]);
        assert_eq!((list[0], list[1], list[4]), (2, 16, 1));
        assert_eq!((list[20], list[21], list[24]), (3, 16, 2));
        assert_eq!(list[40..46], [4, 1, 0, 0, 0, 0]);
    }
}
