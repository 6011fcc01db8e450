//! Bodies of the fuzz targets `superblock`, `root` and `chunk`: arbitrary bytes are decoded or
//! refused, and a decoded value survives encoding.
//!
//! Checksums are corrected first, so that mutations reach the fields behind them.

use crate::BLOCK_BYTES;
use crate::format::{
    CHUNK_HEADER_BYTES, ChunkHeader, FooterChunk, RepeatedChunk, Root, Superblock, Words,
};

const BYTES: usize = BLOCK_BYTES as usize;

/// Decodes a superblock from the first block of `bytes`, filled up with zeroes.
pub fn superblock(bytes: &[u8]) {
    let mut block = vec![0; BYTES];
    let length = bytes.len().min(BYTES);
    block[..length].copy_from_slice(&bytes[..length]);
    let _ = Superblock::decode(&block);
    let (body, checksum) = block.split_at_mut(BYTES - 4);
    checksum.copy_from_slice(&crc32c::crc32c(body).to_le_bytes());
    let Ok(found) = Superblock::decode(&block) else { return };
    let mut encoded = vec![0; BYTES];
    found.encode(&mut encoded);
    assert_eq!(Superblock::decode(&encoded), Ok(found.clone()));
    let _ = (found.may_be_torn_as(bytes), found.is_cut(found.checkpoint_seq));
    let _ = (found.identity.is_possible(), found.identity.logical_bytes_most());
}

/// Decodes the root of a checkpoint from little-endian words.
pub fn root(bytes: &[u8]) {
    let Some(found) = Root::decode(&words(bytes)) else { return };
    let encoded = [found.body.encode(), found.end.encode()].concat();
    assert_eq!(Root::decode(&encoded), Some(found));
}

/// Decodes a chunk's header, and the bytes after it as each kind of table.
pub fn chunk(bytes: &[u8]) {
    let (header, rest) = bytes.split_at_checked(CHUNK_HEADER_BYTES).unwrap_or((bytes, &[]));
    let table = words(rest);
    if let Some((found, checksum)) = ChunkHeader::decode(header) {
        let mut encoded = [0; CHUNK_HEADER_BYTES];
        found.encode(rest, &mut encoded);
        let decoded = ChunkHeader::decode(&encoded).map(|(header, _)| header);
        assert_eq!(decoded, Some(found));
        assert!(found.chunk_bytes() >= 8 * found.all_words() as u64);
        let _ = ChunkHeader::fits(bytes, rest, checksum);
    }
    let taken: u64 = Words::new(&table).map(|entry| u64::from(entry.payload_bytes())).sum();
    assert!(taken <= 0x7FFF * table.len() as u64);
    let split = FooterChunk::split(&table);
    assert!(split.iter().map(|(_, table)| table.len()).sum::<usize>() <= table.len());
    if let Some(repeated) = RepeatedChunk::decode(&table) {
        assert_eq!(RepeatedChunk::decode(&repeated.encode()), Some(repeated));
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_testing::{count, mutate};

    use super::*;
    use crate::format::ChunkKind;

    /// The blocks of a golden image that are not zero, by their numbers.
    fn golden() -> BTreeMap<u64, Vec<u8>> {
        let image = include_bytes!("../tests/proofs/golden/format-2-cut-off.zst");
        let bytes = zstd::decode_all(&image[..]).unwrap();
        let piece = |piece: &[u8; 8 + BYTES]| {
            let (number, block) = piece.split_first_chunk::<8>().unwrap();
            (u64::from_le_bytes(*number), block.to_vec())
        };
        bytes.as_chunks::<{ 8 + BYTES }>().0.iter().map(piece).collect()
    }

    /// `length` bytes of an image from block `first` on.
    fn read(blocks: &BTreeMap<u64, Vec<u8>>, first: u64, length: u64) -> Vec<u8> {
        let zeroes = vec![0; BYTES];
        let block = |number| blocks.get(&number).unwrap_or(&zeroes).iter().copied();
        (first..first + length.div_ceil(BLOCK_BYTES)).flat_map(block).collect()
    }

    /// Every chunk that begins at a block of the image.
    fn chunks(blocks: &BTreeMap<u64, Vec<u8>>) -> Vec<(ChunkHeader, Vec<u8>)> {
        let whole = |(&first, block): (&u64, &Vec<u8>)| {
            let (header, _) = ChunkHeader::decode(block)?;
            Some((header, read(blocks, first, header.chunk_bytes().min(1 << 20))))
        };
        blocks.iter().filter_map(whole).collect()
    }

    /// A chunk's table, which follows its payload.
    fn table(header: &ChunkHeader, chunk: &[u8]) -> Vec<u8> {
        let from = CHUNK_HEADER_BYTES + header.payload_bytes as usize;
        chunk[from..from + 8 * header.table_words as usize].to_vec()
    }

    fn mutate_and_run(body: fn(&[u8]), of: &[u8]) {
        body(of);
        for seed in 0..count(500, 50_000) {
            body(&mutate::bytes(of, &mut mutate::Random::new(seed)));
        }
    }

    #[test]
    fn a_mutated_superblock_is_decoded_or_refused() {
        mutate_and_run(superblock, &golden()[&0]);
    }

    #[test]
    fn a_mutated_root_is_decoded_or_refused() {
        let all = chunks(&golden());
        let roots = all.iter().filter(|(header, _)| header.kind == ChunkKind::Root);
        let bytes = roots.clone().map(|(header, chunk)| table(header, chunk)).max_by_key(Vec::len);
        mutate_and_run(root, &bytes.unwrap());
    }

    #[test]
    fn a_mutated_chunk_is_decoded_or_refused() {
        let all = chunks(&golden());
        let (header, log) = all.iter().find(|(header, _)| header.kind == ChunkKind::Log).unwrap();
        let table = table(header, log);
        mutate_and_run(chunk, &[&log[..CHUNK_HEADER_BYTES], &table].concat());
        mutate_and_run(chunk, &footer_of(header, &table));
    }

    /// The footer of a segment that holds one chunk; the image has no full segment.
    fn footer_of(log: &ChunkHeader, table: &[u8]) -> Vec<u8> {
        let mut footer = Vec::new();
        let (offset, table_words) = (log.offset, log.table_words);
        FooterChunk { seq: log.seq, offset, table_words }.push(&mut footer);
        footer.extend(words(table));
        let table: Vec<u8> = footer.iter().flat_map(|word| word.to_le_bytes()).collect();
        let table_words = footer.len() as u32;
        let header = ChunkHeader { kind: ChunkKind::Footer, table_words, next_segment: 1, ..*log };
        let mut bytes = vec![0; CHUNK_HEADER_BYTES];
        header.encode(&table, &mut bytes);
        [bytes, table].concat()
    }
}
