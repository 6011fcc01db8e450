//! A run's warnings as sentences.

use std::borrow::Cow;

use super::{disturbed, given, reconcile, unmonitored};
use assay_study::{CpuUse, Events, LOSS_PERCENT_MIN, Program, Trial, Warning};

/// So many programs are named.
const NAMED: usize = 3;

/// All of a run's.
pub fn of_trial(events: Events, trial: &Trial) -> Vec<String> {
    trial.warnings.iter().map(|warning| text(events, warning)).collect()
}

/// The problem and a remedy.
pub fn text(events: Events, warning: &Warning) -> String {
    let said = said(events, warning);
    match warning.forbids_comparing() {
        true => format!("not comparable: {said}"),
        false => said.into_owned(),
    }
}

/// By which warnings are told together: what is wrong and what caused it, whatever its figures.
pub type Sort = (std::mem::Discriminant<Warning>, Option<disturbed::DisturbanceKind>, String);

/// The sort of a warning. Those whose words are not our own, or hold no figure, are told by their
/// words.
pub fn sort(warning: &Warning) -> Sort {
    let is_of_figures = size(warning) > 0.0;
    let words = if is_of_figures { String::new() } else { text(Events::Transactions, warning) };
    (std::mem::discriminant(warning), disturbed::of_warning(warning).map(|one| one.0), words)
}

/// How bad it is, to be set against others of its sort; 0 where no figure says.
pub fn size(warning: &Warning) -> f64 {
    match warning {
        Warning::MissedDeadlines { percent, .. }
        | Warning::AddedLatency { percent, .. }
        | Warning::Unfinished { percent, .. } => *percent,
        Warning::ModelStall { length_s }
        | Warning::Stopped { length_s }
        | Warning::ShortWindow { length_s } => *length_s,
        Warning::CpuTaken { cpu, .. } => cpu.taken_percent(),
        Warning::OtherPrograms { cpu_percent, .. } | Warning::LoadSaturated { cpu_percent } => {
            *cpu_percent
        }
        _ => 0.0,
    }
}

fn said(events: Events, warning: &Warning) -> Cow<'_, str> {
    let text = match warning {
        Warning::MissedDeadlines { percent, cpu } => {
            let (cause, remedy) = short_of_cpu(cpu);
            format!("{percent:.1} % of the emulated I/Os missed their deadline: {cause}; {remedy}")
        }
        Warning::CpuTaken { cpu, .. } => {
            let (cause, remedy) = taken(cpu);
            format!("{cause}; {remedy}")
        }
        Warning::AddedLatency { percent, cpu }
            if cpu.lost_percent() >= LOSS_PERCENT_MIN || cpu.busy_percent >= BUSY_PERCENT =>
        {
            let (cause, remedy) = short_of_cpu(cpu);
            format!(
                "emulated I/Os took {percent:.1} % longer than on the device: {cause}; {remedy}"
            )
        }
        Warning::AddedLatency { percent, .. } => format!(
            "emulated I/Os took {percent:.1} % longer than on the device, mostly because they \
            are too fast for this machine to emulate; use more threads, a larger parallel_scale, \
            or a faster machine"
        ),
        Warning::ModelStall { length_s } => format!(
            "the daemon of the emulated drive stalled for {length_s:.1} s in total; give it its \
            own CPUs (drive_cpus), or use an idle machine"
        ),
        Warning::Stopped { length_s } => format!(
            "Assay did not run for at least {length_s:.1} s while measuring (Ctrl-Z, suspend, or \
            no CPU available); there was no load meanwhile"
        ),
        Warning::OtherPrograms { cpu_percent, is_too_much, programs } => {
            others(*cpu_percent, *is_too_much, programs)
        }
        Warning::LoadSaturated { cpu_percent } => {
            format!(
                "the load generator used {cpu_percent:.0} % of its CPUs: it may be the bottleneck"
            )
        }
        Warning::NotSettled => {
            return "the warm-up reached its limit before throughput was known to be within 5 % of \
                    its level at rest"
                .into();
        }
        Warning::Unfinished { transactions, percent, wait_ms_max } => format!(
            "percentiles are too low: {transactions} {} ({percent:.1} %) due in the window had \
            not finished at its end, the oldest waiting for {wait_ms_max:.0} ms",
            events.many()
        ),
        Warning::ShortWindow { length_s } => format!(
            "all events were done after {length_s:.1} s: disk and server figures have few \
            samples; use more events"
        ),
        Warning::Fill { begin_percent, end_percent, planned_percent } => format!(
            "the device was {begin_percent:.1} % full at the beginning and {end_percent:.1} % at \
            the end, instead of the planned {planned_percent:.1} %: zeroes and unwritten blocks \
            take no space"
        ),
        Warning::DistortedKeys(distortion) => distortion.to_string(),
        Warning::TooFewConnections(shortage) => shortage.to_string(),
        Warning::HappeningFailed { phase, happening, error } => {
            format!("{happening} in phase {phase} failed: {error}")
        }
        Warning::NoFigure { name } => {
            format!("the stored {name} is not a valid measurement and is ignored")
        }
        Warning::SettingDiffers { name, asked, effective } => {
            format!("the server ran with {name} = {effective}, not {asked} as the plan asks")
        }
        Warning::GivenDiffers(differing) => given::text(differing),
        Warning::DriveState { state } => format!("the drive was {state}"),
        Warning::DriveProblem { problem, is_while_measuring: true } => {
            format!("the drive says: {problem}")
        }
        Warning::ClockMoved { host, by_ms: Some(by_ms) } => format!(
            "the clock of {host} moved by {by_ms:.0} ms during the run, so its seconds may be \
            matched with the wrong seconds of other hosts; wait until chrony or ntpd has settled"
        ),
        Warning::ClockMoved { host, by_ms: None } => {
            format!("the clock of {host} could not be compared again after the run")
        }
        Warning::Unmonitored(what) => unmonitored::text(what),
        Warning::Disagreement(sides) => reconcile::of_sides(events, sides, false),
        Warning::SettingAdjusted { line: said }
        | Warning::DriveProblem { problem: said, is_while_measuring: false }
        | Warning::LeftBehind { error: said } => return said.into(),
    };
    text.into()
}

