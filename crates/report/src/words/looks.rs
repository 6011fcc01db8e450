//! The look at a study's results that its verdicts are of.

use assay_base::text::counted;
use assay_judge::Look;

use super::short;

/// `Judged after 5 of at most 12 repeats; its looks have spent 1.5 % of the 5 % by which directions
/// may be false.` `None` of a study that is judged once, when all repeats have run.
pub(crate) fn text(look: &Look, looks: &[u32]) -> Option<String> {
    let repeats = counted(u64::from(look.repeats), "repeat");
    let spent = short(look.spent * 100.0);
    match looks.last() {
        Some(most) if look.is_planned => Some(format!(
            "Judged after {} of at most {most} repeats; its looks have spent {spent} % of the 5 % \
             by which directions may be false.",
            look.repeats
        )),
        _ if look.is_planned => None,
        _ => Some(format!(
            "Judged after {repeats}, where the plan does not: a direction needs p of at most {} \
             %, and the looks together have spent {spent} % by which directions may be false.",
            format_args!("{:.2}", look.alpha * 100.0)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_that_is_looked_at_more_than_once_says_what_that_cost() {
        let look = Look { repeats: 5, alpha: 0.01, spent: 0.015, next: Some(8), is_planned: true };
        assert_eq!(
            text(&look, &[3, 5, 8, 12]).unwrap(),
            "Judged after 5 of at most 12 repeats; its looks have spent 1.5 % of the 5 % by which \
             directions may be false."
        );
        assert_eq!(text(&Look { alpha: 0.05, ..look }, &[]), None);
        let early = Look { alpha: 0.0025, is_planned: false, ..look };
        assert!(text(&early, &[]).unwrap().contains("needs p of at most 0.25 %"));
    }
}
