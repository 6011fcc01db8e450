//! The place of a record in one word; the map holds one for each block.

/// Place and length of a record, packed into 64 bits. Zero means no record, segment 2²⁰ − 1 a lost
/// one.
///
/// | bits | field |
/// |---|---|
/// | 0–19 | segment |
/// | 20–45 | offset in the segment, bytes |
/// | 46–60 | stored length with its header, bytes |
/// | 61–62 | which block of a 16 KiB unit |
/// | 63 | the record is a 16 KiB unit |
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Location(u64);

impl Location {
    /// No record: the block reads as zeroes.
    pub(crate) const NONE: Location = Location(0);

    /// The block was lost with its part of the map, and the place of its record is unknown. No
    /// drive has this segment.
    pub(crate) const LOST: Location = Location(0xF_FFFF);

    pub(crate) const fn new(segment: u32, offset: u32, length: u32, unit: bool) -> Location {
        let place = segment as u64 | (offset as u64) << 20 | (length as u64) << 46;
        Location(place | (unit as u64) << 63)
    }

    pub(crate) const fn from_word(word: u64) -> Location {
        Location(word)
    }

    pub(crate) const fn word(self) -> u64 {
        self.0
    }

    pub(crate) const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Whether there is a record at all.
    pub(crate) const fn is_record(self) -> bool {
        self.0 != 0 && self.0 != Location::LOST.0
    }

    pub(crate) const fn segment(self) -> u32 {
        (self.0 & 0xF_FFFF) as u32
    }

    pub(crate) const fn offset(self) -> u32 {
        (self.0 >> 20 & 0x3FF_FFFF) as u32
    }

    pub(crate) const fn length(self) -> u32 {
        (self.0 >> 46 & 0x7FFF) as u32
    }

    pub(crate) const fn is_unit(self) -> bool {
        self.0 >> 63 == 1
    }

    /// Number of the block in its unit; zero if the record is one block.
    pub(crate) const fn index(self) -> u64 {
        self.0 >> 61 & 3
    }

    /// The same record as the place of its block `index`.
    pub(crate) const fn at_index(self, index: u64) -> Location {
        Location(self.0 & !(3 << 61) | index << 61)
    }

    /// The place of the whole record.
    pub(crate) const fn record(self) -> Location {
        self.at_index(0)
    }
}

impl std::fmt::Debug for Location {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_none() {
            return formatter.write_str("none");
        }
        if *self == Location::LOST {
            return formatter.write_str("lost");
        }
        let (segment, offset, length) = (self.segment(), self.offset(), self.length());
        write!(formatter, "{segment}:{offset}+{length}")?;
        if self.is_unit() { write!(formatter, "[{}]", self.index()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_keeps_its_largest_value() {
        let place = Location::new(0xF_FFFF, 0x3FF_FFFF, 0x7FFF, true).at_index(3);
        assert_eq!(
            (place.segment(), place.offset(), place.length()),
            (0xF_FFFF, 0x3FF_FFFF, 0x7FFF)
        );
        assert_eq!((place.is_unit(), place.index(), place.word()), (true, 3, u64::MAX));
        assert_eq!(place.record().index(), 0);
        assert!(Location::default().is_none());
    }
}
