//! Set Features and Get Features (Base, 5.27).

use std::time::Duration;

use super::{Controller, IO_QUEUES_MAX, Reaction, done, done_with};
use crate::wire::{NvmeStatus, QUEUES_FEATURE as QUEUES, Submission};

/// Identifiers of features.
const ARBITRATION: u8 = 0x01;
const POWER: u8 = 0x02;
const TEMPERATURE: u8 = 0x04;
const ERROR_RECOVERY: u8 = 0x05;
const WRITE_CACHE: u8 = 0x06;
const EVENTS: u8 = 0x0b;
const KEEP_ALIVE: u8 = 0x0f;
const HOST_ID: u8 = 0x81;

/// Features that a host has set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Features {
    temperature: u32,
    is_write_through: bool,
    /// Granted I/O queues; `None` until the host has asked.
    queues: Option<u16>,
    events: u32,
}

impl Default for Features {
    fn default() -> Features {
        // The critical temperature of Identify.
        Features { temperature: 353, is_write_through: false, queues: None, events: 0 }
    }
}

impl Features {
    /// Number of I/O queues that the host may connect.
    pub(super) fn io_queues(&self) -> u16 {
        self.queues.unwrap_or(IO_QUEUES_MAX)
    }

    /// Returns true if every write has to be durable when it completes.
    pub(super) fn is_write_through(&self) -> bool {
        self.is_write_through
    }

    /// Returns true if the host wants this event.
    pub(super) fn wants(&self, event: u32) -> bool {
        self.events & event != 0
    }
}

/// The number of queues as both commands have it: twice, 0's based.
fn queues_word(queues: u16) -> u64 {
    let queues_0 = u64::from(queues - 1);
    queues_0 << 16 | queues_0
}

impl Controller {
    pub(super) fn get_features(&self, command: &Submission) -> Result<Reaction, NvmeStatus> {
        // Bits 8 to 10: the current value (0), or the default; others are not kept.
        let (feature, select) = (command.word(10) as u8, command.word(10) >> 8 & 0x7);
        let state = self.state.lock();
        let features = match select {
            0 => state.features,
            1 => Features::default(),
            _ => return Err(NvmeStatus::INVALID_FIELD),
        };
        match feature {
            ARBITRATION | POWER | ERROR_RECOVERY => done(command, 0),
            TEMPERATURE => done(command, features.temperature.into()),
            WRITE_CACHE => done(command, (!features.is_write_through).into()),
            QUEUES => done(command, queues_word(features.io_queues())),
            EVENTS => done(command, features.events.into()),
            KEEP_ALIVE => {
                done(command, u64::try_from(state.keep_alive.as_millis()).unwrap_or(u64::MAX))
            }
            HOST_ID => done_with(command, self.host.id.to_vec()),
            _ => Err(NvmeStatus::INVALID_FIELD),
        }
    }

    pub(super) fn set_features(&self, command: &Submission) -> Result<Reaction, NvmeStatus> {
        let (feature, is_saved) = (command.word(10) as u8, command.word(10) >> 31 == 1);
        if is_saved {
            return Err(NvmeStatus::FEATURE_NOT_SAVEABLE);
        }
        let value = command.word(11);
        let mut state = self.state.lock();
        match feature {
            TEMPERATURE => state.features.temperature = value,
            WRITE_CACHE => state.features.is_write_through = value & 1 == 0,
            EVENTS => state.features.events = value,
            KEEP_ALIVE => state.keep_alive = Duration::from_millis(value.into()),
            QUEUES => {
                let asked = (value & 0xffff).min(value >> 16);
                if asked == 0xffff {
                    return Err(NvmeStatus::INVALID_FIELD);
                }
                let queues = u16::try_from(asked + 1).unwrap_or(u16::MAX).min(IO_QUEUES_MAX);
                state.features.queues = Some(queues);
                return done(command, queues_word(queues));
            }
            HOST_ID => return Err(NvmeStatus::SEQUENCE_ERROR),
            ARBITRATION | POWER | ERROR_RECOVERY => return Err(NvmeStatus::FEATURE_NOT_CHANGEABLE),
            _ => return Err(NvmeStatus::INVALID_FIELD),
        }
        done(command, 0)
    }
}
