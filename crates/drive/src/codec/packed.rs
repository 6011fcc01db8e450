//! Nodes of the map, packed: 512 words of which each is a place on media, or zero.
//!
//! A node is written with every checkpoint in which one of its blocks changed, so packing it must
//! be cheap: a general codec took ten times as long for no fewer bytes. A word has four fields (see
//! `format::location`), and those of one node lie close together: of each field the least value is
//! kept once, and of each word only how far it is above that, in as many bits as the widest needs
//! (frame of reference). Where records lie side by side in the order of the words, it is the
//! distance from the end of the word before that is kept in place of the offset.
//!
//! | bytes | packed node |
//! |---|---|
//! | 1 | flags: 1 some words are zero, 2 distances in place of offsets |
//! | 4 × 5 | of each field its least value (u32) and bits |
//! | 64 | with flag 1: which words are not zero, bit after bit |
//! | | words that are not zero, from the lowest bit: fields above the least, first lowest |

use crate::codec::Encoding;

/// Words of a node.
pub const NODE_WORDS: usize = 512;

const FIELDS: usize = 4;

/// Bits of a word's fields: segment, offset, length, unit.
const WIDTHS: [u32; FIELDS] = [20, 26, 15, 3];

const OFFSET: usize = 1;
const LENGTH: usize = 2;

const HAS_ZEROES: u8 = 1;
const HAS_DISTANCES: u8 = 2;

const NODE_BYTES: usize = NODE_WORDS * 8;
const HEAD_BYTES: usize = 1 + FIELDS * 5;
const BITMAP_BYTES: usize = NODE_WORDS / 8;

/// The longest packed form that is kept, 15/16 of the raw node.
const LIMIT_BYTES: usize = NODE_BYTES - NODE_BYTES / 16;

/// Distances are stored above zero: an offset may lie this far before the end of the previous word.
const DISTANCE_ZERO: u32 = 1 << 27;

type Fields = [u32; FIELDS];

/// Appends a node to `out`, packed, or raw if packing saves little.
pub(super) fn encode(words: &[u64; NODE_WORDS], out: &mut Vec<u8>) -> Encoding {
    if pack(words, out).is_some() {
        return Encoding::Packed;
    }
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    Encoding::Raw
}

/// Fills `data` with a node that [`encode`] has packed and returns the number of its bytes; `None`
/// for other bytes.
pub(super) fn decode(stored: &[u8], data: &mut [u8]) -> Option<usize> {
    let (&flags, rest) = stored.split_first()?;
    let (head, mut rest) = rest.split_at_checked(FIELDS * 5)?;
    if flags & !(HAS_ZEROES | HAS_DISTANCES) != 0 || data.len() != NODE_BYTES {
        return None;
    }
    let frame = Frame::decode(head, flags & HAS_DISTANCES != 0)?;
    let mut bitmap = [0xFF; BITMAP_BYTES];
    if flags & HAS_ZEROES != 0 {
        let (bits, behind) = rest.split_first_chunk()?;
        (bitmap, rest) = (*bits, behind);
    }
    let filled = bitmap.iter().map(|byte| byte.count_ones() as usize).sum();
    if rest.len() != frame.bytes(filled) {
        return None;
    }
    // Padding: the bits of each word are read from the low bits of sixteen bytes.
    let mut bits = [0; NODE_BYTES + 16];
    bits.get_mut(..rest.len())?.copy_from_slice(rest);
    let mut before = Fields::default();
    let mut next = 0;
    for (index, out) in data.as_chunks_mut().0.iter_mut().enumerate() {
        let mut word = 0;
        if bitmap[index / 8] >> (index % 8) & 1 == 1 {
            before = frame.unpack(take(&bits, next, frame.width()), before)?;
            word = joined(before);
            next += frame.width() as usize;
        }
        *out = u64::to_le_bytes(word);
    }
    Some(NODE_BYTES)
}

