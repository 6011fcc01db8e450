//! The daemon of a private cluster: starts its processes as children, and stops all of them on a
//! signal.
//!
//! It reports to the process that started it until the cluster runs. If it is killed, its children
//! die with it (`prctl(2)`, `PR_SET_PDEATHSIG`), and their data are in its ledger.

use std::fs::File;
use std::io::BufRead;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assay_base::text::on_one_line;
use assay_system::daemon::answer;
use assay_system::interrupt;
use assay_system::ledger::{Ledger, LedgerGuard};
use assay_system::resource::Resource;

use super::answer::{Answer, Started};
use super::bring_up::{bring_up, start_store};
use super::control::{self, Asked, Reply, StoreRequest};
use super::layout::Layout;
use super::processes::Processes;
use super::programs::{self, Programs};
use super::start::Job;
use super::store;

/// Interval between checks for children that have ended.
const LOOK_EVERY: Duration = Duration::from_secs(1);

enum Event {
    Stop,
    Asked(Asked),
}

/// Runs the cluster whose job is on standard input. `become_log` turns standard error into a log.
/// After an error, resources that could not be removed stay for `assay clean`.
pub fn run(become_log: fn(Option<File>)) -> Result<ExitCode> {
    // It was started through `/proc/self/exe`; lists of processes show this name instead (proc(5),
    // comm).
    rustix::thread::set_name(c"assay")?;
    let mut text = String::new();
    std::io::stdin().lock().read_line(&mut text).context("no job was given")?;
    let job: Job =
        serde_json::from_str(&text).context("this command is internal; use `assay pool start`")?;
    begin_session()?;
    match Running::begin(&job, become_log) {
        Ok((running, started)) => {
            let is_heard = answer(&Answer::Up(started)).is_ok();
            if is_heard {
                rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
                running.until_asked_to_end();
            } else {
                log::warn!("the process that started the cluster has ended; taking it down");
            }
            running.take_down()?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            answer(&Answer::Failed(on_one_line(&format!("{error:#}"))))?;
            Ok(ExitCode::from(2))
        }
    }
}

/// Starts a session, so that a Ctrl-C for the parent does not reach the daemon. A daemon that dies
/// with its parent leads a process group already, which has the same effect.
fn begin_session() -> Result<()> {
    match rustix::process::setsid() {
        Ok(_) | Err(rustix::io::Errno::PERM) => Ok(()),
        Err(error) => Err(error).context("cannot begin a session"),
    }
}

/// A running cluster.
struct Running {
    layout: Layout,
    programs: Programs,
    processes: std::cell::RefCell<Processes>,
    made: LedgerGuard,
    events: std::sync::mpsc::Receiver<Event>,
}

impl Running {
    fn begin(job: &Job, become_log: fn(Option<File>)) -> Result<(Running, Started)> {
        let began = Instant::now();
        let programs = programs::find()?.context("Ceph's programs are gone; try again")?;
        programs.hold()?;
        let layout = Layout::new(&job.directory);
        let ledger = Ledger::open()?;
        let name = &job.spec.name;
        let made = ledger.make_with_directory(&job.directory, |directory| Resource::Pool {
            name: name.clone(),
            directory,
        })?;
        begin_log(&layout, become_log)?;
        let (send, events) = channel();
        let stop = send.clone();
        interrupt::on_signal(move || drop(stop.send(Event::Stop)))?;
        control::listen(&layout, move |asked| drop(send.send(Event::Asked(asked))))?;
        let tell = |step: &str| {
            // A parent that no longer listens is noticed at the end.
            let _ = answer(&Answer::Step(step.to_owned()));
        };
        let processes = bring_up(&job.spec, &layout, &programs, &ledger, &tell)?;
        let started = Started {
            name: job.spec.name.clone(),
            directory: job.directory.clone(),
            ceph_conf: layout.conf(),
            pid: std::process::id(),
            seconds: began.elapsed().as_secs_f64(),
            version: programs.version.clone(),
        };
        let processes = processes.into();
        Ok((Running { layout, programs, processes, made, events }, started))
    }

    fn until_asked_to_end(&self) {
        loop {
            match self.events.recv_timeout(LOOK_EVERY) {
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Event::Asked((request, reply))) => drop(reply.send(self.carry_out(request))),
                Err(RecvTimeoutError::Timeout) => {}
            }
            for (name, ending) in self.processes.borrow_mut().dismiss_ended() {
                log::warn!("{name} has ended with {ending}");
            }
        }
    }

    fn carry_out(&self, request: StoreRequest) -> Reply {
        let done = match request {
            StoreRequest::KillStore(number) => self.kill(number),
            StoreRequest::ReturnStore(number) => self.bring_back(number),
        };
        match done {
            Ok(()) => Reply::Done,
            Err(error) => Reply::Refused(on_one_line(&format!("{error:#}"))),
        }
    }

    fn kill(&self, number: u16) -> Result<()> {
        let was_there = self.processes.borrow_mut().kill(&store::name(number))?;
        anyhow::ensure!(
            was_there,
            "store {number} does not run; `assay pool status` lists the stores"
        );
        log::info!("killed store {number}");
        Ok(())
    }

    fn bring_back(&self, number: u16) -> Result<()> {
        let mut processes = self.processes.borrow_mut();
        processes.dismiss_ended();
        let name = store::name(number);
        anyhow::ensure!(!processes.has(&name), "store {number} runs already");
        let is_known = self.layout.data_of(&name).is_dir();
        anyhow::ensure!(
            is_known,
            "there is no store {number}; `assay pool status` lists the stores"
        );
        start_store(number, &self.layout, &self.programs, &mut processes)?;
        log::info!("started store {number} again");
        Ok(())
    }

    /// Kills the processes: their data are deleted, so an orderly end would be a waste.
    fn take_down(self) -> Result<()> {
        drop(self.processes);
        self.made.remove()
    }
}

/// Redirects messages to a file among the cluster's logs.
fn begin_log(layout: &Layout, become_log: fn(Option<File>)) -> Result<()> {
    let log = File::create(layout.directory().join("assay.log"))?;
    rustix::stdio::dup2_stderr(log)?;
    become_log(None);
    Ok(())
}
