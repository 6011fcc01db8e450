//! `assay load … --host A --host B run`: runs one load from several hosts.

use std::io::stdout;
use std::process::ExitCode;

use anyhow::Result;
use assay_hosts::load::{self, LoadFound};
use assay_hosts::{Failure, HostSession};
use assay_load::sysbench::{SysbenchLine, SysbenchPrinter};
use assay_ports::child;
use assay_system::interrupt::Interrupt;
use parking_lot::Mutex;

use super::ending::Ending;
use super::{Screen, write_report};
use crate::{host_command, print};

/// Runs the load from all hosts together. Exits as sysbench does, with 2 if events in flight were
/// cut off.
pub(super) fn run(line: &SysbenchLine) -> Result<ExitCode> {
    let interrupt = Interrupt::listen()?;
    // The password goes to the hosts within the sessions, and to no ssh client.
    child::withhold("MYSQL_PWD");
    let sessions = connect(line, &interrupt)?;
    if line.preflight
        && let Some(shortage) = load::preflight(&sessions, &line.load, interrupt.flag())?
    {
        print::note(format_args!("{shortage}"));
    }
    let screen = Screen {
        printer: Mutex::new(SysbenchPrinter::new(stdout(), line)),
        seconds: Mutex::new(Vec::new()),
        broken_off: Mutex::new(None),
    };
    screen.with_printer(|printer| printer.header(line))?;
    let found = load::run(&sessions, &line.load, None, &screen, interrupt.flag());
    let ended = sessions.into_iter().try_for_each(HostSession::end);
    let (found, hosts, doubt) = match found {
        Ok(LoadFound { outcome, hosts, doubt }) => (Ok(outcome), hosts, doubt),
        Err(failure) => (Err(failure), Vec::new(), None),
    };
    let ending = Ending::of(found, &screen.broken_off)?;
    screen.with_printer(|printer| printer.outcome(&ending.outcome))?;
    let (path, seconds) = (line.reporting.json.as_deref(), screen.seconds.lock());
    write_report(path, &line.load.endpoint, &ending.outcome, &seconds, &hosts)?;
    let is_forced = ending.outcome.is_forced();
    // Reported last: the measurements are kept, whatever the doubt about them.
    ending.end()?;
    doubt.map_or(ended, Err)?;
    Ok(if is_forced { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// Opens a session with each host, or fails.
fn connect(line: &SysbenchLine, interrupt: &Interrupt) -> Result<Vec<HostSession>> {
    let hosts = &line.hosts;
    let specs =
        host_command::specs(&hosts.hosts, hosts.host_directory.as_ref(), hosts.ssh_config.as_ref());
    let all = host_command::with_all(&specs, interrupt, |host| host.session())?;
    Ok(all.into_iter().collect::<Result<_, Failure>>()?)
}
