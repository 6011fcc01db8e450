//! A run on the server of somebody else: brought back to its start, loaded, and monitored as far as
//! the server's own counters go.

use anyhow::{Context, Result};
use assay_load::Endpoint;
use assay_mysql::secrets::masked;

use super::circumstances;
use super::observe::Run;
use super::target::{LoadPlace, Target};
use crate::monitor::{Followed, Targets};
use crate::rig::existing::{Existing, Loading};
use crate::run::config_setup::ConfigSetup;
use crate::run::describing::effective;
use crate::run::describing::placed::Processes;
use crate::run::progress::Progress;
use crate::run::results::{Circumstances, Observations};
use crate::run::setup::Setup;
use assay_plan::PlannedTrial;
use assay_study::InEffect;

/// # Errors
/// The configuration has no such server.
pub(super) fn observe(
    setup: &Setup<'_>,
    trial: &PlannedTrial,
    config: &ConfigSetup,
    progress: &dyn Progress,
) -> Result<Observations> {
    let existing = config.existing.as_deref().context("a run of an unknown server")?;
    let mut known = Circumstances::default();
    let restored = restore(setup, trial, config, existing, progress, &mut known);
    let endpoint = restored.and_then(|()| existing.endpoint());
    let mut observations = match endpoint {
        Ok(endpoint) => {
            let mut target = ExistingTarget { existing, endpoint };
            Run { setup, trial, config, progress, turns: None }
                .observe(std::slice::from_mut(&mut target))
        }
        Err(error) => Observations::failed(error),
    };
    if let Some(observation) = observations.servers.first_mut() {
        observation.circumstances = known;
    }
    Ok(observations)
}

/// Brings the tables back to their start. `known` keeps the facts found before a failure.
fn restore(
    setup: &Setup<'_>,
    trial: &PlannedTrial,
    config: &ConfigSetup,
    existing: &Existing,
    progress: &dyn Progress,
    known: &mut Circumstances,
) -> Result<()> {
    known.facts.insert("server".into(), existing.version().to_owned());
    known.facts.insert("ssl_cipher".into(), cipher(existing)?);
    let load_alone = Processes::default();
    let of_load =
        circumstances::of_processes(setup.experiment, load_alone, false, &InEffect::default());
    known.facts.extend(of_load.facts);
    progress.step(&trial.key, "bringing the tables back to the start");
    let loading = Loading {
        schema: &config.schema,
        threads: setup.loading_threads(),
        seed: setup.experiment.seed,
        directory: setup.work_directory(),
        interrupt: setup.interrupt,
    };
    existing.restore(&loading, progress)?;
    let variables = variables(existing)?;
    known.warnings = effective::warnings(&config.settings, &variables, Vec::new());
    known.warnings.extend(of_load.warnings);
    known.variables = masked(variables);
    Ok(())
}

/// The cipher of the load's connections, or "none": encryption costs time.
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

struct ExistingTarget<'a> {
    existing: &'a Existing,
    endpoint: Endpoint,
}

impl Target for ExistingTarget<'_> {
    fn place(&self) -> Result<LoadPlace> {
        Ok(LoadPlace::Server(self.endpoint.clone()))
    }

    /// Leaves out the data directory, its device and its file system, which this process may not
    /// see even if they are on this machine.
    fn monitored(&self, cpus: &[usize]) -> Targets {
        Targets {
            server_pid: self.existing.process().map(Followed::new),
            server: Some(self.endpoint.clone()),
            ..Targets::of_load(cpus)
        }
    }
}
