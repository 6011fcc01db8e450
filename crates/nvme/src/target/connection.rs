//! A connection: its handshake, and the threads that answer its commands.
//!
//! The threads take turns at the socket. A thread reads a command, hands the turn on, and performs
//! the command itself. If no thread waits for the turn, another one is started.

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::registry::AtAddress;
use super::shared::Place;
use super::writes::{Complete, Writes};
use super::{Shared, thread};
use crate::controller::{
    ADMIN_IN_CAPSULE_BYTES, Connected, Controller, QueueKind, Reaction, Request,
    TRANSFER_BYTES_MAX, Transfer, connect,
};
use crate::transport::{Header, LinkFault, Reader, Writer, bytes, out_of_turn, wrong_field};
use crate::wire::{
    Completion, DataHeader, Digests, InitRequest, InitResponse, NvmeStatus, PduKind, SglKind,
    Submission, TermRequest, flags,
};

/// Takes a new connection: refuses it, or gives it a thread.
pub(super) fn begin(shared: &Arc<Shared>, stream: TcpStream, from: SocketAddr) {
    let place = stream.try_clone().ok().and_then(|other| shared.place(other));
    let Some(place) = place else {
        log::warn!("{from} is refused: {} connections are open", shared.limits().connections);
        return;
    };
    let serve = move || {
        if let Err(fault) = serve(place, stream)
            && !matches!(fault, LinkFault::Closed)
        {
            log::info!("the connection from {from} ended: {fault}");
        }
    };
    if let Err(error) = thread("nvme", serve) {
        log::warn!("{from} is refused: no thread: {error}");
    }
}

/// Makes a queue of a connection, and answers its commands until it ends.
fn serve(place: Place, stream: TcpStream) -> Result<(), LinkFault> {
    let limits = *place.shared().limits();
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(limits.handshake))?;
    stream.set_write_timeout(Some(limits.stall))?;
    let mut reader = Reader::new(stream.try_clone()?);
    let mut writer = Writer::new(stream.try_clone()?);
    let result = handshake(&place, &mut reader, &mut writer);
    let connected = match result {
        Ok(connected) => connected,
        Err(fault) => {
            say_fault(&mut writer, &fault);
            return Err(fault);
        }
    };
    // From here on a host may be silent, as far as its keep alive timeout allows.
    stream.set_read_timeout(None)?;
    let connection = Arc::new(Connection {
        controller: connected.controller,
        kind: connected.kind,
        entries: connected.entries,
        no_flow_control: connected.no_flow_control,
        receiving: Mutex::new(reader),
        sending: Mutex::new(writer),
        writes: Mutex::new(Writes::new(limits.write_bytes)),
        in_flight: AtomicUsize::new(0),
        waiting: AtomicUsize::new(0),
        threads: AtomicUsize::new(1),
        threads_max: if connected.kind == QueueKind::Admin { 1 } else { limits.threads },
        has_failed: AtomicBool::new(false),
        queue_head: AtomicUsize::new(1),
        stream,
        place,
    });
    work(&connection)
}

/// The handshake of a connection, then Connect. Returns the queue.
fn handshake(
    place: &Place,
    reader: &mut Reader<TcpStream>,
    writer: &mut Writer<TcpStream>,
) -> Result<Connected, LinkFault> {
    initialize(reader, writer)?;
    let header = reader.header()?;
    let command = command_of(&header)?;
    if header.data_bytes > ADMIN_IN_CAPSULE_BYTES as usize {
        return Err(wrong_field(4));
    }
    let mut data = vec![0; header.data_bytes];
    let is_whole = reader.data(&header, &mut data)?;
    let shared = place.shared();
    let address = writer.stream().local_addr()?;
    let finder = AtAddress { registry: Arc::clone(shared.registry()), address };
    let id = command.id.get();
    let answer = match is_whole {
        true => connect(&finder, &command, &data, shared.now()),
        false => Err(Completion::new(id, NvmeStatus::DATA_TRANSFER_ERROR, 0)),
    };
    let (connected, completion) = match answer {
        Ok(connected) => connected,
        Err(refusal) => {
            log::info!("a connection is refused: {}", refusal.status());
            respond(writer, refusal)?;
            return Err(LinkFault::Closed);
        }
    };
    if connected.kind == QueueKind::Admin {
        shared.registry().add(&connected.controller);
    }
    place.is_queue_of(&connected.controller);
    respond(writer, completion)?;
    Ok(connected)
}