/// Appends the packed form; appends nothing and returns `None` if it would be too long.
fn pack(words: &[u64; NODE_WORDS], out: &mut Vec<u8>) -> Option<()> {
    let mut bitmap = [0_u8; BITMAP_BYTES];
    let mut filled = [Fields::default(); NODE_WORDS];
    let mut count = 0;
    for (index, &word) in words.iter().enumerate() {
        bitmap[index / 8] |= u8::from(word != 0) << (index % 8);
        filled[count] = fields(word);
        count += usize::from(word != 0);
    }
    let filled = &filled[..count];
    let frame = Frame::of(filled);
    let has_zeroes = count < NODE_WORDS;
    let length = HEAD_BYTES + if has_zeroes { BITMAP_BYTES } else { 0 } + frame.bytes(count);
    if length > LIMIT_BYTES {
        return None;
    }
    let start = out.len();
    let zeroes = if has_zeroes { HAS_ZEROES } else { 0 };
    out.push(zeroes | if frame.has_distances { HAS_DISTANCES } else { 0 });
    frame.encode(out);
    if has_zeroes {
        out.extend(bitmap);
    }
    frame.pack_all(filled, out);
    out.truncate(start + length);
    Some(())
}

/// The least value and the width of each field in the words of a node.
struct Frame {
    least: Fields,
    bits: [u32; FIELDS],
    has_distances: bool,
}

impl Frame {
    /// The narrower of the frames with offsets and with distances.
    fn of(filled: &[Fields]) -> Frame {
        let (mut least, mut most) = ([u32::MAX; FIELDS], Fields::default());
        let (mut nearest, mut farthest) = (u32::MAX, 0);
        let mut before = Fields::default();
        for &word in filled {
            for field in 0..FIELDS {
                least[field] = least[field].min(word[field]);
                most[field] = most[field].max(word[field]);
            }
            let distance = distance(before, word);
            (nearest, farthest) = (nearest.min(distance), farthest.max(distance));
            before = word;
        }
        if filled.is_empty() {
            least = Fields::default();
            nearest = 0;
        }
        let mut bits: [u32; FIELDS] =
            std::array::from_fn(|field| bits_of(most[field] - least[field]));
        let distance_bits = bits_of(farthest - nearest);
        let has_distances = distance_bits < bits[OFFSET];
        if has_distances {
            (least[OFFSET], bits[OFFSET]) = (nearest, distance_bits);
        }
        Frame { least, bits, has_distances }
    }

    fn decode(head: &[u8], has_distances: bool) -> Option<Frame> {
        let (mut least, mut bits) = (Fields::default(), [0; FIELDS]);
        for (field, bytes) in head.as_chunks::<5>().0.iter().enumerate() {
            let [number @ .., width] = *bytes;
            (least[field], bits[field]) = (u32::from_le_bytes(number), u32::from(width));
            if bits[field] > WIDTHS[field] {
                return None;
            }
        }
        Some(Frame { least, bits, has_distances })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        for (least, bits) in self.least.iter().zip(self.bits) {
            out.extend(least.to_le_bytes());
            out.push(bits as u8);
        }
    }

    /// Bits of a packed word.
    fn width(&self) -> u32 {
        self.bits.iter().sum()
    }

    /// Bytes of `words` packed words.
    fn bytes(&self, words: usize) -> usize {
        (words * self.width() as usize).div_ceil(8)
    }

    /// Appends the packed words and a few bytes of padding.
    fn pack_all(&self, filled: &[Fields], out: &mut Vec<u8>) {
        let (mut open, mut held) = (0_u128, 0);
        let mut before = Fields::default();
        for &word in filled {
            open |= u128::from(self.pack(word, before)) << held;
            held += self.width();
            before = word;
            if held >= 64 {
                out.extend((open as u64).to_le_bytes());
                open >>= 64;
                held -= 64;
            }
        }
        out.extend((open as u64).to_le_bytes());
    }

    fn pack(&self, mut word: Fields, before: Fields) -> u64 {
        if self.has_distances {
            word[OFFSET] = distance(before, word);
        }
        (0..FIELDS).rev().fold(0, |packed, field| {
            packed << self.bits[field] | u64::from(word[field] - self.least[field])
        })
    }

    /// The word behind `before`; `None` if a field is larger than it can be.
    fn unpack(&self, mut packed: u64, before: Fields) -> Option<Fields> {
        let mut word = Fields::default();
        for ((field, bits), least) in word.iter_mut().zip(self.bits).zip(self.least) {
            let value = packed & ((1 << bits) - 1);
            packed >>= bits;
            *field = least.checked_add(value as u32)?;
        }
        if self.has_distances {
            word[OFFSET] = word[OFFSET].checked_add(end(before))?.checked_sub(DISTANCE_ZERO)?;
        }
        (0..FIELDS).all(|field| word[field] >> WIDTHS[field] == 0).then_some(word)
    }
}

