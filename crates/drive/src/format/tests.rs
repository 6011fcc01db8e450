//! Properties of every structure: decoding reverses encoding, and any bytes give a value or `None`.

use proptest::prelude::*;

use super::*;
use crate::codec::Codec;

fn location() -> impl Strategy<Value = Location> {
    any::<u64>().prop_map(Location::from_word)
}

fn entry() -> impl Strategy<Value = Entry> {
    let op = prop_oneof![
        Just(Op::Data),
        Just(Op::Unit),
        Just(Op::Zero),
        Just(Op::Dictionary),
        any::<u64>().prop_map(|complete_seq| Op::Node { complete_seq }),
        (location(), any::<u64>()).prop_map(|(from, origin_seq)| Op::Move { from, origin_seq }),
        (location(), any::<u64>()).prop_map(|(from, origin_seq)| Op::MoveUnit { from, origin_seq }),
    ];
    (op, 0..1_u64 << 40, 0..1_u32 << 15, any::<bool>()).prop_map(|(op, key, length, last)| Entry {
        op,
        key,
        length,
        last,
    })
}

fn superblock() -> impl Strategy<Value = Superblock> {
    let identity =
        (any::<u64>(), 19..27_u32, 1..2000_u32, 0..4_u8, any::<[bool; 2]>(), 0..1_u64 << 39)
            .prop_map(|(drive_id, shift, segments, codec, [units, dictionary], blocks)| Identity {
                drive_id,
                media_bytes: SEGMENTS_START + (u64::from(segments) << shift) + BLOCK_BYTES,
                segment_bytes: 1 << shift,
                segments,
                codec: Codec::ALL[usize::from(codec)],
                units,
                dictionary,
                logical_bytes: blocks * BLOCK_BYTES,
            });
    let cuts = prop::collection::vec(any::<(u64, u64)>(), 0..96);
    let root = prop::collection::vec(location(), 0..MAX_ROOT_PARTS);
    (identity, any::<[u64; 6]>(), any::<bool>(), cuts, root).prop_map(
        |(
            identity,
            [generation, checkpoint_seq, log_end_seq, unused_seq, a, b],
            clean,
            cuts,
            root,
        )| {
            let root_seqs = (a, b);
            Superblock {
                identity,
                generation,
                checkpoint_seq,
                log_end_seq,
                unused_seq,
                clean,
                cuts,
                root_seqs,
                root,
            }
        },
    )
}

proptest! {
    #[test]
    fn a_location_keeps_what_it_was_made_of(
        segment in 0..1_u32 << 20,
        offset in 0..1_u32 << 26,
        length in 0..1_u32 << 15,
        unit in any::<bool>(),
        index in 0..4_u64,
    ) {
        let place = Location::new(segment, offset, length, unit);
        let other = place.at_index(index);
        let fields = (other.segment(), other.offset(), other.length());
        prop_assert_eq!(fields, (segment, offset, length));
        prop_assert_eq!((other.is_unit(), other.index(), other.record()), (unit, index, place));
        prop_assert_eq!(Location::from_word(other.word()), other);
    }

    #[test]
    fn tables_come_back_and_end_where_they_were_cut(
        entries in prop::collection::vec(entry(), 0..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut words = Vec::new();
        entries.iter().for_each(|entry| entry.push(&mut words));
        prop_assert_eq!(&Words::new(&words).collect::<Vec<_>>(), &entries);
        let cut = cut.index(words.len() + 1);
        let whole = Words::new(&words[..cut]).collect::<Vec<_>>();
        prop_assert_eq!(&whole[..], &entries[..whole.len()]);
    }

    #[test]
    fn superblocks_come_back(superblock in superblock()) {
        let mut block = vec![0; BLOCK_BYTES as usize];
        superblock.encode(&mut block);
        prop_assert_eq!(Superblock::decode(&block), Ok(superblock));
    }

    #[test]
    fn superblocks_with_any_numbers_are_possible_or_refused(
        superblock in superblock(),
        changes in prop::collection::vec((8..4090_usize, any::<u8>()), 1..6),
    ) {
        let mut block = vec![0; BLOCK_BYTES as usize];
        superblock.encode(&mut block);
        changes.into_iter().for_each(|(place, byte)| block[place] = byte);
        let sum = crc32c::crc32c(&block[..4092]);
        block[4092..].copy_from_slice(&sum.to_le_bytes());
        if let Ok(decoded) = Superblock::decode(&block) {
            prop_assert!(decoded.identity.is_possible());
            prop_assert!(decoded.root.len() <= MAX_ROOT_PARTS);
        }
    }

    #[test]
    fn any_words_are_a_table_a_footer_and_a_root_or_none(
        words in prop::collection::vec(prop_oneof![any::<u64>(), 0..20_u64], 0..200),
    ) {
        prop_assert!(Words::new(&words).count() <= words.len());
        let tables = FooterChunk::split(&words).into_iter();
        let total: usize = tables.map(|(_, table)| table.len() + FooterChunk::WORDS).sum();
        prop_assert!(total <= words.len());
        if let Some(Root { body, end }) = Root::decode(&words) {
            prop_assert_eq!([body.encode(), end.encode()].concat().len(), words.len());
        }
    }
}
