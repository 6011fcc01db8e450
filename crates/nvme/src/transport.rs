//! PDUs on a byte stream, in either direction.
//!
//! Guarantees: an invalid PDU is a [`LinkFault`] before any of its data are read; no length from
//! the other side makes this side take memory.

use std::io::{self, BufReader, IoSlice, Read, Write};

use thiserror::Error;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::controller::TRANSFER_BYTES_MAX;
use crate::wire::{
    CommonHeader, DIGEST_BYTES, Digests, FatalReason, HEADER_BYTES_MAX, PduKind, flags,
};

/// Bytes that are read ahead: some commands without data, or one page in its capsule.
const AHEAD_BYTES: usize = 32 << 10;

/// The reason for which a connection cannot go on.
#[derive(Debug, Error)]
pub enum LinkFault {
    /// The other side closed the connection between two PDUs.
    #[error("the connection was closed")]
    Closed,
    /// The stream failed, or ended within a PDU.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The other side broke the protocol.
    #[error("protocol error: {reason:?} at byte {detail} of the header")]
    Protocol {
        /// The reason of the request to end the connection.
        reason: FatalReason,
        /// Offset of the field.
        detail: u32,
    },
    /// The other side asked to end the connection after an error of this side.
    #[error("the other side reports a protocol error: reason {reason:#x} at byte {detail}")]
    Reported {
        /// The reason's number.
        reason: u16,
        /// Offset of the field.
        detail: u32,
    },
}

/// A fault in the field at this offset of a header.
pub(crate) fn wrong_field(detail: u32) -> LinkFault {
    LinkFault::Protocol { reason: FatalReason::HeaderField, detail }
}

/// A PDU that may not come now.
pub(crate) fn out_of_turn() -> LinkFault {
    LinkFault::Protocol { reason: FatalReason::Sequence, detail: 0 }
}

/// Offsets of fields of the common header.
const KIND_AT: u32 = 0;
const FLAGS_AT: u32 = 1;
const HEADER_BYTES_AT: u32 = 2;
const DATA_OFFSET_AT: u32 = 3;
const BYTES_AT: u32 = 4;

/// The header of a PDU that has arrived; its data are still to be read.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    pub(crate) kind: PduKind,
    pub(crate) flags: u8,
    pub(crate) data_bytes: usize,
    bytes: [u8; HEADER_BYTES_MAX],
}

impl Header {
    /// The header as a structure of its kind.
    pub(crate) fn read<T: FromBytes + KnownLayout + Immutable + Unaligned>(&self) -> Option<T> {
        T::read_from_prefix(&self.bytes).ok().map(|(header, _)| header)
    }

    /// The header's bytes behind the common header.
    pub(crate) fn tail<T: FromBytes + KnownLayout + Immutable + Unaligned>(&self) -> Option<T> {
        T::read_from_prefix(&self.bytes[size_of::<CommonHeader>()..]).ok().map(|(tail, _)| tail)
    }
}

/// The receiving half.
pub(crate) struct Reader<S> {
    stream: BufReader<S>,
    digests: Digests,
}

impl<S: Read> Reader<S> {
    pub(crate) fn new(stream: S) -> Reader<S> {
        let stream = BufReader::with_capacity(AHEAD_BYTES, stream);
        Reader { stream, digests: Digests::default() }
    }

    /// Expects these digests from now on.
    pub(crate) fn expect(&mut self, digests: Digests) {
        self.digests = digests;
    }

    /// Reads the header of the next PDU, and checks it as far as every PDU can be.
    pub(crate) fn header(&mut self) -> Result<Header, LinkFault> {
        let mut bytes = [0; HEADER_BYTES_MAX];
        const COMMON: usize = size_of::<CommonHeader>();
        self.first(&mut bytes[..COMMON])?;
        let (common, _) =
            CommonHeader::read_from_prefix(&bytes).map_err(|_| wrong_field(BYTES_AT))?;
        let kind = PduKind::of(common.kind).ok_or(wrong_field(KIND_AT))?;
        if usize::from(common.header_bytes) != kind.header_bytes() {
            return Err(wrong_field(HEADER_BYTES_AT));
        }
        let digests = if kind.has_digests() { self.digests } else { Digests::default() };
        let data = placed(&common, kind, digests)?;
        self.stream.read_exact(&mut bytes[COMMON..kind.header_bytes()])?;
        if digests.header {
            let mut digest = [0; DIGEST_BYTES];
            self.stream.read_exact(&mut digest)?;
            let found = crc32c::crc32c(&bytes[..kind.header_bytes()]);
            if u32::from_le_bytes(digest) != found {
                return Err(LinkFault::Protocol {
                    reason: FatalReason::HeaderDigest,
                    detail: found,
                });
            }
        }
        self.skip(data.padding)?;
        Ok(Header { kind, flags: common.flags, data_bytes: data.bytes, bytes })
    }

