//! Commands of the admin queue: Identify, log pages, abort, events, keep alive.

use super::facts::{self, bytes_of};
use super::{
    ADMIN_OPCODES, CHANGING_OPCODES, Controller, EVENT_REQUESTS_MAX, IO_OPCODES, Namespace,
    Reaction, done, done_with,
};
use crate::wire::{
    ALL_NAMESPACES, Active, AdminOpcode, Completion, IDENTIFY_BYTES, LogPage, LogRange, NvmeStatus,
    Selector, Submission, command_effects, descriptors, events,
};

/// The NVM command set in Identify.
const NVM: u8 = 0;

/// Bytes of pages that hold nothing.
const ERROR_LOG_BYTES: usize = 64;
const FIRMWARE_LOG_BYTES: usize = 512;

/// Most entries of the list of changed namespaces; FFFFFFFFh stands for more (Base, 5.16.1.5).
const CHANGED_MAX: usize = 1024;

/// Result of an event about namespaces: a notice (2), attributes (0), the page that explains it.
const NAMESPACES_CHANGED: u64 = 2 | (LogPage::ChangedNamespaces as u64) << 16;

impl Controller {
    pub(super) fn admin(&self, command: &Submission) -> Result<Reaction, NvmeStatus> {
        let opcode = AdminOpcode::of(command.opcode).ok_or(NvmeStatus::INVALID_OPCODE)?;
        if !self.is_ready() {
            return Err(NvmeStatus::SEQUENCE_ERROR);
        }
        match opcode {
            AdminOpcode::Identify => self.identify(command),
            AdminOpcode::GetLogPage => self.log_page(command),
            AdminOpcode::GetFeatures => self.get_features(command),
            AdminOpcode::SetFeatures => self.set_features(command),
            AdminOpcode::AsyncEvent => self.hold(command),
            // The command has ended, or will: nothing waits where it could be taken out.
            AdminOpcode::Abort => done(command, 1),
            AdminOpcode::KeepAlive => done(command, 0),
            AdminOpcode::Format | AdminOpcode::Fabrics => Err(NvmeStatus::INVALID_OPCODE),
        }
    }

    fn identify(&self, command: &Submission) -> Result<Reaction, NvmeStatus> {
        let number = command.namespace.get();
        let selector = Selector::of(command.word(10) as u8).ok_or(NvmeStatus::INVALID_FIELD)?;
        let set = (command.word(11) >> 24) as u8;
        let of_set = || if set == NVM { Ok(()) } else { Err(NvmeStatus::INVALID_FIELD) };
        let answer = match selector {
            Selector::Controller => bytes_of(&facts::controller(&self.subsystem, self.id)),
            _ if self.subsystem.is_discovery() => return Err(NvmeStatus::INVALID_FIELD),
            Selector::Active if number >= ALL_NAMESPACES - 1 => {
                return Err(NvmeStatus::INVALID_NAMESPACE);
            }
            Selector::Active => bytes_of(&Active::of(self.subsystem.numbers_after(number))),
            Selector::Namespace => match number {
                // Common to all namespaces: what can be said without one.
                ALL_NAMESPACES => vec![0; IDENTIFY_BYTES],
                _ => self.namespace(number)?.map_or_else(empty, of_namespace),
            },
            Selector::Descriptors => {
                let id = self.namespace(number)?.ok_or(NvmeStatus::INVALID_NAMESPACE)?.id();
                descriptors(id.nguid, id.uuid).to_vec()
            }
            Selector::ControllerOfSet => of_set().map(|()| empty())?,
            Selector::NamespaceOfSet => {
                of_set()?;
                self.namespace(number)?.map_or_else(empty, |_| empty())
            }
            Selector::NamespaceOfAll => self.namespace(number)?.map_or_else(empty, independent),
        };
        done_with(command, answer)
    }

    /// The namespace of this number; `None` where there is none but could be.
    fn namespace(&self, number: u32) -> Result<Option<&Namespace>, NvmeStatus> {
        match number {
            0 | ALL_NAMESPACES => Err(NvmeStatus::INVALID_NAMESPACE),
            _ if number > self.subsystem.highest_number() => Err(NvmeStatus::INVALID_NAMESPACE),
            _ => Ok(self.subsystem.namespace(number).map(|one| &**one)),
        }
    }