/// Agrees on digests and alignment.
fn initialize(
    reader: &mut Reader<TcpStream>,
    writer: &mut Writer<TcpStream>,
) -> Result<(), LinkFault> {
    const VERSION_AT: u32 = 8;
    const ALIGNMENT_AT: u32 = 10;
    const ALIGNMENT_MAX: u8 = 31;
    let header = reader.header()?;
    let request: InitRequest = match header.kind {
        PduKind::InitRequest => header.read().ok_or(wrong_field(0))?,
        _ => return Err(out_of_turn()),
    };
    if request.version.get() != 0 {
        return Err(wrong_field(VERSION_AT));
    }
    if request.host_alignment > ALIGNMENT_MAX {
        return Err(wrong_field(ALIGNMENT_AT));
    }
    let digests = Digests::of_bits(request.digests);
    writer.send(bytes(&InitResponse::new(digests, TRANSFER_BYTES_MAX as u32)), &[])?;
    reader.expect(digests);
    writer.agree(digests, (usize::from(request.host_alignment) + 1) * 4);
    Ok(())
}

fn command_of(header: &Header) -> Result<Submission, LinkFault> {
    match header.kind {
        PduKind::Command => header.tail().ok_or(wrong_field(0)),
        PduKind::HostTermRequest => Err(reported(header)),
        _ => Err(out_of_turn()),
    }
}

/// The fault that the host reports.
fn reported(header: &Header) -> LinkFault {
    let request: Option<TermRequest> = header.read();
    let (reason, detail) =
        request.map_or((0, 0), |request| (request.reason.get(), request.detail.get()));
    LinkFault::Reported { reason, detail }
}

/// Says why the connection ends, if the host broke the protocol.
fn say_fault(writer: &mut Writer<TcpStream>, fault: &LinkFault) {
    let LinkFault::Protocol { reason, detail } = fault else { return };
    let request = TermRequest::new(PduKind::ControllerTermRequest, *reason, *detail);
    let _ = writer.send(bytes(&request), &[]);
}

fn respond(writer: &mut Writer<TcpStream>, completion: Completion) -> Result<(), LinkFault> {
    Ok(writer.send_entry(PduKind::Response, &completion, &[])?)
}

/// A connection that is a queue.
struct Connection {
    controller: Arc<Controller>,
    kind: QueueKind,
    entries: u16,
    no_flow_control: bool,
    receiving: Mutex<Reader<TcpStream>>,
    sending: Mutex<Writer<TcpStream>>,
    writes: Mutex<Writes>,
    /// Commands that have come and are not completed.
    in_flight: AtomicUsize,
    /// Threads that wait for their turn at the socket.
    waiting: AtomicUsize,
    threads: AtomicUsize,
    threads_max: usize,
    has_failed: AtomicBool,
    /// Head of the submission queue: commands that have been taken, modulo the entries.
    queue_head: AtomicUsize,
    stream: TcpStream,
    place: Place,
}

/// Something that a thread has read and is to do without the turn at the socket.
enum Job {
    /// A command whose data, if it has any, are in the thread's buffer.
    Command(Submission),
    /// A write whose data came in PDUs of their own.
    Write(Complete),
}

/// Answers commands of a connection until it ends.
fn work(connection: &Arc<Connection>) -> Result<(), LinkFault> {
    let mut buffer = Vec::new();
    let result = loop {
        match next(connection, &mut buffer).and_then(|job| connection.perform(job, &mut buffer)) {
            Ok(()) => {}
            Err(fault) => break fault,
        }
    };
    connection.fail(&result);
    Err(result)
}

