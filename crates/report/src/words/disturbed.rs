//! Disturbances of runs over a study: the measured cause, its largest extent, and a remedy.

use std::collections::BTreeMap;

use assay_judge::is_slowed;
use assay_study::{CpuUse, LOSS_PERCENT_MIN, RunState, Trial, Warning};

use super::short;

/// Why runs may not be compared, as far as it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DisturbanceKind {
    /// The hypervisor gave CPU time to other machines.
    Steal,
    /// A CPU quota throttled the run.
    Throttled,
    /// Other programs used the CPUs.
    OtherPrograms,
    /// The run itself kept the CPUs busy.
    OwnLoad,
    /// Emulated I/Os ended late, and nothing shows who had the CPUs meanwhile.
    Late,
    /// I/Os of the device are faster than can be emulated here.
    TooFast,
    /// The daemon of an emulated drive did not run.
    DriveStalled,
    /// Assay itself did not run.
    Stopped,
    /// A figure is no measurement.
    NoFigure,
}

/// One cause, over some runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cause {
    /// Which.
    pub kind: DisturbanceKind,
    /// Runs that it disturbed.
    pub runs: usize,
    /// How far it went at most, in the kind's unit.
    pub most: f64,
}

/// Text after a number of runs whose figures can only be too slow.
pub const SLOWED: &str = "may be faster than measured";

/// Counts of finished runs that have warnings, each run in one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flagged {
    /// Runs whose figures say nothing of their configuration.
    pub not_comparable: usize,
    /// Runs that the judge takes, as their figures can only be too slow.
    pub slowed: usize,
    /// All others.
    pub comparable: usize,
}

impl Flagged {
    /// Counts the runs that have warnings.
    pub fn of<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> Flagged {
        let mut flagged = Flagged::default();
        let is_flagged = |one: &&Trial| one.state == RunState::Done && !one.warnings.is_empty();
        for trial in trials.into_iter().filter(is_flagged) {
            let forbids = trial.warnings.iter().any(Warning::forbids_comparing);
            let count = match forbids {
                true if is_slowed(trial) => &mut flagged.slowed,
                true => &mut flagged.not_comparable,
                false => &mut flagged.comparable,
            };
            *count += 1;
        }
        flagged
    }
}

/// The causes that disturbed any of these runs, each run counted once; those of most runs first.
pub fn causes<'a>(trials: impl Iterator<Item = &'a Trial>) -> Vec<Cause> {
    counted(trials.filter_map(of_trial))
}

/// Disturbances of comparable runs, likewise; and runs whose emulated I/Os were late without a
/// measured cause.
pub fn disturbances<'a>(trials: impl Iterator<Item = &'a Trial>) -> Vec<Cause> {
    // Who had the CPUs says more than what was late for it.
    let is_cause =
        |one: &&Warning| matches!(one, Warning::CpuTaken { .. } | Warning::OtherPrograms { .. });
    let of = |trial: &Trial| {
        let all = || trial.warnings.iter().filter(|one| one.is_of_machine());
        all().find(is_cause).or_else(|| all().next()).and_then(of_warning).or_else(|| late(trial))
    };
    counted(trials.filter(|trial| of_trial(trial).is_none()).filter_map(of))
}

fn late(trial: &Trial) -> Option<(DisturbanceKind, f64)> {
    trial.warnings.iter().find_map(|one| match one {
        Warning::MissedDeadlines { percent, .. } => Some((DisturbanceKind::Late, *percent)),
        _ => None,
    })
}

fn counted(each: impl Iterator<Item = (DisturbanceKind, f64)>) -> Vec<Cause> {
    let mut found: BTreeMap<DisturbanceKind, (usize, f64)> = BTreeMap::new();
    for (kind, size) in each {
        let one = found.entry(kind).or_default();
        *one = (one.0 + 1, one.1.max(size));
    }
    let cause = |(kind, (runs, most))| Cause { kind, runs, most };
    let mut causes: Vec<Cause> = found.into_iter().map(cause).collect();
    causes.sort_by_key(|one| std::cmp::Reverse(one.runs));
    causes
}

