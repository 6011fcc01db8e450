//! Tests that every built-in plan, in each form, fits the least machine that it names, and cites
//! the claims of the paper that it repeats.

use std::path::Path;

use assay_base::Size;
use assay_lab::run::space_check::{Room, fits};
use assay_plan::{Experiment, LeastMachine, Plan, PlanForm, shipped};

use super::planned_seconds;

/// Plans that compare a part of a paper under names of their own.
const OWN_WORDS: [&str; 1] = ["demo"];

/// Needs of a plan beyond the least machine that it names; empty if the plan fits.
fn beyond(plan: &Plan, least: &LeastMachine) -> String {
    let room = Room {
        memory_bytes: least.memory.0,
        disk_bytes: least.disk.0,
        aio: Some((0, least.aio_max_nr)),
    };
    let experiment = Experiment::of(plan.clone()).unwrap();
    if let Err(error) = fits(&experiment, &room, Path::new("there")) {
        return format!("{error:#}");
    }
    let hours = planned_seconds(&experiment, experiment.trials().len()) / 3600.0;
    match plan.power_cut.is_none() && hours > least.hours {
        true => format!("its runs take {hours:.2} h"),
        false => String::new(),
    }
}

#[test]
fn shipped_plans_fit_the_least_machine_that_they_name() {
    for (name, form, plan) in shipped().unwrap() {
        let least = plan.least_machine.as_ref();
        let least = least.unwrap_or_else(|| panic!("{name} {form:?} names no least machine"));
        assert_eq!(beyond(&plan, least), "", "{name} {form:?}");
        if form == PlanForm::Quick {
            assert!(least.cpus <= 2, "{name}: a quick profile is for two CPUs");
        }
    }
}

/// Negative controls, one for each requirement of a plan.
#[test]
fn a_plan_that_needs_more_than_it_names_is_found() {
    let all = shipped().unwrap();
    let find = |named: &str, of: PlanForm| {
        let (.., plan) = all.iter().find(|(name, form, _)| *name == named && *form == of).unwrap();
        (plan.clone(), plan.least_machine.clone().unwrap())
    };
    let (mut plan, least) = find("stec-2013", PlanForm::Quick);
    // As it was shipped once, and could not run.
    plan.data.table_size = 7_200_000;
    let says = beyond(&plan, &least);
    assert!(says.contains("do not fit on a disk of 1908 MiB"), "{says}");

    let (plan, least) = find("fungible-2021", PlanForm::Full);
    let with = |least: LeastMachine| beyond(&plan, &least);
    let says = with(LeastMachine { aio_max_nr: 65_536, ..least.clone() });
    assert!(says.contains("requests of asynchronous I/O"), "{says}");
    let says = with(LeastMachine { memory: Size(1 << 30), ..least.clone() });
    assert!(says.contains("of memory"), "{says}");
    let says = with(LeastMachine { disk: Size(1 << 30), ..least.clone() });
    assert!(says.contains("no space"), "{says}");
    let says = with(LeastMachine { hours: 0.1, ..least });
    assert!(says.contains("its runs take"), "{says}");
}

#[test]
fn shipped_plans_that_repeat_a_paper_have_its_claims() {
    for (name, form, plan) in shipped().unwrap() {
        let Some(paper) = &plan.paper else { continue };
        let titles = assay_claims::find::all().unwrap().into_iter();
        assert!(
            titles.map(|claims| claims.document.title).any(|title| title == paper.title),
            "{name} {form:?} repeats a paper without claims"
        );
        assert_eq!(paper.claims.is_none(), OWN_WORDS.contains(&name), "{name} {form:?}");
        let has_figures = paper.comparisons.iter().any(|comparison| !comparison.printed.is_empty());
        assert!(has_figures, "{name} {form:?}");
    }
}
