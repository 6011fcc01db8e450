//! Other programs that took processor time beside a cell: when that is said, and when the cell may not be compared.
//!
//! Where they take a twentieth of one processor it is said: a cell that one thread limits may be slower by so much, and a study that looks
//! for 3 % should know. Where they take a tenth of all processors that we may use, and a quarter of one, the cell is not comparable: the
//! share of a machine is what a loaded one loses, and on one with processors to spare, a desktop's programs do not make a study worthless.

use super::results::Results;
use crate::watch::Taker;

/// Percent of one processor.
const SAID_PERCENT: f64 = 5.0;
const COMPARABLE_PERCENT: f64 = 25.0;
/// Percent of all processors.
const COMPARABLE_SHARE_PERCENT: f64 = 10.0;

/// So many programs are named.
const NAMED: usize = 3;

/// What is said of a cell with these results; `takers` are other programs that took time while it was measured, those that took most first.
pub fn mark(results: &Results, takers: &[Taker]) -> Option<String> {
    let percent = *results.get("others_cpu_percent")?;
    let processors = assay_ports::cpu::available().map_or(1, |cpus| cpus.len());
    of(percent, processors, takers)
}

fn of(percent: f64, processors: usize, takers: &[Taker]) -> Option<String> {
    let limit = COMPARABLE_PERCENT.max(COMPARABLE_SHARE_PERCENT * processors as f64);
    let said =
        format!("other programs took {percent:.0} % of a processor beside it: {}", names(takers));
    if percent > limit {
        let advice = "end them, or measure on a machine that does nothing else";
        return Some(format!("not comparable: {said}; {advice}"));
    }
    (percent > SAID_PERCENT).then_some(said)
}

fn names(takers: &[Taker]) -> String {
    let name = |taker: &Taker| match taker.processes {
        1 => format!("{} (process {})", taker.name, taker.pid),
        several => format!("{} ({several} processes)", taker.name),
    };
    let named: Vec<String> = takers.iter().take(NAMED).map(name).collect();
    match named.is_empty() {
        true => "none that /proc shows here, or that is still there".to_owned(),
        false => named.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taker(name: &str, pid: u32, processes: usize) -> Taker {
        Taker { name: name.into(), pid, processes, user_s: 1.0 }
    }

    #[test]
    fn what_others_took_is_said_and_too_much_of_it_forbids_comparing() {
        let busy = [taker("rustc", 70, 3), taker("node", 77, 1)];
        assert_eq!(of(4.9, 2, &busy), None);
        let said = "other programs took 24 % of a processor beside it: rustc (3 processes), node (process 77)";
        assert_eq!(of(24.4, 2, &busy).unwrap(), said);
        let told = of(25.6, 2, &busy).unwrap();
        assert!(
            told.starts_with("not comparable: other programs took 26 % of a processor beside it: "),
            "{told}"
        );
        // A desktop's programs on sixteen processors are said, and no more than that.
        assert!(of(100.0, 16, &busy).unwrap().starts_with("other programs took 100 %"));
        assert!(of(170.0, 16, &busy).unwrap().starts_with("not comparable: "));
    }

    #[test]
    fn three_are_named_and_those_nobody_sees_are_not_invented() {
        let many = ["a", "b", "c", "d"].map(|name| taker(name, 1, 1));
        let said = of(10.0, 2, &many).unwrap();
        assert!(said.ends_with(": a (process 1), b (process 1), c (process 1)"), "{said}");
        assert!(of(10.0, 2, &[]).unwrap().contains("none that /proc shows here"));
        assert_eq!(mark(&Results::new(), &many), None, "not known, not said");
    }
}
