//! Differences that make two sides no answers to one question, and parts that one of them alone
//! has.

use assay_judge::durability::DurabilityDifference;
use assay_judge::{Lone, Unlike};

use super::{NONE, durability, power_cuts, rig};
use assay_base::text::threads;

/// `tables: 2 × 1000 rows and 2 × 9000 rows`.
pub fn text(unlike: &Unlike) -> String {
    match unlike {
        Unlike::Option { workload, option, values } => {
            format!("workload `{workload}` has {option} {}", both(values.clone()))
        }
        Unlike::Tables(tables) => {
            let rows = tables.each_ref().map(|one| one.as_ref().map(rig::rows));
            format!("tables: {}", both(rows))
        }
        Unlike::Scale(scales) => format!("scale: {}", both(scales.map(|one| one.map(rig::scale)))),
        Unlike::PowerCuts(sides) => {
            let [a, b] = sides.map(|one| power_cuts::lost_of(one.with_loss, one.cuts, one.replica));
            format!("they differ in crash safety, power cuts: {a}, against {b}")
        }
    }
}

fn both(values: [Option<String>; 2]) -> String {
    let [a, b] = values.map(|one| one.unwrap_or_else(|| NONE.to_owned()));
    format!("{a} and {b}")
}

/// That the two are not equally safe, and in what; nothing where they are.
pub fn safety(differences: &[DurabilityDifference]) -> Option<String> {
    let differs = durability::differences(differences)?;
    Some(format!("they differ in crash safety, {differs}"))
}

/// Parts that only one side has: `the workload `w``, or `` `w` at 16 and 32 threads``.
pub fn lone(lone: &Lone) -> String {
    let workload = &lone.workload;
    match &lone.threads {
        None => format!("the workload `{workload}`"),
        Some(counts) => format!("`{workload}` at {}", threads(counts)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_judge::CutsOfSide;
    use assay_judge::durability::{CommitDurability, Pages};
    use assay_study::power_cut::Replication;
    use assay_study::{DeviceDivisors, Tables};

    #[test]
    fn what_is_not_alike_stands_with_both_values() {
        let some = |text: &str| Some(text.to_owned());
        let tables = |rows| Some(Tables { count: 2, rows, ..Tables::default() });
        let rows = Unlike::Tables([tables(1000), tables(9000)]);
        assert_eq!(text(&rows), "tables: 2 × 1000 rows and 2 × 9000 rows");
        let scale = Unlike::Scale([None, Some(DeviceDivisors { capacity: 40.0, parallel: 4.0 })]);
        assert_eq!(text(&scale), "scale: none and capacity ÷ 40, parallelism ÷ 4");
        let values = [some("zipf"), None];
        let option = Unlike::Option { workload: "w".into(), option: "rand_type".into(), values };
        assert_eq!(text(&option), "workload `w` has rand_type zipf and none");
    }

    #[test]
    fn what_power_cuts_took_from_one_side_alone_is_told() {
        let side = |cuts, with_loss, replica| CutsOfSide { cuts, with_loss, replica };
        let sides = [side(100, 0, None), side(20, 3, Some(Replication::Async))];
        assert_eq!(
            text(&Unlike::PowerCuts(sides)),
            "they differ in crash safety, power cuts: no loss in 100 power cuts, against LOSS in \
            3 of 20 power cuts with an asynchronous replica"
        );
    }

    #[test]
    fn sides_that_are_not_equally_safe_are_told_so() {
        assert_eq!(safety(&[]), None);
        let told = safety(&[
            DurabilityDifference::Pages(Pages::WrittenTwice, Pages::AtomicByDevice),
            DurabilityDifference::Commits(
                CommitDurability::AtCommit,
                CommitDurability::LeftToSystem,
            ),
        ]);
        assert_eq!(
            told.unwrap(),
            "they differ in crash safety, pages: written twice, by the doublewrite buffer, \
            against written once, atomically according to the device; commits: flushed before \
            they return, against flushed by the operating system"
        );
    }

    #[test]
    fn what_one_side_lacks_is_a_workload_or_some_thread_counts_of_it() {
        let of = |threads| lone(&Lone { is_of_b: true, workload: "w".into(), threads });
        assert_eq!(of(None), "the workload `w`");
        assert_eq!(of(Some(vec![16, 32])), "`w` at 16 and 32 threads");
        assert_eq!(of(Some(vec![1])), "`w` at 1 thread");
    }
}
