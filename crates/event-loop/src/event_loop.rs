//! The loop: waits for events, and polls the tasks that they concern.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::bell::{Bell, Rung};
use crate::handle::Handle;
use crate::state::{Cause, State};

/// A loop for a number of tasks. It stays on its thread.
#[derive(Debug)]
pub struct EventLoop {
    state: Rc<State>,
    tasks_max: usize,
}

impl EventLoop {
    /// Creates a loop for at most `tasks_max` tasks, rung by `bell`.
    ///
    /// # Errors
    /// The process may open no more files, or `bell` is that of a thread.
    pub fn new(bell: &Bell, tasks_max: usize) -> io::Result<EventLoop> {
        let Rung::Loop(counter) = &bell.0 else { return Err(io::ErrorKind::InvalidInput.into()) };
        Ok(EventLoop { state: Rc::new(State::new(tasks_max, counter)?), tasks_max })
    }

    /// The handle through which the tasks wait.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle(Some(Rc::clone(&self.state)))
    }

    /// Polls `tasks` until all have ended, or until the bell rings and `is_over` returns true: then
    /// the remaining tasks are dropped.
    ///
    /// # Errors
    /// The kernel refuses to wait, or there are more tasks than the loop was made for.
    pub fn run<T: Future<Output = ()>>(
        &self,
        tasks: impl IntoIterator<Item = T>,
        is_over: impl Fn() -> bool,
    ) -> io::Result<()> {
        let mut tasks = Tasks::new(&self.state, tasks);
        if tasks.each.len() > self.tasks_max {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        tasks.poll_all();
        let mut events = State::events();
        while tasks.live > 0 && !is_over() {
            self.state.wait(&mut events)?;
            for event in events.drain(..) {
                match self.state.cause(&event) {
                    Cause::Task(number) => tasks.poll(number),
                    Cause::Timer => tasks.poll_due(),
                    Cause::Bell if is_over() => return Ok(()),
                    Cause::Bell => tasks.poll_all(),
                }
            }
        }
        Ok(())
    }
}

/// The tasks of a loop that have not ended.
struct Tasks<'a, T> {
    state: &'a State,
    each: Vec<Option<Pin<Box<T>>>>,
    live: usize,
}

impl<'a, T: Future<Output = ()>> Tasks<'a, T> {
    fn new(state: &'a State, tasks: impl IntoIterator<Item = T>) -> Tasks<'a, T> {
        let each: Vec<_> = tasks.into_iter().map(|task| Some(Box::pin(task))).collect();
        Tasks { state, live: each.len(), each }
    }

    #[inline]
    fn poll(&mut self, number: u32) {
        let Some(Some(task)) = self.each.get_mut(number as usize) else { return };
        self.state.set_current(number);
        if task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            self.each[number as usize] = None;
            self.live -= 1;
        }
    }

    fn poll_all(&mut self) {
        (0..self.each.len()).for_each(|number| self.poll(number as u32));
    }

    fn poll_due(&mut self) {
        let now = Instant::now();
        while let Some(number) = self.state.take_due(now) {
            self.poll(number);
        }
    }
}

/// Runs `work` on a loop of its own.
///
/// # Errors
/// The process may open no more files.
pub fn block_on<T, F: Future<Output = T>>(work: impl FnOnce(Handle) -> F) -> io::Result<T> {
    let event_loop = EventLoop::new(&Bell::new()?, 1)?;
    let mut result = None;
    let work = work(event_loop.handle());
    event_loop.run([async { result = Some(work.await) }], || false)?;
    result.ok_or_else(|| io::ErrorKind::Interrupted.into())
}

/// Polls `work`, which is ready at its first poll: it waits only by blocking its thread.
///
/// # Panics
/// The work is not ready, which is a bug.
pub fn poll_ready<T>(work: impl Future<Output = T>) -> T {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("what blocks its thread has nothing else to wait for"),
    }
}
