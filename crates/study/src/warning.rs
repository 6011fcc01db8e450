//! What was found wrong with a run, or is worth knowing of it: a kind, and the figures it rests on.
//!
//! Guarantees: whoever decides on a warning decides by its kind; sentences are made of it where it is shown. In the table
//! `warnings` the kind stands by itself and the rest beside it as JSON.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::in_effect::Differing;
use super::metrics::{Metric, metric};
use super::sides::Sides;
pub use super::unmonitored::{Below, Role, Unmonitored};

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]
pub enum Warning {
    /// Commands of an emulated device were answered later than the device would have.
    MissedDeadlines {
        /// Share of all commands.
        percent: f64,
        /// Who used the CPU time meanwhile.
        #[serde(default)]
        cpu: CpuUse,
    },
    /// Commands of an emulated device took longer than the device's, most of them being faster than can be shown.
    AddedLatency {
        /// Share of the device's own time.
        percent: f64,
        /// Who used the CPU time meanwhile.
        #[serde(default)]
        cpu: CpuUse,
    },
    /// The process that serves an emulated device did not run.
    ModelStall {
        /// In all, within the window.
        length_s: f64,
    },
    /// We did not run ourselves: stopped, or on a machine that slept.
    Stopped {
        /// At least.
        length_s: f64,
    },
    /// The machine's host or a quota took CPU time.
    CpuTaken {
        /// How much of it, beside what was used.
        cpu: CpuUse,
        /// Whether it was too much for the run to be compared.
        is_too_much: bool,
    },
    /// Programs that have no part in it used CPU time.
    OtherPrograms {
        /// Percent of one CPU.
        cpu_percent: f64,
        /// Whether it was too much for the run to be compared.
        is_too_much: bool,
        /// Those that used most.
        programs: Vec<Program>,
    },
    /// The load generator used so much of its CPUs that it may be the limit.
    LoadSaturated {
        /// Percent of those CPUs.
        cpu_percent: f64,
    },
    /// The rate that was asked for is more than the connections can carry.
    TooFewConnections(assay_load::Shortage),
    /// What was to happen in a phase was refused.
    HappeningFailed {
        /// The phase.
        phase: String,
        /// The plan's word for it.
        happening: String,
        /// Why, in the words of whoever refused it.
        error: String,
    },
    /// Throughput had not settled when measuring began.
    NotSettled,
    /// Transactions that were due before the window's end had not ended by then.
    Unfinished {
        /// How many.
        transactions: u64,
        /// Share of all.
        percent: f64,
        /// What the oldest had waited.
        wait_ms_max: f64,
    },
    /// The requests were done so soon that what is sampled once a second rests on few samples.
    ShortWindow {
        /// After which they were done.
        length_s: f64,
    },
    /// An emulated device was not as full as the plan says.
    Fill {
        /// When measuring began.
        begin_percent: f64,
        /// When it ended.
        end_percent: f64,
        /// By the plan.
        planned_percent: f64,
    },
    /// The arithmetic of an old sysbench distorts the keys that are drawn.
    DistortedKeys(assay_load::Distortion),
    /// Figures do not agree with each other.
    Disagreement(Sides),
    /// A stored result is no number that can be measured; it is left out.
    NoFigure {
        /// The result.
        name: String,
    },
    /// The server runs with another value than was asked for.
    SettingAdjusted {
        /// The server's own words.
        line: String,
    },
    /// The server runs with another value than the plan asks for, whether it says so or not.
    SettingDiffers {
        /// Its name in SHOW VARIABLES.
        name: String,
        /// The plan's value.
        asked: String,
        /// The server's.
        effective: String,
    },
    /// The machine gave something otherwise than the plan asks for it, whether anything says so or not.
    GivenDiffers(Differing),
    /// The software drive was not healthy.
    DriveState {
        /// The state's name.
        state: String,
    },
    /// The software drive says that something is wrong with it.
    DriveProblem {
        /// The drive's own words.
        problem: String,
        /// Whether it was said while the run was measured, and not only found at its end.
        is_while_measuring: bool,
    },
    /// The clock of a host that had a part in the load moved meanwhile, so its seconds may lie beside others than their own.
    ClockMoved {
        /// As the user named the host.
        host: String,
        /// By how much, in ms; nothing where it could not be compared again.
        by_ms: Option<f64>,
    },
    /// Something could not be monitored.
    Unmonitored(Unmonitored),
    /// Something that was made for the run could not be taken down again.
    LeftBehind {
        /// What went wrong.
        error: String,
    },
}

