//! Facts of a namespace beyond its disk's trait, and the structures that state them.

use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromZeros, IntoBytes};

use assay_disk::{BLOCK_BYTES, Guarantees};

use super::{EVENT_REQUESTS_MAX, Namespace, QUEUE_ENTRIES, Subsystem, TRANSFER_POWER};
use crate::wire::{
    ControllerData, DATA_UNIT_BYTES, NamespaceData, OcpSmart, Smart, VERSION_2_0, critical,
    deallocated, events, features, optional_io, sgls,
};

/// Power of two of a block's bytes.
const BLOCK_POWER: u8 = BLOCK_BYTES.trailing_zeros() as u8;

/// Granularity of the keep alive timer, in units of 100 ms: one second.
const KEEP_ALIVE_GRANULARITY: u16 = 10;

/// Bytes of data in the capsule of an I/O command: a page of InnoDB needs no round trip more.
pub(crate) const IN_CAPSULE_BYTES: u32 = 16 << 10;

/// Bytes of data in the capsule of an admin or fabrics command (TCP, 3.3.2.1).
pub(crate) const ADMIN_IN_CAPSULE_BYTES: u32 = 8 << 10;

/// Facts of a namespace that change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NamespaceFacts {
    /// Bytes of blocks that hold data, for NUSE.
    pub used_bytes: u64,
    /// Bytes of media that the namespace may take, for NVMCAP.
    pub media_bytes: u64,
    /// Whether the namespace may show more bytes than its media hold.
    pub is_thin: bool,
    /// The write size that costs the media least, in bytes; a multiple of a block.
    pub optimal_write_bytes: u64,
    /// Whether writes are refused now.
    pub is_read_only: bool,
}

/// Health of a namespace's media since they were made, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamespaceHealth {
    /// Bytes that the host read.
    pub host_read_bytes: u128,
    /// Bytes that the host wrote.
    pub host_written_bytes: u128,
    /// Read commands.
    pub reads: u128,
    /// Write commands.
    pub writes: u128,
    /// Bytes read from the media.
    pub media_read_bytes: u128,
    /// Bytes written to the media.
    pub media_written_bytes: u128,
    /// Free share of the media, in percent.
    pub free_percent: u8,
    /// Free share below which writes will soon be refused, in percent.
    pub free_threshold_percent: u8,
    /// Bytes that the media can be written in all, by their rating; `None` without one.
    pub endurance_bytes: Option<u128>,
    /// Errors of media or of integrity that were found.
    pub media_errors: u128,
    /// Starts.
    pub power_cycles: u128,
    /// Ends without a shutdown before.
    pub unsafe_shutdowns: u128,
    /// Seconds since the start.
    pub powered_s: u64,
    /// Whether writes are refused now.
    pub is_read_only: bool,
    /// Whether data are damaged.
    pub is_damaged: bool,
}

impl NamespaceHealth {
    /// The SMART page: wear by the rating, spare by the free share of the media.
    #[must_use]
    pub fn smart(&self) -> Smart {
        let is_low = self.free_percent < self.free_threshold_percent;
        let warnings = [
            (is_low, critical::SPARE),
            (self.is_damaged, critical::RELIABILITY),
            (self.is_read_only, critical::READ_ONLY),
        ];
        let units = |bytes: u128| U128::new(bytes.div_ceil(DATA_UNIT_BYTES));
        Smart {
            critical_warning: warnings.iter().filter(|one| one.0).fold(0, |all, one| all | one.1),
            temperature_k: U16::new(ROOM_TEMPERATURE_K),
            spare_percent: self.free_percent.min(100),
            spare_threshold_percent: self.free_threshold_percent.min(100),
            used_percent: self.used_percent(),
            read_units: units(self.host_read_bytes),
            written_units: units(self.host_written_bytes),
            reads: U128::new(self.reads),
            writes: U128::new(self.writes),
            power_cycles: U128::new(self.power_cycles),
            power_on_hours: U128::new(u128::from(self.powered_s / 3600)),
            unsafe_shutdowns: U128::new(self.unsafe_shutdowns),
            media_errors: U128::new(self.media_errors),
            ..Smart::new_zeroed()
        }
    }

    /// The OCP page; `used_blocks` as in Identify.
    #[must_use]
    pub fn ocp_smart(&self, used_blocks: u64) -> OcpSmart {
        OcpSmart {
            media_written_bytes: U128::new(self.media_written_bytes),
            media_read_bytes: U128::new(self.media_read_bytes),
            uncorrectable_reads: U64::new(u64::try_from(self.media_errors).unwrap_or(u64::MAX)),
            incomplete_shutdowns: U32::new(
                u32::try_from(self.unsafe_shutdowns).unwrap_or(u32::MAX),
            ),
            free_percent: self.free_percent.min(100),
            used_blocks: U64::new(used_blocks),
            endurance_bytes: U128::new(self.endurance_bytes.unwrap_or(0)),
            ..OcpSmart::empty()
        }
    }

    /// Percentage of the rating that has been written, at most 255 (Base, figure 207).
    fn used_percent(&self) -> u8 {
        let Some(rating) = self.endurance_bytes.filter(|bytes| *bytes > 0) else { return 0 };
        let percent = self.media_written_bytes.saturating_mul(100) / rating;
        u8::try_from(percent).unwrap_or(u8::MAX)
    }
}

