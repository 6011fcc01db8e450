//! CPUs: `/proc/stat`, and the time lost to waiting, `/proc/pressure`.
//!
//! Classes are in percent of all CPUs and add up to 100. Time in guests is part of `user` and
//! `nice` already (`proc_stat(5)`) and is not counted twice. The kernel may let `idle` and `iowait`
//! step back a tick (same page); such a second is a gap. Pressure is the share of time in which
//! some or all tasks waited for a resource (the kernel's "PSI" documentation); kernels without it
//! have no such series.

use anyhow::Context;

use super::interference::{Interference, Own};
use super::probe::{Notes, Probe, number};
use super::procfile::ProcFile;
use super::sheet::{Field, Formula, Sheet};
use super::throttle::Throttle;
use assay_study::Unmonitored;
use assay_study::metrics::{MetricEntry, metric};

/// Clock ticks a second in `/proc`: `USER_HZ`, fixed at 100 on every architecture we run on
/// (`time(7)`).
pub(super) const TICKS_PER_SECOND: f64 = 100.0;

/// Classes in the order of `/proc/stat`'s `cpu` lines.
const CLASSES: [&MetricEntry; 8] = [
    metric!("cpu_user_percent"),
    metric!("cpu_nice_percent"),
    metric!("cpu_system_percent"),
    metric!("cpu_idle_percent"),
    metric!("cpu_iowait_percent"),
    metric!("cpu_irq_percent"),
    metric!("cpu_softirq_percent"),
    metric!("cpu_steal_percent"),
];
const IDLE: usize = 3;
const IOWAIT: usize = 4;

/// Files of `/proc/pressure`, each with the time that some and that all tasks waited.
const PRESSURES: [(&str, [&MetricEntry; 2]); 3] = [
    ("cpu", [metric!("pressure_cpu_some_percent"), metric!("pressure_cpu_full_percent")]),
    ("io", [metric!("pressure_io_some_percent"), metric!("pressure_io_full_percent")]),
    ("memory", [metric!("pressure_memory_some_percent"), metric!("pressure_memory_full_percent")]),
];

/// All CPUs and each of them.
pub(super) struct CpuProbe {
    sheet: Sheet,
    stat: ProcFile,
    fields: CpuFields,
    interference: Option<Interference>,
    throttle: Option<Throttle>,
    pressures: Vec<(ProcFile, Field, Field)>,
}

struct CpuFields {
    classes: [Field; 8],
    total: Field,
    cores: Vec<Core>,
    context_switches: Field,
}

struct Core {
    number: usize,
    busy: Field,
    iowait: Field,
    total: Field,
}

impl CpuProbe {
    /// Opens `/proc/stat` and the files of `/proc/pressure` that exist. CPU time of processes other
    /// than `own` is interference.
    ///
    /// # Errors
    /// `/proc/stat` cannot be read.
    pub(super) fn open(own: Own, notes: &mut Notes) -> anyhow::Result<CpuProbe> {
        let unreadable = "cannot read /proc/stat; mount proc at /proc";
        let mut stat = ProcFile::open("/proc/stat").context(unreadable)?;
        let cores = core_numbers(&stat.read().context(unreadable)?);
        let mut sheet = Sheet::default();
        let fields = CpuFields::declare(&mut sheet, &cores);
        let interference = assay_ports::cpu::available()
            .and_then(|cpus| Interference::declare(&mut sheet, own, cpus))
            .inspect_err(|error| {
                notes.unmonitored(Unmonitored::Others { error: error.to_string() });
            })
            .ok();
        let throttle = Throttle::declare(&mut sheet);
        let pressures = PRESSURES
            .iter()
            .filter_map(|(name, metrics)| open_pressure(&mut sheet, name, *metrics))
            .collect();
        Ok(CpuProbe { sheet, stat, fields, interference, throttle, pressures })
    }
}

impl Probe for CpuProbe {
    fn sheet(&self) -> &Sheet {
        &self.sheet
    }

    fn read(&mut self, reading: &mut [f64], notes: &mut Notes) {
        match self.stat.read() {
            Ok(text) => {
                self.fields.fill(&text, reading);
                if let Some(interference) = &mut self.interference {
                    interference.fill(&text, reading);
                }
            }
            Err(error) => notes.unmonitored(Unmonitored::Cpu { error: error.to_string() }),
        }
        if let Some(throttle) = &mut self.throttle {
            throttle.fill(reading);
        }
        for (file, some, full) in &mut self.pressures {
            if let Ok(text) = file.read() {
                (reading[*some], reading[*full]) = stalled_seconds(&text);
            }
        }
    }
}

