//! Guarantees of all codecs: data come back whole, and anything else is an error.

pub mod samples;

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use super::*;
use samples::{digits, mixed, random, repeated, text};

fn no_dictionaries(_: u8) -> Option<Arc<Dictionary>> {
    None
}

fn dictionary(version: u8, seed: u64) -> Arc<Dictionary> {
    let samples: Vec<Vec<u8>> = (0..400).map(|sample| text(seed * 1000 + sample, 1024)).collect();
    Arc::new(Dictionary::train(version, &samples, 4096).unwrap().unwrap())
}

/// A dictionary of version 1, shared because training takes a while.
static KNOWN: LazyLock<Arc<Dictionary>> = LazyLock::new(|| dictionary(1, 1));

fn round_trip(coder: &mut Coder, data: &[u8], with: Option<&Arc<Dictionary>>) -> (u8, usize) {
    let mut stored = b"before".to_vec();
    let id = coder.encode(data, with.map(AsRef::as_ref), &mut stored);
    assert_eq!(&stored[..6], b"before");
    let mut back = vec![0xa5; data.len()];
    let find = |version| with.filter(|known| known.version() == version).cloned();
    coder.decode(id, &stored[6..], &find, &mut back).unwrap();
    assert!(back == data, "{} bytes stored as {id} came back changed", data.len());
    assert!(id == 0 || stored.len() - 6 <= data.len() / 16 * 15);
    (id, stored.len() - 6)
}

#[test]
fn codecs_have_names_and_numbers() {
    for codec in Codec::ALL {
        assert_eq!(codec.to_string().parse(), Ok(codec));
        assert_eq!(Codec::from_id(codec.id()), Some(codec));
        assert!(Codec::NAMES.split(", ").any(|name| name == codec.name()));
    }
    assert_eq!(Codec::from_id(4), None);
    let message = "gzip".parse::<Codec>().unwrap_err().to_string();
    assert_eq!(message, "no codec is called `gzip`; use one of none, lz4, deflate, zstd");
    for id in 0..=5 {
        assert_eq!(Encoding::from_id(id).unwrap().id(), id);
    }
    assert_eq!(Encoding::from_id(6), None);
}

#[test]
fn each_codec_shrinks_what_it_should() {
    for length in [4096, 16384] {
        for codec in [Codec::Deflate, Codec::Zstd] {
            let mut coder = Coder::new(codec);
            let (id, bytes) = round_trip(&mut coder, &digits(1, length), None);
            assert_eq!(id, codec.id());
            assert!(bytes * 2 < length, "{codec}: {bytes} of {length}");
        }
        let (id, bytes) = round_trip(&mut Coder::new(Codec::Lz4), &text(1, length), None);
        assert_eq!(id, 1);
        assert!(bytes * 10 < length * 9, "{bytes} of {length}");
        assert_eq!(round_trip(&mut Coder::new(Codec::None), &text(1, length), None), (0, length));
    }
}

#[test]
fn random_bytes_are_stored_as_they_are() {
    for codec in Codec::ALL {
        assert_eq!(
            round_trip(&mut Coder::new(codec), &random(3, 4096), None),
            (0, 4096),
            "{codec}"
        );
    }
}

/// Ever more random bytes and ever fewer zeroes, so that every codec passes its limit somewhere.
#[test]
fn the_limit_is_fifteen_sixteenths_whichever_side_of_it_a_block_falls() {
    for codec in [Codec::Lz4, Codec::Deflate, Codec::Zstd] {
        let mut coder = Coder::new(codec);
        let mut longest = 0;
        let mut raw = 0;
        for random_bytes in 3400..4096 {
            // 210 values: 7.7 bits, which the probe accepts and no codec brings below the limit.
            let mut data = random(4, random_bytes);
            data.iter_mut().for_each(|byte| *byte %= 210);
            data.resize(4096, 0);
            match round_trip(&mut coder, &data, None) {
                (0, bytes) => raw = bytes,
                (_, bytes) => longest = longest.max(bytes),
            }
        }
        assert!((3830..=3840).contains(&longest), "{codec}: {longest}");
        assert_eq!(raw, 4096, "{codec}");
    }
}

#[test]
fn zstd_frames_carry_nothing_that_the_record_says_already() {
    let mut stored = Vec::new();
    Coder::new(Codec::Zstd).encode(&[0; 4096], None, &mut stored);
    // Frame_Header_Descriptor: no content size, checksum or dictionary; Window_Descriptor: 2^12
    // (RFC 8878, 3.1.1.1).
    assert_eq!(stored[..2], [0, 2 << 3]);
}

#[test]
fn a_dictionary_helps_and_is_asked_for_by_its_version() {
    let one = dictionary(1, 1);
    let data = text(77, 4096);
    let mut coder = Coder::new(Codec::Zstd);
    let (_, plain) = round_trip(&mut coder, &data, None);
    let (id, helped) = round_trip(&mut coder, &data, Some(&one));
    assert_eq!(id, Encoding::ZstdDictionary.id());
    assert!(helped < plain, "{helped} with, {plain} without");

    let mut stored = Vec::new();
    coder.encode(&data, Some(&one), &mut stored);
    assert_eq!(stored[0], 1);
    let mut back = vec![0; 4096];
    let missing = coder.decode(id, &stored, &no_dictionaries, &mut back);
    assert_eq!(missing, Err(CodecError::MissingDictionary(1)));
    let other = dictionary(1, 2);
    let wrong = coder.decode(id, &stored, &|_| Some(Arc::clone(&other)), &mut back);
    assert!(wrong.is_err() || back != data, "a wrong dictionary was no matter");
}

