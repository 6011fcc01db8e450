//! The program on a host: the far end of the session.
//!
//! Guarantees: it ends on request, when the connection ends, and after [`PATIENCE`] without a
//! message. The current job has then removed what it made. Standard input and output belong to the
//! session.

use std::io::{BufRead, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use assay_ports::child::{Process, identity};
use assay_system::interrupt::{self, Interrupt};
use parking_lot::Mutex;
use rustix::process::Signal;
use serde::Serialize;
use serde_json::Value;

use crate::clock::now_ns;
use crate::copies;
use crate::facts::HostFacts;
use crate::protocol::{FromHost, Hello, PATIENCE, PROTOCOL, ToHost};

/// The jobs that a host can run.
pub trait Works: Sync {
    /// Runs the job and returns its result. Ends early if asked to. Returns `None` if there is no
    /// job of that name.
    ///
    /// # Errors
    /// A value that the other end of the job understands.
    fn carry_out(&self, work: &str, task: Value, talk: &Talk) -> Option<Result<Value, Value>>;
}

/// The messages of the current job.
#[derive(Debug)]
pub struct Talk {
    say: Sender<FromHost>,
    told: Mutex<Receiver<Value>>,
    stop: Interrupt,
}

impl Talk {
    /// Sends a message.
    pub fn tell(&self, what: &impl Serialize) {
        if let Ok(value) = serde_json::to_value(what) {
            // An end that no longer listens ends the job in another way.
            let _ = self.say.send(FromHost::Told(value));
        }
    }

    /// Waits for the next message; returns `None` once the job must end.
    pub fn hear(&self) -> Option<Value> {
        self.told.lock().recv().ok()
    }

    /// Set when the job must end.
    #[must_use]
    pub fn stop(&self) -> &Interrupt {
        &self.stop
    }
}

enum Event {
    /// A message, and its time of arrival in ns since 1970.
    Heard(ToHost, u64),
    /// Standard input has ended, or holds an invalid message.
    Gone,
    Asked,
    /// The job has ended with this message.
    Worked(FromHost),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Asked,
    Gone,
    /// No message arrived within [`PATIENCE`].
    Silent,
}

/// The session's handle of the current job.
struct InHand {
    tell: Sender<Value>,
    stop: Interrupt,
}

/// Serves a session on standard input and output until it ends.
///
/// # Errors
/// The system refuses a thread or a signal handler.
pub fn serve(works: &dyn Works) -> Result<()> {
    // The path that started the program says nothing, and lists of processes show this name
    // (`proc(5)`, comm).
    rustix::thread::set_name(c"assay")?;
    if let Err(error) = copies::tidy() {
        log::warn!("{error:#}");
    }
    let (send, events) = channel();
    let say = begin_to_write(send.clone())?;
    let me = identity(std::process::id()).context("cannot read /proc/self/stat")?;
    let _ = say.send(FromHost::Hello(Box::new(Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").into(),
        facts: HostFacts::here(),
        process: me,
    })));
    begin_to_read(send.clone())?;
    let asked = send.clone();
    interrupt::on_signal(move || drop(asked.send(Event::Asked)))?;
    let end = thread::scope(|scope| {
        let mut in_hand: Option<InHand> = None;
        let begin = |work: String, task: Value| {
            let (say, done) = (say.clone(), send.clone());
            let (tell, told) = channel();
            let stop = Interrupt::default();
            let talk = Talk { say, told: told.into(), stop: stop.clone() };
            scope.spawn(move || {
                let _ = done.send(Event::Worked(work_on(works, &work, task, &talk)));
            });
            InHand { tell, stop }
        };
        let end = attend(&events, &say, &mut in_hand, &begin);
        if let Some(work) = in_hand {
            work.stop.set();
        }
        end
    });
    if end == End::Silent {
        end_connection();
    }
    Ok(())
}

