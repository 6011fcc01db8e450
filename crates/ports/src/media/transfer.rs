//! Reads and writes complete ranges of a file.
//!
//! Guarantees: all bytes are transferred, or the failure carries its position; a device receives
//! only memory aligned to a block, through a buffer of at most [`PIECE_BYTES`] a thread if the
//! caller's is not aligned.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, IoSlice};

use assay_disk::{BLOCK_BYTES, BlockBuffer};
use rustix::io::{Errno, ReadWriteFlags};

/// Size of the buffer, in bytes.
pub(super) const PIECE_BYTES: u64 = 1 << 20;

thread_local! {
    static BUFFER: RefCell<BlockBuffer> = RefCell::new(BlockBuffer::default());
}

/// A transfer that ended early.
pub(super) struct Failure {
    /// Offset of the first byte that was not transferred.
    pub offset: u64,
    pub reason: io::Error,
}

pub(super) fn read(file: &File, direct: bool, offset: u64, data: &mut [u8]) -> Result<(), Failure> {
    if !direct || is_on_a_block(data) {
        return read_all(file, direct, offset, data);
    }
    in_pieces(offset, data.chunks_mut(PIECE_BYTES as usize), |offset, piece, buffer| {
        let aligned = buffer.first(piece.len());
        read_all(file, direct, offset, aligned)?;
        piece.copy_from_slice(aligned);
        Ok(())
    })
}

pub(super) fn write(
    file: &File,
    direct: bool,
    offset: u64,
    data: &[u8],
    is_durable: bool,
) -> Result<(), Failure> {
    let flags = if is_durable { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
    if !direct || is_on_a_block(data) {
        return write_all(file, direct, offset, data, flags);
    }
    in_pieces(offset, data.chunks(PIECE_BYTES as usize), |offset, piece, buffer| {
        let aligned = buffer.first(piece.len());
        aligned.copy_from_slice(piece);
        write_all(file, direct, offset, aligned, flags)
    })
}

fn is_on_a_block(data: &[u8]) -> bool {
    data.as_ptr().addr().is_multiple_of(BLOCK_BYTES as usize)
}

fn in_pieces<P: AsRef<[u8]>>(
    offset: u64,
    pieces: impl Iterator<Item = P>,
    mut transfer: impl FnMut(u64, P, &mut BlockBuffer) -> Result<(), Failure>,
) -> Result<(), Failure> {
    BUFFER.with_borrow_mut(|buffer| {
        pieces.enumerate().try_for_each(|(index, piece)| {
            transfer(offset + index as u64 * PIECE_BYTES, piece, buffer)
        })
    })
}

fn read_all(file: &File, direct: bool, offset: u64, data: &mut [u8]) -> Result<(), Failure> {
    let length = data.len();
    to_the_end(direct, offset, length, io::ErrorKind::UnexpectedEof, |done, at| {
        rustix::io::pread(file, &mut data[done..], at)
    })
}

fn write_all(
    file: &File,
    direct: bool,
    offset: u64,
    data: &[u8],
    flags: ReadWriteFlags,
) -> Result<(), Failure> {
    to_the_end(direct, offset, data.len(), io::ErrorKind::WriteZero, |done, at| {
        rustix::io::pwritev2(file, &[IoSlice::new(&data[done..])], at, flags)
    })
}

/// Calls `step` with the progress and the next position until `length` bytes are done. Direct I/O
/// that ended within a block repeats that block, because it must start on one.
fn to_the_end(
    direct: bool,
    offset: u64,
    length: usize,
    ended: io::ErrorKind,
    mut step: impl FnMut(usize, u64) -> rustix::io::Result<usize>,
) -> Result<(), Failure> {
    let unit = if direct { BLOCK_BYTES as usize } else { 1 };
    let mut done = 0;
    while done < length {
        let at = offset + done as u64;
        let moved = match step(done, at) {
            Ok(moved) => moved,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(Failure { offset: at, reason: errno.into() }),
        };
        if moved < unit {
            let text = format!("it ends after {moved} of {} bytes", length - done);
            return Err(Failure { offset: at, reason: io::Error::new(ended, text) });
        }
        done += moved / unit * unit;
    }
    Ok(())
}