/// Takes a turn at the socket until there is something to do, and hands it on.
fn next(connection: &Arc<Connection>, buffer: &mut Vec<u8>) -> Result<Job, LinkFault> {
    connection.waiting.fetch_add(1, Ordering::AcqRel);
    let mut reader = connection.receiving.lock();
    connection.waiting.fetch_sub(1, Ordering::AcqRel);
    if connection.has_failed.load(Ordering::Acquire) {
        return Err(LinkFault::Closed);
    }
    let job = loop {
        let header = reader.header()?;
        if let Some(job) = connection.received(&mut reader, &header, buffer)? {
            break job;
        }
    };
    drop(reader);
    connection.hand_on();
    Ok(job)
}

impl Connection {
    /// Starts a thread if nobody waits for the turn and there may be one more.
    fn hand_on(self: &Arc<Connection>) {
        let is_awaited = self.waiting.load(Ordering::Acquire) > 0;
        if is_awaited || self.threads.load(Ordering::Acquire) >= self.threads_max {
            return;
        }
        self.threads.fetch_add(1, Ordering::AcqRel);
        let connection = Arc::clone(self);
        let more = thread("nvme", move || {
            // The first thread says why the connection ends.
            let _ = work(&connection);
        });
        if more.is_err() {
            self.threads.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Takes a PDU whose header has come.
    fn received(
        &self,
        reader: &mut Reader<TcpStream>,
        header: &Header,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Job>, LinkFault> {
        match header.kind {
            PduKind::Command => self.command(reader, header, buffer),
            PduKind::HostData => self.data(reader, header),
            _ => Err(command_of(header).err().unwrap_or_else(out_of_turn)),
        }
    }

    /// Takes a command: a write of more than fits its capsule waits for its data.
    fn command(
        &self,
        reader: &mut Reader<TcpStream>,
        header: &Header,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Job>, LinkFault> {
        let command = command_of(header)?;
        if self.in_flight.fetch_add(1, Ordering::AcqRel) >= usize::from(self.entries) {
            return Err(out_of_turn());
        }
        self.queue_head.fetch_add(1, Ordering::Relaxed);
        let transfer = match self.controller.transfer(self.kind, &command) {
            Ok(transfer) => transfer,
            Err(status) => {
                reader.drop_data(header)?;
                self.complete(Completion::new(command.id.get(), status, 0))?;
                return Ok(None);
            }
        };
        buffer.clear();
        let is_in_capsule = command.data.kind() == SglKind::InCapsule;
        match transfer {
            Transfer::FromHost(_) if !is_in_capsule => {
                reader.drop_data(header)?;
                self.writes.lock().add(command);
                self.ask_for_data()?;
                return Ok(None);
            }
            Transfer::FromHost(length) if header.data_bytes != length as usize => {
                reader.drop_data(header)?;
                self.complete(Completion::new(
                    command.id.get(),
                    NvmeStatus::SGL_LENGTH_INVALID,
                    0,
                ))?;
                return Ok(None);
            }
            Transfer::FromHost(length) => buffer.resize(length as usize, 0),
            Transfer::None | Transfer::ToHost(_) => {
                reader.drop_data(header)?;
                return Ok(Some(Job::Command(command)));
            }
        }
        match reader.data(header, buffer)? {
            true => Ok(Some(Job::Command(command))),
            false => {
                let status = NvmeStatus::TRANSIENT_TRANSPORT;
                self.complete(Completion::new(command.id.get(), status, 0))?;
                Ok(None)
            }
        }
    }

    /// Takes data of a write.
    fn data(
        &self,
        reader: &mut Reader<TcpStream>,
        header: &Header,
    ) -> Result<Option<Job>, LinkFault> {
        let of: DataHeader = header.read().ok_or(wrong_field(0))?;
        let is_last = header.flags & flags::LAST != 0;
        let mut writes = self.writes.lock();
        let arrival = writes.arrival(&of, header.data_bytes, is_last)?;
        let is_whole = reader.data(header, writes.room(&arrival))?;
        Ok(writes.arrived(&arrival, is_whole).map(Job::Write))
    }

    /// Asks for the data of the writes that there is room for.
    fn ask_for_data(&self) -> Result<(), LinkFault> {
        // Under both locks, so that requests go out in the order of their commands.
        let mut sending = self.sending.lock();
        while let Some(wanted) = self.writes.lock().wanted() {
            let common = sending.common(PduKind::ReadyToTransfer, 0);
            let header = DataHeader::new(common, wanted.command, wanted.tag, 0, wanted.length);
            sending.send(bytes(&header), &[])?;
        }
        Ok(())
    }

    fn perform(&self, job: Job, buffer: &mut Vec<u8>) -> Result<(), LinkFault> {
        match job {
            Job::Command(command) => {
                let step = self.step(&command, buffer);
                self.carry_out(step, buffer)
            }
            Job::Write(Complete { command, mut data, is_damaged }) => {
                let length = data.len();
                let step = match is_damaged {
                    false => self.step(&command, &data),
                    true => {
                        let id = command.id.get();
                        Reaction::Complete(Completion::new(id, NvmeStatus::TRANSIENT_TRANSPORT, 0))
                    }
                };
                let result = self.carry_out(step, &mut data);
                drop(data);
                self.writes.lock().release(length);
                result.and_then(|()| self.ask_for_data())
            }
        }
    }

    fn step(&self, command: &Submission, data: &[u8]) -> Reaction {
        let now = self.place.shared().now();
        self.controller.answer(self.kind, command, data, now)
    }

    fn carry_out(&self, step: Reaction, buffer: &mut Vec<u8>) -> Result<(), LinkFault> {
        match step {
            Reaction::Complete(completion) => self.complete(completion)?,
            Reaction::CompleteWith(completion, data) => self.complete_with(completion, &data)?,
            Reaction::Ask(request) => self.ask(&request, buffer)?,
            Reaction::Hold => {}
        }
        while let Some(event) = self.event() {
            self.complete(event)?;
        }
        Ok(())
    }

    fn event(&self) -> Option<Completion> {
        (self.kind == QueueKind::Admin).then(|| self.controller.event()).flatten()
    }

    /// Asks the disk.
    fn ask(&self, request: &Request, buffer: &mut Vec<u8>) -> Result<(), LinkFault> {
        let is_read = request.read_bytes() > 0;
        if is_read {
            buffer.resize(request.read_bytes(), 0);
        }
        let completion = request.perform(buffer);
        match is_read && completion.status().is_success() {
            true => self.complete_with(completion, buffer),
            false => self.complete(completion),
        }
    }

    fn complete(&self, completion: Completion) -> Result<(), LinkFault> {
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
        respond(&mut self.sending.lock(), self.with_head(completion))
    }

    /// Sends data to the host, and the completion, which the data stand for where the host has
    /// agreed to that by disabling flow control.
    fn complete_with(&self, completion: Completion, data: &[u8]) -> Result<(), LinkFault> {
        let is_told_by_data = self.no_flow_control
            && completion.status().is_success()
            && completion.result.get() == 0;
        let mut sending = self.sending.lock();
        if is_told_by_data {
            self.in_flight.fetch_sub(1, Ordering::AcqRel);
        }
        let mut common = sending.common(PduKind::ControllerData, data.len());
        common.flags |= flags::LAST | if is_told_by_data { flags::SUCCESS } else { 0 };
        let id = completion.id.get();
        let header = DataHeader::new(common, id, 0, 0, data.len() as u32);
        sending.send(bytes(&header), data)?;
        if is_told_by_data {
            return Ok(());
        }
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
        respond(&mut sending, self.with_head(completion))
    }

    fn with_head(&self, mut completion: Completion) -> Completion {
        let head = match self.no_flow_control {
            true => 0xffff,
            false => self.queue_head.load(Ordering::Relaxed) % usize::from(self.entries),
        };
        completion.queue_head.set(head as u16);
        completion
    }

    /// Ends the connection, and of an admin queue the association.
    fn fail(&self, fault: &LinkFault) {
        if self.has_failed.swap(true, Ordering::AcqRel) {
            return;
        }
        say_fault(&mut self.sending.lock(), fault);
        let _ = self.stream.shutdown(Shutdown::Both);
        if self.kind == QueueKind::Admin {
            self.place.shared().end_association(&self.controller);
        }
    }
}