fn bits_of(value: u32) -> u32 {
    u32::BITS - value.leading_zeros()
}

fn end(word: Fields) -> u32 {
    word[OFFSET] + word[LENGTH]
}

fn distance(before: Fields, word: Fields) -> u32 {
    DISTANCE_ZERO + word[OFFSET] - end(before)
}

fn fields(word: u64) -> Fields {
    let mut rest = word;
    WIDTHS.map(|width| {
        let field = rest & ((1 << width) - 1);
        rest >>= width;
        field as u32
    })
}

fn joined(fields: Fields) -> u64 {
    let both = fields.into_iter().zip(WIDTHS).rev();
    both.fold(0, |word, (field, width)| word << width | u64::from(field))
}

/// The `width` bits from bit `first` on.
fn take(bits: &[u8; NODE_BYTES + 16], first: usize, width: u32) -> u64 {
    let bytes = bits[first / 8..].first_chunk().copied().unwrap_or_default();
    let found = u128::from_le_bytes(bytes) >> (first % 8);
    found as u64 & u64::MAX.checked_shr(64 - width).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(words: &[u64; NODE_WORDS]) -> Vec<u8> {
        let mut out = vec![7];
        let encoding = encode(words, &mut out);
        let mut back = vec![1; NODE_BYTES];
        let stored = out.split_off(1);
        if encoding == Encoding::Packed {
            assert_eq!(decode(&stored, &mut back), Some(NODE_BYTES));
        } else {
            back.copy_from_slice(&stored);
        }
        let back: Vec<u64> =
            back.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        assert!(back == words, "a node came back changed");
        assert!(stored.len() <= LIMIT_BYTES || encoding == Encoding::Raw);
        stored
    }

    fn place(segment: u64, offset: u64, length: u64) -> u64 {
        segment | offset << 20 | length << 46
    }

    #[test]
    fn a_node_takes_the_bits_that_its_words_differ_in() {
        assert_eq!(packed(&[0; NODE_WORDS]).len(), HEAD_BYTES + BITMAP_BYTES);
        let mut one = [0; NODE_WORDS];
        one[100] = u64::MAX;
        assert_eq!(packed(&one).len(), HEAD_BYTES + BITMAP_BYTES);
        // Adjacent records of lengths that differ by less than 16.
        let mut offset = 4096;
        let side_by_side = std::array::from_fn(|index| {
            let length = 2000 + index as u64 % 16;
            offset += length;
            place(1000, offset - length, length)
        });
        assert_eq!(packed(&side_by_side).len(), HEAD_BYTES + NODE_WORDS * (4 + 13) / 8);
        let alike =
            std::array::from_fn(|index| place(7, (1 << 20) + index as u64 * 3000 % 4096, 9));
        assert_eq!(packed(&alike).len(), HEAD_BYTES + NODE_WORDS * 12 / 8);
    }

    #[test]
    fn what_does_not_shrink_stays_as_it_is() {
        let words =
            std::array::from_fn(|index| 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(index as u64 + 1));
        assert_eq!(packed(&words).len(), NODE_BYTES);
    }

    proptest! {
        #[test]
        fn any_words_come_back(
            words in prop::collection::vec(
                prop_oneof![
                    Just(0_u64),
                    any::<u64>(),
                    (0_u64..4, 0_u64..1 << 14, 20_u64..60)
                        .prop_map(|(segment, offset, length)| place(segment, offset, length)),
                ],
                NODE_WORDS,
            ),
            narrow: bool,
        ) {
            let narrow = if narrow { place(0xFF, 0x7FFF, 0x3F) } else { u64::MAX };
            packed(&std::array::from_fn(|index| words[index] & narrow));
        }

        #[test]
        fn any_bytes_are_a_node_or_none(
            bytes in prop::collection::vec(any::<u8>(), 0..600),
            widths in prop::array::uniform4(0..30_u8),
        ) {
            let mut bytes = bytes;
            for (field, width) in widths.into_iter().enumerate() {
                if let Some(byte) = bytes.get_mut(5 + field * 5) {
                    *byte = width;
                }
            }
            let mut data = vec![0; NODE_BYTES];
            decode(&bytes, &mut data);
            decode(&bytes, &mut data[..100]);
        }
    }
}
