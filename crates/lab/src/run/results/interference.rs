//! Other programs that took CPU time beside a run: when that is said, and when the run may not be compared.
//!
//! Where they take a twentieth of one CPU it is said: a run that one thread limits may be slower by so much, and
//! a study that looks for 3 % should know. It is noise like what the machine's host takes: runs meet it in random order, and
//! intervals hold it. Where they take a third of all CPUs the run was made on another machine than the others.

use super::figures::Results;
use crate::monitor::TopUser;
use assay_study::Warning;
use assay_study::metrics::metric;

/// Percent of one CPU.
const SAID_PERCENT: f64 = 5.0;
/// Percent of all CPUs.
const COMPARABLE_PERCENT: f64 = 100.0 / 3.0;

/// So many programs are kept.
const KEPT: usize = 10;

/// What is said of a run with these results; `top_users` are other programs that took time while it was measured, those
/// that took most first.
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
        // A desktop's programs on sixteen CPUs are said, and no more than that.
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
