//! Shares of factors of a pair that differs in several: `disk −73 % (−75 to −71 %), then
//! innodb_doublewrite no significant change (−3 to +2 %)`.

use assay_judge::{Chain, OrderRange, OverOrders, Step, Taken};

use super::short;
use assay_study::Events;

/// Ratios beyond this are no end of an interval that anybody would write down.
const OPEN_FROM: f64 = 100.0;

/// Where the bytes went.
pub fn bytes_to(taken: Taken) -> &'static str {
    if taken.is_to_media { "media" } else { "device" }
}

/// The bytes of each step, its factors before it, over all orders that the study has; nothing where
/// not all count them.
pub fn bytes(events: Events, chain: &Chain) -> Option<String> {
    let first = chain.whole.taken?;
    let parts: Option<Vec<String>> = chain.steps.iter().map(bytes_of).collect();
    let (to, event) = (bytes_to(first), events.noun());
    let interval = if first.interval.is_some() { ", 95 % intervals" } else { "" };
    let mut orders = chain.steps.iter().filter_map(|step| step.over_orders.as_ref());
    let orders = orders.find(|orders| orders.taken.is_some());
    Some(match orders {
        Some(orders) => format!(
            "bytes to {to} per {event}, {}{interval}: {}",
            mean_over(orders),
            parts?.join(", ")
        ),
        None => format!("bytes to {to} per {event}{interval}: {}", parts?.join(", then ")),
    })
}

/// `mean over 2 orders`.
pub fn mean_over(orders: &OverOrders) -> String {
    format!("mean over {} orders", orders.orders)
}

/// `−73 % (95 % interval −75 to −71 %) to media`.
pub fn bytes_of_step(taken: Taken) -> String {
    format!("{} to {}", change(taken, "95 % interval "), bytes_to(taken))
}

/// The bytes of a step over all orders, with what single orders say if they disagree.
pub fn bytes_over_orders(step: &Step) -> Option<String> {
    let range = step.over_orders.as_ref().and_then(|orders| orders.taken_range);
    Some(format!("{}{}", bytes_of_step(step.taken_over_orders()?), by_order(range)))
}

/// `; by order −5 to +40 %`, where orders disagree.
pub fn by_order(range: Option<OrderRange>) -> String {
    let differing = range.filter(|range| range.disagrees);
    differing.map_or_else(String::new, |range| {
        format!("; by order {}", between((range.low, range.high)))
    })
}

fn bytes_of(step: &Step) -> Option<String> {
    let range = step.over_orders.as_ref().and_then(|orders| orders.taken_range);
    let change = change(step.taken_over_orders()?, "");
    Some(format!("{} {change}{}", step.factors.join(" and "), by_order(range)))
}

/// `−73 % (−75 to −71 %)`; the size alone with a single repeat.
fn change(taken: Taken, before: &str) -> String {
    let size = format!("{} %", percent(taken.ratio));
    match taken.interval {
        None => size,
        Some(interval) if interval.0 <= 1.0 && interval.1 >= 1.0 => {
            format!("no significant change ({before}{})", between(interval))
        }
        Some(interval) => format!("{size} ({before}{})", between(interval)),
    }
}

/// `−75 to −71 %`.
fn between((low, high): (f64, f64)) -> String {
    if high > OPEN_FROM {
        return format!("{} % to no upper end", percent(low));
    }
    format!("{} to {} %", percent(low), percent(high))
}

/// `−73`, `+12`, `0`.
fn percent(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    match short(percent.abs()).as_str() {
        "0" => "0".into(),
        size if percent < 0.0 => format!("−{size}"),
        size => format!("+{size}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(ratio: f64, interval: Option<(f64, f64)>) -> Taken {
        Taken { ratio, interval, is_to_media: true }
    }

    fn step(factor: &str, taken: Taken) -> Step {
        Step {
            against: "a".into(),
            config: "b".into(),
            factors: vec![factor.into()],
            throughput: None,
            taken: Some(taken),
            over_orders: None,
        }
    }

    fn chain(steps: Vec<Step>, whole: Taken) -> Chain {
        Chain { workload: "w".into(), threads: vec![8], whole: step("both", whole), steps }
    }

    #[test]
    fn each_factor_has_its_own_share_of_the_bytes_with_its_interval() {
        let steps = vec![
            step("disk", taken(0.27, Some((0.25, 0.29)))),
            step("innodb_doublewrite", taken(1.0, Some((0.97, 1.02)))),
        ];
        assert_eq!(
            bytes(Events::Transactions, &chain(steps, taken(0.27, Some((0.2, 0.3))))).unwrap(),
            "bytes to media per transaction, 95 % intervals: disk −73 % (−75 to −71 %), then \
             innodb_doublewrite no significant change (−3 to +2 %)"
        );
    }

    #[test]
    fn one_repeat_has_sizes_alone_and_claims_no_equality() {
        let steps = vec![step("disk", taken(0.27, None)), step("fill", taken(1.0, None))];
        assert_eq!(
            bytes(Events::Transactions, &chain(steps, taken(0.27, None))).unwrap(),
            "bytes to media per transaction: disk −73 %, then fill 0 %"
        );
        assert_eq!(
            bytes_of_step(taken(1.5, Some((0.9, 3000.0)))),
            "no significant change (95 % interval −10 % to no upper end) to media"
        );
    }

    #[test]
    fn several_orders_give_their_mean_and_their_range_where_they_disagree() {
        let range = |disagrees| OrderRange { low: 0.2, high: 0.4, disagrees };
        let over = |disagrees| OverOrders {
            orders: 2.0,
            throughput: None,
            throughput_range: None,
            taken: Some(taken(0.3, Some((0.28, 0.32)))),
            taken_range: Some(range(disagrees)),
        };
        let with = |disagrees| Step {
            over_orders: Some(over(disagrees)),
            ..step("disk", taken(0.4, Some((0.35, 0.45))))
        };
        let text = |disagrees| {
            let whole = taken(0.3, Some((0.28, 0.32)));
            bytes(Events::Transactions, &chain(vec![with(disagrees)], whole)).unwrap()
        };
        assert_eq!(
            text(true),
            "bytes to media per transaction, mean over 2 orders, 95 % intervals: disk −70 % (−72 \
             to −68 %); by order −80 to −60 %"
        );
        assert!(!text(false).contains("by order"));
    }
}
