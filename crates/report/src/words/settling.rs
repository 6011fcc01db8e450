//! Whether throughput had settled before the windows of short runs, in words.

use assay_judge::{SECONDS_LEAST, Settling, Steadiness};

use crate::figures::format::list;

/// A sentence for configurations that had not settled, and one for windows too short to check it.
#[must_use]
pub fn sentences(all: &[Settling]) -> Vec<String> {
    let drifting = all.iter().filter(|one| one.held == Steadiness::Drifting);
    let drifts: Vec<String> = drifting.map(drift).collect();
    let not_settled = (!drifts.is_empty()).then(|| {
        format!(
            "throughput had not settled when runs began to be measured: {}; give a longer \
            `warmup_seconds`",
            list(&drifts)
        )
    });
    not_settled.into_iter().chain(too_short(all)).collect()
}

fn drift(one: &Settling) -> String {
    let Some((percent, (low, high))) = one.drift_percent else { return one.config.clone() };
    let way = if percent > 0.0 { "rose" } else { "fell" };
    let (from, to) = if percent > 0.0 { (low, high) } else { (-high, -low) };
    format!(
        "in the {} runs of {}, {}, it {way} by {:.0} % over the window ({from:.0} to {to:.0} %)",
        one.runs,
        one.config,
        one.workload,
        percent.abs()
    )
}

/// Said once, with the largest change that the runs together leave possible.
fn too_short(all: &[Settling]) -> Option<String> {
    let untold = || {
        let is_short = |one: &&Settling| one.seconds < SECONDS_LEAST;
        let short = all.iter().filter(is_short);
        short.filter(|one| one.held == Steadiness::TooShortToTell)
    };
    let seconds = untold().map(|one| one.seconds).max()?;
    let reach = |one: &Settling| {
        one.drift_percent.map_or(f64::INFINITY, |(_, (low, high))| low.abs().max(high.abs()))
    };
    let largest = untold().map(reach).fold(0.0, f64::max);
    let known = match largest.is_finite() {
        true => format!("; all runs together leave a change of up to {largest:.0} % possible"),
        false => String::new(),
    };
    Some(format!(
        "windows of {seconds} s are too short to check whether throughput had settled{known}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(held: Steadiness, drift_percent: Option<(f64, (f64, f64))>) -> Settling {
        Settling {
            config: "a".into(),
            workload: "rw".into(),
            runs: 6,
            seconds: 8,
            drift_percent,
            held,
        }
    }

    #[test]
    fn a_warm_up_within_the_windows_is_told_with_its_size() {
        let fell = one(Steadiness::Drifting, Some((-21.0, (-30.0, -12.0))));
        assert_eq!(
            drift(&fell),
            "in the 6 runs of a, rw, it fell by 21 % over the window (12 to 30 %)"
        );
        let [told] = &sentences(&[fell])[..] else { panic!("one sentence") };
        assert!(told.starts_with("throughput had not settled when runs began"), "{told}");
    }

    #[test]
    fn windows_that_show_nothing_are_told_of_once() {
        let untold = |drift| one(Steadiness::TooShortToTell, drift);
        let short = "windows of 8 s are too short to check whether throughput had settled";
        let both = [untold(Some((2.0, (-9.0, 13.0)))), untold(Some((1.0, (-17.0, 19.0))))];
        assert_eq!(
            sentences(&both),
            [format!("{short}; all runs together leave a change of up to 19 % possible")]
        );
        assert_eq!(sentences(&[untold(None)]), [short]);
        let long = Settling { seconds: 60, ..untold(Some((2.0, (-9.0, 13.0)))) };
        assert!(sentences(&[long, one(Steadiness::Steady, Some((0.0, (-1.0, 1.0))))]).is_empty());
    }
}
