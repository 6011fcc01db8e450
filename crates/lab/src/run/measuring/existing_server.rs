//! A run on a server that somebody else runs: brought back to the same start, loaded, and watched as far as its own word goes.

use anyhow::{Context, Result};
use assay_load::Endpoint;
use assay_mysql::secrets::masked;

use super::happenings::Own;
use super::measure::measure;
use super::schedule;
use super::stand::Stand;
use crate::monitor::{Followed, Targets};
use crate::rig::existing::{Existing, Loading};
use crate::run::describing::effective;
use crate::run::describing::placed::{self, Processes};
use crate::run::progress::Progress;
use crate::run::setup::Setup;
use assay_plan::PlannedTrial;
use assay_study::metrics::Window;
use assay_study::{InEffect, Outcome};

/// Makes the run; what was seen until it fails stays in `outcome`.
///
/// # Errors
/// What went wrong, in one line.
pub(super) fn run(
    setup: &Setup<'_>,
    trial: &PlannedTrial,
    progress: &dyn Progress,
    outcome: &mut Outcome,
) -> Result<()> {
    let config = setup.configs.get(&trial.variant).context("a run of an unknown configuration")?;
    let existing = config.existing.as_deref().context("a run of an unknown server")?;
    outcome.facts.insert("server".into(), existing.version().to_owned());
    outcome.facts.insert("ssl_cipher".into(), cipher(existing)?);
    let placed = schedule::placement(setup.plan, false).into_iter();
    outcome.facts.extend(placed.filter(|(name, _)| name != "server_cpus"));
    progress.step(&trial.key, "bringing the tables back to the start");
    let loading = Loading {
        schema: &config.schema,
        threads: setup.loading_threads(),
        seed: setup.plan.seed,
        directory: setup.work_directory(),
        interrupt: setup.interrupt,
    };
    existing.restore(&loading, progress)?;
    let variables = variables(existing)?;
    outcome.warnings.extend(effective::warnings(&config.settings, &variables, Vec::new()));
    outcome.variables = masked(variables);
    let placed = placed::differing(setup.plan, Processes::default());
    outcome.facts.extend(placed::facts(&placed));
    outcome.warnings.extend(effective::of_machine(&InEffect::default(), placed));
    let mut stand = ExistingServer { existing, endpoint: existing.endpoint()? };
    measure(setup, trial, config, &mut stand, progress, outcome).map(drop)
}

/// The cipher of connections like those of the load, or that there is none: encryption costs time.
fn cipher(existing: &Existing) -> Result<String> {
    let rows = existing.open()?.rows("SHOW SESSION STATUS LIKE 'Ssl_cipher'");
    let cipher =
        rows.context("cannot read the connection's state")?.pop().and_then(|mut row| row.pop()?);
    Ok(cipher.filter(|cipher| !cipher.is_empty()).unwrap_or_else(|| "none".into()))
}

fn variables(existing: &Existing) -> Result<std::collections::BTreeMap<String, String>> {
    let rows = existing.open()?.rows("SHOW GLOBAL VARIABLES");
    let pair = |row: Vec<Option<String>>| {
        let mut fields = row.into_iter();
        Some((fields.next()??, fields.next()??))
    };
    Ok(rows.context("cannot read the server's variables")?.into_iter().filter_map(pair).collect())
}

/// A server that somebody else runs.
struct ExistingServer<'a> {
    existing: &'a Existing,
    endpoint: Endpoint,
}

impl Stand for ExistingServer<'_> {
    fn endpoint(&self) -> Result<Endpoint> {
        Ok(self.endpoint.clone())
    }

    /// Its data directory, its device and its file system are beyond our sight, also where they are on this machine.
    fn targets(&self, cpus: &[usize]) -> Targets {
        Targets {
            data_dir: None,
            server_pid: self.existing.process().map(Followed::new),
            load_pid: std::process::id(),
            server: Some(self.endpoint.clone()),
            is_server_ours: false,
            drive: None,
            pool: None,
            with_machine: true,
            beside: Vec::new(),
            cpus: cpus.to_vec(),
        }
    }

    fn own(&mut self) -> Option<Own<'_>> {
        None
    }

    fn verify(&self, _outcome: &mut Outcome, _window: Window) -> Result<()> {
        Ok(())
    }
}
