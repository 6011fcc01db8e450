//! Sequences of commands, against the controller without sockets.

use std::sync::Arc;
use std::time::Duration;

use assay_disk::BLOCK_BYTES;
use assay_nvme::controller::{
    Controller, Directory, EVENT_REQUESTS_MAX, Finder, HostAccess, QueueKind, Reaction, Subsystem,
    TRANSFER_BYTES_MAX, Transfer, connect,
};
use assay_nvme::wire::{
    AdminOpcode, Configuration, ConnectCommand, ConnectData, FabricsKind, IoOpcode, Nqn,
    NvmeStatus, Property, Sgl, Submission,
};
use assay_testing::mutate::Random;
use zerocopy::{FromBytes, IntoBytes};

use crate::server::{BLOCKS, host, memory, subsystem};

/// Commands of one association.
const COMMANDS: u64 = 100;

struct One(Arc<Subsystem>);

impl Finder for One {
    fn subsystem(&self, name: &Nqn) -> Option<Arc<Subsystem>> {
        (name == self.0.name()).then(|| Arc::clone(&self.0))
    }

    fn controller(&self, _: &Subsystem, _: u16) -> Option<Arc<Controller>> {
        None
    }

    fn directory(&self) -> Option<Arc<dyn Directory>> {
        None
    }
}

fn associated(subsystem: &Arc<Subsystem>) -> Arc<Controller> {
    let asked =
        ConnectCommand { format: 0, queue: 0, size_0: 31, no_flow_control: true, keep_alive_ms: 0 };
    let data = ConnectData::new(host(1).id, &host(1).name, subsystem.name(), None);
    let finder = One(Arc::clone(subsystem));
    let (connected, completion) =
        connect(&finder, &asked.command(), data.as_bytes(), Duration::ZERO)
            .map_err(|refused| refused.status())
            .unwrap();
    assert!(completion.status().is_success());
    connected.controller
}

/// A number that is often at an edge.
fn word(random: &mut Random) -> u32 {
    match random.below(6) {
        0 => 0,
        1 => u32::MAX,
        2 => random.below(16) as u32,
        3 => 1 << random.below(32),
        4 => BLOCKS as u32 - random.below(3) as u32,
        _ => random.word() as u32,
    }
}

/// A command that is likely to be one, with fields that are likely to be wrong.
fn command(random: &mut Random, queue: QueueKind) -> Submission {
    let opcode = match (queue, random.below(8)) {
        (_, 0) => random.word() as u8,
        (QueueKind::Admin, _) => {
            let all = [0x02, 0x06, 0x08, 0x09, 0x0a, 0x0c, 0x18, 0x7f, 0x80];
            all[random.below(all.len())]
        }
        (QueueKind::Io, _) => {
            let all = [0x00, 0x01, 0x02, 0x08, 0x09, 0x7f];
            all[random.below(all.len())]
        }
    };
    let mut command = Submission::new(opcode, [1, 1, 1, word(random)][random.below(4)]);
    command.id.set(random.word() as u16);
    for number in 10..16 {
        if random.below(3) > 0 {
            command = command.with_word(number, word(random));
        }
    }
    if queue == QueueKind::Admin && random.below(2) == 0 {
        command = question(random, command);
    }
    if queue == QueueKind::Io && random.below(2) == 0 {
        // One that fits the disk.
        let blocks = 1 + random.below(256) as u64;
        command = command.on_blocks(random.below((BLOCKS - blocks) as usize) as u64, blocks);
    }
    let length = match random.below(3) {
        0 => word(random),
        1 => 4096,
        _ => (command.blocks() * BLOCK_BYTES) as u32,
    };
    let data = if random.below(2) == 0 { Sgl::transport(length) } else { Sgl::in_capsule(length) };
    command = command.with_data(data);
    if random.below(20) == 0 {
        // Any bits at all, now and then.
        let mut bytes = [0; 64];
        bytes.fill_with(|| random.word() as u8);
        command = Submission::read_from_bytes(&bytes).unwrap();
    }
    command
}

/// Identify or Get Log Page with numbers that there are, most of them.
fn question(random: &mut Random, command: Submission) -> Submission {
    let pages = [0x01, 0x02, 0x03, 0x04, 0x05, 0x70, 0xc0];
    let structures = [0, 1, 2, 3, 5, 6, 8];
    let mut asked = match random.below(2) {
        0 => {
            let structure = structures[random.below(structures.len())];
            Submission::new(AdminOpcode::Identify as u8, 1).with_word(10, structure)
        }
        _ => {
            let page = pages[random.below(pages.len())];
            Submission::new(AdminOpcode::GetLogPage as u8, 1).with_word(10, 127 << 16 | page)
        }
    };
    asked.id = command.id;
    asked
}

