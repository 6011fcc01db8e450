//! A server under power cuts: started on a data directory, listed so that nothing of it is left
//! behind.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use assay_judge::durability::{self, of_config};
use assay_load::Endpoint;
use assay_system::ledger::LedgerGuard;

use super::Cutting;
use crate::rig::server::{self, Flavour, Server, Settings, Start, TcpPort};
use crate::run::ConfigSetup;

/// A shutdown writes every dirty page.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(300);

/// Recovery may take as long as this until it counts as none.
pub(super) const RECOVERY_LIMIT: Duration = Duration::from_secs(300);

/// A server that has told of an error and does not come up within this does not come up.
const ERROR_LIMIT: Duration = Duration::from_secs(15);

/// A server that runs; dropping it kills it.
pub(super) struct Running {
    pub(super) server: Server,
    _run_dir: LedgerGuard,
}

/// On what a server is started, and with what beside the configuration's settings.
pub(super) struct Place<'a> {
    pub(super) data_dir: &'a Path,
    pub(super) run_dir: &'a Path,
    /// Go before the configuration's.
    pub(super) settings: Settings,
    pub(super) port: Option<TcpPort>,
}

impl Running {
    /// Starts the configuration's server there.
    ///
    /// # Errors
    /// It does not come up.
    pub(super) fn start(
        cutting: &Cutting<'_>,
        config: &ConfigSetup,
        place: Place<'_>,
    ) -> Result<Running> {
        let binary = config.server()?;
        let ledger = &cutting.ledger;
        let mut start = Start::new(place.data_dir, place.run_dir, ledger);
        start.settings = config.settings.clone();
        start.settings.extend(place.settings);
        // Recovery is logged in notes.
        if binary.flavour != Flavour::Mariadb {
            start.settings.entry("log_error_verbosity".into()).or_insert_with(|| "3".into());
        }
        start.cpus = cutting.experiment.placement.server_cpus.0.clone();
        start.port = place.port;
        start.ready_within = RECOVERY_LIMIT;
        start.ready_after_error_within = ERROR_LIMIT;
        let run_dir = ledger.make_directory(place.run_dir)?;
        let server = server::start(binary, &start)?;
        Ok(Running { server, _run_dir: run_dir })
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        self.server.endpoint()
    }

    /// Returns true if the settings permit the loss of commits at a power cut.
    ///
    /// # Errors
    /// It does not answer.
    pub(super) fn may_lose(&self, config: &ConfigSetup) -> Result<bool> {
        let variables = self.server.variables()?;
        let kept = of_config(&config.settings, Some(&variables), None);
        Ok(kept.commits != durability::CommitDurability::AtCommit)
    }

    /// End of the server by itself, in one line; `None` while it runs. With `must_have`, because it
    /// refuses connections, it is given time to end.
    ///
    /// # Errors
    /// The result of `waitpid`.
    pub(super) fn ended_under_load(&mut self, must_have: bool) -> Result<Option<String>> {
        if !must_have && self.server.is_running()? {
            return Ok(None);
        }
        let ended = self.server.ended_while("under load")?;
        Ok(ended.map(|reason| assay_base::text::on_one_line(&reason)))
    }

    /// Kills it, as a power cut does.
    ///
    /// # Errors
    /// What the system calls answered.
    pub(super) fn kill(self) -> Result<()> {
        self.server.kill()
    }

    /// Shuts it down.
    ///
    /// # Errors
    /// It did not shut down in order.
    pub(super) fn stop_in_order(self) -> Result<()> {
        let tail = self.server.log_tail(1);
        let status = self.server.stop(SHUTDOWN_LIMIT)?;
        ensure!(
            status.success(),
            "the server did not shut down: {}; its log ends: {}",
            assay_ports::child::describe(status),
            tail.join(" ")
        );
        Ok(())
    }
}
