//! The path of a command to the flash: link, controller, firmware, compression engine.

use super::super::calendar::Calendar;
use super::super::time::{Rate, Time};
use super::super::timing::{Command, Due, Kind, Resource, Timing};
use assay_disk::BLOCK_BYTES;

/// The engine that compresses on the way to flash and decompresses on the way back, a pipeline for
/// each: no published source says that they share one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompressionEngine {
    /// Latency that it adds to a command.
    pub latency: Time,
    /// Bandwidth for one command's data, in bytes of the host.
    pub bytes_per_s: Rate,
    /// Bandwidth for all commands together: less than `bytes_per_s` in a scale model.
    pub cap_bytes_per_s: Rate,
}

/// Limits of a drive towards its host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostLimits {
    /// Firmware time of a read.
    pub read_firmware_time: Time,
    /// Firmware time of a write, flush or discard.
    pub write_firmware_time: Time,
    /// Commands a second, if the controller limits them.
    pub operations_per_s: Option<Rate>,
    /// Bandwidth of the link for one command's data, in each direction.
    pub link_bytes_per_s: Rate,
    /// Bandwidth for all commands together, in each direction: less than `link_bytes_per_s` in a
    /// scale model, whose single command is as fast as the real one's.
    pub link_cap_bytes_per_s: Rate,
    /// The compression engine, if there is one.
    pub engine: Option<CompressionEngine>,
}

/// The state of the host's side: the bookings of its parts.
#[derive(Debug)]
pub struct HostTiming {
    limits: HostLimits,
    controller: Calendar,
    link_in: Calendar,
    link_out: Calendar,
    compressing: Calendar,
    decompressing: Calendar,
}

impl HostTiming {
    /// An idle host's side.
    #[must_use]
    pub fn new(limits: HostLimits) -> HostTiming {
        let [controller, link_in, link_out, compressing, decompressing] =
            std::array::from_fn(|_| Calendar::default());
        HostTiming { limits, controller, link_in, link_out, compressing, decompressing }
    }

    fn take_operation(&mut self, now: Time, due: &mut Due) {
        if let Some(rate) = self.limits.operations_per_s {
            let start = self.controller.take(now, due.when(), rate.time_for(1));
            due.wait(start, Resource::Controller);
        }
    }
}

/// Passes `bytes` through one direction of the engine, if there is one.
fn pass_engine(engine: &mut Calendar, limits: &HostLimits, now: Time, bytes: u64, due: &mut Due) {
    let Some(numbers) = limits.engine else { return };
    let start = engine.take(now, due.when(), numbers.cap_bytes_per_s.time_for(bytes));
    due.wait(start, Resource::Engine);
    // The pipeline works block by block: a command is done when its last block is.
    let behind = numbers.bytes_per_s.time_for(bytes.saturating_sub(BLOCK_BYTES));
    due.spend(numbers.latency + behind, Resource::Engine);
}

/// Passes `bytes` over one direction of a link.
fn carry(link: &mut Calendar, limits: &HostLimits, now: Time, bytes: u64, due: &mut Due) {
    let start = link.take(now, due.when(), limits.link_cap_bytes_per_s.time_for(bytes));
    due.wait(start, Resource::Link);
    due.spend(limits.link_bytes_per_s.time_for(bytes), Resource::Link);
}

impl Timing for HostTiming {
    fn begin(&mut self, command: &Command, due: &mut Due) {
        let (limits, now) = (self.limits, command.arrival);
        match command.kind {
            Kind::Read => {
                self.take_operation(now, due);
                due.spend(limits.read_firmware_time, Resource::Firmware);
            }
            Kind::Write => {
                self.take_operation(now, due);
                carry(&mut self.link_in, &limits, now, command.length, due);
                pass_engine(&mut self.compressing, &limits, now, command.length, due);
                due.spend(limits.write_firmware_time, Resource::Firmware);
            }
            Kind::Flush | Kind::Discard => {
                due.spend(limits.write_firmware_time, Resource::Firmware);
            }
        }
    }

    fn end(&mut self, command: &Command, due: &mut Due) {
        if command.kind == Kind::Read {
            let (limits, now) = (self.limits, command.arrival);
            pass_engine(&mut self.decompressing, &limits, now, command.length, due);
            carry(&mut self.link_out, &limits, now, command.length, due);
        }
    }
}
