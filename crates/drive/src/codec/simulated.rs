//! Stand-ins for blocks of which only the stored size is known, for the replay of recorded traces.
//!
//! The first bytes of a stand-in hold its stored size. The log, the map and collection treat it
//! like any other block; encoding it is a copy. It lives in memory only: no drive on media has this
//! codec.

/// Marks a stand-in.
const MAGIC: [u8; 8] = *b"standin\0";

/// Least stored bytes: mark, size and number.
const LEAST: usize = 24;

/// Makes `data` a stand-in that takes `stored_bytes`, but at least 24; `number` distinguishes it
/// from others.
pub fn stand_in(stored_bytes: usize, number: u64, data: &mut [u8]) {
    let stored_bytes = stored_bytes.clamp(LEAST, data.len()) as u64;
    data.fill(0);
    data[..8].copy_from_slice(&MAGIC);
    data[8..16].copy_from_slice(&stored_bytes.to_le_bytes());
    data[16..24].copy_from_slice(&number.to_le_bytes());
}

/// Appends the stored form of a stand-in; does nothing and returns false for other data.
pub(super) fn encode(data: &[u8], out: &mut Vec<u8>) -> bool {
    let Some(stored_bytes) = stored_bytes(data) else { return false };
    out.extend_from_slice(&data[..stored_bytes]);
    true
}

fn stored_bytes(data: &[u8]) -> Option<usize> {
    let (magic, rest) = data.split_first_chunk::<8>()?;
    let size = rest.first_chunk::<8>()?;
    let stored_bytes = usize::try_from(u64::from_le_bytes(*size)).ok()?;
    (*magic == MAGIC && (LEAST..data.len()).contains(&stored_bytes)).then_some(stored_bytes)
}

/// Fills `data` from the stored form; `None` if it is no stand-in of this size.
pub(super) fn decode(stored: &[u8], data: &mut [u8]) -> Option<usize> {
    data.get_mut(..stored.len())?.copy_from_slice(stored);
    data[stored.len()..].fill(0);
    (stored_bytes(data) == Some(stored.len())).then_some(data.len())
}

#[cfg(test)]
mod tests {
    use super::super::{Codec, Coder, Encoding};
    use super::*;

    #[test]
    fn a_stand_in_takes_what_it_says_and_comes_back() {
        let mut coder = Coder::new(Codec::Simulated);
        for (wanted, stored) in [(0, 24), (1000, 1000), (3840, 3840), (4000, 4096), (4096, 4096)] {
            let mut data = vec![1; 4096];
            stand_in(wanted, 7, &mut data);
            let mut out = Vec::new();
            let id = coder.encode(&data, None, &mut out);
            assert_eq!((out.len(), id == Encoding::Raw.id()), (stored, stored == 4096), "{wanted}");
            let mut back = vec![2; 4096];
            coder.decode(id, &out, &|_| None, &mut back).unwrap();
            assert!(back == data, "{wanted}");
        }
    }

    #[test]
    fn other_data_are_stored_as_they_are() {
        let mut out = Vec::new();
        let id = Coder::new(Codec::Simulated).encode(&[1; 4096], None, &mut out);
        assert_eq!((id, out.len()), (Encoding::Raw.id(), 4096));
    }
}
