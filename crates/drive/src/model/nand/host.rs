//! What a command meets before it comes to the flash: link, controller, firmware, compression engine.

use super::super::time::{Rate, Time};
use super::super::timing::{Command, Due, Kind, Resource, Timing};
use crate::disk::BLOCK_BYTES;

/// The engine that compresses on the way to flash and back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Engine {
    /// What it adds to a command.
    pub latency: Time,
    /// Bytes of the host that it takes a second.
    pub bytes_per_s: Rate,
}

/// What a drive can take from its host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostLimits {
    /// What the firmware adds to a read.
    pub read_firmware_time: Time,
    /// What the firmware adds to a write, a flush or a discard.
    pub write_firmware_time: Time,
    /// Commands a second, if the controller has such a limit.
    pub operations_per_s: Option<Rate>,
    /// How fast one command's data pass the link, each way.
    pub link_bytes_per_s: Rate,
    /// How much all commands together may pass, each way: less than the above in a scale model, whose single command is as
    /// fast as the real one's.
    pub link_cap_bytes_per_s: Rate,
    /// The compression engine, if there is one.
    pub engine: Option<Engine>,
}

/// The state of the host's side: when what is next free.
#[derive(Debug)]
pub struct Host {
    limits: HostLimits,
    controller_free: Time,
    link_in_free: Time,
    link_out_free: Time,
    engine_free: Time,
}

impl Host {
    /// A host's side at rest.
    #[must_use]
    pub fn new(limits: HostLimits) -> Host {
        let zero = Time::ZERO;
        Host {
            limits,
            controller_free: zero,
            link_in_free: zero,
            link_out_free: zero,
            engine_free: zero,
        }
    }

    fn take_operation(&mut self, due: &mut Due) {
        if let Some(rate) = self.limits.operations_per_s {
            due.wait(self.controller_free, Resource::Controller);
            self.controller_free = due.when() + rate.time_for(1);
        }
    }

    fn pass_engine(&mut self, bytes: u64, due: &mut Due) {
        if let Some(engine) = self.limits.engine {
            due.wait(self.engine_free, Resource::Engine);
            self.engine_free = due.when() + engine.bytes_per_s.time_for(bytes);
            // Its pipeline works block by block: a command is through when its last block is.
            let behind = engine.bytes_per_s.time_for(bytes.saturating_sub(BLOCK_BYTES));
            due.spend(engine.latency + behind, Resource::Engine);
        }
    }
}

/// Carries `bytes` over one direction of a link that is next free at `free`.
fn carry(free: &mut Time, limits: &HostLimits, bytes: u64, due: &mut Due) {
    due.wait(*free, Resource::Link);
    *free = due.when() + limits.link_cap_bytes_per_s.time_for(bytes);
    due.spend(limits.link_bytes_per_s.time_for(bytes), Resource::Link);
}

impl Timing for Host {
    fn begin(&mut self, command: &Command, due: &mut Due) {
        let limits = self.limits;
        match command.kind {
            Kind::Read => {
                self.take_operation(due);
                due.spend(limits.read_firmware_time, Resource::Firmware);
            }
            Kind::Write => {
                self.take_operation(due);
                carry(&mut self.link_in_free, &limits, command.length, due);
                self.pass_engine(command.length, due);
                due.spend(limits.write_firmware_time, Resource::Firmware);
            }
            Kind::Flush | Kind::Discard => {
                due.spend(limits.write_firmware_time, Resource::Firmware);
            }
        }
    }

    fn end(&mut self, command: &Command, due: &mut Due) {
        if command.kind == Kind::Read {
            self.pass_engine(command.length, due);
            let limits = self.limits;
            carry(&mut self.link_out_free, &limits, command.length, due);
        }
    }
}
