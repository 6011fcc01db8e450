//! The PDUs of NVMe/TCP (TCP, 3.6): the units of its byte stream.
//!
//! Every PDU begins with the common header. The header of its kind follows, then a digest of both
//! if it was negotiated, padding, data, and a digest of the data.

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a digest: CRC-32C.
pub const DIGEST_BYTES: usize = 4;

/// The longest header: that of InitRequest and InitResponse.
pub const HEADER_BYTES_MAX: usize = 128;

/// The kinds of PDUs (TCP, figure 16).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum PduKind {
    /// Opens a connection (ICReq).
    InitRequest = 0x00,
    /// Answers it (ICResp).
    InitResponse = 0x01,
    /// The host ends the connection after an error.
    HostTermRequest = 0x02,
    /// The controller ends the connection after an error.
    ControllerTermRequest = 0x03,
    /// A command, with or without data.
    Command = 0x04,
    /// A completion.
    Response = 0x05,
    /// Data from the host.
    HostData = 0x06,
    /// Data for the host.
    ControllerData = 0x07,
    /// The controller asks for data of a command (R2T).
    ReadyToTransfer = 0x09,
}

impl PduKind {
    const ALL: [PduKind; 9] = [
        PduKind::InitRequest,
        PduKind::InitResponse,
        PduKind::HostTermRequest,
        PduKind::ControllerTermRequest,
        PduKind::Command,
        PduKind::Response,
        PduKind::HostData,
        PduKind::ControllerData,
        PduKind::ReadyToTransfer,
    ];

    /// The kind with this number.
    #[must_use]
    pub fn of(number: u8) -> Option<PduKind> {
        PduKind::ALL.into_iter().find(|one| *one as u8 == number)
    }

    /// Bytes of the header, the common one included, as `hlen` has to give it.
    #[must_use]
    pub fn header_bytes(self) -> usize {
        match self {
            PduKind::InitRequest | PduKind::InitResponse => 128,
            PduKind::Command => 72,
            _ => 24,
        }
    }

    /// Returns true if data may follow the header.
    #[must_use]
    pub fn has_data(self) -> bool {
        matches!(
            self,
            PduKind::Command
                | PduKind::HostData
                | PduKind::ControllerData
                | PduKind::HostTermRequest
                | PduKind::ControllerTermRequest
        )
    }

    /// Returns true if digests protect PDUs of this kind: not those before and after a connection.
    #[must_use]
    pub fn has_digests(self) -> bool {
        !matches!(
            self,
            PduKind::InitRequest
                | PduKind::InitResponse
                | PduKind::HostTermRequest
                | PduKind::ControllerTermRequest
        )
    }
}

/// Flags of the common header (TCP, 3.6.1 and the figures of each PDU).
pub mod flags {
    /// A digest of the header follows it.
    pub const HEADER_DIGEST: u8 = 1 << 0;
    /// A digest of the data follows them.
    pub const DATA_DIGEST: u8 = 1 << 1;
    /// The last data of a transfer.
    pub const LAST: u8 = 1 << 2;
    /// The data stand for a successful completion too.
    pub const SUCCESS: u8 = 1 << 3;
}

/// The beginning of every PDU (TCP, figure 15): 8 bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct CommonHeader {
    /// See [`PduKind`].
    pub kind: u8,
    /// See [`flags`].
    pub flags: u8,
    /// Bytes of the header.
    pub header_bytes: u8,
    /// Offset of the data from the beginning of the PDU; 0 without data.
    pub data_offset: u8,
    /// Bytes of the PDU.
    pub bytes: U32,
}

/// Which digests a connection has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Digests {
    /// Headers carry a digest.
    pub header: bool,
    /// Data carry a digest.
    pub data: bool,
}

impl Digests {
    /// The bits of `DGST` (TCP, figure 17).
    #[must_use]
    pub fn bits(self) -> u8 {
        u8::from(self.header) | u8::from(self.data) << 1
    }

    /// Decodes `DGST`.
    #[must_use]
    pub fn of_bits(bits: u8) -> Digests {
        Digests { header: bits & 1 != 0, data: bits & 2 != 0 }
    }
}

impl CommonHeader {
    /// The header of a PDU of `kind` with `data_bytes` of data, with flags and lengths for these
    /// digests. Data begin at the next multiple of `alignment` bytes.
    #[must_use]
    pub fn new(kind: PduKind, data_bytes: usize, digests: Digests, alignment: usize) -> Self {
        let digests = if kind.has_digests() { digests } else { Digests::default() };
        let header_end = kind.header_bytes() + if digests.header { DIGEST_BYTES } else { 0 };
        let has_data = data_bytes > 0;
        let data_at =
            if has_data { header_end.next_multiple_of(alignment.max(1)) } else { header_end };
        let trailer = if digests.data && has_data { DIGEST_BYTES } else { 0 };
        let header_flag = if digests.header { flags::HEADER_DIGEST } else { 0 };
        let data_flag = if trailer > 0 { flags::DATA_DIGEST } else { 0 };
        CommonHeader {
            kind: kind as u8,
            flags: header_flag | data_flag,
            header_bytes: kind.header_bytes() as u8,
            data_offset: if has_data { data_at as u8 } else { 0 },
            bytes: U32::new((data_at + data_bytes + trailer) as u32),
        }
    }
}

