//! The name of a record: `user` and its number, hashed so that neighbours in time are no neighbours
//! in the index.

use crate::rows::push_number;
use crate::schema::InsertOrder;

/// The offset basis and the prime of 64-bit FNV (Fowler, Noll and Vo; the basis is that of FNV-1).
const OFFSET_BASIS: u64 = 0xCBF2_9CE4_8422_2325;
const PRIME: u64 = 1_099_511_628_211;

/// FNV-1a over the eight octets of `number`, lowest first, as a signed number without its sign.
#[inline]
#[must_use]
pub fn fnv_64(number: u64) -> u64 {
    let hash = number
        .to_le_bytes()
        .iter()
        .fold(OFFSET_BASIS, |hash, octet| (hash ^ u64::from(*octet)).wrapping_mul(PRIME));
    hash.cast_signed().unsigned_abs()
}

/// Writes the key of record `number` into `out`, which is emptied first; ordered keys have at least
/// `zero_padding` digits.
#[inline]
pub fn key_name(number: u64, order: InsertOrder, zero_padding: usize, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(b"user");
    let value = match order {
        InsertOrder::Hashed => fnv_64(number),
        InsertOrder::Ordered => number,
    };
    let digits = value.checked_ilog10().unwrap_or(0) as usize + 1;
    out.extend(std::iter::repeat_n(b'0', zero_padding.saturating_sub(digits)));
    push_number(out, value.cast_signed());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: u64, order: InsertOrder, zero_padding: usize) -> String {
        let mut out = b"what was there".to_vec();
        key_name(number, order, zero_padding, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn hashed_keys_are_those_of_ycsb() {
        let published = [
            (0, "user6284781860667377211"),
            (1, "user8517097267634966620"),
            (2, "user1820151046732198393"),
            (3, "user4052466453699787802"),
            (10, "user2408371864701034737"),
            (999, "user2071219101098386137"),
            (1_000_000, "user1011632231655643464"),
            (31_999_999, "user5254630443492713336"),
        ];
        for (number, key) in published {
            assert_eq!(name(number, InsertOrder::Hashed, 1), key);
        }
    }

    #[test]
    fn ordered_keys_are_padded() {
        assert_eq!(name(0, InsertOrder::Ordered, 1), "user0");
        assert_eq!(name(42, InsertOrder::Ordered, 1), "user42");
        assert_eq!(name(42, InsertOrder::Ordered, 12), "user000000000042");
    }
}
