//! The CPUs that server, load and drive may really use, against those of the plan.

use std::collections::BTreeMap;

use assay_plan::{CpuList, Placement};
use assay_ports::cpu;
use assay_study::{Asked, Differing};

use crate::monitor::quota_cpus;

/// Processes that a plan places, beside the load, which is this one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Processes {
    /// The server, if there is one.
    pub(crate) server: Option<u32>,
    /// The process that serves a drive, if there is one.
    pub(crate) drive: Option<u32>,
}

/// Processes that are not placed as planned. Processes that have ended are left out.
pub(crate) fn differing(placement: &Placement, processes: Processes) -> Vec<Differing> {
    let of = |pid: Option<u32>| pid.and_then(|pid| cpu::allowed_of(pid).ok());
    let load = || cpu::bound(&placement.load_cpus.0).ok();
    let placed = [
        (Asked::ServerCpus, &placement.server_cpus, of(processes.server)),
        (Asked::LoadCpus, &placement.load_cpus, load()),
        (Asked::DriveCpus, &placement.drive_cpus, of(processes.drive)),
    ];
    let cpus = placed.into_iter().filter_map(|(what, asked, told)| of_cpus(what, asked, told?));
    cpus.chain(of_quota(placement, quota_cpus())).collect()
}

/// Facts of a run on those CPUs: what was asked for stands beside what was given where that
/// differs.
pub(crate) fn facts(differing: &[Differing]) -> BTreeMap<String, String> {
    let told = differing.iter().filter_map(|one| {
        let name = match one.what {
            Asked::ServerCpus => "server_cpus",
            Asked::LoadCpus => "load_cpus",
            Asked::DriveCpus => "drive_cpus",
            _ => return None,
        };
        let asked = (format!("{name}_asked"), one.asked.clone());
        Some([(name.to_owned(), one.effective.clone()?), asked])
    });
    told.flatten().collect()
}

fn of_cpus(what: Asked, asked: &CpuList, told: Vec<usize>) -> Option<Differing> {
    let mut wanted = asked.0.clone();
    wanted.sort_unstable();
    wanted.dedup();
    let effective = Some(CpuList(told.clone()).to_string());
    let differs = !wanted.is_empty() && wanted != told;
    differs.then(|| Differing::new(what, asked.to_string(), effective))
}

/// A quota holds server, load and drive together.
fn of_quota(placement: &Placement, quota_cpus: Option<f64>) -> Option<Differing> {
    let lists = [&placement.server_cpus, &placement.load_cpus, &placement.drive_cpus];
    let mut cpus: Vec<usize> = lists.iter().flat_map(|list| list.0.iter().copied()).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let quota = quota_cpus.filter(|quota| *quota < cpus.len() as f64)?;
    Some(Differing::new(Asked::CpuTime, cpus.len().to_string(), Some(format!("{quota:.2}"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::experiment;

    fn placement(keys: &str) -> Placement {
        experiment(&format!("placement = {{ {keys} }}")).placement
    }

    #[test]
    fn a_process_on_other_cpus_than_asked_for_is_told() {
        let there = cpu::available().unwrap();
        let own = Processes { server: Some(std::process::id()), drive: None };
        let list = CpuList(there.clone()).to_string();
        let cpus = |all: Vec<Differing>| -> Vec<Differing> {
            all.into_iter().filter(|one| one.what != Asked::CpuTime).collect()
        };
        let as_asked = placement(&format!("server_cpus = \"{list}\", load_cpus = \"{list}\""));
        assert_eq!(cpus(differing(&as_asked, own)), []);
        assert_eq!(differing(&placement(""), own), [], "nothing is asked for");
        // No machine has it: the kernel takes it away and says nothing.
        let wanted = format!("{list},1023");
        let more = placement(&format!("server_cpus = \"{wanted}\", load_cpus = \"{wanted}\""));
        let found = cpus(differing(&more, own));
        let told = |what| Differing::new(what, wanted.clone(), Some(list.clone()));
        assert_eq!(found, [told(Asked::ServerCpus), told(Asked::LoadCpus)]);
        let facts = facts(&found);
        assert_eq!((&facts["server_cpus"], &facts["server_cpus_asked"]), (&list, &wanted));
    }

    #[test]
    fn a_quota_below_the_cpus_asked_for_is_told() {
        let placement = placement("server_cpus = \"0-1\", load_cpus = \"1-2\"");
        let told = of_quota(&placement, Some(1.5)).unwrap();
        assert_eq!((told.asked.as_str(), told.effective.as_deref()), ("3", Some("1.50")));
        assert_eq!(of_quota(&placement, Some(3.0)), None);
        assert_eq!(of_quota(&placement, None), None);
    }
}
