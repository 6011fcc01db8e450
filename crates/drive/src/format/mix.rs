//! A record's checksum: CRC-32C of its bytes, bound to its place and its key.
//!
//! The sum over the bytes is computed where they are compressed, in parallel. The place is only
//! known under the log's lock; binding the sum to it costs a few multiplications there. A record at
//! another place, under another address, in another filling of its segment or on another drive does
//! not match.

use super::Location;

/// Identity and place of a record.
#[derive(Clone, Copy)]
pub(crate) struct RecordContext {
    pub(crate) drive_id: u64,
    /// Sequence number by which the segment was opened, a new one for each filling.
    pub(crate) segment_opened_seq: u64,
    pub(crate) location: Location,
    /// Block, node or dictionary, from [`super::Op::context_key`].
    pub(crate) key: u64,
}

impl RecordContext {
    /// The stored checksum: the plain sum, changed by everything on which the record depends.
    pub(crate) fn bind(self, plain: u32) -> u32 {
        let place = mix(self.drive_id ^ mix(self.segment_opened_seq));
        let mixed =
            mix(place ^ mix(self.location.record().word()).wrapping_add(mix(self.key ^ SALT)));
        plain ^ (mixed >> 32) as u32
    }
}

/// Separates keys from locations.
const SALT: u64 = 0x6173_7361_7964_7276;

/// The finaliser of splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", 2014).
const fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}

/// CRC-32C over a record's codec id and payload, and over the checksum of the dictionary that it
/// needs, so that it does not match with another.
pub(crate) fn plain_checksum(codec_id: u8, payload: &[u8], dictionary: Option<u32>) -> u32 {
    let sum = crc32c::crc32c_append(crc32c::crc32c(&[codec_id]), payload);
    dictionary.map_or(sum, |dictionary| crc32c::crc32c_append(sum, &dictionary.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_the_context_changes_the_sum() {
        let context = RecordContext {
            drive_id: 7,
            segment_opened_seq: 9,
            location: Location::new(3, 64, 100, false),
            key: 5,
        };
        let others = [
            RecordContext { drive_id: 8, ..context },
            RecordContext { segment_opened_seq: 10, ..context },
            RecordContext { location: Location::new(3, 4096, 100, false), ..context },
            RecordContext { location: Location::new(4, 64, 100, false), ..context },
            RecordContext { key: 6, ..context },
        ];
        for other in others {
            assert_ne!(context.bind(1), other.bind(1));
        }
        assert_eq!(context.bind(1) ^ context.bind(2), 3);
    }
}
