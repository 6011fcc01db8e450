//! Warnings of a run: a kind and the figures that it rests on.
//!
//! Guarantees: decisions rest on the kind; sentences are made where the warning is shown. The table
//! `warnings` holds the kind in a column of its own and the rest as JSON.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::in_effect::Differing;
use super::metrics::{MetricEntry, metric};
use super::sides::Sides;
pub use super::unmonitored::{Below, Role, Unmonitored};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]
pub enum Warning {
    /// An emulated device answered commands later than the real device would.
    MissedDeadlines {
        /// Percent of all commands.
        percent: f64,
        #[serde(default)]
        cpu: CpuUse,
    },
    /// Commands of an emulated device took longer than the real device's, most of them faster than
    /// can be emulated.
    AddedLatency {
        /// Percent of the device's own time.
        percent: f64,
        #[serde(default)]
        cpu: CpuUse,
    },
    /// The process that serves an emulated device was stalled.
    ModelStall {
        /// Total within the window.
        length_s: f64,
    },
    /// The program itself was stopped, or the machine slept.
    Stopped {
        /// Lower bound.
        length_s: f64,
    },
    /// The hypervisor or a quota took CPU time.
    CpuTaken {
        cpu: CpuUse,
        /// True if the run cannot be compared.
        is_too_much: bool,
    },
    /// Programs outside the run used CPU time.
    OtherPrograms {
        /// Percent of one CPU.
        cpu_percent: f64,
        /// True if the run cannot be compared.
        is_too_much: bool,
        /// The largest users.
        programs: Vec<Program>,
    },
    /// The load generator used so much of its CPUs that it may limit the result.
    LoadSaturated {
        /// Percent of the load's CPUs.
        cpu_percent: f64,
    },
    /// The requested rate exceeds the capacity of the connections.
    TooFewConnections(assay_load::Shortage),
    /// The event of a phase failed.
    HappeningFailed {
        phase: String,
        /// Name of the event's kind in plans.
        happening: String,
        error: String,
    },
    /// Throughput was not steady when measuring began.
    NotSettled,
    /// Transactions that were due within the window had not ended with it.
    Unfinished {
        transactions: u64,
        /// Percent of all.
        percent: f64,
        /// Wait of the oldest.
        wait_ms_max: f64,
    },
    /// The requests ended so early that series of one sample a second have few samples.
    ShortWindow {
        /// Time until they ended.
        length_s: f64,
    },
    /// The fill of an emulated device differed from the plan's.
    Fill {
        begin_percent: f64,
        end_percent: f64,
        planned_percent: f64,
    },
    /// The arithmetic of an old sysbench distorts the drawn keys.
    DistortedKeys(assay_load::Distortion),
    /// Figures contradict each other.
    Disagreement(Sides),
    /// A stored result is not a valid number and is left out.
    NoFigure {
        name: String,
    },
    /// The server reported that it runs with another value than requested.
    SettingAdjusted {
        /// Line of the server's log.
        line: String,
    },
    /// The server runs with another value than the plan's.
    SettingDiffers {
        /// Name in SHOW VARIABLES.
        name: String,
        asked: String,
        effective: String,
    },
    /// The machine did not meet a request of the plan.
    GivenDiffers(Differing),
    /// The software drive was not healthy.
    DriveState {
        state: String,
    },
    /// The software drive reported a problem.
    DriveProblem {
        /// Message of the drive.
        problem: String,
        /// True if it was reported while the run was measured, false if at its end.
        is_while_measuring: bool,
    },
    /// The clock of a load host moved, so that its seconds may be aligned with others'.
    ClockMoved {
        /// Name that the user gave the host.
        host: String,
        /// Difference in ms; `None` if it could not be measured again.
        by_ms: Option<f64>,
    },
    Unmonitored(Unmonitored),
    /// A resource of the run could not be removed.
    LeftBehind {
        error: String,
    },
}

