//! The threads of a load and their workers, as the coordinator sees them.

use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};

use assay_event_loop::Bell;

use super::cpu::{self, Tid};
use crate::error::{Error, Result};
use crate::worker::Clock;

/// A message from a thread or worker to the coordinator.
pub(super) enum Message {
    /// A thread has started.
    Up(Tid),
    /// A worker is ready for its first event.
    Ready,
    /// A worker has ended with this.
    Ended(Result<()>),
    /// A thread has ended with this, and its CPU time, in seconds.
    Down(Result<()>, f64),
}

/// Holds ready workers back until all are ready.
#[derive(Default)]
pub(super) struct Gate(OnceLock<Option<(Clock, u64)>>);

impl Gate {
    /// Opens the gate with the clock and the start on it; `None` calls the run off. The first call
    /// decides.
    pub(super) fn open(&self, start: Option<(Clock, u64)>) {
        let _ = self.0.set(start);
    }

    /// The argument of [`Self::open`], once it was called.
    pub(super) fn opened(&self) -> Option<Option<(Clock, u64)>> {
        self.0.get().copied()
    }
}

pub(super) struct Crew {
    /// For threads still to be started; `None` once all are.
    pub(super) sender: Option<Sender<Message>>,
    pub(super) messages: Receiver<Message>,
    pub(super) bells: Vec<Bell>,
    pub(super) tids: Vec<Tid>,
    /// Workers that are ready and have not ended.
    pub(super) working: usize,
    /// Threads that were started and have not ended.
    pub(super) up: usize,
    /// CPU time of threads that have ended.
    pub(super) cpu_s: f64,
    pub(super) failure: Option<Error>,
}

impl Crew {
    /// The crew before any thread.
    pub(super) fn new() -> Crew {
        let (sender, messages) = channel();
        Crew {
            sender: Some(sender),
            messages,
            bells: Vec::new(),
            tids: vec![cpu::tid()],
            working: 0,
            up: 0,
            cpu_s: 0.0,
            failure: None,
        }
    }

    /// Has all workers check what they wait for.
    pub(super) fn ring(&self) {
        self.bells.iter().for_each(Bell::ring);
    }

    /// Waits for all threads.
    pub(super) fn await_all(&mut self) {
        while self.up > 0 {
            match self.messages.recv() {
                Ok(message) => self.note(message),
                Err(_) => return,
            }
        }
    }

    pub(super) fn note(&mut self, message: Message) {
        let result = match message {
            Message::Up(tid) => {
                self.tids.push(tid);
                return;
            }
            Message::Ready => {
                self.working += 1;
                return;
            }
            Message::Ended(result) => {
                self.working = self.working.saturating_sub(1);
                result
            }
            Message::Down(result, cpu_s) => {
                self.up -= 1;
                self.cpu_s += cpu_s;
                if self.up == 0 {
                    self.working = 0;
                }
                result
            }
        };
        if let Err(error) = result {
            self.failure.get_or_insert(error);
        }
    }
}
