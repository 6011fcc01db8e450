//! How many of several comparisons chance would make surprising.

use assay_judge::ChanceTally;

use super::short;

/// `Of the other 36 comparisons, 7 have p ≤ 5 % by themselves; 1.8 would by chance.`
pub(crate) fn of_others(tally: &ChanceTally) -> String {
    let ChanceTally { comparisons, surprising, by_chance, .. } = tally;
    let have =
        if *surprising == 1 { "has p ≤ 5 % by itself" } else { "have p ≤ 5 % by themselves" };
    format!(
        "Of the other {comparisons} comparisons, {surprising} {have}; {} would by chance.",
        short(*by_chance)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_surprising_stands_beside_what_chance_makes() {
        let of = |surprising| {
            of_others(&ChanceTally { comparisons: 36, surprising, by_chance: 1.8, told: 0 })
        };
        assert_eq!(
            of(7),
            "Of the other 36 comparisons, 7 have p ≤ 5 % by themselves; 1.8 would by chance."
        );
        assert!(of(1).contains("1 has p ≤ 5 % by itself;"));
    }
}
