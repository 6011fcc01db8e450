//! State shared by a loop and the handles of its tasks: the kernel's list of sockets, one timer,
//! and the deadlines.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// Events taken at once. After polling that many tasks, the loop looks at timers and new events
/// again.
const BATCH: usize = 32;
/// Names of the timer and the bell in the kernel's list; a socket has its task's number.
const TIMER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;

/// A list of events, reused.
pub(crate) type Events = Vec<epoll::Event>;

/// The source of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Task(u32),
    Timer,
    Bell,
}

#[derive(Debug)]
pub(crate) struct State {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// The time at which the timer fires.
    armed: Cell<Option<Instant>>,
    /// Deadlines of tasks. A deadline that its task no longer waits for costs one poll.
    deadlines: RefCell<BinaryHeap<Reverse<(Instant, u32)>>>,
    /// The task that is being polled.
    current: Cell<u32>,
    /// For each task, true if its socket may be ready.
    ready: Box<[Cell<bool>]>,
}

impl State {
    pub(crate) fn new(tasks: usize, bell: &OwnedFd) -> io::Result<State> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // Edge-triggered, so that neither has to be read.
        for (source, name) in [(&timer, TIMER), (bell, BELL)] {
            epoll::add(&epoll, source, epoll::EventData::new_u64(name), interest(false))?;
        }
        Ok(State {
            epoll,
            timer,
            armed: Cell::new(None),
            deadlines: RefCell::new(BinaryHeap::with_capacity(tasks)),
            current: Cell::new(0),
            ready: (0..tasks).map(|_| Cell::new(false)).collect(),
        })
    }

    pub(crate) fn events() -> Events {
        Events::with_capacity(BATCH)
    }

    /// Waits for the next events, at most [`BATCH`].
    pub(crate) fn wait(&self, events: &mut Events) -> io::Result<()> {
        self.arm()?;
        match epoll::wait(&self.epoll, spare_capacity(events), None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The source of an event. Marks the socket of its task as ready.
    #[inline]
    pub(crate) fn cause(&self, event: &epoll::Event) -> Cause {
        let data = event.data;
        match data.u64() {
            TIMER => {
                self.armed.set(None);
                Cause::Timer
            }
            BELL => Cause::Bell,
            task => {
                if let Some(ready) = self.ready.get(task as usize) {
                    ready.set(true);
                }
                Cause::Task(task as u32)
            }
        }
    }

    /// Sets the timer to the next deadline, unless it is set already.
    fn arm(&self) -> io::Result<()> {
        let Some(Reverse((deadline, _))) = self.deadlines.borrow().peek().copied() else {
            return Ok(());
        };
        if self.armed.get().is_some_and(|armed| armed <= deadline) {
            return Ok(());
        }
        // Zero would stop the timer.
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value =
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        let time = Itimerspec { it_interval: zero, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &time)?;
        self.armed.set(Some(deadline));
        Ok(())
    }

    /// Has the current task polled at `deadline`.
    pub(crate) fn set_deadline(&self, deadline: Instant) {
        self.deadlines.borrow_mut().push(Reverse((deadline, self.current.get())));
    }

    /// The task with the earliest deadline that is not after `now`.
    pub(crate) fn take_due(&self, now: Instant) -> Option<u32> {
        let mut deadlines = self.deadlines.borrow_mut();
        match deadlines.peek() {
            Some(Reverse((deadline, _))) if *deadline <= now => {}
            _ => return None,
        }
        deadlines.pop().map(|Reverse((_, task))| task)
    }

    pub(crate) fn set_current(&self, task: u32) {
        self.current.set(task);
    }

    pub(crate) fn current(&self) -> u32 {
        self.current.get()
    }

    #[inline]
    pub(crate) fn ready(&self, task: u32) -> Option<&Cell<bool>> {
        self.ready.get(task as usize)
    }

    /// Has `task` polled when `socket` is readable.
    pub(crate) fn add(&self, socket: BorrowedFd<'_>, task: u32) -> io::Result<()> {
        let name = epoll::EventData::new_u64(task.into());
        Ok(epoll::add(&self.epoll, socket, name, interest(false))?)
    }

    /// Has `task` polled when `socket` is readable and, if `writes`, when it is writable.
    pub(crate) fn change(&self, socket: BorrowedFd<'_>, task: u32, writes: bool) -> io::Result<()> {
        let name = epoll::EventData::new_u64(task.into());
        Ok(epoll::modify(&self.epoll, socket, name, interest(writes))?)
    }
}

/// Edge-triggered. A Unix socket becomes writable whenever the peer has read: a task that always
/// asked for that would wake twice for each answer.
fn interest(writes: bool) -> epoll::EventFlags {
    let reads = epoll::EventFlags::IN | epoll::EventFlags::ET;
    if writes { reads | epoll::EventFlags::OUT } else { reads }
}
