//! Where a run broke down, in one line.

use assay_judge::{Stalls, median};

/// `6 stalls, one every 10.0 s, the first in second 7 (2020-02-03T04:05:12.250Z), about 200 ms
/// long, throughput 60 % down`.
pub fn text(found: &Stalls) -> String {
    let events = &found.events;
    let Some(first) = events.first() else { return nothing_found(found) };
    let delays: Vec<f64> = events.iter().filter_map(|one| one.delay_ms).collect();
    let depths: Vec<f64> = events.iter().map(|one| one.depth_percent).collect();
    let size = format!(
        "about {:.0} ms, throughput down by {:.0} %",
        median(&delays).max(0.0),
        median(&depths).max(0.0)
    );
    let when = match &first.at {
        Some(at) => format!("second {} ({at})", first.from_second),
        None => format!("second {}", first.from_second),
    };
    match (found.period, events.len()) {
        (Some(period), seen) => {
            format!("{seen} stalls, one every {:.1} s, the first in {when}, {size}", period.seconds)
        }
        (None, 1) => format!("a stall in {when}, {size}"),
        (None, seen) => format!("{seen} stalls, the first in {when}, {size}"),
    }
}

/// Where drops are found from here on only, that is said.
const SAID_FROM_PERCENT: f64 = 50.0;

fn nothing_found(found: &Stalls) -> String {
    match found.smallest_drop_percent {
        None => "no stall; throughput too noisy to detect drops".into(),
        Some(percent) if percent > SAID_FROM_PERCENT => {
            format!("no stall; too noisy to detect drops below {percent:.0} %")
        }
        Some(_) => "no stall, no drop".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_judge::{Period, Stall};

    fn stall(from_second: u32, at: Option<&str>) -> Stall {
        Stall {
            from_second,
            to_second: from_second,
            at: at.map(str::to_owned),
            depth_percent: 60.0,
            delay_ms: Some(200.4),
            transactions: None,
            departures: Vec::new(),
        }
    }

    #[test]
    fn breakdowns_are_dated_sized_and_called_periodic_where_they_are() {
        let of = |events| Stalls { events, period: None, smallest_drop_percent: Some(31.0) };
        let none = of(vec![]);
        assert_eq!(text(&none), "no stall, no drop");
        let noisy = Stalls { smallest_drop_percent: Some(90.0), ..none.clone() };
        assert_eq!(text(&noisy), "no stall; too noisy to detect drops below 90 %");
        let blind = Stalls { smallest_drop_percent: None, ..none };
        assert_eq!(text(&blind), "no stall; throughput too noisy to detect drops");
        let one = of(vec![stall(21, Some("2020-02-03T04:05:26.250Z"))]);
        assert_eq!(
            text(&one),
            "a stall in second 21 (2020-02-03T04:05:26.250Z), about 200 ms, throughput down by 60 %"
        );
        let events = [7, 17, 27].map(|second| stall(second, None)).to_vec();
        let mut several = of(events);
        let size = "the first in second 7, about 200 ms, throughput down by 60 %";
        assert_eq!(text(&several), format!("3 stalls, {size}"));
        several.period = Some(Period { seconds: 10.0, seen: 3, expected: 3 });
        assert_eq!(text(&several), format!("3 stalls, one every 10.0 s, {size}"));
    }
}