/// ICReq (TCP, figure 17).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct InitRequest {
    /// The common header.
    pub common: CommonHeader,
    /// Version of PDUs: 0.
    pub version: U16,
    /// Alignment of data for the host, in units of 4 bytes, 0's based: 0 to 31.
    pub host_alignment: u8,
    /// See [`Digests`].
    pub digests: u8,
    /// Most outstanding R2T of a command, 0's based.
    pub max_ready_0: U32,
    reserved: [u8; 112],
}

impl InitRequest {
    /// A request without demands on alignment.
    #[must_use]
    pub fn new(digests: Digests, max_ready_0: u32) -> InitRequest {
        InitRequest {
            common: CommonHeader::new(PduKind::InitRequest, 0, Digests::default(), 1),
            digests: digests.bits(),
            max_ready_0: U32::new(max_ready_0),
            ..InitRequest::new_zeroed()
        }
    }
}

/// ICResp (TCP, figure 18).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct InitResponse {
    /// The common header.
    pub common: CommonHeader,
    /// Version of PDUs: 0.
    pub version: U16,
    /// Alignment of data for the controller; Linux's host takes 0 alone.
    pub controller_alignment: u8,
    /// See [`Digests`].
    pub digests: u8,
    /// Most bytes of data of one [`PduKind::HostData`]: at least 4,096.
    pub max_host_data: U32,
    reserved: [u8; 112],
}

impl InitResponse {
    /// A response without demands on alignment.
    #[must_use]
    pub fn new(digests: Digests, max_host_data: u32) -> InitResponse {
        InitResponse {
            common: CommonHeader::new(PduKind::InitResponse, 0, Digests::default(), 1),
            digests: digests.bits(),
            max_host_data: U32::new(max_host_data),
            ..InitResponse::new_zeroed()
        }
    }
}

/// The header of data in either direction, and of a request for data (R2T; TCP, figures 24 to 26).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct DataHeader {
    /// The common header.
    pub common: CommonHeader,
    /// The command.
    pub command: U16,
    /// Tag of the R2T, in it and in the data that it asks for. Zero in data for the host.
    pub tag: U16,
    /// Place of the data among those of the command.
    pub offset: U32,
    /// Bytes of the data.
    pub length: U32,
    reserved: [u8; 4],
}

impl DataHeader {
    /// The header of data behind `common`.
    #[must_use]
    pub fn new(common: CommonHeader, command: u16, tag: u16, offset: u32, length: u32) -> Self {
        DataHeader {
            common,
            command: U16::new(command),
            tag: U16::new(tag),
            offset: U32::new(offset),
            length: U32::new(length),
            reserved: [0; 4],
        }
    }
}

/// A request to end the connection, of either side (TCP, figures 19 and 20).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct TermRequest {
    /// The common header.
    pub common: CommonHeader,
    /// See [`FatalReason`].
    pub reason: U16,
    /// Offset of the wrong field in the PDU's header, or the digest that was expected.
    pub detail: U32,
    reserved: [u8; 10],
}

impl TermRequest {
    /// A request of `kind`, without the offending header.
    #[must_use]
    pub fn new(kind: PduKind, reason: FatalReason, detail: u32) -> TermRequest {
        TermRequest {
            common: CommonHeader::new(kind, 0, Digests::default(), 1),
            reason: U16::new(reason as u16),
            detail: U32::new(detail),
            reserved: [0; 10],
        }
    }
}

/// Reasons to end a connection (TCP, figure 19).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum FatalReason {
    /// A field of a header has no valid value.
    HeaderField = 0x01,
    /// A PDU came that may not come now.
    Sequence = 0x02,
    /// The digest of a header is wrong.
    HeaderDigest = 0x03,
    /// Data lie outside those that were asked for.
    DataRange = 0x04,
    /// More data than the limit.
    DataLimit = 0x05,
    /// The other side asked for what is not supported.
    Unsupported = 0x06,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_the_sizes_of_the_specification() {
        assert_eq!(size_of::<CommonHeader>(), 8);
        assert_eq!((size_of::<InitRequest>(), size_of::<InitResponse>()), (128, 128));
        assert_eq!(size_of::<DataHeader>(), 24);
        assert_eq!(size_of::<TermRequest>(), 24);
    }

    #[test]
    fn lengths_count_header_digests_padding_and_data() {
        let both = Digests { header: true, data: true };
        let of = |kind, data, digests, alignment| {
            let header = CommonHeader::new(kind, data, digests, alignment);
            (header.flags, header.header_bytes, header.data_offset, header.bytes.get())
        };
        let none = Digests::default();
        assert_eq!(of(PduKind::Response, 0, none, 1), (0, 24, 0, 24));
        assert_eq!(of(PduKind::Response, 0, both, 1), (1, 24, 0, 28));
        assert_eq!(of(PduKind::Command, 4096, none, 1), (0, 72, 72, 4168));
        assert_eq!(of(PduKind::Command, 4096, both, 1), (3, 72, 76, 4176));
        assert_eq!(of(PduKind::ControllerData, 512, both, 64), (3, 24, 64, 580));
        assert_eq!(of(PduKind::InitRequest, 0, both, 1), (0, 128, 0, 128), "never protected");
    }

    #[test]
    fn digests_come_back() {
        for bits in 0..4 {
            assert_eq!(Digests::of_bits(bits).bits(), bits);
        }
    }
}
