//! Cost without prices: the number of servers that a load needs, and the price up to which a server
//! is worth it.
//!
//! A transaction costs the price of a server ÷ its throughput. So it is cheaper on one kind of
//! server than on another as long as price ÷ price of the other < TPS ÷ TPS of the other: the ratio
//! of throughputs is the break-even price, counted in servers of the other kind. A price covers all
//! that a server costs over the same years, its drives included.

use serde::Serialize;

use super::cost::consolidation;
use crate::difference::verdict::Conclusion;
use crate::interval::Interval;

/// Servers are counted for so many transactions a second.
pub const LOAD_TPS: f64 = 10_000.0;

/// So many servers and more are counted whole; fewer in tenths, for a larger load takes a multiple
/// of them.
const WHOLE_FROM: f64 = 10.0;

/// Servers that carry [`LOAD_TPS`] where each carries `tps`, rounded up: to tenths below ten, else
/// to whole ones. Nothing of what is no throughput.
pub fn servers(tps: Interval) -> Option<Interval> {
    let needed = Some(tps).filter(Interval::is_sound)?.dividing(LOAD_TPS);
    let parts = if needed.mid < WHOLE_FROM { 10.0 } else { 1.0 };
    Some(needed.map(|servers| (servers * parts).ceil() / parts))
}

/// The price up to which a transaction on a server is cheaper than on one of another configuration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BreakEven {
    /// In prices of the other's server.
    #[serde(flatten)]
    pub times: Interval,
    /// Whether it is known to be above or below the price of the other's server, or equivalent to
    /// it.
    pub is_conclusive: bool,
}

impl BreakEven {
    /// Break-even of the baseline: its own price.
    pub fn of_itself() -> BreakEven {
        BreakEven { times: Interval::exactly(1.0), is_conclusive: true }
    }
}

/// The break-even price by the judged ratio of both throughputs as they were run, and the word on
/// it; `scales` are what the rates of the other and of the one itself are divided by. Nothing of
/// what is no ratio.
///
/// The word is of the ratio as it was run: where the scales differ, a ratio of whole devices that
/// may be 1 is inconclusive, whatever the word.
pub fn break_even(ratio: Interval, scales: [f64; 2], word: Conclusion) -> Option<BreakEven> {
    let times = Some(consolidation(ratio, scales)).filter(Interval::is_sound)?;
    let may_be_one = times.low <= 1.0 && times.high >= 1.0;
    let is_as_run = scales[0] == scales[1];
    let is_conclusive = word != Conclusion::Inconclusive && (is_as_run || !may_be_one);
    Some(BreakEven { times, is_conclusive })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(low: f64, mid: f64, high: f64) -> Interval {
        Interval { low, mid, high }
    }

    const ALIKE: [f64; 2] = [36.0, 36.0];

    #[test]
    fn many_servers_are_whole_and_few_are_tenths_and_never_too_few() {
        let many = servers(within(740.0, 850.0, 900.0)).unwrap();
        assert_eq!((many.low, many.mid, many.high), (12.0, 12.0, 14.0));
        let few = servers(within(17_000.0, 18_500.0, 20_000.0)).unwrap();
        assert_eq!((few.low, few.mid, few.high), (0.5, 0.6, 0.6), "0.54 of one");
        for tps in [1.0, 7.3, 999.0, 1001.0, 5510.0, 20_000.0, 1e7] {
            let found = servers(Interval::exactly(tps)).unwrap().mid;
            assert!(found * tps >= LOAD_TPS, "{found} servers of {tps}");
            let one_less = found - if found > WHOLE_FROM { 1.0 } else { 0.1 };
            assert!(one_less * tps < LOAD_TPS, "{one_less} servers of {tps} would do");
        }
    }

    #[test]
    fn at_the_break_even_price_a_transaction_costs_the_same() {
        let (own, base) = (510.0, 195.0);
        let found = break_even(Interval::exactly(own / base), ALIKE, Conclusion::Better).unwrap();
        let base_price = 14_254.0;
        let price = found.times.mid * base_price;
        assert!((price / own / (base_price / base) - 1.0).abs() < 1e-12);
        assert!(price * 0.99 / own < base_price / base, "below it is cheaper");
        assert!(price * 1.01 / own > base_price / base, "above it is not");
    }

    #[test]
    fn a_ratio_that_may_be_one_is_inconclusive_unless_it_is_equivalent() {
        let wide = within(0.96, 1.2, 1.5);
        let of = |ratio, word| break_even(ratio, ALIKE, word).unwrap();
        assert!(!of(wide, Conclusion::Inconclusive).is_conclusive);
        assert_eq!(
            of(wide, Conclusion::Inconclusive).times,
            wide,
            "its bounds are told all the same"
        );
        assert!(of(within(0.99, 1.0, 1.02), Conclusion::Equivalent).is_conclusive);
        // Of a noisy machine an interval beside 1 is no verdict either.
        assert!(!of(within(1.01, 1.04, 1.07), Conclusion::Inconclusive).is_conclusive);
        // Negative control.
        assert!(of(within(2.3, 2.6, 2.9), Conclusion::Better).is_conclusive);
    }

    #[test]
    fn whole_devices_are_set_against_each_other() {
        // Half the rate on a quarter of the device is twice the rate of the whole one.
        let worse = within(0.4, 0.5, 0.6);
        let found = break_even(worse, [2.0, 8.0], Conclusion::Worse).unwrap();
        assert!((found.times.mid - 2.0).abs() < 1e-12 && found.is_conclusive);
        let near = break_even(worse, [2.0, 4.0], Conclusion::Worse).unwrap();
        assert!(!near.is_conclusive, "0.8 to 1.2 of the whole device");
    }

    #[test]
    fn nothing_is_told_of_what_is_no_throughput() {
        for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(servers(Interval::exactly(odd)), None, "{odd}");
            assert_eq!(
                break_even(Interval::exactly(odd), ALIKE, Conclusion::Better),
                None,
                "{odd}"
            );
        }
        for odd in [f64::NAN, f64::INFINITY] {
            assert_eq!(servers(within(1.0, 2.0, odd)), None, "{odd}");
        }
        assert_eq!(break_even(Interval::exactly(1.0), [f64::NAN, 1.0], Conclusion::Better), None);
        assert!(servers(Interval::exactly(1.0)).is_some());
    }
}
