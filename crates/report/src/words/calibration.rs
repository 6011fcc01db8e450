//! A calibration's findings in a line, and its warnings.

use assay_base::text::list;
use assay_judge::Expectation;
use assay_study::{Calibration, CpuUse, TooFast};

/// A line about what this machine can show.
#[must_use]
pub fn line(found: &Calibration) -> String {
    let cpus = match found.cpus {
        1 => "its CPU".to_owned(),
        count => format!("its {count} CPUs"),
    };
    let mut parts = vec![format!(
        "a run gets {:.0} % of {cpus}{}",
        found.cpu_granted_percent,
        lost(&found.cpu)
    )];
    if let Some(quota) = found.quota_cpus {
        parts.push(format!("a quota allows {quota} CPUs"));
    }
    parts.push(format!(
        "threads wake {:.0} µs late (p99 {:.0} µs)",
        found.wake_up_us_p50, found.wake_up_us_p99
    ));
    if let Some(port) = found.port {
        parts.push(format!(
            "an emulated I/O takes at least {:.0} µs, and up to {} a second can be kept on time",
            port.round_trip_us,
            thousands(port.keeps_per_s())
        ));
    }
    format!("this machine: {}", parts.join("; "))
}

/// Warning for runs that get far less CPU time than the machine has.
pub const TOO_BUSY: &str = "this machine is too busy: many runs will be flagged as not \
    comparable, and there may be no verdict; \
    stop other programs (`top` names them), or measure when its host is calmer";

/// ` (other programs 12 %, steal 4 %)`: who has the rest, as far as that is half a percent.
fn lost(cpu: &CpuUse) -> String {
    let parts = [
        ("steal", cpu.steal_percent),
        ("quota", cpu.throttled_percent),
        ("other programs", cpu.others_percent),
    ];
    let told = parts.into_iter().filter(|(_, percent)| *percent >= 0.5);
    let told: Vec<String> = told.map(|(who, percent)| format!("{who} {percent:.0} %")).collect();
    if told.is_empty() { String::new() } else { format!(" ({})", list(&told)) }
}

/// A configuration whose emulated drive is too fast, and what would help.
#[must_use]
pub fn too_fast(one: &TooFast) -> String {
    format!(
        "“{}” emulates a drive of {} I/Os a second, more than this machine can keep on time \
        while it runs a server: set parallel_scale to {} or more, or expect missed deadlines",
        one.config,
        thousands(one.operations_per_s),
        one.parallel_scale
    )
}

/// The study's expected sensitivity.
#[must_use]
pub fn expected(found: &Expectation) -> String {
    let Expectation { repeats, deviation_percent, detectable_percent } = found;
    match detectable_percent {
        Some(percent) if *percent > 100.0 => format!(
            "{repeats} repeats can probably see only differences beyond a factor of {:.1} (4 \
            studies of 5 do, if repeats vary by {deviation_percent:.0} %, which is assumed of such \
            a machine); set more repeats, or use a quieter machine",
            1.0 + percent / 100.0
        ),
        Some(percent) => format!(
            "{repeats} repeats can probably see differences above {percent:.0} % (4 studies of 5 \
            do, if repeats vary by {deviation_percent:.0} %, which is assumed of such a machine)"
        ),
        None => "1 repeat: intervals come from the seconds of single runs and do not include \
            differences between runs; set repeats = 3 or more for a decision"
            .into(),
    }
}

/// To three digits; a rate that was tried once is not known better.
fn thousands(rate: f64) -> String {
    match rate {
        rate if rate < 1000.0 => format!("{rate:.0}"),
        rate if rate < 100_000.0 => format!("{:.1}k", rate / 1000.0),
        rate => format!("{:.0}k", rate / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::Port;

    #[test]
    fn a_shared_machine_is_told_in_a_line() {
        let found = Calibration {
            cpus: 2,
            cpu_granted_percent: 84.2,
            cpu: CpuUse { steal_percent: 11.6, others_percent: 4.2, ..CpuUse::default() },
            quota_cpus: Some(1.5),
            wake_up_us_p50: 58.4,
            wake_up_us_p99: 410.0,
            port: Some(Port { round_trip_us: 51.2, reads_per_s: 31_240.0 }),
            too_fast: Vec::new(),
        };
        assert_eq!(
            line(&found),
            "this machine: a run gets 84 % of its 2 CPUs (steal 12 % and other programs 4 %); a \
            quota allows 1.5 CPUs; threads wake 58 µs late (p99 410 µs); an emulated I/O takes \
            at least 51 µs, and up to 15.6k a second can be kept on time"
        );
        let calm = Calibration { cpus: 1, cpu_granted_percent: 99.8, ..Calibration::default() };
        assert!(line(&calm).starts_with("this machine: a run gets 100 % of its CPU; threads"));
    }

    #[test]
    fn what_repeats_will_show_is_told_before_them() {
        let of = |repeats, detectable_percent| {
            expected(&Expectation { repeats, deviation_percent: 5.2, detectable_percent })
        };
        assert!(of(3, Some(17.4)).starts_with("3 repeats can probably see differences above 17 %"));
        assert!(of(2, Some(5525.0)).contains("only differences beyond a factor of 56.2"));
        assert!(of(1, None).contains("set repeats = 3 or more"));
    }

    #[test]
    fn a_drive_that_is_too_fast_comes_with_a_remedy() {
        let one =
            TooFast { config: "nvme".into(), operations_per_s: 420_000.0, parallel_scale: 27.0 };
        let told = too_fast(&one);
        assert!(
            told.contains("420k I/Os a second") && told.contains("parallel_scale to 27"),
            "{told}"
        );
    }
}
