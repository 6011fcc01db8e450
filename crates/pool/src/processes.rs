//! The processes of a cluster (monitor, manager, stores): children of its daemon, each in the
//! ledger while it lives.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_ports::child::{Child, describe, identity, spawn};
use assay_system::ledger::{Ledger, LedgerGuard};
use assay_system::resource::Resource;

/// All running processes. When dropped, they are killed, the last started first.
#[derive(Debug)]
pub(crate) struct Processes {
    ledger: Arc<Ledger>,
    members: Vec<Member>,
}

/// A process; its ledger entry is dropped after it.
#[derive(Debug)]
struct Member {
    name: String,
    child: Child,
    _made: LedgerGuard,
}

impl Processes {
    pub(crate) fn new(ledger: &Arc<Ledger>) -> Processes {
        Processes { ledger: Arc::clone(ledger), members: Vec::new() }
    }

    /// Starts `command` under that name. Output before the program opens its log is appended to
    /// `log`.
    pub(crate) fn start(&mut self, name: &str, mut command: Command, log: &Path) -> Result<()> {
        let cannot = || format!("cannot start {name}");
        let said = OpenOptions::new().create(true).append(true).open(log).with_context(cannot)?;
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
        let child = spawn(command, &[]).with_context(cannot)?;
        let pid = child.pid();
        let start_ticks = identity(pid).map_or(0, |identity| identity.start_ticks);
        let (made, ()) = self.ledger.make(Resource::Process { pid, start_ticks }, || Ok(()))?;
        self.members.push(Member { name: name.to_owned(), child, _made: made });
        Ok(())
    }

    /// Kills a process at once, as a crash would; returns false if there is none of that name.
    pub(crate) fn kill(&mut self, name: &str) -> Result<bool> {
        let Some(place) = self.members.iter().position(|member| member.name == name) else {
            return Ok(false);
        };
        self.members.remove(place).child.kill()?;
        Ok(true)
    }

    /// Returns true if a process of that name runs.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.iter().any(|member| member.name == name)
    }

    /// Removes processes that have ended by themselves; returns their names and how they ended.
    pub(crate) fn dismiss_ended(&mut self) -> Vec<(String, String)> {
        let mut ended = Vec::new();
        self.members.retain_mut(|member| match member.child.ended() {
            Ok(Some(status)) => {
                ended.push((member.name.clone(), describe(status)));
                false
            }
            Ok(None) => true,
            Err(error) => {
                log::warn!("{}: {error}", member.name);
                true
            }
        });
        ended
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        while let Some(last) = self.members.pop() {
            drop(last);
        }
    }
}
