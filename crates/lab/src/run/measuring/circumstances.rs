//! Facts of a run that are known before its load.

use assay_serve::Attached;
use assay_study::InEffect;

use super::schedule::placement;
use crate::rig::Rig;
use crate::rig::pool::RunPool;
use crate::run::config_setup::ConfigSetup;
use crate::run::describing::effective;
use crate::run::describing::placed::{self, Processes};
use crate::run::results::Circumstances;
use assay_plan::Experiment;

/// The circumstances of a run on a rig, where `server` is the server's process.
pub(super) fn of_rig(
    experiment: &Experiment,
    config: &ConfigSetup,
    rig: &Rig,
    pool: Option<&RunPool>,
    server: Option<u32>,
) -> Circumstances {
    let processes = Processes { server, drive: rig.drive().map(Attached::pid) };
    let in_effect = rig.in_effect(&config.rig, pool);
    let mut circumstances = of_processes(experiment, processes, server.is_some(), &in_effect);
    let description = rig.description().iter();
    circumstances
        .facts
        .extend(description.map(|(label, text)| (format!("rig: {label}"), text.clone())));
    circumstances
}

/// The circumstances of processes on the CPUs of this machine.
pub(super) fn of_processes(
    experiment: &Experiment,
    processes: Processes,
    has_own_server: bool,
    in_effect: &InEffect,
) -> Circumstances {
    let placed = placed::differing(&experiment.placement, processes);
    let placement = placement(experiment, processes.drive.is_some()).into_iter();
    let shown = placement.filter(|(name, _)| has_own_server || name != "server_cpus");
    Circumstances {
        facts: shown.chain(placed::facts(&placed)).collect(),
        warnings: effective::of_machine(in_effect, placed),
        ..Circumstances::default()
    }
}
