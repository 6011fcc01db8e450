//! Command lines in the forms in which public scripts and guides have them, each with the effect
//! that it has in the original: the same here, or a refusal that names what is not built.
//!
//! `command_lines.toml` has the forms, and their effects as the originals' documentation and
//! sources have them: sysbench 0.4.12, 0.5 and 1.0.20, YCSB 0.17.0. The words are read as `assay
//! load` reads them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use assay_load::ycsb::Mix;
use assay_load::{CommandLine, Recipe, Schedule, Workload, queries_per_event};
use serde::Deserialize;
use toml::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Forms {
    form: Vec<Form>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    line: String,
    /// The effect of the line, where it is accepted.
    #[serde(default)]
    effect: Effect,
    /// A part of the refusal.
    refused: Option<String>,
}

type Effect = BTreeMap<String, Value>;

/// Effects that every accepted line has.
const ALWAYS: [&str; 6] = ["command", "workload", "threads", "seconds", "events", "rate"];

fn text(value: &str) -> Value {
    Value::String(value.to_owned())
}

fn number(value: u64) -> Value {
    Value::Integer(value.cast_signed())
}

fn word(value: impl std::fmt::Debug) -> Value {
    text(&format!("{value:?}").to_lowercase())
}

fn of_schedule(schedule: &Schedule) -> Effect {
    let rate = schedule.pace.per_second().unwrap_or(0.0);
    Effect::from([
        ("threads".into(), number(u64::from(schedule.threads))),
        ("seconds".into(), number(schedule.seconds as u64)),
        ("events".into(), number(schedule.events)),
        ("rate".into(), number(rate as u64)),
    ])
}

fn of_mix(workload: &Workload) -> Value {
    let mix: Mix = workload.ycsb.mix(workload.recipe);
    let shares = mix.shares().into_iter().filter(|(_, share)| *share > 0.0);
    let shares: Vec<String> =
        shares.map(|(operation, share)| format!("{share} {}", operation.name())).collect();
    text(&shares.join(", "))
}

/// The effect of a line, by the names of effects.
fn effect(line: &CommandLine) -> Effect {
    let (mut effect, more) = match line {
        CommandLine::Sysbench(line) => {
            let (workload, schema) = (&line.load.workload, &line.load.schema);
            let queries = queries_per_event(workload, schema);
            let more = [
                ("command", word(line.command)),
                ("workload", text(workload.recipe.name())),
                ("mode", word(workload.mode)),
                ("tables", number(u64::from(schema.tables))),
                ("rows", number(schema.table_size)),
                ("table", text(&schema.table_name.clone().unwrap_or_default())),
                ("engine", text(&schema.mysql_storage_engine)),
                ("auto_inc", Value::Boolean(schema.auto_inc)),
                ("keys", word(workload.distribution().rand_type)),
                ("statements", number(queries.total())),
                ("writes", number(queries.write)),
            ];
            (of_schedule(&line.load.schedule), more.to_vec())
        }
        CommandLine::Files(line) => {
            let files = &line.fileio;
            let mode = files.file_test_mode.map_or("", |mode| mode.name());
            let more = [
                ("command", word(line.command)),
                ("workload", text("fileio")),
                ("operations", text(mode)),
                ("files", number(u64::from(files.file_num))),
                ("bytes", number(files.file_total_size.0)),
                ("block", number(files.file_block_size.0)),
                ("flags", text(&format!("{:?}", files.file_extra_flags).to_lowercase())),
                ("fsync_every", number(u64::from(files.file_fsync_freq))),
            ];
            (of_schedule(&line.schedule), more.to_vec())
        }
        CommandLine::Ycsb(line) => {
            let (workload, schema) = (&line.load.workload, &line.load.schema);
            let keys = workload.ycsb.request_distribution(workload.recipe);
            let more = [
                ("command", word(line.command)),
                ("workload", text(workload.recipe.name())),
                ("mode", word(workload.mode)),
                ("rows", number(schema.table_size)),
                ("fields", number(u64::from(schema.field_count))),
                ("field_bytes", number(u64::from(schema.field_length))),
                ("mix", of_mix(workload)),
                ("keys", word(keys)),
                ("retries", number(u64::from(workload.ycsb.insertion_retry_limit))),
                ("status_s", number(line.reporting.status_interval)),
                ("database", text(&line.load.endpoint.database)),
            ];
            (of_schedule(&line.load.schedule), more.to_vec())
        }
    };
    effect.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
    effect
}

/// Differences between a form's effect and the original's; empty if there are none.
fn fault(form: &Form) -> Option<String> {
    let words: Vec<String> = form.line.split_whitespace().map(str::to_owned).collect();
    let read = CommandLine::read(&words).map_err(|error| error.to_string());
    match (read, &form.refused) {
        (Ok(line), None) => {
            let found = effect(&line);
            let missing = ALWAYS.iter().find(|name| !form.effect.contains_key(**name));
            let differs = form.effect.iter().find(|(name, value)| found.get(*name) != Some(*value));
            missing.map(|name| format!("no {name} is written out")).or_else(|| {
                differs.map(|(name, value)| format!("{name} is {:?}, not {value}", found.get(name)))
            })
        }
        (Err(refusal), Some(wanted)) if refusal.contains(wanted) && !refusal.contains('\n') => None,
        (read, wanted) => {
            let read = read.map(|line| effect(&line));
            Some(format!("is {read:?}, and is to be refused with {wanted:?}"))
        }
    }
}

#[test]
fn public_command_lines_do_here_what_they_do_in_the_original_or_are_refused() {
    let forms: Forms = toml::from_str(include_str!("command_lines.toml")).unwrap();
    let refused = forms.form.iter().filter(|form| form.refused.is_some()).count();
    assert!(forms.form.len() - refused >= 40 && refused >= 15, "{refused} are refused");
    let faults: Vec<String> = forms
        .form
        .iter()
        .filter_map(|form| Some(format!("{}\n    {}", form.line, fault(form)?)))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The negative control: another length, another workload, and what is taken in place of refused
/// are seen.
#[test]
fn another_effect_is_a_fault() {
    let forms = |line: &str, more: &str| -> Form {
        toml::from_str(&format!("line = '{line}'\n{more}")).unwrap()
    };
    let effect = |workload: Recipe, seconds: u32| {
        let name = workload.name();
        format!(
            "effect = {{ command = 'run', workload = '{name}', threads = 1, seconds = {seconds}, \
             events = 0, rate = 0 }}"
        )
    };
    let line = "oltp_insert run";
    assert_eq!(fault(&forms(line, &effect(Recipe::OltpInsert, 10))), None);
    for wrong in [effect(Recipe::OltpInsert, 11), effect(Recipe::OltpDelete, 10)] {
        assert!(fault(&forms(line, &wrong)).is_some(), "{wrong}");
    }
    assert!(fault(&forms(line, "effect = { command = 'run' }")).is_some());
    assert!(fault(&forms(line, "refused = 'not built'")).is_some());
    assert!(fault(&forms("cpu run", &effect(Recipe::OltpInsert, 10))).is_some());
}
