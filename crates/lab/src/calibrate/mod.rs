//! Calibration of this machine, a few seconds long, before anything long begins: the share of its
//! CPUs that a run will get, the lateness of wake-ups, and the speed up to which an emulated device
//! keeps its time.
//!
//! Nothing is decided here: the figures are stored with the study, warn beforehand, and tell later
//! which loss of CPU time is usual.

mod cpu;
mod port;

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use assay_plan::{Experiment, PlannedDisk, PlannedModel};
use assay_ports::clock;
use assay_presets::closed::ClosedConditions;
use assay_study::{Calibration, Port, TooFast};
use assay_system::ledger::Ledger;

/// Sleeps whose lateness is taken.
const SLEEPS: usize = 400;

/// InnoDB's page, which is what a server asks a device for.
const PAGE_BYTES: u64 = 16 << 10;

/// Tries the machine for a plan; what the port's device lies on is made in `work`, and removed
/// again.
///
/// # Errors
/// The CPUs cannot be counted, or the port cannot be opened: then no run could.
pub fn calibrate(
    experiment: &Experiment,
    work: &Path,
    ledger: &Arc<Ledger>,
) -> Result<Calibration> {
    let late_us = |lateness: &[std::time::Duration], percent: usize| {
        lateness.get(lateness.len() * percent / 100).map_or(0.0, |late| late.as_secs_f64() * 1e6)
    };
    let lateness = clock::wake_up_lateness(SLEEPS);
    let mut found = Calibration {
        wake_up_us_p50: late_us(&lateness, 50),
        wake_up_us_p99: late_us(&lateness, 99),
        ..cpu::calibrate()?
    };
    if has_port(experiment) {
        let port = port::calibrate(work, &experiment.placement.drive_cpus.0, ledger)?;
        found.too_fast = too_fast(experiment, &port)?;
        found.port = Some(port);
    }
    Ok(found)
}

fn has_port(experiment: &Experiment) -> bool {
    experiment.variants.iter().any(|one| one.rig.disk().is_some_and(PlannedDisk::is_served))
}

/// The configurations whose device does more than the port can carry beside a server, each with the
/// scale that it could have.
fn too_fast(experiment: &Experiment, port: &Port) -> Result<Vec<TooFast>> {
    let mut found: Vec<TooFast> = Vec::new();
    for variant in &experiment.variants {
        let Some(model) = variant.rig.model() else { continue };
        let operations_per_s = operations_per_s(model)?;
        let is_new = found.iter().all(|one| one.config != variant.key.config);
        if is_new && operations_per_s > port.keeps_per_s() {
            let parallel_scale = model.parallel_scale * operations_per_s / port.keeps_per_s();
            let (config, parallel_scale) = (variant.key.config.clone(), parallel_scale.ceil());
            found.push(TooFast { config, operations_per_s, parallel_scale });
        }
    }
    Ok(found)
}

/// The most that it does by its numbers, of a server's pages.
fn operations_per_s(model: &PlannedModel) -> Result<f64> {
    let PlannedModel { preset, device, .. } = model;
    let ratio = device.compresses().then_some(model.ratio);
    let conditions = ClosedConditions { fill: model.fill, ratio, bytes: PAGE_BYTES };
    let rates = device.closed(preset, conditions)?.into_iter();
    Ok(rates.filter(|one| one.name.starts_with("random_")).map(|one| one.value).fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_plan::Plan;

    fn plan(parallel_scale: u32) -> Experiment {
        let text = format!(
            "title = \"t\"\nthreads = [1]\nseconds = 1\n[workloads.w]\nrecipe = \
             \"oltp_read_only\"\n[configs.a]\n[configs.a.rig]\n\
             kind = \"model\"\nmodel = {{ preset = \"p4610-3.2\", capacity_scale = 4000, \
             parallel_scale = {parallel_scale} }}\n\
             [configs.b]\n"
        );
        Experiment::of(Plan::parse(&text).unwrap()).unwrap()
    }

    #[test]
    fn a_device_that_is_too_fast_is_named_with_a_scale_that_is_not() {
        let port = Port { round_trip_us: 50.0, reads_per_s: 20_000.0 };
        let found = too_fast(&plan(1), &port).unwrap();
        assert_eq!(
            found.iter().map(|one| one.config.as_str()).collect::<Vec<_>>(),
            ["a", "a, again"]
        );
        let scale = found[0].parallel_scale as u32;
        assert!(scale > 1 && found[0].operations_per_s > 10_000.0, "{found:?}");
        // Dies come whole, so that what is left may be one more than asked for.
        assert_eq!(too_fast(&plan(2 * scale), &port).unwrap(), []);
    }

    #[test]
    fn plans_without_an_emulated_device_or_a_drive_need_no_port() {
        assert!(has_port(&plan(1)));
        assert!(!has_port(&crate::testing::experiment("")));
    }
}
