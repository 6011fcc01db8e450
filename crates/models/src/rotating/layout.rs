//! The layout of an array: chunks striped over its sides.

/// A run of bytes on one side, which is a disk or a mirrored pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) side: u64,
    pub(super) place: u64,
    pub(super) length: u64,
}

/// The part of a range on each side: one run, because consecutive chunks of a side are adjacent
/// there.
pub(super) fn parts(
    chunk_bytes: u64,
    sides: u64,
    offset: u64,
    length: u64,
) -> impl Iterator<Item = Part> {
    let (first, end) = (offset / chunk_bytes, offset + length);
    let past = end.div_ceil(chunk_bytes);
    (first..past.min(first + sides)).map(move |chunk| {
        let last = chunk + (past - 1 - chunk) / sides * sides;
        let begin = offset.max(chunk * chunk_bytes) - chunk * chunk_bytes;
        let finish = end.min((last + 1) * chunk_bytes) - last * chunk_bytes;
        let place = chunk / sides * chunk_bytes + begin;
        let past_place = last / sides * chunk_bytes + finish;
        Part { side: chunk % sides, place, length: past_place - place }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn chunks_go_round() {
        let part = |side, place, length| Part { side, place, length };
        let all: Vec<Part> = parts(64, 3, 60, 260).collect();
        assert_eq!(all, [part(0, 60, 68), part(1, 0, 128), part(2, 0, 64)]);
        assert_eq!(parts(64, 3, 200, 8).collect::<Vec<_>>(), [part(0, 72, 8)]);
    }

    proptest! {
        #[test]
        fn every_byte_lies_where_its_chunk_does(
            chunk in 1..20_u64, sides in 1..6_u64, offset in 0..500_u64, length in 1..300_u64
        ) {
            let mut expected: Vec<(u64, u64)> = (offset..offset + length)
                .map(|byte| {
                    let number = byte / chunk;
                    (number % sides, number / sides * chunk + byte % chunk)
                })
                .collect();
            expected.sort_unstable();
            let mut got: Vec<(u64, u64)> = parts(chunk, sides, offset, length)
                .flat_map(|part| {
                    (part.place..part.place + part.length).map(move |at| (part.side, at))
                })
                .collect();
            got.sort_unstable();
            prop_assert_eq!(got, expected);
        }
    }
}