/// The disturbance of a run, the machine's first.
pub fn of_trial(trial: &Trial) -> Option<(DisturbanceKind, f64)> {
    let forbidding = || trial.warnings.iter().filter(|one| one.forbids_comparing());
    forbidding()
        .find(|one| one.is_of_machine())
        .or_else(|| forbidding().next())
        .and_then(of_warning)
}

/// The kind of a warning that is about machine or figures, and how far it went.
pub fn of_warning(warning: &Warning) -> Option<(DisturbanceKind, f64)> {
    Some(match warning {
        Warning::MissedDeadlines { cpu, .. } => of_cpu(cpu),
        Warning::AddedLatency { cpu, .. } if warning.is_of_machine() => of_cpu(cpu),
        Warning::CpuTaken { cpu, .. } => of_taken(cpu),
        Warning::OtherPrograms { cpu_percent, .. } => {
            (DisturbanceKind::OtherPrograms, *cpu_percent)
        }
        Warning::AddedLatency { percent, .. } => (DisturbanceKind::TooFast, *percent),
        Warning::ModelStall { length_s } => (DisturbanceKind::DriveStalled, *length_s),
        Warning::Stopped { length_s } => (DisturbanceKind::Stopped, *length_s),
        Warning::NoFigure { .. } => (DisturbanceKind::NoFigure, 0.0),
        _ => return None,
    })
}

/// Who had the CPU time that was missing.
fn of_cpu(cpu: &CpuUse) -> (DisturbanceKind, f64) {
    if cpu.others_percent > cpu.taken_percent() && cpu.others_percent >= LOSS_PERCENT_MIN {
        return (DisturbanceKind::OtherPrograms, cpu.others_percent);
    }
    if cpu.taken_percent() >= LOSS_PERCENT_MIN {
        return of_taken(cpu);
    }
    (DisturbanceKind::OwnLoad, cpu.busy_percent)
}

fn of_taken(cpu: &CpuUse) -> (DisturbanceKind, f64) {
    match cpu.steal_percent >= cpu.throttled_percent {
        true => (DisturbanceKind::Steal, cpu.steal_percent),
        false => (DisturbanceKind::Throttled, cpu.throttled_percent),
    }
}

/// Text after "were": `disturbed by other users of this host (CPU steal up to 18 %)`.
pub fn text(cause: &Cause) -> String {
    let most = match cause.most {
        most if most < 9.95 => short(most),
        most => format!("{most:.0}"),
    };
    match cause.kind {
        DisturbanceKind::Steal => {
            format!("disturbed by other users of this host (CPU steal up to {most} %)")
        }
        DisturbanceKind::Throttled => {
            format!("throttled by a CPU quota (up to {most} % of the time)")
        }
        DisturbanceKind::OtherPrograms => {
            format!("disturbed by other programs (CPU use up to {most} %)")
        }
        DisturbanceKind::OwnLoad if cause.most > 0.0 => {
            format!("too much for this machine's CPUs (up to {most} % busy)")
        }
        DisturbanceKind::OwnLoad => "short of CPU time".into(),
        DisturbanceKind::Late => format!("slowed by late emulated I/Os (up to {most} % of them)"),
        DisturbanceKind::TooFast => {
            format!("too fast to emulate on this machine (I/Os up to {most} % longer)")
        }
        DisturbanceKind::DriveStalled => {
            format!("held up by a stall of the emulated drive (up to {most} s)")
        }
        DisturbanceKind::Stopped => format!("interrupted (for up to {most} s)"),
        DisturbanceKind::NoFigure => "left without a valid measurement".into(),
    }
}

