//! Checks of plans with a server that somebody else runs: only its owner may change it.

use anyhow::{Context, Result, bail, ensure};

use crate::document::{ConfigSpec, Plan, RigKind};
use assay_study::Happening;

/// Refuses changes that only the owner of the server can make.
///
/// # Errors
/// One line: the key, and what to do.
pub(super) fn check(plan: &Plan) -> Result<()> {
    let is_endpoint = |config: &ConfigSpec| plan.rig_of(config).kind == RigKind::Endpoint;
    let Some((name, _)) = plan.configs.iter().find(|(_, config)| is_endpoint(config)) else {
        return Ok(());
    };
    check_happenings(plan).with_context(|| format!("configuration `{name}`"))?;
    if let Some((workload, _)) = plan.workloads.iter().find(|(_, one)| one.files().is_some()) {
        bail!(
            "workload `{workload}` loads files, and configuration `{name}` is a server that \
            somebody else runs, whose files cannot be reached; put them into two plans"
        );
    }
    for (name, config) in plan.configs.iter().filter(|(_, config)| is_endpoint(config)) {
        ensure!(
            config.server.is_none(),
            "configuration `{name}` names a server program, but its server is somebody else's; \
             remove server"
        );
    }
    ensure!(
        plan.needs_own_server() || plan.placement.server_cpus.is_empty(),
        "placement.server_cpus cannot be set for a server that somebody else runs; remove it"
    );
    Ok(())
}

/// Refuses events that change the server.
fn check_happenings(plan: &Plan) -> Result<()> {
    let in_phases = plan.phases.iter().filter_map(|phase| phase.happening.as_ref());
    let during = plan.objective.as_ref().and_then(|objective| objective.during.as_ref());
    for happening in in_phases.chain(during) {
        match happening {
            Happening::Scan | Happening::Sql(_) => {}
            // Refused where stores are: there is no private pool below it.
            Happening::KillStore(_) | Happening::ReturnStore(_) => {}
            Happening::Checkpoint | Happening::DropPageCache | Happening::Restart => bail!(
                "a {} changes the server, which somebody else runs; use a scan or a statement",
                happening.word()
            ),
        }
    }
    Ok(())
}