/// A machine whose CPUs are as busy as this has none to spare for keeping deadlines.
const BUSY_PERCENT: f64 = 85.0;

/// Who had the CPU time that was missing, and what would help.
fn short_of_cpu(cpu: &CpuUse) -> (String, &'static str) {
    if cpu.others_percent > cpu.taken_percent() && cpu.others_percent >= LOSS_PERCENT_MIN {
        let cause = format!("other programs used {:.0} % of all CPUs", cpu.others_percent);
        return (cause, "stop them, or measure on an idle machine");
    }
    if cpu.taken_percent() >= LOSS_PERCENT_MIN {
        return taken(cpu);
    }
    let cause = match cpu.busy_percent {
        busy if busy >= BUSY_PERCENT => format!("this run kept all CPUs {busy:.0} % busy"),
        _ => "no CPU was free in time".to_owned(),
    };
    (cause, "use fewer threads, a larger parallel_scale, or a faster machine")
}

/// CPU time that the machine's host or a quota took, and a remedy.
fn taken(cpu: &CpuUse) -> (String, &'static str) {
    match cpu.steal_percent >= cpu.throttled_percent {
        true => (
            format!("the hypervisor took {:.0} % of the CPUs (steal)", cpu.steal_percent),
            "measure when its host is less busy, or on a dedicated instance",
        ),
        false => (
            format!("a CPU quota throttled the run for {:.0} % of the time", cpu.throttled_percent),
            "raise the quota of the container or service (cpu.max)",
        ),
    }
}

/// Why a run was repeated, in some words: the first of its warnings that is the machine's.
pub fn cause(warnings: &[Warning]) -> Option<String> {
    let of_machine = warnings.iter().find(|warning| warning.is_of_machine())?;
    Some(match of_machine {
        Warning::MissedDeadlines { cpu, .. } | Warning::AddedLatency { cpu, .. } => {
            short_of_cpu(cpu).0
        }
        Warning::CpuTaken { cpu, .. } => taken(cpu).0,
        Warning::OtherPrograms { cpu_percent, programs, .. } => {
            format!("other programs used {cpu_percent:.0} % of a CPU: {}", names(programs))
        }
        other => said(Events::Transactions, other).into_owned(),
    })
}