/// Software has no temperature; hosts take 0 K for a failure.
const ROOM_TEMPERATURE_K: u16 = 298;

/// Identify data of the controller `id` of a subsystem.
pub(crate) fn controller(subsystem: &Subsystem, id: u16) -> ControllerData {
    let texts = subsystem.texts();
    let named =
        ControllerData::named(subsystem.name(), &texts.serial, &texts.model, &texts.firmware);
    let common = ControllerData {
        max_transfer: TRANSFER_POWER,
        id: U16::new(id),
        version: U32::new(VERSION_2_0),
        abort_limit_0: 3,
        event_limit_0: EVENT_REQUESTS_MAX as u8 - 1,
        // One slot, which cannot be written.
        firmware_slots: 1 << 1 | 1,
        // Pages are read from any offset (bit 2).
        log_attributes: 1 << 2,
        keep_alive_granularity: U16::new(KEEP_ALIVE_GRANULARITY),
        max_commands: U16::new(QUEUE_ENTRIES),
        sgls: U32::new(sgls::SUPPORTED | sgls::OFFSETS),
        command_capsule: U32::new((64 + IN_CAPSULE_BYTES) / 16),
        response_capsule: U32::new(1),
        max_descriptors: 1,
        ..named
    };
    match subsystem.is_discovery() {
        true => ControllerData {
            kind: 2,
            events: U32::new(events::DISCOVERY_LOG),
            command_capsule: U32::new(4),
            ..common
        },
        false => of_namespaces(subsystem, common),
    }
}

/// Fields of a controller for I/O.
fn of_namespaces(subsystem: &Subsystem, common: ControllerData) -> ControllerData {
    let namespaces = subsystem.namespaces();
    let guarantees = namespaces.iter().map(|(_, one)| one.disk().guarantees());
    let has_cache = guarantees.clone().any(|one| one.volatile_cache);
    let capacity = namespaces.iter().map(|(_, one)| u128::from(one.facts().media_bytes)).sum();
    // The limit for readers, which every namespace keeps. The limit under a power cut stands in
    // each namespace alone: hosts would apply the controller's to all of them.
    let least = guarantees.map(|one| one.atomic_write_bytes).min().unwrap_or(BLOCK_BYTES);
    ControllerData {
        kind: 1,
        events: U32::new(events::NAMESPACE_ATTRIBUTES),
        // SMART for each namespace (bit 0), effects of commands (bit 1).
        log_attributes: common.log_attributes | 0b11,
        capacity: U128::new(capacity),
        warning_temperature: U16::new(343),
        critical_temperature: U16::new(353),
        submission_entry: 0x66,
        completion_entry: 0x44,
        namespaces: U32::new(subsystem.highest_number()),
        max_namespaces: U32::new(subsystem.highest_number()),
        optional_io: U16::new(optional_io::DATASET_MANAGEMENT | optional_io::WRITE_ZEROES),
        // Present; a flush of all namespaces is not supported (bits 2 and 1: 10b).
        volatile_cache: u8::from(has_cache) | 0b10 << 1,
        atomic_write_0: U16::new(blocks_0(least)),
        ..common
    }
}

/// Identify data of a namespace.
pub(crate) fn namespace(namespace: &Namespace) -> NamespaceData {
    let (facts, size) = (namespace.facts(), namespace.disk().size());
    let Guarantees { atomic_write_bytes, .. } = namespace.disk().guarantees();
    let atomic_0 = U16::new(blocks_0(atomic_write_bytes));
    let optimal_0 = U16::new(blocks_0(facts.optimal_write_bytes.max(BLOCK_BYTES)));
    let mut data = NamespaceData {
        blocks: U64::new(size / BLOCK_BYTES),
        capacity_blocks: U64::new(size / BLOCK_BYTES),
        used_blocks: U64::new(used_blocks(namespace)),
        features: features::ATOMIC
            | features::OPTIMAL
            | if facts.is_thin { features::THIN } else { 0 },
        deallocated: deallocated::ZEROES | deallocated::BY_WRITE_ZEROES,
        atomic_write_0: atomic_0,
        atomic_write_power_fail_0: atomic_0,
        capacity_bytes: U128::new(facts.media_bytes.into()),
        write_granularity_0: U16::ZERO,
        write_alignment_0: U16::ZERO,
        optimal_write_0: optimal_0,
        attributes: u8::from(facts.is_read_only),
        nguid: namespace.id().nguid,
        ..NamespaceData::new_zeroed()
    };
    data.formats[0].block_power = BLOCK_POWER;
    data
}

/// Blocks in use (NUSE).
pub(crate) fn used_blocks(namespace: &Namespace) -> u64 {
    let size = namespace.disk().size();
    namespace.facts().used_bytes.min(size).div_ceil(BLOCK_BYTES)
}

/// Number of whole blocks in `bytes`, 0's based, at most the field's largest.
fn blocks_0(bytes: u64) -> u16 {
    u16::try_from((bytes / BLOCK_BYTES).saturating_sub(1)).unwrap_or(u16::MAX)
}

/// The structure as the bytes that travel.
pub(crate) fn bytes_of<T: IntoBytes + zerocopy::Immutable>(structure: &T) -> Vec<u8> {
    structure.as_bytes().to_vec()
}
