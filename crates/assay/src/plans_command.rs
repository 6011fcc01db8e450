//! `assay plans`: lists the built-in plans, each with its question, its runs and the least machine
//! for it.

use std::process::ExitCode;

use anyhow::Result;
use assay_plan::{Experiment, Plan, PlanForm, shipped, shipped_overlays};
use clap::Args;
use serde::Serialize;

use crate::print;
use crate::run_command::planned_seconds;
use assay_base::text::{counted, time};

/// List the plans that come with Assay, with question, runs, duration and the least machine
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay plans                              list them
  assay run disk --location /mnt/new-disk  run one
  assay run stec-2013 --quick              run the quick profile of one
  assay run stec-2013 --quick --dry-run    list its runs, check this machine
  assay run stec-2013 --overlay production with the binary log, durable")]
pub(crate) struct PlansArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One form of a plan.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    is_quick: bool,
    title: String,
    question: Option<String>,
    /// Whether `assay powercut` runs it.
    is_of_power_cuts: bool,
    runs: usize,
    seconds_at_most: f64,
    least_machine: Option<assay_plan::LeastMachine>,
}

/// Prints the plans.
pub(crate) fn run(args: &PlansArgs) -> Result<ExitCode> {
    let all = shipped()?.into_iter().map(|(name, form, plan)| listed(name, form, plan));
    let all = all.collect::<Result<Vec<Listed>>>()?;
    if args.json {
        print::line(serde_json::to_string(&all)?);
    } else {
        all.iter().for_each(show);
        show_overlays()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn listed(name: &'static str, form: PlanForm, plan: Plan) -> Result<Listed> {
    let experiment = Experiment::of(plan.clone())?;
    let runs = experiment.trials().len();
    Ok(Listed {
        name,
        is_quick: form == PlanForm::Quick,
        title: plan.title,
        question: plan.question,
        is_of_power_cuts: plan.power_cut.is_some(),
        runs,
        seconds_at_most: planned_seconds(&experiment, runs),
        least_machine: plan.least_machine,
    })
}

fn show_overlays() -> Result<()> {
    print::line("\noverlays, for any plan: assay run PLAN --overlay OVERLAY");
    for (name, about) in shipped_overlays()? {
        print::line(format_args!("{name:16}{about}"));
    }
    Ok(())
}

fn show(form: &Listed) {
    if !form.is_quick {
        print::line(format_args!(
            "{:16}{}",
            form.name,
            form.question.as_deref().unwrap_or(&form.title)
        ));
    }
    let command = match (form.is_of_power_cuts, form.is_quick) {
        (true, false) => format!("assay powercut {}", form.name),
        (true, true) => format!("assay powercut {} --quick", form.name),
        (false, false) => format!("assay run {}", form.name),
        (false, true) => format!("assay run {} --quick", form.name),
    };
    // A power cut ends a run, so runs and seconds are not those of the plan.
    let runs = match form.is_of_power_cuts {
        true => String::new(),
        false => {
            format!("; {}, about {}", counted(form.runs as u64, "run"), time(form.seconds_at_most))
        }
    };
    let least = form.least_machine.as_ref().map_or_else(String::new, |least| {
        format!(
            "; at least {}, {} of memory, {} of disk",
            counted(least.cpus.into(), "CPU"),
            least.memory,
            least.disk
        )
    });
    print::line(format_args!("{:16}{command}{runs}{least}", ""));
}