fn others(cpu_percent: f64, is_too_much: bool, programs: &[Program]) -> String {
    let names = names(programs);
    let said = format!("other programs used {cpu_percent:.0} % of a CPU meanwhile: {names}");
    match is_too_much {
        true => format!("{said}; stop them, or measure on an idle machine"),
        false => said,
    }
}

fn names(programs: &[Program]) -> String {
    let name = |program: &Program| match program.processes {
        1 => format!("{} (process {})", program.name, program.pid),
        several => format!("{} ({several} processes)", program.name),
    };
    let named: Vec<String> = programs.iter().take(NAMED).map(name).collect();
    match named.is_empty() {
        true => "none that /proc shows, or they have ended".to_owned(),
        false => named.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(name: &str, pid: u32, processes: usize) -> Program {
        Program { name: name.into(), pid, processes }
    }

    fn others_took(cpu_percent: f64, is_too_much: bool, programs: Vec<Program>) -> String {
        text(Events::Transactions, &Warning::OtherPrograms { cpu_percent, is_too_much, programs })
    }

    #[test]
    fn what_forbids_comparing_says_so_first() {
        let told = text(Events::Transactions, &Warning::ModelStall { length_s: 4.012 });
        assert!(
            told.starts_with("not comparable: the daemon of the emulated drive stalled for 4.0 s")
        );
        let told = text(Events::Transactions, &Warning::Stopped { length_s: 12.0 });
        assert!(told.starts_with("not comparable: Assay did not run for at least 12.0 s"));
        assert_eq!(
            text(
                Events::Transactions,
                &Warning::Unfinished { transactions: 18, percent: 1.8, wait_ms_max: 351.4 }
            ),
            "percentiles are too low: 18 transactions (1.8 %) due in the window had not finished \
            at its end, the oldest waiting for 351 ms"
        );
    }

    #[test]
    fn missed_deadlines_name_who_had_the_cpus() {
        let missed =
            |cpu| text(Events::Transactions, &Warning::MissedDeadlines { percent: 4.25, cpu });
        let none = CpuUse::default();
        let stolen = CpuUse { busy_percent: 97.0, steal_percent: 14.2, ..none };
        assert_eq!(
            missed(stolen),
            "4.2 % of the emulated I/Os missed their deadline: the hypervisor took 14 % of the \
            CPUs (steal); measure when its host is less busy, or on a dedicated instance"
        );
        let throttled = CpuUse { throttled_percent: 8.0, others_percent: 3.0, ..none };
        assert!(missed(throttled).contains("a CPU quota throttled the run for 8 % of the time"));
        let others = CpuUse { others_percent: 21.0, steal_percent: 3.0, ..none };
        assert!(missed(others).contains("other programs used 21 % of all CPUs; stop them"));
        let own = CpuUse { busy_percent: 97.0, steal_percent: 0.2, ..none };
        assert!(missed(own).contains("this run kept all CPUs 97 % busy; use fewer threads"));
        assert!(missed(none).contains("no CPU was free in time"));
        let stalled = Warning::ModelStall { length_s: 1.0 };
        let missed = Warning::MissedDeadlines { percent: 2.0, cpu: stolen };
        let told = cause(&[Warning::NotSettled, missed, stalled]);
        assert_eq!(told.as_deref(), Some("the hypervisor took 14 % of the CPUs (steal)"));
        assert_eq!(cause(&[Warning::NotSettled]), None);
    }

    #[test]
    fn three_programs_are_named_and_those_nobody_sees_are_not_invented() {
        let busy = vec![program("rustc", 70, 3), program("node", 77, 1)];
        let said =
            "other programs used 24 % of a CPU meanwhile: rustc (3 processes), node (process 77)";
        assert_eq!(others_took(24.4, false, busy.clone()), said);
        let told = others_took(25.6, true, busy);
        assert!(
            told.starts_with("not comparable: other programs used 26 % of a CPU meanwhile: "),
            "{told}"
        );
        let many = ["a", "b", "c", "d"].map(|name| program(name, 1, 1)).to_vec();
        let said = others_took(10.0, false, many);
        assert!(said.ends_with(": a (process 1), b (process 1), c (process 1)"), "{said}");
        assert!(others_took(10.0, false, vec![]).contains("none that /proc shows"));
    }
}