/// Use of CPU time during a run, in percent of all CPUs; 0 if unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuUse {
    /// Busy time, stolen time included.
    pub busy_percent: f64,
    /// Time that the hypervisor gave to other machines (steal).
    pub steal_percent: f64,
    /// Time in which a CPU quota kept threads from running.
    pub throttled_percent: f64,
    /// User time of programs outside the run.
    pub others_percent: f64,
}

impl CpuUse {
    pub const NONE: CpuUse = CpuUse {
        busy_percent: 0.0,
        steal_percent: 0.0,
        throttled_percent: 0.0,
        others_percent: 0.0,
    };

    /// Reads the figures from the results of a run on `cpus` CPUs; other programs are counted in
    /// percent of one CPU.
    #[must_use]
    pub fn of_results(results: &BTreeMap<String, f64>, cpus: f64) -> CpuUse {
        let figure = |metric: &MetricEntry| results.get(metric.name).copied().unwrap_or(0.0);
        let busy = [
            metric!("cpu_user_percent"),
            metric!("cpu_nice_percent"),
            metric!("cpu_system_percent"),
            metric!("cpu_irq_percent"),
            metric!("cpu_softirq_percent"),
            metric!("cpu_steal_percent"),
        ];
        CpuUse {
            busy_percent: busy.into_iter().map(figure).sum(),
            steal_percent: figure(metric!("cpu_steal_percent")),
            throttled_percent: figure(metric!("cpu_throttled_percent")).min(100.0),
            others_percent: figure(metric!("others_cpu_percent")) / cpus,
        }
    }

    /// CPU time that the run lost, to any user.
    #[must_use]
    pub fn lost_percent(&self) -> f64 {
        self.taken_percent() + self.others_percent
    }

    /// CPU time that other machines and other programs took. A quota is not among them: it
    /// throttles a run for what the run itself used.
    fn outside_percent(&self) -> f64 {
        self.steal_percent + self.others_percent
    }

    /// Returns true if what others took explains `percent`, `times` as much for each percent.
    fn explains(&self, percent: f64, times: f64) -> bool {
        let outside_percent = self.outside_percent();
        outside_percent >= LOSS_PERCENT_MIN && percent <= outside_percent * times
    }

    /// The disturbance of the run by others, in percent: the stolen share of the CPU time that it
    /// wanted, and what other programs used of all CPUs. A hypervisor can only take what is wanted,
    /// so the stolen part of *all* CPUs would be larger for a busier configuration.
    #[must_use]
    pub fn disturbed_percent(&self) -> f64 {
        let stolen =
            if self.busy_percent > 0.0 { self.steal_percent / self.busy_percent } else { 0.0 };
        stolen * 100.0 + self.others_percent
    }

    /// CPU time taken by the hypervisor and a quota.
    #[must_use]
    pub fn taken_percent(&self) -> f64 {
        self.steal_percent + self.throttled_percent
    }
}

/// Smallest loss that disturbs a run, in percent of all CPUs.
pub const LOSS_PERCENT_MIN: f64 = 2.0;

/// Percent of emulated I/Os that miss their deadline, and of time added to them, that one lost
/// percent of all CPUs explains. A command is late if its CPU is away when it arrives or is
/// answered; the added time depends on how long the CPU stays away, which is the time of a few
/// commands.
const LATE_PERCENT_OF_LOSS: f64 = 2.0;

/// Largest percent of late commands at which a run is still compared, if all commands together took
/// little longer: throughput and latency of transactions depend on that. A command is late from a
/// twentieth of its time on, e.g. of 20 µs; a tenth of them is if the daemon may not run before
/// other threads, as in most containers.
const LATE_PERCENT_MAX: f64 = 25.0;
const ADDED_PERCENT_OF_LOSS: f64 = 10.0;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Name, truncated by the kernel.
    pub name: String,
    pub pid: u32,
    /// Number of processes with this name.
    pub processes: usize,
}

