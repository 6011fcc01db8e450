//! In virtual time, too, a queue is served in the order of the elevator: an answer is settled when
//! its time has come.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::*;
use crate::volume::{Allowance, LatencyModel, VolumeLimits, VolumeTiming};
use crate::{
    Event, Modelled, PackedDisk, ReplayPacing, Replayed, VirtualClock, VirtualDisk, replay,
};
use assay_disk::{Guarantees, Result};

const DEPTH: usize = 32;
const COMMANDS: usize = 4000;

fn pages() -> impl FnMut(usize) -> Command {
    let mut pages = Pages::of(&array(1, false), 4);
    move |_| pages.read()
}

/// The same reads at the same depth, as recorded on another device: one that answers each soon, but
/// none together with another.
fn recorded_elsewhere() -> Vec<Event> {
    let steady = Allowance::steady(Rate(1e6), Time::from_us(1000.0));
    let latency = |us: f64| LatencyModel::lognormal(Time::from_us(us), Time::from_us(4.0 * us));
    let limits = VolumeLimits {
        operations: steady,
        bytes: Allowance::steady(Rate(1e12), Time::from_us(1000.0)),
        bytes_per_operation: 256 << 10,
        rest: Time::from_us(1000.0),
        read_latency: latency(500.0),
        write_latency: latency(500.0),
        flush_latency: Time::ZERO,
    };
    let mut volume = VolumeTiming::new(limits, 5);
    let answered = testing::closed_loop(&mut volume, DEPTH, COMMANDS, pages());
    let mut events: Vec<Event> = answered
        .iter()
        .map(|answer| Event {
            command: answer.command,
            modelled: answer.latency(),
            achieved: answer.latency(),
            stored_bytes: Vec::new(),
        })
        .collect();
    events.sort_by_key(|event| event.command.arrival);
    events
}

fn disk() -> VirtualDisk<Rotating> {
    let array = array(1, false);
    let media = Arc::new(PackedDisk::new(array.capacity_bytes()).unwrap());
    let guarantees = Guarantees { atomic_write_bytes: BLOCK, volatile_cache: false };
    let clock = Arc::new(VirtualClock::default());
    let top = Modelled::new(media, clock.clone(), rotating(&array), guarantees);
    VirtualDisk::new(clock, Arc::new(top), None)
}

fn replayed_per_s(disk: &mut dyn Replayed) -> f64 {
    let mut end = Time::ZERO;
    let mut answers = 0;
    replay(
        &recorded_elsewhere(),
        disk,
        ReplayPacing::AfterAnswers { port: Time::ZERO },
        |answer| {
            answers += 1;
            end = end.max(answer.arrival + answer.latency);
            ControlFlow::Continue(())
        },
    )
    .unwrap();
    assert_eq!(answers, COMMANDS);
    COMMANDS as f64 / end.as_s()
}

/// Takes the first answer as final, as a caller does that does not wait for its time.
struct SettledAtOnce(VirtualDisk<Rotating>);

impl Replayed for SettledAtOnce {
    fn command(&mut self, at: Time, event: &Event) -> Result<Due> {
        let mut data = vec![0; event.command.length as usize];
        self.0.run(at, |disk| disk.read(event.command.offset, &mut data))
    }
}

#[test]
fn a_replay_keeps_what_the_elevator_gains() {
    let direct = testing::per_s(&mut rotating(&array(1, false)), DEPTH, COMMANDS, pages());
    let replayed = replayed_per_s(&mut disk());
    testing::assert_near(replayed, direct, 0.01);
    let at_once = replayed_per_s(&mut SettledAtOnce(disk()));
    assert!(at_once < 0.7 * direct, "{at_once} against {direct}");
}