fn work_on(works: &dyn Works, work: &str, task: Value, talk: &Talk) -> FromHost {
    match works.carry_out(work, task, talk) {
        Some(Ok(done)) => FromHost::Done(done),
        Some(Err(failed)) => FromHost::Failed(failed),
        None => FromHost::Failed(format!("there is no work {work}").into()),
    }
}

/// Processes requests until the session ends.
fn attend(
    events: &Receiver<Event>,
    say: &Sender<FromHost>,
    in_hand: &mut Option<InHand>,
    begin: &dyn Fn(String, Value) -> InHand,
) -> End {
    let mut heard = Instant::now();
    loop {
        let event = match events.recv_timeout(PATIENCE.saturating_sub(heard.elapsed())) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => return End::Silent,
            Err(RecvTimeoutError::Disconnected) => return End::Gone,
        };
        let (message, received_ns) = match event {
            Event::Heard(message, received_ns) => (message, received_ns),
            Event::Gone => return End::Gone,
            Event::Asked => return End::Asked,
            // Sent only now: the receiver may start the next job at once.
            Event::Worked(ended) => {
                *in_hand = None;
                let _ = say.send(ended);
                continue;
            }
        };
        heard = Instant::now();
        match (message, in_hand.as_ref()) {
            (ToHost::Ask { number }, _) => {
                let answered_ns = now_ns();
                let _ = say.send(FromHost::Here { number, received_ns, answered_ns });
            }
            (ToHost::Begin { work, task }, None) => *in_hand = Some(begin(work, task)),
            (ToHost::Begin { .. }, Some(_)) => {
                let _ = say.send(FromHost::Failed("another work is in hand".into()));
            }
            (ToHost::Tell(what), Some(work)) => drop(work.tell.send(what)),
            (ToHost::Stop, Some(work)) => {
                work.stop.set();
                // Wakes a job that waits for a message.
                let stop = work.stop.clone();
                *in_hand = Some(InHand { tell: channel().0, stop });
            }
            (ToHost::Tell(_) | ToHost::Stop, None) => {}
            (ToHost::End, _) => return End::Asked,
        }
    }
}

/// Starts a thread that reads standard input, so that no other thread blocks on it.
fn begin_to_read(events: Sender<Event>) -> Result<()> {
    let read = move || {
        for line in std::io::stdin().lock().lines() {
            let message = line.ok().and_then(|line| serde_json::from_str(&line).ok());
            let Some(message) = message else { break };
            if events.send(Event::Heard(message, now_ns())).is_err() {
                return;
            }
        }
        let _ = events.send(Event::Gone);
    };
    thread::Builder::new().name("hears".into()).spawn(read).context("cannot start a thread")?;
    Ok(())
}

/// Starts a thread that writes messages: writing to a cut link blocks for ever.
fn begin_to_write(events: Sender<Event>) -> Result<Sender<FromHost>> {
    let (say, said) = channel::<FromHost>();
    let write = move || {
        for message in said {
            let mut out = std::io::stdout().lock();
            let text = serde_json::to_string(&message).unwrap_or_default();
            if out.write_all(format!("{text}\n").as_bytes()).and_then(|()| out.flush()).is_err() {
                let _ = events.send(Event::Gone);
                return;
            }
        }
    };
    thread::Builder::new().name("says".into()).spawn(write).context("cannot start a thread")?;
    Ok(say)
}

/// Ends the sshd process of this connection alone: over a cut link it would wait for TCP's timeout
/// of a quarter of an hour or more.
fn end_connection() {
    let parent = std::os::unix::process::parent_id();
    // Opened before it is checked: while it is our parent, its number is not reused.
    let Ok(Some(process)) = Process::open(parent) else { return };
    let name = std::fs::read_to_string(format!("/proc/{parent}/comm")).unwrap_or_default();
    if name.starts_with("sshd") && std::os::unix::process::parent_id() == parent {
        let _ = process.signal(Signal::TERM);
    }
}