impl Warning {
    /// Returns true if a run with this warning cannot be compared: its figures come from the
    /// machine, or are unknown.
    #[must_use]
    pub fn forbids_comparing(&self) -> bool {
        match self {
            // CPU time that the machine loses affects all configurations alike, in random order:
            // noise, which their repeats show. A loss that a configuration causes itself does not.
            Warning::MissedDeadlines { percent, cpu } => {
                *percent > LATE_PERCENT_MAX && !cpu.explains(*percent, LATE_PERCENT_OF_LOSS)
            }
            Warning::AddedLatency { percent, cpu } => {
                !cpu.explains(*percent, ADDED_PERCENT_OF_LOSS)
            }
            Warning::ModelStall { .. } | Warning::Stopped { .. } | Warning::NoFigure { .. } => true,
            Warning::OtherPrograms { is_too_much, .. } | Warning::CpuTaken { is_too_much, .. } => {
                *is_too_much
            }
            _ => false,
        }
    }

    /// Returns true if the machine caused it and nothing that the configuration does: the same run
    /// at another time may be free of it. Throttling, lateness that nobody else's use of the CPUs
    /// explains and stalls of a model's server may follow from the configuration's own load, so to
    /// take such runs away would leave its best moments.
    #[must_use]
    pub fn is_of_machine(&self) -> bool {
        match self {
            Warning::MissedDeadlines { percent, cpu } => {
                cpu.explains(*percent, LATE_PERCENT_OF_LOSS)
            }
            Warning::AddedLatency { percent, cpu } => cpu.explains(*percent, ADDED_PERCENT_OF_LOSS),
            Warning::CpuTaken { cpu, .. } => cpu.steal_percent > cpu.throttled_percent,
            Warning::OtherPrograms { .. } | Warning::Stopped { .. } => true,
            _ => false,
        }
    }

    /// Returns true if it can have made the run slower only: CPU time that was lost, and an
    /// emulated device that was later than the real one.
    #[must_use]
    pub fn can_only_slow(&self) -> bool {
        matches!(
            self,
            Warning::MissedDeadlines { .. }
                | Warning::AddedLatency { .. }
                | Warning::ModelStall { .. }
                | Warning::CpuTaken { .. }
        )
    }
}

/// The stored form.
pub(super) struct Stored {
    pub(super) kind: String,
    /// The figures, for kinds that have any.
    pub(super) facts_json: Option<String>,
}