/// A remedy, as a sentence.
pub fn remedy(kind: DisturbanceKind) -> &'static str {
    match kind {
        DisturbanceKind::Steal => "Measure when the host is less busy, or on a dedicated instance.",
        DisturbanceKind::Throttled => "Raise the quota of the container or service (cpu.max).",
        DisturbanceKind::OtherPrograms => "Stop the other programs, or measure on an idle machine.",
        DisturbanceKind::OwnLoad | DisturbanceKind::Late => {
            "Use fewer threads, a larger parallel_scale, or a faster machine."
        }
        DisturbanceKind::TooFast => {
            "Use more threads, a larger parallel_scale, or a faster machine."
        }
        DisturbanceKind::DriveStalled => {
            "Give the emulated drive its own CPUs (drive_cpus), or use an idle machine."
        }
        DisturbanceKind::Stopped => "Run it again without suspending or stopping Assay.",
        DisturbanceKind::NoFigure => "Run it again.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::TrialKey;

    fn missed(cpu: CpuUse) -> Warning {
        Warning::MissedDeadlines { percent: 3.0, cpu }
    }

    fn trial(warnings: Vec<Warning>) -> Trial {
        let (config, workload) = ("c".to_owned(), "w".to_owned());
        let key = TrialKey { config, workload, threads: 1, repeat: 1 };
        Trial { warnings, ..Trial::done(key, &[]) }
    }

    #[test]
    fn what_disturbed_runs_that_may_be_compared_is_told_apart_from_what_spoilt_others() {
        let cpu = CpuUse { others_percent: 20.0, ..CpuUse::default() };
        let programs = |cpu_percent, is_too_much| Warning::OtherPrograms {
            cpu_percent,
            is_too_much,
            programs: Vec::new(),
        };
        let late = Warning::MissedDeadlines { percent: 3.0, cpu };
        let trials = [
            trial(vec![late, programs(41.0, false)]),
            trial(vec![programs(30.0, false)]),
            trial(vec![programs(80.0, true)]),
            trial(vec![Warning::NotSettled]),
            trial(vec![missed(CpuUse::default())]),
        ];
        let told = |found: Vec<Cause>| {
            found.iter().map(|one| (one.kind, one.runs, one.most)).collect::<Vec<_>>()
        };
        assert_eq!(
            told(disturbances(trials.iter())),
            [(DisturbanceKind::OtherPrograms, 2, 41.0), (DisturbanceKind::Late, 1, 3.0)]
        );
        assert_eq!(told(causes(trials.iter())), [(DisturbanceKind::OtherPrograms, 1, 80.0)]);
    }

    #[test]
    fn a_run_that_can_only_be_too_slow_is_counted_apart_from_those_that_tell_nothing() {
        let late = Warning::MissedDeadlines { percent: 30.0, cpu: CpuUse::NONE };
        let stopped = Warning::Stopped { length_s: 3.0 };
        let pending = Trial { state: RunState::Pending, ..trial(vec![stopped.clone()]) };
        let trials = [
            trial(vec![late.clone(), Warning::NotSettled]),
            trial(vec![late.clone(), stopped.clone()]),
            trial(vec![stopped]),
            trial(vec![Warning::NotSettled]),
            trial(vec![Warning::NotSettled]),
            trial(vec![Warning::NotSettled]),
            trial(Vec::new()),
            pending,
        ];
        let expected = Flagged { not_comparable: 2, slowed: 1, comparable: 3 };
        assert_eq!(Flagged::of(&trials), expected);
    }

    #[test]
    fn the_cause_is_who_had_the_cpus_and_the_remedy_fits_it() {
        let none = CpuUse::default();
        let of = |cpu| of_warning(&missed(cpu)).unwrap().0;
        assert_eq!(
            of(CpuUse { steal_percent: 18.3, busy_percent: 99.0, ..none }),
            DisturbanceKind::Steal
        );
        assert_eq!(
            of(CpuUse { throttled_percent: 8.0, steal_percent: 1.0, ..none }),
            DisturbanceKind::Throttled
        );
        assert_eq!(
            of(CpuUse { others_percent: 9.0, steal_percent: 3.0, ..none }),
            DisturbanceKind::OtherPrograms
        );
        assert_eq!(
            of(CpuUse { busy_percent: 97.0, steal_percent: 0.2, ..none }),
            DisturbanceKind::OwnLoad
        );
        assert_eq!(of_warning(&Warning::NotSettled), None, "it forbids nothing");
        let cause = Cause { kind: DisturbanceKind::Steal, runs: 10, most: 18.3 };
        assert_eq!(text(&cause), "disturbed by other users of this host (CPU steal up to 18 %)");
        assert!(remedy(DisturbanceKind::Steal).contains("dedicated instance"));
    }
}
