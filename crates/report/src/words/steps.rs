//! Shares of factors of a pair that differs in several: `disk: 73 % fewer bytes to media;
//! innodb_doublewrite: 52 % fewer`.

use assay_judge::{Chain, Step, Taken};

use super::short;
use assay_study::Events;

/// Where the bytes went.
pub fn bytes_to(taken: Taken) -> &'static str {
    if taken.is_to_media { "media" } else { "device" }
}

/// The bytes of each step, its factors before it; nothing where not all count them.
pub fn bytes(events: Events, chain: &Chain) -> Option<String> {
    let first = chain.whole.taken?;
    let parts: Option<Vec<String>> = chain.steps.iter().map(bytes_of).collect();
    let (to, event) = (bytes_to(first), events.noun());
    Some(format!("bytes to {to} per {event}: {}", parts?.join(", then ")))
}

/// `−73 % to media`.
pub fn bytes_of_step(taken: Taken) -> String {
    format!("{} to {}", change(taken.ratio), bytes_to(taken))
}

fn bytes_of(step: &Step) -> Option<String> {
    Some(format!("{} {}", step.factors.join(" and "), change(step.taken?.ratio)))
}

/// `−73 %`, `+12 %`, `no change`.
fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    match short(percent.abs()).as_str() {
        "0" => "no change".into(),
        size if percent < 0.0 => format!("−{size} %"),
        size => format!("+{size} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(factor: &str, ratio: f64) -> Step {
        Step {
            against: "a".into(),
            config: "b".into(),
            factors: vec![factor.into()],
            throughput: None,
            taken: Some(Taken { ratio, is_to_media: true }),
        }
    }

    #[test]
    fn each_factor_has_its_own_share_of_the_bytes() {
        let chain = Chain {
            workload: "w".into(),
            threads: vec![8],
            whole: step("both", 0.13),
            steps: vec![step("disk", 0.27), step("innodb_doublewrite", 1.0)],
        };
        assert_eq!(
            bytes(Events::Transactions, &chain).unwrap(),
            "bytes to media per transaction: disk −73 %, then innodb_doublewrite no change"
        );
    }
}