impl Stored {
    pub(super) fn of(warning: &Warning) -> Result<Stored> {
        let mut value = serde_json::to_value(warning).context("cannot write JSON")?;
        let facts_json = value.get_mut("facts").map(|facts| facts.take().to_string());
        let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Stored { kind, facts_json })
    }

    /// Decodes the stored form; fails for an unknown kind or facts of another kind.
    pub(super) fn warning(self) -> Result<Warning> {
        let what = || format!("the study holds a warning `{}` that does not parse", self.kind);
        let mut value = json!({ "kind": self.kind });
        if let Some(facts) = &self.facts_json {
            value["facts"] = serde_json::from_str(facts).with_context(what)?;
        }
        serde_json::from_value(value).with_context(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busier_run_is_no_more_disturbed_by_the_same_share_of_its_cpu_time() {
        let of = |busy_percent| CpuUse {
            busy_percent,
            steal_percent: 0.08 * busy_percent,
            ..CpuUse::default()
        };
        for busy_percent in [10.0, 50.0, 95.0] {
            assert!((of(busy_percent).disturbed_percent() - 8.0).abs() < 1e-9);
        }
        assert_eq!(CpuUse::NONE.disturbed_percent(), 0.0);
        let throttled = CpuUse { throttled_percent: 50.0, ..of(90.0) };
        assert!((throttled.disturbed_percent() - 8.0).abs() < 1e-9);
    }

    #[test]
    fn the_use_of_all_cpus_is_added_up() {
        let results: BTreeMap<String, f64> = [
            ("cpu_user_percent", 50.0),
            ("cpu_system_percent", 20.0),
            ("cpu_idle_percent", 15.0),
            ("cpu_steal_percent", 15.0),
            ("cpu_throttled_percent", 120.0),
            ("others_cpu_percent", 8.0),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let cpu = CpuUse::of_results(&results, 2.0);
        assert_eq!((cpu.busy_percent, cpu.steal_percent, cpu.others_percent), (85.0, 15.0, 4.0));
        assert_eq!(cpu.throttled_percent, 100.0, "of several threads, no more than all of it");
        assert_eq!(cpu.lost_percent(), 119.0);
        assert_eq!(CpuUse::of_results(&BTreeMap::new(), 2.0), CpuUse::NONE);
    }

    #[test]
    fn a_warning_is_read_as_it_was_written_and_an_unknown_kind_is_named() {
        let programs = vec![Program { name: "rustc".into(), pid: 7, processes: 2 }];
        for warning in [
            Warning::NotSettled,
            Warning::MissedDeadlines {
                percent: 4.25,
                cpu: CpuUse { busy_percent: 93.5, steal_percent: 14.25, ..CpuUse::default() },
            },
            Warning::OtherPrograms { cpu_percent: 31.5, is_too_much: true, programs },
            Warning::Unmonitored(Unmonitored::ServerSilent),
            Warning::Unmonitored(Unmonitored::ProcessEnded { role: Role::Daemon }),
        ] {
            assert_eq!(Stored::of(&warning).unwrap().warning().unwrap(), warning);
        }
        let stored = Stored::of(&Warning::NotSettled).unwrap();
        assert_eq!((stored.kind.as_str(), &stored.facts_json), ("not_settled", &None));
        let stored = Stored { kind: "haunted".into(), facts_json: None };
        assert!(stored.warning().unwrap_err().to_string().contains("`haunted`"));
    }

    #[test]
    fn a_machine_that_was_not_calm_forbids_comparing_and_a_remark_does_not() {
        let others = |is_too_much| Warning::OtherPrograms {
            cpu_percent: 30.0,
            is_too_much,
            programs: Vec::new(),
        };
        assert!(others(true).forbids_comparing() && !others(false).forbids_comparing());
        assert!(Warning::Stopped { length_s: 1.0 }.forbids_comparing());
        let missed = |steal_percent| Warning::MissedDeadlines {
            percent: 30.0,
            cpu: CpuUse { busy_percent: 99.0, steal_percent, ..CpuUse::default() },
        };
        assert!(missed(0.5).forbids_comparing() && !missed(0.5).is_of_machine());
        assert!(missed(16.0).is_of_machine(), "another time it may get the CPUs");
        assert!(!missed(16.0).forbids_comparing(), "noise, which repeats show");
        let few = Warning::MissedDeadlines { percent: 20.0, cpu: CpuUse::default() };
        assert!(!few.forbids_comparing(), "all commands together took little longer");
        let throttled = CpuUse { busy_percent: 99.0, throttled_percent: 30.0, ..CpuUse::default() };
        let late = Warning::MissedDeadlines { percent: 40.0, cpu: throttled };
        assert!(late.forbids_comparing(), "a quota is used up by the run itself");
        for its_own in [
            late,
            Warning::CpuTaken { cpu: throttled, is_too_much: true },
            Warning::ModelStall { length_s: 0.5 },
        ] {
            assert!(its_own.forbids_comparing() && !its_own.is_of_machine(), "{its_own:?}");
        }
        let added = |percent, others_percent| Warning::AddedLatency {
            percent,
            cpu: CpuUse { others_percent, ..CpuUse::default() },
        };
        assert!(added(60.0, 5.0).forbids_comparing() && !added(40.0, 5.0).forbids_comparing());
        assert!(added(6.0, 0.0).forbids_comparing() && !added(6.0, 0.0).is_of_machine());
        assert!(!Warning::NotSettled.forbids_comparing());
    }
}
