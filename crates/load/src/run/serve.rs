//! The threads of a load: event loops, each of which serves many workers that wait for sockets, or
//! a thread for each blocking worker.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::thread::{self, Scope};

use assay_event_loop::{Bell, EventLoop, Handle, poll_ready};

use super::crew::{Crew, Gate, Message};
use super::{Job, cpu};
use crate::error::{Error, Result};
use crate::record::{Collector, Ledger};
use crate::worker::{Task, Worker};

/// Stack of a thread, in bytes: its deepest call is a TLS handshake.
const STACK_BYTES: usize = 256 * 1024;

/// The work of a thread.
struct Post {
    /// Numbers of workers, and their ledgers.
    workers: Vec<(u32, Arc<Ledger>)>,
    gate: Arc<Gate>,
    sender: Sender<Message>,
}

impl<T: Task> Job<'_, T> {
    /// Starts all threads.
    pub(super) fn start_all<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        crew: &mut Crew,
        collector: &Collector,
        gate: &Arc<Gate>,
    ) -> Result<()> {
        let Some(sender) = crew.sender.take() else { return Ok(()) };
        let threads = self.threads();
        for number in 0..threads {
            let deal = self.shared.deal;
            let places = (number..deal.own()).step_by(threads as usize);
            let workers =
                places.map(|worker| (deal.thread(worker), collector.ledger(worker as usize)));
            let workers = workers.collect();
            let post = Post { workers, gate: Arc::clone(gate), sender: sender.clone() };
            crew.bells.push(self.start(scope, number, post)?);
            crew.up += 1;
        }
        Ok(())
    }

    /// Number of threads: one for each usable CPU or, if fewer, for each worker; one for each
    /// worker that blocks.
    fn threads(&self) -> u32 {
        let workers = self.shared.deal.own();
        if !T::WAITS_FOR_SOCKETS {
            return workers;
        }
        thread::available_parallelism().map_or(1, |cpus| workers.min(cpus.get() as u32))
    }

    /// Starts a thread. Returns the bell of its workers.
    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        number: u32,
        post: Post,
    ) -> Result<Bell> {
        let builder = thread::Builder::new().name(format!("load {number}")).stack_size(STACK_BYTES);
        let no_thread = |e| Error::system(format!("cannot start thread {}", number + 1), e);
        if !T::WAITS_FOR_SOCKETS {
            let begun = builder.spawn_scoped(scope, move || self.serve(post, None));
            return Ok(Bell::of_thread(begun.map_err(no_thread)?.thread().clone()));
        }
        let bell = Bell::new().map_err(no_thread)?;
        let its = bell.clone();
        builder.spawn_scoped(scope, move || self.serve(post, Some(&its))).map_err(no_thread)?;
        Ok(bell)
    }

    /// Serves the workers of a post until all have ended: on a loop, or a single blocking one.
    fn serve(&self, post: Post, bell: Option<&Bell>) {
        // The default timer slack of 50 µs would delay every planned start.
        let _ = cpu::sharpen_timers();
        let _ = post.sender.send(Message::Up(cpu::tid()));
        let sender = post.sender.clone();
        let result = match bell {
            Some(bell) => self.turn(post, bell),
            None => {
                post.workers
                    .iter()
                    .for_each(|worker| poll_ready(self.work(worker, Handle::of_thread(), &post)));
                Ok(())
            }
        };
        let _ = sender.send(Message::Down(result, cpu::own_seconds()));
    }

    fn turn(&self, post: Post, bell: &Bell) -> Result<()> {
        let no_loop = |e| Error::system("cannot wait for connections", e);
        // Next to other programs a loop would get the CPU of one thread for all its connections.
        let _ = cpu::take_share_of(post.workers.len());
        let event_loop = EventLoop::new(bell, post.workers.len()).map_err(no_loop)?;
        let tasks = post.workers.iter().map(|worker| self.work(worker, event_loop.handle(), &post));
        event_loop.run(tasks, || self.shared.cut.load(Ordering::Relaxed)).map_err(no_loop)
    }

    async fn work(&self, worker: &(u32, Arc<Ledger>), events: Handle, post: &Post) {
        let result = self.run_worker(worker, events, post).await;
        let _ = post.sender.send(Message::Ended(result));
    }

    async fn run_worker(
        &self,
        (number, ledger): &(u32, Arc<Ledger>),
        events: Handle,
        post: &Post,
    ) -> Result<()> {
        let (seed, ledger) = (self.schedule.seed, Arc::clone(ledger));
        let mut worker = Worker::new(self.shared, *number, seed, ledger, events.clone()).await?;
        let _ = post.sender.send(Message::Ready);
        match events.look(|| post.gate.opened()).await {
            Some((clock, start)) => worker.run(clock, start).await,
            None => Ok(()),
        }
    }
}