impl CpuFields {
    fn declare(sheet: &mut Sheet, cores: &[usize]) -> CpuFields {
        let classes = CLASSES.map(|_| sheet.field());
        let total = sheet.field();
        for (class, over) in CLASSES.iter().zip(classes) {
            sheet.series(class, "", share(over, total));
        }
        let mut declare_core = |&number: &usize| {
            let (busy, iowait, total) = (sheet.field(), sheet.field(), sheet.field());
            let whose = number.to_string();
            sheet.series(metric!("cpu{}_busy_percent"), &whose, share(busy, total));
            sheet.series(metric!("cpu{}_iowait_percent"), &whose, share(iowait, total));
            Core { number, busy, iowait, total }
        };
        let cores = cores.iter().map(&mut declare_core).collect();
        let context_switches = sheet.counter(metric!("cpu_context_switches_per_s"), "");
        CpuFields { classes, total, cores, context_switches }
    }

    fn fill(&self, stat: &str, reading: &mut [f64]) {
        for line in stat.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            if word == "cpu" {
                let seconds = class_seconds(rest);
                for (&field, value) in self.classes.iter().zip(seconds) {
                    reading[field] = value;
                }
                reading[self.total] = sum(&seconds);
            } else if word == "ctxt" {
                reading[self.context_switches] = number(Some(rest));
            } else if let Some(core) = core_number(word) {
                self.fill_core(core, rest, reading);
            }
        }
    }

    fn fill_core(&self, number: usize, rest: &str, reading: &mut [f64]) {
        let Some(core) = self.cores.iter().find(|core| core.number == number) else { return };
        let seconds = class_seconds(rest);
        reading[core.total] = sum(&seconds);
        reading[core.iowait] = seconds[IOWAIT];
        reading[core.busy] = reading[core.total] - seconds[IDLE] - seconds[IOWAIT];
    }
}

fn share(over: Field, under: Field) -> Formula {
    Formula::Quotient { over, under, base: 0.0, scale: 100.0 }
}

fn core_number(word: &str) -> Option<usize> {
    word.strip_prefix("cpu")?.parse().ok()
}

pub(super) fn core_numbers(stat: &str) -> Vec<usize> {
    stat.lines().filter_map(|line| core_number(line.split_ascii_whitespace().next()?)).collect()
}

/// CPU time since the machine started, in seconds, summed over all CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct CpuSeconds {
    /// User and kernel mode.
    pub(crate) worked_s: f64,
    /// Taken by other virtual machines of the host.
    pub(crate) steal_s: f64,
    /// Including idle time.
    pub(crate) all_s: f64,
}

/// CPU time of these CPUs (`/proc/stat`).
pub(crate) fn cpu_seconds(cpus: &[usize]) -> std::io::Result<CpuSeconds> {
    let text = ProcFile::open("/proc/stat")?.read()?.into_owned();
    let of_line = |line: &str| {
        let (word, rest) = line.split_once(' ')?;
        core_number(word).filter(|number| cpus.contains(number)).map(|_| class_seconds(rest))
    };
    let lines = text.lines().filter_map(of_line);
    Ok(lines.fold(CpuSeconds::default(), |so_far, seconds| {
        let [.., steal_s] = seconds.map(|value| if value.is_nan() { 0.0 } else { value });
        let all_s = sum(&seconds);
        let waited_s = seconds[IDLE] + if seconds[IOWAIT].is_nan() { 0.0 } else { seconds[IOWAIT] };
        CpuSeconds {
            worked_s: so_far.worked_s + all_s - waited_s - steal_s,
            steal_s: so_far.steal_s + steal_s,
            all_s: so_far.all_s + all_s,
        }
    }))
}

/// In seconds by class; kernels before 2.6.11 have fewer classes, later ones more.
pub(super) fn class_seconds(rest: &str) -> [f64; 8] {
    let mut words = rest.split_ascii_whitespace();
    std::array::from_fn(|_| number(words.next()) / TICKS_PER_SECOND)
}

fn sum(seconds: &[f64]) -> f64 {
    seconds.iter().filter(|value| !value.is_nan()).sum()
}