/// Answers of one association, by kind, so that the test knows that it went deep.
#[derive(Debug, Default)]
struct Seen {
    completed: u64,
    refused: u64,
    with_data: u64,
    asked: u64,
    held: usize,
}

fn association(seed: u64, subsystem: &Arc<Subsystem>, seen: &mut Seen) {
    let mut random = Random::new(seed);
    let controller = associated(subsystem);
    let enable = Property::Configuration.set(u64::from(Configuration::ENABLED.0));
    if random.below(8) > 0 {
        controller.answer(QueueKind::Admin, &enable, &[], Duration::ZERO);
    }
    let mut held = 0;
    let mut data = vec![0; TRANSFER_BYTES_MAX as usize];
    for place in 0..COMMANDS {
        let queue = if random.below(2) == 0 { QueueKind::Admin } else { QueueKind::Io };
        let command = command(&mut random, queue);
        let Ok(transfer) = controller.transfer(queue, &command) else {
            seen.refused += 1;
            continue;
        };
        let sent = match transfer {
            Transfer::FromHost(length) => length as usize,
            Transfer::None | Transfer::ToHost(_) => 0,
        };
        for byte in data[..sent.min(256)].iter_mut() {
            *byte = random.word() as u8;
        }
        let now = Duration::from_secs(place);
        match controller.answer(queue, &command, &data[..sent], now) {
            Reaction::Complete(completion) => {
                assert_eq!(completion.id, command.id);
                let is_success = completion.status().is_success();
                seen.completed += u64::from(is_success);
                seen.refused += u64::from(!is_success);
            }
            Reaction::CompleteWith(completion, answer) => {
                assert_eq!(completion.id, command.id);
                assert!(answer.len() <= command.data.length.get() as usize, "{command:?}");
                seen.with_data += 1;
            }
            Reaction::Ask(request) => {
                let bytes = request.read_bytes().max(sent);
                assert!(bytes as u64 <= TRANSFER_BYTES_MAX);
                let completion = request.perform(&mut data[..bytes]);
                assert!(completion.status().is_success(), "checked before: {command:?}");
                seen.asked += 1;
            }
            Reaction::Hold => {
                held += 1;
                assert!(held <= EVENT_REQUESTS_MAX, "{seed}");
            }
        }
        // A reset forgets what was held.
        if FabricsKind::of(&command) == Some(FabricsKind::PropertySet)
            && command.opcode == AdminOpcode::Fabrics as u8
        {
            held = 0;
        }
    }
    seen.held += held;
    controller.end();
}

#[test]
fn no_sequence_of_commands_breaks_a_controller() {
    let first = std::env::var("ASSAY_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let subsystem = subsystem("one", HostAccess::default(), vec![memory()]);
    let mut seen = Seen::default();
    let associations: u64 = assay_testing::count(500, 10_000);
    for seed in first..first + associations {
        association(seed, &subsystem, &mut seen);
    }
    println!("{associations} associations of {COMMANDS} commands: {seen:?}");
    let least = associations * COMMANDS / 100;
    assert!(seen.completed > least && seen.with_data > least && seen.asked > least, "{seen:?}");
    assert!(seen.held > 0 && seen.refused > least, "{seen:?}");
}

#[test]
fn nothing_of_an_association_that_is_over_reaches_the_disk() {
    let disk = memory();
    let subsystem = subsystem("one", HostAccess::default(), vec![Arc::clone(&disk)]);
    let enable = Property::Configuration.set(u64::from(Configuration::ENABLED.0));
    let write =
        Submission::new(IoOpcode::Write as u8, 1).on_blocks(0, 1).with_data(Sgl::transport(4096));
    let ask = |controller: &Controller, byte: u8| {
        controller.answer(QueueKind::Admin, &enable, &[], Duration::ZERO);
        match controller.answer(QueueKind::Io, &write, &[byte; 4096], Duration::ZERO) {
            Reaction::Ask(request) => request,
            step => panic!("{step:?}"),
        }
    };
    let former = associated(&subsystem);
    // On its way when the host comes back.
    let late = ask(&former, 1);
    let present = associated(&subsystem);
    assert!(former.is_over() && !present.is_over());
    assert!(ask(&present, 2).perform(&mut [2; 4096]).status().is_success());
    assert!(late.perform(&mut [1; 4096]).status().is(NvmeStatus::ABORTED));
    let mut found = [0; 4096];
    disk.read(0, &mut found).unwrap();
    assert_eq!(found, [2; 4096], "the late write was refused");
}