    fn log_page(&self, command: &Submission) -> Result<Reaction, NvmeStatus> {
        let range = LogRange::of(command);
        let page = LogPage::of(range.number).ok_or(NvmeStatus::INVALID_LOG_PAGE)?;
        if range.bytes > u64::from(command.data.length.get()) || !range.offset.is_multiple_of(4) {
            return Err(NvmeStatus::INVALID_FIELD);
        }
        let content = match (page, self.subsystem.is_discovery()) {
            (LogPage::Discovery, true) => {
                let directory = self.directory.as_ref().ok_or(NvmeStatus::INTERNAL_ERROR)?;
                directory.log(&self.host)
            }
            (LogPage::Discovery, false) => return Err(NvmeStatus::INVALID_LOG_PAGE),
            (LogPage::Errors, _) => vec![0; ERROR_LOG_BYTES],
            (_, true) => return Err(NvmeStatus::INVALID_LOG_PAGE),
            (LogPage::Smart, false) => {
                bytes_of(&self.healthy(command.namespace.get())?.health().smart())
            }
            (LogPage::OcpSmart, false) => {
                let namespace = self.healthy(command.namespace.get())?;
                bytes_of(&namespace.health().ocp_smart(facts::used_blocks(namespace)))
            }
            (LogPage::FirmwareSlots, false) => self.firmware(),
            (LogPage::ChangedNamespaces, false) => self.changed(range.keeps_event),
            (LogPage::CommandEffects, false) => {
                command_effects(&ADMIN_OPCODES, &IO_OPCODES, &CHANGING_OPCODES)
            }
        };
        done_with(command, part(content, &range)?)
    }

    /// The namespace whose health is asked for: its number, or any where there is one alone.
    fn healthy(&self, number: u32) -> Result<&Namespace, NvmeStatus> {
        match number {
            0 | ALL_NAMESPACES => match self.subsystem.namespaces().as_slice() {
                [(_, only)] => Ok(only),
                _ => Err(NvmeStatus::INVALID_NAMESPACE),
            },
            _ => self.namespace(number)?.ok_or(NvmeStatus::INVALID_NAMESPACE),
        }
    }

    /// One slot, active, with the revision of Identify.
    fn firmware(&self) -> Vec<u8> {
        let data = facts::controller(&self.subsystem, self.id);
        let mut page = vec![0; FIRMWARE_LOG_BYTES];
        page[0] = 1;
        page[8..16].copy_from_slice(&data.firmware);
        page
    }

    fn changed(&self, keeps_event: bool) -> Vec<u8> {
        let mut state = self.state.lock();
        let numbers = match state.changed.numbers.len() {
            count if count > CHANGED_MAX => vec![ALL_NAMESPACES],
            _ => state.changed.numbers.clone(),
        };
        if !keeps_event {
            state.changed = super::Changed::default();
        }
        bytes_of(&Active::of(numbers.into_iter()))
    }

    fn hold(&self, command: &Submission) -> Result<Reaction, NvmeStatus> {
        let mut state = self.state.lock();
        if state.held_events.len() >= EVENT_REQUESTS_MAX {
            return Err(NvmeStatus::EVENT_LIMIT_EXCEEDED);
        }
        state.held_events.push_back(command.id.get());
        Ok(Reaction::Hold)
    }

    /// Notes that a namespace has changed, e.g. grown.
    pub fn note_changed(&self, number: u32) {
        let mut state = self.state.lock();
        if !state.changed.numbers.contains(&number) && state.changed.numbers.len() <= CHANGED_MAX {
            state.changed.numbers.push(number);
        }
    }

    /// The completion of a held request, if there is an event for it. Call it whenever a request
    /// is held or a change was noted.
    #[must_use]
    pub fn event(&self) -> Option<Completion> {
        let mut state = self.state.lock();
        let is_due = !state.changed.numbers.is_empty()
            && !state.changed.is_sent
            && state.features.wants(events::NAMESPACE_ATTRIBUTES);
        if !is_due {
            return None;
        }
        let id = state.held_events.pop_front()?;
        state.changed.is_sent = true;
        Some(Completion::new(id, NvmeStatus::SUCCESS, NAMESPACES_CHANGED))
    }
}

fn empty() -> Vec<u8> {
    vec![0; IDENTIFY_BYTES]
}

fn of_namespace(namespace: &Namespace) -> Vec<u8> {
    bytes_of(&facts::namespace(namespace))
}

/// The structure that all command sets share (CNS 08h, Base, figure 280).
fn independent(namespace: &Namespace) -> Vec<u8> {
    const ATTRIBUTES: usize = 3;
    const STATUS: usize = 14;
    let mut data = empty();
    data[ATTRIBUTES] = facts::namespace(namespace).attributes;
    data[STATUS] = 1;
    data
}

/// The part of a page that a command asks for; bytes behind the page are zeroes.
fn part(content: Vec<u8>, range: &LogRange) -> Result<Vec<u8>, NvmeStatus> {
    let start = usize::try_from(range.offset).unwrap_or(usize::MAX);
    if start > content.len() {
        return Err(NvmeStatus::INVALID_FIELD);
    }
    let mut part = content[start..].to_vec();
    part.resize(range.bytes as usize, 0);
    Ok(part)
}