fn open_pressure(
    sheet: &mut Sheet,
    name: &str,
    metrics: [&'static MetricEntry; 2],
) -> Option<(ProcFile, Field, Field)> {
    let mut file = ProcFile::open(format!("/proc/pressure/{name}")).ok()?;
    // A kernel started with psi=0 has the files and answers EOPNOTSUPP.
    file.read().ok()?;
    let [some, full] = declare_pressure(sheet, metrics);
    Some((file, some, full))
}

fn declare_pressure(sheet: &mut Sheet, metrics: [&'static MetricEntry; 2]) -> [Field; 2] {
    metrics.map(|metric| sheet.seconds(metric))
}

/// Seconds in which some and in which all tasks waited; NaN if the kernel has no such line.
pub(super) fn stalled_seconds(text: &str) -> (f64, f64) {
    let of = |who: &str| {
        let line = text.lines().find(|line| line.starts_with(who));
        number(line.and_then(|line| line.split_once("total=")).map(|(_, total)| total.trim())) / 1e6
    };
    (of("some"), of("full"))
}

#[cfg(test)]
pub(super) fn whole_sheet() -> Sheet {
    let mut sheet = Sheet::default();
    CpuFields::declare(&mut sheet, &[0, 1]);
    super::interference::declare(&mut sheet);
    super::throttle::declare(&mut sheet);
    for (_, metrics) in PRESSURES {
        declare_pressure(&mut sheet, metrics);
    }
    sheet
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::sheet::Moment;
    use super::*;

    const BEFORE: &str = "cpu  1000 10 500 8000 200 5 15 20 300 0\n\
        cpu0 500 5 250 4000 100 5 15 10 150 0\n\
        cpu1 500 5 250 4000 100 0 0 10 150 0\n\
        intr 350355 0 0\nctxt 536203\nbtime 1795200567\n";
    const AFTER: &str = "cpu  1050 10 520 8100 225 5 15 20 340 0\n\
        cpu0 550 5 270 4000 125 5 15 10 190 0\n\
        cpu1 500 5 250 4100 100 0 0 10 150 0\n\
        intr 350355 0 0\nctxt 537203\nbtime 1795200567\n";

    fn values(before: &str, after: &str) -> Vec<(String, f64)> {
        let mut sheet = Sheet::default();
        let fields = CpuFields::declare(&mut sheet, &core_numbers(before));
        let at = Instant::now();
        let moment = |text: &str, at| {
            let mut reading = sheet.blank();
            fields.fill(text, &mut reading);
            Moment { at, reading }
        };
        let names: Vec<_> = sheet.infos().map(|info| info.name.clone()).collect();
        let mut values = Vec::new();
        let after = moment(after, at + Duration::from_secs(1));
        sheet.compute(&moment(before, at), &after, |place, value| {
            values.push((names[place].clone(), value));
        });
        values
    }

    fn get(values: &[(String, f64)], name: &str) -> Option<f64> {
        let value = values.iter().find(|(known, _)| known == name)?.1;
        Some((value * 100.0).round() / 100.0)
    }

    #[test]
    fn classes_are_percent_of_all_cpus_and_add_up() {
        let values = values(BEFORE, AFTER);
        assert_eq!(get(&values, "cpu_user_percent"), Some(25.64));
        assert_eq!(get(&values, "cpu_iowait_percent"), Some(12.82));
        let all: f64 = CLASSES.iter().filter_map(|class| get(&values, class.name)).sum();
        assert!((all - 100.0).abs() < 0.05, "{all}");
        assert_eq!(get(&values, "cpu0_busy_percent"), Some(73.68));
        assert_eq!(get(&values, "cpu1_busy_percent"), Some(0.0));
        assert_eq!(get(&values, "cpu_context_switches_per_s"), Some(1000.0));
    }

    #[test]
    fn iowait_that_steps_back_is_a_gap_and_the_rest_stays() {
        let after = AFTER.replace("8100 225", "8100 199");
        let values = values(BEFORE, &after);
        assert_eq!(get(&values, "cpu_iowait_percent"), None);
        assert!(get(&values, "cpu_user_percent").is_some());
    }

    #[test]
    fn old_kernels_with_four_classes_and_single_cores_are_read() {
        let values =
            values("cpu 10 0 10 80\ncpu0 10 0 10 80\n", "cpu 20 0 20 160\ncpu0 20 0 20 160\n");
        assert_eq!(get(&values, "cpu_user_percent"), Some(10.0));
        assert_eq!(get(&values, "cpu_steal_percent"), None);
    }

    #[test]
    fn pressure_is_read_with_and_without_full() {
        let both = "some avg10=0.62 avg60=0.58 avg300=1.09 total=20283428\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n";
        assert_eq!(stalled_seconds(both), (20.283428, 1.0));
        let (some, full) = stalled_seconds("some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
        assert!(some > 0.0 && full.is_nan());
    }
}