/// Where the CPU time of a run went, each in percent of all CPUs; 0 where it is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuUse {
    /// Not idle and not waiting, stolen time included.
    pub busy_percent: f64,
    /// What the hypervisor gave to other machines (steal).
    pub steal_percent: f64,
    /// Time in which a CPU quota of the control group kept threads from running.
    pub throttled_percent: f64,
    /// User time of programs that have no part in the run.
    pub others_percent: f64,
}

impl CpuUse {
    /// Nothing is known.
    pub const NONE: CpuUse = CpuUse {
        busy_percent: 0.0,
        steal_percent: 0.0,
        throttled_percent: 0.0,
        others_percent: 0.0,
    };

    /// By the results of a run on so many CPUs, as far as it was counted. Other programs are counted in percent of one CPU.
    #[must_use]
    pub fn of_results(results: &BTreeMap<String, f64>, cpus: f64) -> CpuUse {
        let figure = |metric: &Metric| results.get(metric.name).copied().unwrap_or(0.0);
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

    /// What the run did not get of the CPUs, whoever took it.
    #[must_use]
    pub fn lost_percent(&self) -> f64 {
        self.taken_percent() + self.others_percent
    }

    /// Whether the loss of CPU time explains so many percent, each of it so many times as much.
    fn explains(&self, percent: f64, times: f64) -> bool {
        let lost_percent = self.lost_percent();
        lost_percent >= LOSS_PERCENT_MIN && percent <= lost_percent * times
    }

    /// What the machine's host and a quota took.
    #[must_use]
    pub fn taken_percent(&self) -> f64 {
        self.steal_percent + self.throttled_percent
    }
}

/// A run that lost less of the CPUs than this was not spoilt by that, in percent of all of them.
pub const LOSS_PERCENT_MIN: f64 = 2.0;

/// What a percent of all CPUs that is lost explains: at most so many percent of all emulated I/Os that miss their deadline, and of
/// time that is added to them. A command is late whose CPU is away when it comes or when it is answered; how much time that
/// adds hangs on how long the CPU stays away, which is a few commands' time.
const LATE_PERCENT_OF_LOSS: f64 = 2.0;

/// Up to this many percent of late commands a run is compared all the same, if all commands together took little longer: that is
/// what throughput and the latency of transactions feel. A command counts as late from a twentieth on, be it of 20 µs, and where
/// the daemon may not go before other threads, as in most containers, a tenth of them are.
const LATE_PERCENT_MAX: f64 = 25.0;
const ADDED_PERCENT_OF_LOSS: f64 = 10.0;

/// A program that used CPU time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its name, as the kernel cuts it off.
    pub name: String,
    /// One of its processes.
    pub pid: u32,
    /// How many processes of that name.
    pub processes: usize,
}

impl Warning {
    /// Whether figures of such a run may not be set against another's: the machine, not what was measured, made them what they
    /// are, or they are not known.
    #[must_use]
    pub fn forbids_comparing(&self) -> bool {
        match self {
            // What the machine lost meets all configurations alike, in random order: that is noise, which their repeats show. What
            // a configuration loses by itself is none, for another one may not.
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

    /// Whether the machine, and nothing that belongs to the run, made it so: the same run at another time may come out without.
    #[must_use]
    pub fn is_of_machine(&self) -> bool {
        match self {
            Warning::MissedDeadlines { cpu, .. } | Warning::AddedLatency { cpu, .. } => {
                cpu.lost_percent() >= LOSS_PERCENT_MIN
            }
            Warning::CpuTaken { .. }
            | Warning::OtherPrograms { .. }
            | Warning::ModelStall { .. }
            | Warning::Stopped { .. } => true,
            _ => false,
        }
    }
}

/// As it stands in the file.
pub(super) struct Stored {
    /// The kind's name.
    pub(super) kind: String,
    /// The rest, of a kind that has any.
    pub(super) facts_json: Option<String>,
}

impl Stored {
    /// To be written.
    pub(super) fn of(warning: &Warning) -> Result<Stored> {
        let mut value = serde_json::to_value(warning).context("cannot write JSON")?;
        let facts_json = value.get_mut("facts").map(|facts| facts.take().to_string());
        let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Stored { kind, facts_json })
    }

    /// Read back.
    ///
    /// # Errors
    /// A kind that there is not, or facts that are not its own.
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
        let added = |percent, others_percent| Warning::AddedLatency {
            percent,
            cpu: CpuUse { others_percent, ..CpuUse::default() },
        };
        assert!(added(60.0, 5.0).forbids_comparing() && !added(40.0, 5.0).forbids_comparing());
        assert!(added(6.0, 0.0).forbids_comparing() && !added(6.0, 0.0).is_of_machine());
        assert!(!Warning::NotSettled.forbids_comparing());
    }
}
