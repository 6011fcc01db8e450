//! A check of figures against each other, with its arithmetic.

use std::borrow::Cow;

use serde::Serialize;

use assay_judge::reconcile::{CrossCheck, ExplainedWrites, Sides};
use assay_study::Events;

/// The rule, in a few words.
pub fn name(events: Events, check: &CrossCheck) -> Cow<'static, str> {
    events.fill(match check.sides {
        Sides::Little { .. } => "threads = {TPS} × mean latency",
        Sides::Recipe { .. } => "queries ÷ {events} = the recipe's",
        Sides::Markov { .. } => "percentile p ≤ mean ÷ (1 − p)",
        Sides::Ascending(_) => "percentiles increase up to the maximum",
        Sides::Rate { .. } => "the target rate was achieved",
        Sides::Device(_) => "the device wrote what the server wrote",
        Sides::Files(_) => "the device wrote what was written to files",
        Sides::Drive { .. } => "the drive received what its device wrote",
        Sides::Media { .. } => "parts of media writes add up",
    })
}

/// The arithmetic of a check, so that a reader can repeat it.
pub fn arithmetic(events: Events, check: &CrossCheck) -> String {
    of_sides(events, &check.sides, check.holds)
}

/// The same of a rule that holds or does not.
pub(super) fn of_sides(events: Events, sides: &Sides, holds: bool) -> String {
    match sides {
        Sides::Little { busy, threads } => {
            let tps = events.per_second();
            let sides =
                format!("{tps} × mean latency is {busy:.2}, but there were {threads:.0} threads");
            if holds { sides } else { format!("{sides}: {}", mismatch(events, *busy, *threads)) }
        }
        Sides::Recipe { queries_per_transaction, expected } => format!(
            "{queries_per_transaction:.2} queries per {}, but the workload has {expected:.0}",
            events.noun()
        ),
        Sides::Markov { share, percentile_ms, mean_ms, most_ms } => {
            let percent = share * 100.0;
            format!(
                "p{percent} is {percentile_ms:.4} ms; with a mean of {mean_ms:.4} ms it is at \
                most {most_ms:.4} ms"
            )
        }
        Sides::Ascending(percentiles) => {
            let told: Vec<String> =
                percentiles.iter().map(|(name, value)| format!("{name} {value:.4} ms")).collect();
            told.join(" ≤ ")
        }
        Sides::Rate { achieved, target } => {
            let end = if holds { "" } else { ": overloaded" };
            format!("{achieved:.1} of {target:.1} {} asked for{end}", events.rate())
        }
        Sides::Device(device) => of_device(device),
        Sides::Files(device) => of_files(device),
        Sides::Drive { taken, written } => {
            format!("the drive received {}, but its device wrote {}", mb(*taken), mb(*written))
        }
        Sides::Media { whole, parts } => {
            format!(
                "the drive wrote {} to media, but its parts add up to {}",
                mb(*whole),
                mb(*parts)
            )
        }
    }
}

fn of_device(device: &ExplainedWrites) -> String {
    let &ExplainedWrites { written, files, logged, flushes, least, most } = device;
    if written < least {
        format!(
            "the device wrote {}, InnoDB {} to its files: pages stayed in memory or were \
             compressed, so bytes written per transaction are too low; measure for longer",
            mb(written),
            mb(files),
        )
    } else if written > most {
        format!(
            "the device wrote {}, InnoDB and the binary log {} to their files, which with \
             {flushes:.0} flushes/s explains \
             {}: something else wrote to it, so do not compare its writes",
            mb(written),
            mb(logged),
            mb(most),
        )
    } else {
        format!(
            "the device wrote {}, the server explains {} to {}",
            mb(written),
            mb(least),
            mb(most)
        )
    }
}

fn of_files(device: &ExplainedWrites) -> String {
    let &ExplainedWrites { written, files, flushes, least, most, .. } = device;
    let both = format!("the device wrote {}, the load {} to its files", mb(written), mb(files));
    if written < least {
        format!("{both}: not all of it reached the device, so do not compare its writes")
    } else if written > most {
        format!(
            "{both}, which with {flushes:.0} flushes/s explains {}: something else wrote to it, \
            so do not compare its writes",
            mb(most)
        )
    } else {
        format!("{both}, which explains {} to {}", mb(least), mb(most))
    }
}

