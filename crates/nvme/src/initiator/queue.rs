//! A queue of the initiator: one connection with one command in flight.
//!
//! The caller's thread sends the command and receives its answer, so that no other has to be woken.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::controller::ADMIN_IN_CAPSULE_BYTES;
use crate::transport::{Header, LinkFault, Reader, Writer, bytes, out_of_turn, wrong_field};
use crate::wire::{
    Completion, DataHeader, Digests, InitRequest, InitResponse, PduKind, Sgl, Submission,
    TermRequest, flags,
};

/// Data that travel with a command.
pub(super) enum Data<'a> {
    None,
    Send(&'a [u8]),
    Receive(&'a mut [u8]),
}

impl Data<'_> {
    /// The same data once more, for a command that may have to be sent again.
    pub(super) fn again(&mut self) -> Data<'_> {
        match self {
            Data::None => Data::None,
            Data::Send(data) => Data::Send(data),
            Data::Receive(data) => Data::Receive(data),
        }
    }
}

pub(super) struct Queue {
    reader: Reader<TcpStream>,
    writer: Writer<TcpStream>,
    next_id: u16,
    /// Most bytes of data in a command's capsule.
    in_capsule_bytes: usize,
    /// Most bytes of data in a PDU.
    host_data_bytes: usize,
}

impl Queue {
    /// Opens a connection and agrees on its digests.
    pub(super) fn open(
        address: SocketAddr,
        digests: Digests,
        patience: Duration,
    ) -> Result<Queue, LinkFault> {
        let stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        let mut queue = Queue {
            reader: Reader::new(stream.try_clone()?),
            writer: Writer::new(stream),
            next_id: 0,
            in_capsule_bytes: ADMIN_IN_CAPSULE_BYTES as usize,
            host_data_bytes: 0,
        };
        queue.initialize(digests)?;
        Ok(queue)
    }

    fn initialize(&mut self, digests: Digests) -> Result<(), LinkFault> {
        const VERSION_AT: u32 = 8;
        const DIGESTS_AT: u32 = 11;
        const MAX_DATA_AT: u32 = 12;
        const LEAST_DATA: u32 = 4096;
        const ALIGNMENT_MAX: u8 = 31;
        self.writer.send(bytes(&InitRequest::new(digests, 0)), &[])?;
        let header = self.header()?;
        let response: InitResponse = match header.kind {
            PduKind::InitResponse => header.read().ok_or(wrong_field(0))?,
            _ => return Err(out_of_turn()),
        };
        let max = response.max_host_data.get();
        if response.version.get() != 0 || response.controller_alignment > ALIGNMENT_MAX {
            return Err(wrong_field(VERSION_AT));
        }
        let agreed = Digests::of_bits(response.digests);
        if agreed.header && !digests.header || agreed.data && !digests.data {
            return Err(wrong_field(DIGESTS_AT));
        }
        if max < LEAST_DATA {
            return Err(wrong_field(MAX_DATA_AT));
        }
        self.host_data_bytes = max as usize;
        self.reader.expect(agreed);
        self.writer.agree(agreed, (usize::from(response.controller_alignment) + 1) * 4);
        Ok(())
    }

    /// Sends data of up to so many bytes in the capsules of commands.
    pub(super) fn set_in_capsule_bytes(&mut self, bytes: usize) {
        self.in_capsule_bytes = bytes;
    }

    /// A handle of the connection.
    pub(super) fn stream(&self) -> std::io::Result<TcpStream> {
        self.writer.stream().try_clone()
    }

    /// Performs a command.
    pub(super) fn perform(
        &mut self,
        command: Submission,
        data: Data<'_>,
    ) -> Result<Completion, LinkFault> {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        let mut command = command;
        command.id.set(id);
        match data {
            Data::None => {
                self.send_command(&command.with_data(Sgl::none()), &[])?;
                self.completion(id, &[], &mut [])
            }
            Data::Receive(room) => {
                self.send_command(&command.with_data(Sgl::transport(room.len() as u32)), &[])?;
                self.completion(id, &[], room)
            }
            Data::Send(data) if data.len() <= self.in_capsule_bytes => {
                self.send_command(&command.with_data(Sgl::in_capsule(data.len() as u32)), data)?;
                self.completion(id, &[], &mut [])
            }
            Data::Send(data) => {
                self.send_command(&command.with_data(Sgl::transport(data.len() as u32)), &[])?;
                self.completion(id, data, &mut [])
            }
        }
    }

