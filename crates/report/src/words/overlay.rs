//! Overlays of a study's plan, in words: a study made with one is not of the plan alone, and
//! repeats no paper.

use assay_study::{Overlay, OverlayChange, Study};

/// A sentence or two for each overlay.
pub fn told(study: &Study) -> Vec<String> {
    let overlays = study.overlays();
    let last = overlays.iter().rposition(|overlay| !of_form(study, overlay).is_empty());
    let one = |(place, overlay): (usize, &Overlay)| {
        let mut text = of_overlay(overlay, of_form(study, overlay));
        if let Some(paper) = study.paper.as_ref().filter(|_| Some(place) == last) {
            text += &format!(
                " These are not the conditions of {}: the study shows what its comparison comes \
                to under others, and does not repeat it.",
                paper.title
            );
        }
        text
    };
    overlays.iter().enumerate().map(one).collect()
}

/// Its changes of the form that the study ran.
fn of_form<'a>(study: &Study, overlay: &'a Overlay) -> &'a [OverlayChange] {
    if study.form.is_some() { &overlay.quick_changes } else { &overlay.changes }
}

fn of_overlay(overlay: &Overlay, changes: &[OverlayChange]) -> String {
    let about = overlay.about.as_ref().map_or_else(String::new, |about| format!(" ({about})"));
    if changes.is_empty() {
        return format!("Overlay {}{about}: changes nothing of the plan.", overlay.name);
    }
    let changes: Vec<String> = changes.iter().map(change).collect();
    format!("Overlay {}{about}: {}.", overlay.name, changes.join("; "))
}

/// `sync_binlog = 1 (before: not set)`.
fn change(change: &OverlayChange) -> String {
    let key = change.key.strip_prefix("settings.").unwrap_or(&change.key);
    let before = change.before.as_deref().unwrap_or("not set");
    match &change.after {
        Some(after) => format!("{key} = {after} (before: {before})"),
        None => format!("without {key}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_plan::{Plan, PlanForm};

    fn study(plan: &str, overlays: &[&str]) -> Study {
        let overlays: Vec<_> = overlays.iter().map(Into::into).collect();
        let read = Plan::read_with(plan.as_ref(), PlanForm::Quick, &overlays).unwrap();
        Study { plan_toml: read.text, form: read.form, paper: read.plan.paper, ..Study::default() }
    }

    #[test]
    fn conditions_that_an_overlay_changes_are_named_and_the_paper_is_not_repeated() {
        let told = told(&study("stec-2013", &["production"]));
        let [told] = told.as_slice() else { panic!("{told:?}") };
        for text in [
            "Overlay production (binary log; ",
            "log_bin = \"binlog\" (before: not set)",
            "skip_log_bin = false (before: true)",
            "sync_binlog = 1 (before: not set)",
            "These are not the conditions of STEC, s1120",
        ] {
            assert!(told.contains(text), "`{text}` is not in {told}");
        }
        assert_eq!(super::told(&study("stec-2013", &[])), [""; 0]);
    }

    #[test]
    fn several_overlays_disclaim_the_paper_once() {
        let told = told(&study("fungible-2021", &["one-server", "client-apart"]));
        assert_eq!(told.len(), 2);
        assert!(told[0].contains("without configs.2 servers on one pool"), "{told:?}");
        let says = |one: &String| one.contains("not the conditions of");
        assert_eq!(told.iter().map(says).collect::<Vec<_>>(), [false, true]);
    }
}
