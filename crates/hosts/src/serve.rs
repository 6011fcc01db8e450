//! The program at work on a host: the far end of the session.
//!
//! Guarantees: it ends when it is asked to, when the connection ends, and when nothing came over it for [`PATIENCE`]; the work in
//! hand has then taken down what it made. Standard input and output belong to the session.

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
use crate::facts::Facts;
use crate::protocol::{FromHost, Hello, PATIENCE, PROTOCOL, ToHost};

/// What can be done on a host.
pub trait Works: Sync {
    /// Does it, and gives what comes of it; ends early when told to. Nothing where no work has that name.
    ///
    /// # Errors
    /// What went wrong, as whoever began it understands it.
    fn carry_out(&self, work: &str, task: Value, talk: &Talk) -> Option<Result<Value, Value>>;
}

/// What a work in hand says and hears.
#[derive(Debug)]
pub struct Talk {
    say: Sender<FromHost>,
    told: Mutex<Receiver<Value>>,
    stop: Interrupt,
}

impl Talk {
    /// Tells something.
    pub fn tell(&self, what: &impl Serialize) {
        if let Ok(value) = serde_json::to_value(what) {
            // Whoever does not listen any more ends the work in another way.
            let _ = self.say.send(FromHost::Told(value));
        }
    }

    /// Waits for what is told next; nothing once the work is to end.
    pub fn hear(&self) -> Option<Value> {
        self.told.lock().recv().ok()
    }

    /// Whether the work is to end.
    #[must_use]
    pub fn stop(&self) -> &Interrupt {
        &self.stop
    }
}

/// What the far end waits for.
enum Event {
    /// A message, and when it came, in ns since 1970.
    Heard(ToHost, u64),
    /// Standard input has ended, or holds what is no message.
    Gone,
    /// A signal asks for an end.
    Asked,
    /// The work has ended, and says so.
    Worked(FromHost),
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Asked,
    Gone,
    /// Nothing came any more.
    Silent,
}

/// The work in hand, from outside.
struct InHand {
    tell: Sender<Value>,
    stop: Interrupt,
}

/// Serves a session on standard input and output until it ends.
///
/// # Errors
/// The system refuses a thread or a signal's handler.
pub fn serve(works: &dyn Works) -> Result<()> {
    // It was started by a path that says nothing; lists of processes show this (proc(5), comm).
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
        facts: Facts::here(),
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

/// Does what is asked for until the session ends; says how it did.
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
            // Said only now: who hears it may begin the next.
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
                // What waits to be told something is told that nothing comes.
                let stop = work.stop.clone();
                *in_hand = Some(InHand { tell: channel().0, stop });
            }
            (ToHost::Tell(_) | ToHost::Stop, None) => {}
            (ToHost::End, _) => return End::Asked,
        }
    }
}

/// Hands on what comes, on a thread of its own: nobody waits for standard input but it.
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

/// Writes what is said, on a thread of its own: over a cut link writing waits for ever, and nothing else may.
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

/// Ends the process of sshd that serves our connection and nothing else: over a cut link it would wait until TCP gives up, for a quarter
/// of an hour or more.
fn end_connection() {
    let parent = std::os::unix::process::parent_id();
    // Held before it is looked at: while it is our parent, its number means no other.
    let Ok(Some(process)) = Process::open(parent) else { return };
    let name = std::fs::read_to_string(format!("/proc/{parent}/comm")).unwrap_or_default();
    if name.starts_with("sshd") && std::os::unix::process::parent_id() == parent {
        let _ = process.signal(Signal::TERM);
    }
}
