//! CPU time that other programs used during a run, and the warning about it.
//!
//! From a twentieth of one CPU on a warning names them: a run that one thread limits may be slower
//! by as much, and a study may look for 3 %. The interference is noise like that of the machine's
//! host: runs are affected in random order, and intervals include it. From a third of all CPUs on
//! the run is not comparable.

use super::figures::Results;
use crate::monitor::TopUser;
use assay_study::Warning;
use assay_study::metrics::metric;

/// Percent of one CPU.
const SAID_PERCENT: f64 = 5.0;
/// Percent of all CPUs.
const COMPARABLE_PERCENT: f64 = 100.0 / 3.0;

/// Number of programs that are stored.
const KEPT: usize = 10;

/// `top_users`: other programs that used CPU time during the window, largest first.
pub(crate) fn warning(results: &Results, cpus: usize, top_users: &[TopUser]) -> Option<Warning> {
    let percent = *results.get(metric!("others_cpu_percent").name)?;
    of(percent, cpus, top_users)
}

fn of(cpu_percent: f64, cpus: usize, top_users: &[TopUser]) -> Option<Warning> {
    let limit = COMPARABLE_PERCENT * cpus as f64;
    let programs = top_users.iter().take(KEPT).map(TopUser::program).collect();
    let is_too_much = cpu_percent > limit;
    (cpu_percent > SAID_PERCENT).then_some(Warning::OtherPrograms {
        cpu_percent,
        is_too_much,
        programs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::Program;

    #[test]
    fn what_others_took_is_said_and_too_much_of_it_forbids_comparing() {
        let took = |percent: f64, cpus: usize| {
            of(percent, cpus, &[]).map(|warning| warning.forbids_comparing())
        };
        assert_eq!(took(4.9, 2), None);
        assert_eq!(took(50.0, 2), Some(false), "noise, which the interval holds");
        assert_eq!(took(70.0, 2), Some(true));
        // A desktop's programs on sixteen CPUs are named and tolerated.
        assert_eq!(took(170.0, 16), Some(false));
        assert_eq!(took(540.0, 16), Some(true));
        assert_eq!(warning(&Results::new(), 2, &[]), None, "not known, not said");
    }

    #[test]
    fn who_took_it_is_kept_those_that_took_most_first() {
        let top_user = |pid| TopUser { name: "rustc".into(), pid, processes: 3, user_s: 1.0 };
        let top_users: Vec<TopUser> = (1..=20).map(top_user).collect();
        let Some(Warning::OtherPrograms { programs, .. }) = of(10.0, 2, &top_users) else {
            panic!("nothing was said");
        };
        assert_eq!(programs.len(), KEPT);
        assert_eq!(programs[0], Program { name: "rustc".into(), pid: 1, processes: 3 });
    }
}