fn mb(bytes_per_s: f64) -> String {
    format!("{:.1} MB/s", bytes_per_s / 1e6)
}

/// A check as JSON has it.
#[derive(Debug, Serialize)]
pub struct CheckView {
    name: Cow<'static, str>,
    holds: bool,
    arithmetic: String,
}

/// Explanation of a difference between busy connections (Little's law) and connections.
fn mismatch(events: Events, busy: f64, threads: f64) -> String {
    if busy > threads {
        return format!("latencies are too long, or {} were counted twice", events.many());
    }
    let idle = 100.0 * (1.0 - busy / threads);
    format!("for {idle:.0} % of the time they waited for the load generator and for no answer")
}

impl CheckView {
    pub fn of(check: &CrossCheck) -> CheckView {
        let events = Events::Transactions;
        let (name, arithmetic) = (name(events, check), arithmetic(events, check));
        CheckView { name, holds: check.holds, arithmetic }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_judge::reconcile::{ascending, little, markov, of_results, rate, recipe};

    fn told(check: Option<CrossCheck>) -> String {
        arithmetic(Events::Transactions, &check.unwrap())
    }

    #[test]
    fn both_sides_of_the_arithmetic_are_told() {
        assert_eq!(
            told(little(128.0, 7140.0, 28.8, 0.05)),
            "TPS × mean latency is 205.63, but there were 128 threads: latencies are too long, \
            or transactions were counted twice"
        );
        assert_eq!(
            told(little(8.0, 1000.0, 7.39, 0.05)),
            "TPS × mean latency is 7.39, but there were 8 threads: for 8 % of the time they \
             waited for the load generator and for no answer"
        );
        assert_eq!(
            told(recipe(18.5, 19.0, 0.05)),
            "18.50 queries per transaction, but the workload has 19"
        );
        assert_eq!(
            told(ascending(&[("p50", 1.0), ("p99", 4.2), ("max", 4.0)], 0.005)),
            "p50 1.0000 ms ≤ p99 4.2000 ms ≤ max 4.0000 ms"
        );
        assert_eq!(
            told(markov(0.95, 1168.0, 735.0, 0.0)),
            "p95 is 1168.0000 ms; with a mean of 735.0000 ms it is at most 14700.0000 ms"
        );
    }

    #[test]
    fn a_rate_that_was_missed_is_an_overload() {
        assert_eq!(
            told(rate(90.0, 100.0, 10_000.0, 0.02)),
            "90.0 of 100.0 transactions/s asked for: overloaded"
        );
        assert_eq!(
            told(rate(97.0, 100.0, 10_000.0, 0.02)),
            "97.0 of 100.0 transactions/s asked for"
        );
    }

    #[test]
    fn a_device_that_wrote_too_much_and_one_that_wrote_too_little_have_their_reasons() {
        let of = |device: f64| {
            let figures = [
                ("innodb_file_data_write_bytes_per_s", 3e6),
                ("innodb_file_redo_write_bytes_per_s", 1e6),
                ("innodb_file_doublewrite_write_bytes_per_s", 0.0),
                ("disk_write_bytes_per_s", device),
                ("innodb_fsyncs_per_s", 10.0),
            ];
            let results = figures.map(|(name, value)| (name.to_owned(), value)).into();
            of_results(&results, 8)
                .first()
                .map(|check| arithmetic(Events::Transactions, check))
                .unwrap()
        };
        let more = of(9.14e6);
        assert!(more.contains("9.1 MB/s") && more.contains("something else wrote to it"), "{more}");
        assert!(more.contains("with 10 flushes/s explains 5.7 MB/s"), "{more}");
        assert!(of(3e6).contains("stayed in memory"));
        assert_eq!(of(4e6), "the device wrote 4.0 MB/s, the server explains 3.4 MB/s to 5.7 MB/s");
    }
}
