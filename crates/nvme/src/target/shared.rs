//! State that all connections of a target share: their number, their ends, a clock.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::TargetLimits;
use super::registry::Registry;
use crate::controller::Controller;

/// A connection as the target knows it.
struct Known {
    stream: TcpStream,
    /// Its controller, once it is a queue.
    controller: Option<Arc<Controller>>,
}

#[derive(Default)]
struct Open {
    connections: BTreeMap<u64, Known>,
    next: u64,
    has_ended: bool,
}

pub(super) struct Shared {
    registry: Arc<Registry>,
    limits: TargetLimits,
    began: Instant,
    open: Mutex<Open>,
    /// Notified when a connection has ended, and at the end of the target.
    changed: Condvar,
}

/// A connection's place among those of a target; it is free again when this is dropped.
pub(super) struct Place {
    shared: Arc<Shared>,
    number: u64,
}

impl Shared {
    pub(super) fn new(registry: Registry, limits: TargetLimits) -> Shared {
        Shared {
            registry: Arc::new(registry),
            limits,
            began: Instant::now(),
            open: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(super) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    pub(super) fn limits(&self) -> &TargetLimits {
        &self.limits
    }

    /// Time since the target began.
    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.open.lock().has_ended
    }

    /// A place for a connection; `None` if there is none left, or the target ends.
    pub(super) fn place(self: &Arc<Shared>, stream: TcpStream) -> Option<Place> {
        let mut open = self.open.lock();
        if open.has_ended || open.connections.len() >= self.limits.connections {
            return None;
        }
        let number = open.next;
        open.next += 1;
        open.connections.insert(number, Known { stream, controller: None });
        Some(Place { shared: Arc::clone(self), number })
    }

    /// Ends an association and all of its connections.
    pub(super) fn end_association(&self, controller: &Arc<Controller>) {
        controller.end();
        let open = self.open.lock();
        let is_its = |known: &&Known| {
            known.controller.as_ref().is_some_and(|one| Arc::ptr_eq(one, controller))
        };
        open.connections.values().filter(is_its).for_each(close);
    }

    /// Ends associations whose hosts are silent, and connections of associations that are over,
    /// until the target ends.
    pub(super) fn look(&self, interval: Duration) {
        while !self.pause(interval) {
            for controller in self.registry.live() {
                if controller.is_silent(self.now()) {
                    let (host, name) = (&controller.host().name, controller.subsystem().name());
                    log::warn!(
                        "{host} was silent for longer than its keep alive timeout; its association \
                         with {name} ends"
                    );
                    self.end_association(&controller);
                }
            }
            let open = self.open.lock();
            let is_over =
                |known: &&Known| known.controller.as_ref().is_some_and(|one| one.is_over());
            open.connections.values().filter(is_over).for_each(close);
        }
    }

    /// Waits for a time; returns true if the target has ended.
    pub(super) fn pause(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut open = self.open.lock();
        while !open.has_ended && !self.changed.wait_until(&mut open, until).timed_out() {}
        open.has_ended
    }

    /// Takes no more connections, and ends those that there are.
    pub(super) fn end(&self) {
        let mut open = self.open.lock();
        open.has_ended = true;
        open.connections.values().for_each(close);
        self.changed.notify_all();
    }

    /// Waits until no connection is left.
    pub(super) fn wait_for_connections(&self) {
        let mut open = self.open.lock();
        while !open.connections.is_empty() {
            self.changed.wait(&mut open);
        }
    }
}

fn close(known: &Known) {
    let _ = known.stream.shutdown(Shutdown::Both);
}

impl Place {
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Notes the controller whose queue the connection has become.
    pub(super) fn is_queue_of(&self, controller: &Arc<Controller>) {
        let mut open = self.shared.open.lock();
        if let Some(known) = open.connections.get_mut(&self.number) {
            known.controller = Some(Arc::clone(controller));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.open.lock().connections.remove(&self.number);
        self.shared.changed.notify_all();
    }
}