/// A coder identifies a dictionary by its contents: two of one version must not be confused.
#[test]
fn one_coder_serves_several_dictionaries_in_turn() {
    let dictionaries = [dictionary(1, 1), dictionary(2, 2), dictionary(1, 3)];
    let mut coder = Coder::new(Codec::Zstd);
    for round in 0..12 {
        let with = dictionaries.get(round as usize % 4);
        let expected = if with.is_some() { Encoding::ZstdDictionary } else { Encoding::Zstd };
        assert_eq!(round_trip(&mut coder, &text(round, 4096), with).0, expected.id());
        // Data that pass the probe and do not shrink: the coder must accept the next dictionary
        // after them.
        let hardly = random(round, 4096).into_iter().map(|byte| byte % 210).collect::<Vec<_>>();
        assert_eq!(round_trip(&mut coder, &hardly, with).0, Encoding::Raw.id());
    }
    let stored = Dictionary::from_bytes(9, dictionaries[0].bytes()).unwrap();
    round_trip(&mut coder, &text(5, 16384), Some(&Arc::new(stored)));
}

#[test]
fn a_dictionary_that_would_not_help_is_not_made() {
    let rows: Vec<Vec<u8>> = (0..400).map(|seed| digits(seed, 4096)).collect();
    assert!(Dictionary::train(1, &rows, DICTIONARY_BYTES).unwrap().is_none());
    assert!(Dictionary::train(1, &[[0u8; 16]; 2], 4096).unwrap().is_none());
    assert!(Dictionary::train(1, &[] as &[Vec<u8>], 4096).unwrap().is_none());
}

#[test]
fn what_is_no_dictionary_is_refused() {
    let good = dictionary(1, 1);
    assert_eq!(Dictionary::from_bytes(0, good.bytes()).unwrap_err(), CodecError::BadDictionary(0));
    assert!(Dictionary::from_bytes(1, &good.bytes()[..100]).is_err());
    for bytes in [&b""[..], b"plain text is no dictionary", &random(1, 4096)] {
        assert_eq!(Dictionary::from_bytes(3, bytes).unwrap_err(), CodecError::BadDictionary(3));
    }
}

#[test]
fn a_warm_coder_needs_no_room_beyond_twice_the_data() {
    let mut out = Vec::with_capacity(2 * 16384);
    let before = out.as_ptr();
    for codec in Codec::ALL {
        for seed in 0..20 {
            out.clear();
            Coder::new(codec).encode(&mixed(seed, 16384), None, &mut out);
        }
    }
    assert_eq!(out.as_ptr(), before);
}

#[test]
fn records_of_every_codec_are_read_by_every_coder() {
    let data = text(9, 4096);
    for writer in Codec::ALL {
        let mut stored = Vec::new();
        let id = Coder::new(writer).encode(&data, None, &mut stored);
        for reader in Codec::ALL {
            let mut back = vec![0; 4096];
            Coder::new(reader).decode(id, &stored, &no_dictionaries, &mut back).unwrap();
            assert!(back == data, "{writer} read by {reader}");
        }
    }
}

fn block() -> impl Strategy<Value = Vec<u8>> {
    let kind: fn(u8, u64, usize) -> Vec<u8> = |kind, seed, length| match kind {
        0 => random(seed, length),
        1 => digits(seed, length),
        2 => text(seed, length),
        3 => repeated(seed, length),
        4 => vec![seed as u8; length],
        _ => mixed(seed, length),
    };
    (0..8u8, any::<u64>(), prop_oneof![Just(4096usize), Just(16384)])
        .prop_map(move |(number, seed, length)| kind(number, seed, length))
}

proptest! {
    #[test]
    fn what_was_stored_comes_back(data in block(), codec in 0..4u8) {
        round_trip(&mut Coder::new(Codec::from_id(codec).unwrap()), &data, None);
    }

    #[test]
    fn a_used_coder_stores_what_a_new_one_does(
        blocks in prop::collection::vec(block(), 1..6),
        codec in 0..4u8,
    ) {
        let codec = Codec::from_id(codec).unwrap();
        let mut used = Coder::new(codec);
        for data in blocks {
            let (mut one, mut other) = (Vec::new(), Vec::new());
            let id = used.encode(&data, None, &mut one);
            prop_assert_eq!(id, Coder::new(codec).encode(&data, None, &mut other));
            prop_assert!(one == other);
        }
    }

    #[test]
    fn any_bytes_are_data_or_an_error(
        stored in prop::collection::vec(any::<u8>(), 0..5000),
        id in any::<u8>(),
        length in prop_oneof![Just(4096usize), Just(16384)],
    ) {
        let mut data = vec![0; length];
        for id in [id, 0, 1, 2, 3, 4] {
            let known = |_| Some(Arc::clone(&KNOWN));
            let result = Coder::new(Codec::Zstd).decode(id, &stored, &known, &mut data);
            prop_assert!(result.is_err() || (id == 0 && stored == data));
        }
    }

    /// Closer to a damaged medium: a good record with a few bytes changed, or cut short.
    #[test]
    fn damaged_records_are_data_of_the_right_length_or_an_error(
        data in block(),
        codec in 1..4u8,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut coder = Coder::new(Codec::from_id(codec).unwrap());
        let mut stored = Vec::new();
        let id = coder.encode(&data, None, &mut stored);
        for (place, value) in damage {
            let place = place.index(stored.len());
            stored[place] = value;
        }
        let mut back = vec![0; data.len()];
        let _ = coder.decode(id, &stored, &no_dictionaries, &mut back);
        let short = &stored[..cut.index(stored.len())];
        let cut_off = coder.decode(id, short, &no_dictionaries, &mut back);
        prop_assert!(cut_off.is_err() || back == data || id != 0);
        let mut longer = vec![0; data.len() + 4096];
        prop_assert!(coder.decode(id, short, &no_dictionaries, &mut longer).is_err());
    }
}
