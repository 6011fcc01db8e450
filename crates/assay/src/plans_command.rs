//! `assay plans`: the plans that come with Assay, each with its question, its runs and the least machine for it.

use std::process::ExitCode;

use anyhow::Result;
use assay_plan::{Experiment, Form, Plan, shipped, shipped_overlays};
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
pub struct PlansArgs {
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
///
/// # Errors
/// None; the plans come with the program.
pub fn run(args: &PlansArgs) -> Result<ExitCode> {
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

fn listed(name: &'static str, form: Form, plan: Plan) -> Result<Listed> {
    let experiment = Experiment::of(plan.clone())?;
    let runs = experiment.trials().len();
    Ok(Listed {
        name,
        is_quick: form == Form::Quick,
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

fn show(one: &Listed) {
    if !one.is_quick {
        print::line(format_args!(
            "{:16}{}",
            one.name,
            one.question.as_deref().unwrap_or(&one.title)
        ));
    }
    let command = match (one.is_of_power_cuts, one.is_quick) {
        (true, false) => format!("assay powercut {}", one.name),
        (true, true) => format!("assay powercut {} --quick", one.name),
        (false, false) => format!("assay run {}", one.name),
        (false, true) => format!("assay run {} --quick", one.name),
    };
    // A power cut ends a run, so its runs and seconds are not those of the plan.
    let runs = match one.is_of_power_cuts {
        true => String::new(),
        false => {
            format!("; {}, about {}", counted(one.runs as u64, "run"), time(one.seconds_at_most))
        }
    };
    let least = one.least_machine.as_ref().map_or_else(String::new, |least| {
        format!(
            "; at least {}, {} of memory, {} of disk",
            counted(least.cpus.into(), "CPU"),
            least.memory,
            least.disk
        )
    });
    print::line(format_args!("{:16}{command}{runs}{least}", ""));
}