    /// Reads the first bytes of a PDU; the end of the stream before them is no error of the stream.
    fn first(&mut self, bytes: &mut [u8]) -> Result<(), LinkFault> {
        let read = loop {
            match self.stream.read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        match read {
            0 => Err(LinkFault::Closed),
            _ => Ok(self.stream.read_exact(&mut bytes[read..])?),
        }
    }

    fn skip(&mut self, mut count: usize) -> Result<(), LinkFault> {
        let mut rest = [0; 64];
        while count > 0 {
            let now = count.min(rest.len());
            self.stream.read_exact(&mut rest[..now])?;
            count -= now;
        }
        Ok(())
    }

    /// Reads the data of the PDU whose header came last, all of them, into a buffer of their
    /// length. Returns false if their digest is wrong.
    pub(crate) fn data(&mut self, header: &Header, data: &mut [u8]) -> Result<bool, LinkFault> {
        debug_assert_eq!(data.len(), header.data_bytes);
        self.stream.read_exact(data)?;
        if header.flags & flags::DATA_DIGEST == 0 || data.is_empty() {
            return Ok(true);
        }
        let mut digest = [0; DIGEST_BYTES];
        self.stream.read_exact(&mut digest)?;
        Ok(u32::from_le_bytes(digest) == crc32c::crc32c(data))
    }

    /// Reads the data of the PDU whose header came last, and drops them.
    pub(crate) fn drop_data(&mut self, header: &Header) -> Result<(), LinkFault> {
        let has_digest = header.flags & flags::DATA_DIGEST != 0 && header.data_bytes > 0;
        self.skip(header.data_bytes + if has_digest { DIGEST_BYTES } else { 0 })
    }
}

/// Where a PDU's data lie behind its header and its digest.
struct Placed {
    padding: usize,
    bytes: usize,
}

fn placed(common: &CommonHeader, kind: PduKind, digests: Digests) -> Result<Placed, LinkFault> {
    let header_flag = common.flags & flags::HEADER_DIGEST != 0;
    let data_flag = common.flags & flags::DATA_DIGEST != 0;
    if header_flag != digests.header || data_flag && !digests.data {
        return Err(wrong_field(FLAGS_AT));
    }
    let header_end = kind.header_bytes() + if digests.header { DIGEST_BYTES } else { 0 };
    let all = common.bytes.get() as usize;
    if all == header_end {
        return Ok(Placed { padding: 0, bytes: 0 });
    }
    let trailer = if data_flag { DIGEST_BYTES } else { 0 };
    let start = usize::from(common.data_offset);
    if all < header_end || !kind.has_data() {
        return Err(wrong_field(BYTES_AT));
    }
    if start < header_end || data_flag != digests.data {
        return Err(wrong_field(if start < header_end { DATA_OFFSET_AT } else { FLAGS_AT }));
    }
    let bytes = all.checked_sub(start + trailer).ok_or(wrong_field(BYTES_AT))?;
    if bytes as u64 > TRANSFER_BYTES_MAX {
        return Err(wrong_field(BYTES_AT));
    }
    Ok(Placed { padding: start - header_end, bytes })
}

/// The sending half.
pub(crate) struct Writer<S> {
    stream: S,
    digests: Digests,
    /// Alignment of data that the other side asked for, in bytes.
    alignment: usize,
}

impl<S: Write> Writer<S> {
    pub(crate) fn new(stream: S) -> Writer<S> {
        Writer { stream, digests: Digests::default(), alignment: 1 }
    }

    /// Sends these digests from now on, and data at this alignment.
    pub(crate) fn agree(&mut self, digests: Digests, alignment: usize) {
        (self.digests, self.alignment) = (digests, alignment);
    }

    /// The common header of a PDU with so many bytes of data.
    pub(crate) fn common(&self, kind: PduKind, data_bytes: usize) -> CommonHeader {
        CommonHeader::new(kind, data_bytes, self.digests, self.alignment)
    }

    /// Sends a PDU: its whole header, which begins with what [`Writer::common`] made, and its data.
    pub(crate) fn send(&mut self, header: &[u8], data: &[u8]) -> io::Result<()> {
        let common = CommonHeader::read_from_prefix(header).map(|(common, _)| common);
        let common = common.map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut head = [0; HEADER_BYTES_MAX + DIGEST_BYTES + MAX_PADDING];
        head[..header.len()].copy_from_slice(header);
        let mut end = header.len();
        if common.flags & flags::HEADER_DIGEST != 0 {
            head[end..end + DIGEST_BYTES].copy_from_slice(&crc32c::crc32c(header).to_le_bytes());
            end += DIGEST_BYTES;
        }
        if !data.is_empty() {
            end = usize::from(common.data_offset);
        }
        let (digest, digest_bytes) = match common.flags & flags::DATA_DIGEST != 0 {
            true => (crc32c::crc32c(data).to_le_bytes(), DIGEST_BYTES),
            false => ([0; DIGEST_BYTES], 0),
        };
        write_all(
            &mut self.stream,
            &mut [
                IoSlice::new(&head[..end]),
                IoSlice::new(data),
                IoSlice::new(&digest[..digest_bytes]),
            ],
        )
    }

    /// Sends a command or a completion, and its data.
    pub(crate) fn send_entry(
        &mut self,
        kind: PduKind,
        entry: &(impl IntoBytes + Immutable),
        data: &[u8],
    ) -> io::Result<()> {
        const COMMON: usize = size_of::<CommonHeader>();
        let mut header = [0; HEADER_BYTES_MAX];
        header[..COMMON].copy_from_slice(bytes(&self.common(kind, data.len())));
        header[COMMON..kind.header_bytes()].copy_from_slice(bytes(entry));
        self.send(&header[..kind.header_bytes()], data)
    }

    /// The stream.
    pub(crate) fn stream(&self) -> &S {
        &self.stream
    }
}

/// Most bytes between a header and its data: the largest alignment is 128 (TCP, figure 17).
const MAX_PADDING: usize = 128;

fn write_all(stream: &mut impl Write, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match stream.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => IoSlice::advance_slices(&mut slices, count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A structure as the header of a PDU.
pub(crate) fn bytes<T: IntoBytes + Immutable>(structure: &T) -> &[u8] {
    structure.as_bytes()
}