    fn send_command(&mut self, command: &Submission, data: &[u8]) -> Result<(), LinkFault> {
        Ok(self.writer.send_entry(PduKind::Command, command, data)?)
    }

    fn header(&mut self) -> Result<Header, LinkFault> {
        let header = self.reader.header()?;
        if header.kind == PduKind::ControllerTermRequest {
            let request: TermRequest = header.read().ok_or(wrong_field(0))?;
            let (reason, detail) = (request.reason.get(), request.detail.get());
            return Err(LinkFault::Reported { reason, detail });
        }
        Ok(header)
    }

    /// Receives the completion of command `id`, and on the way to it sends the data that the
    /// controller asks for and takes those that it sends.
    fn completion(
        &mut self,
        id: u16,
        outgoing: &[u8],
        incoming: &mut [u8],
    ) -> Result<Completion, LinkFault> {
        let mut taken = 0;
        loop {
            let header = self.header()?;
            match header.kind {
                PduKind::Response => {
                    let completion: Completion = header.tail().ok_or(wrong_field(0))?;
                    if completion.id.get() != id {
                        return Err(wrong_field(20));
                    }
                    if completion.status().is_success() && taken != incoming.len() {
                        return Err(out_of_turn());
                    }
                    return Ok(completion);
                }
                PduKind::ControllerData => {
                    if self.take(&header, id, &mut taken, incoming)? {
                        return Ok(Completion::new(id, crate::wire::NvmeStatus::SUCCESS, 0));
                    }
                }
                PduKind::ReadyToTransfer => self.send_data(&header, id, outgoing)?,
                _ => return Err(out_of_turn()),
            }
        }
    }

    /// Takes data of a read; returns true if they complete it.
    fn take(
        &mut self,
        header: &Header,
        id: u16,
        taken: &mut usize,
        incoming: &mut [u8],
    ) -> Result<bool, LinkFault> {
        let of: DataHeader = header.read().ok_or(wrong_field(0))?;
        let (offset, length) = (of.offset.get() as usize, of.length.get() as usize);
        let is_fitting = of.command.get() == id
            && offset == *taken
            && length == header.data_bytes
            && length <= incoming.len() - *taken;
        if !is_fitting {
            return Err(wrong_field(8));
        }
        if !self.reader.data(header, &mut incoming[offset..offset + length])? {
            return Err(std::io::Error::other("data were damaged on the way").into());
        }
        *taken += length;
        let is_complete = header.flags & flags::SUCCESS != 0;
        match is_complete && *taken != incoming.len() {
            true => Err(out_of_turn()),
            false => Ok(is_complete),
        }
    }

    /// Sends the data that an R2T asks for.
    fn send_data(&mut self, header: &Header, id: u16, outgoing: &[u8]) -> Result<(), LinkFault> {
        let wanted: DataHeader = header.read().ok_or(wrong_field(0))?;
        let start = wanted.offset.get() as usize;
        let data = start
            .checked_add(wanted.length.get() as usize)
            .and_then(|end| outgoing.get(start..end))
            .filter(|data| wanted.command.get() == id && !data.is_empty())
            .ok_or(wrong_field(8))?;
        let mut at = start;
        let pieces = data.chunks(self.host_data_bytes);
        let last = pieces.len() - 1;
        for (number, piece) in pieces.enumerate() {
            let mut common = self.writer.common(PduKind::HostData, piece.len());
            common.flags |= if number == last { flags::LAST } else { 0 };
            let (offset, length) = (at as u32, piece.len() as u32);
            let header = DataHeader::new(common, id, wanted.tag.get(), offset, length);
            self.writer.send(bytes(&header), piece)?;
            at += piece.len();
        }
        Ok(())
    }
}
