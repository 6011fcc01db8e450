//! The waits of a task.

use std::cell::Cell;
use std::future::{self, Future};
use std::io;
use std::os::fd::AsFd;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use crate::state::State;

/// The waits of a loop's tasks, or those that block their thread.
#[derive(Debug, Clone)]
pub struct Handle(pub(crate) Option<Rc<State>>);

impl Handle {
    /// Creates the handle of a thread with one task: its waits block until its [`crate::Bell`]
    /// rings.
    #[must_use]
    pub fn of_thread() -> Handle {
        Handle(None)
    }

    /// Has the current task polled when `socket` is readable, until it is closed. The socket must
    /// be nonblocking.
    ///
    /// # Errors
    /// The kernel watches no more sockets, or the handle is that of a thread.
    pub fn watch(&self, socket: impl AsFd) -> io::Result<Watch> {
        let Some(state) = &self.0 else { return Err(io::ErrorKind::Unsupported.into()) };
        let task = state.current();
        state.add(socket.as_fd(), task)?;
        Ok(Watch { state: Rc::clone(state), task, wants_room: Cell::new(false) })
    }

    /// Waits until `what` returns a value. It is called whenever the task is polled, so the code
    /// that changes its result must ring the bell.
    pub fn look<T>(&self, mut what: impl FnMut() -> Option<T>) -> impl Future<Output = T> {
        future::poll_fn(move |_| {
            loop {
                match (what(), &self.0) {
                    (Some(found), _) => return Poll::Ready(found),
                    (None, Some(_)) => return Poll::Pending,
                    (None, None) => thread::park(),
                }
            }
        })
    }

    /// Waits until `deadline` (for ever without one), or until the bell rings and `is_over` returns
    /// true.
    pub fn wait_until(
        &self,
        deadline: Option<Instant>,
        is_over: impl Fn() -> bool,
    ) -> impl Future<Output = ()> {
        let mut is_set = false;
        future::poll_fn(move |_| {
            loop {
                let left =
                    deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                if is_over() || left == Some(Duration::ZERO) {
                    return Poll::Ready(());
                }
                match (&self.0, left) {
                    (None, Some(left)) => thread::park_timeout(left),
                    (None, None) => thread::park(),
                    (Some(state), _) => {
                        if let Some(deadline) = deadline.filter(|_| !is_set) {
                            state.set_deadline(deadline);
                            is_set = true;
                        }
                        return Poll::Pending;
                    }
                }
            }
        })
    }

    /// Waits for `duration`.
    pub async fn sleep(&self, duration: Duration) {
        self.wait_until(Some(Instant::now() + duration), || false).await;
    }

    /// Runs `work` until `deadline`, or until the bell rings and `is_over` returns true. Returns
    /// `None` if the work did not end by then. On a thread that blocks there is no limit.
    pub async fn until<T>(
        &self,
        deadline: Option<Instant>,
        is_over: impl Fn() -> bool,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = pin!(work);
        let mut end = pin!(self.wait_until(deadline, is_over));
        let is_blocking = self.0.is_none();
        future::poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Some(done));
            }
            match is_blocking {
                true => Poll::Pending,
                false => end.as_mut().poll(context).map(|()| None),
            }
        })
        .await
    }
}

/// A socket that a task watches.
#[derive(Debug)]
pub struct Watch {
    state: Rc<State>,
    task: u32,
    wants_room: Cell<bool>,
}

impl Watch {
    /// Returns true if the socket may have become ready since the last call: then reading or
    /// writing is worth a try. If not, or if the try would block, the task is polled again when the
    /// socket is ready.
    #[inline]
    pub fn take_ready(&self) -> bool {
        self.state.ready(self.task).is_some_and(|ready| ready.replace(false))
    }

    /// Marks the socket as ready again: the last read did not take everything.
    pub fn set_ready(&self) {
        if let Some(ready) = self.state.ready(self.task) {
            ready.set(true);
        }
    }

    /// Has the task polled also when `socket` is writable, if `wanted`.
    ///
    /// # Errors
    /// The socket is not the watched one.
    pub fn want_room(&self, socket: impl AsFd, wanted: bool) -> io::Result<()> {
        if self.wants_room.replace(wanted) == wanted {
            return Ok(());
        }
        self.state.change(socket.as_fd(), self.task, wanted)
    }
}
