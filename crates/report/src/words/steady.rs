//! Whether throughput held still.

use assay_judge::{Steadiness, Steady};

/// `steady`, or since when, or by how much it drifted.
pub fn text(found: &Steady) -> String {
    match (found.held, found.settled_after_s) {
        (Steadiness::Steady, _) => "steady".into(),
        (Steadiness::Drifting, Some(after)) => format!("steady after {after} s of the window"),
        (Steadiness::Drifting, None) => {
            let way = if found.drift_percent > 0.0 { "rose" } else { "fell" };
            format!("not steady: it {way} by {:.0} % over the window", found.drift_percent.abs())
        }
        (Steadiness::TooShortToTell, _) if width(found) > NOISY_PERCENT => {
            "too noisy to tell whether it drifted".into()
        }
        (Steadiness::TooShortToTell, _) => {
            let (low, high) = found.drift_interval;
            format!(
                "too short to tell: drift over the window between {} and {} %",
                signed(low),
                signed(high)
            )
        }
    }
}

/// An interval of the drift that is wider says nothing but that seconds vary.
const NOISY_PERCENT: f64 = 100.0;

fn width(found: &Steady) -> f64 {
    let (low, high) = found.drift_interval;
    high - low
}

/// With its sign, and a minus that is as wide as a plus.
fn signed(percent: f64) -> String {
    format!("{percent:+.0}").replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(held: Steadiness, drift_percent: f64, settled_after_s: Option<usize>) -> Steady {
        Steady {
            held,
            slope_percent_per_minute: drift_percent,
            slope_interval: (0.0, 0.0),
            drift_percent,
            spread_percent: 1.0,
            autocorrelation: 0.0,
            settled_after_s,
            drift_interval: (-12.4, 3.6),
        }
    }

    #[test]
    fn every_course_of_throughput_has_its_words() {
        let told = |held, drift, after| text(&found(held, drift, after));
        assert_eq!(told(Steadiness::Steady, 0.1, Some(0)), "steady");
        assert_eq!(told(Steadiness::Drifting, -9.0, Some(12)), "steady after 12 s of the window");
        assert_eq!(
            told(Steadiness::Drifting, -9.4, None),
            "not steady: it fell by 9 % over the window"
        );
        assert_eq!(
            told(Steadiness::Drifting, 7.0, None),
            "not steady: it rose by 7 % over the window"
        );
        assert_eq!(
            told(Steadiness::TooShortToTell, 1.0, None),
            "too short to tell: drift over the window between −12 and +4 %"
        );
        let noisy = Steady {
            drift_interval: (-630.0, 586.0),
            ..found(Steadiness::TooShortToTell, 1.0, None)
        };
        assert_eq!(text(&noisy), "too noisy to tell whether it drifted");
    }
}
