//! The page: what the template is given, and the page it makes of it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use crate::words;
use assay_base::version::version;
use assay_judge::reconcile::Pair;
use assay_study::metrics::{Group as Columns, Window};
use assay_study::{State, Trial};

use super::alike::Ran;
use super::capacity;
use super::charts::{self, Plot};
use super::compared::compared;
use super::configs::look;
use super::differences::{self, Compared};
use super::format::json_for_script;
use super::input::Input;
use super::judged::Judged;
use super::metrics;
use super::moments::{self, Moments};
use super::opening::{Opening, opening};
use super::phases;
use super::rates;
use super::repeat;
use super::second::{self, Drawn, Template};
use super::series::Head;
use super::several;
use super::space::{Space, space};
use super::statements;
use super::sweeps::{Sweep, sweeps};
use super::tails::{Tail, tails};
use super::{
    brief, caveats, claimed, flagged, leading, markdown, option_file, paper, power_cuts, template,
    verdicts, view, worth, write_path,
};
use assay_judge::summary;

/// Nothing may be fetched, by anything on the page: its own script and style stand in it, pictures are made in it.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
    img-src data: blob:; base-uri 'none'; form-action 'none'";

#[derive(Serialize)]
struct Page<'a> {
    policy: &'static str,
    style: &'static str,
    script: &'static str,
    plotly: &'static str,
    version: &'static str,
    title: &'a str,
    question: Option<&'a str>,
    form: Option<&'a str>,
    overlays: Vec<String>,
    /// What a private pool can and cannot show, where there is one.
    pool_scope: Option<&'static str>,
    compared: String,
    notes: Option<&'a str>,
    opening: Opening,
    configs: Vec<Config<'a>>,
    workloads: Vec<Workload<'a>>,
    paper: Option<&'a str>,
    paper_tables: Vec<paper::Shown>,
    claims: Option<claimed::Claimed>,
    verdicts: Option<verdicts::Shown>,
    has_sweep: bool,
    has_tail: bool,
    has_flagged: bool,
    has_drive: bool,
    has_model: bool,
    has_pool: bool,
    second: Option<Second<'a>>,
    space: Option<Space<'a>>,
    write_path: Vec<write_path::Evidence>,
    capacity: Option<worth::Table>,
    rates: Option<worth::Table>,
    statements: Option<worth::Table>,
    several: Option<several::Shown>,
    power_cuts: Option<power_cuts::Shown>,
    phases: Option<phases::Shown>,
    endurance: Option<worth::Table>,
    cost: Option<worth::Table>,
    servers: Option<worth::Table>,
    durability: Vec<Kept<'a>>,
    uneven: Vec<String>,
    factors: &'a [Pair],
    differences: Compared,
    options: Compared,
    optioned: Vec<&'a str>,
    variables: Compared,
    facts: &'a BTreeMap<String, String>,
    plan_toml: &'a str,
    repeat_command: String,
    trials: Vec<view::TrialRow>,
    caveats: Vec<caveats::Caveat>,
    /// The result to be pasted elsewhere.
    one_line: String,
    markdown: String,
    data: String,
}

#[derive(Serialize)]
struct Config<'a> {
    name: &'a str,
    light: &'a str,
    dark: &'a str,
    marker: &'a str,
    /// Whether it is another one run again.
    is_aa_run: bool,
    /// Its settings as an option file.
    options: String,
    /// Crash safety, in a few words.
    durability: &'a str,
}

/// What a configuration keeps.
#[derive(Serialize)]
struct Kept<'a> {
    label: &'a str,
    sentences: Vec<String>,
}

#[derive(Serialize)]
struct Workload<'a> {
    name: &'a str,
    /// Its name below that of its data profile.
    short_name: &'a str,
    data_profile: Option<&'a str>,
    recipe: &'a str,
    table: view::Table,
    more: view::Table,
    drive: Option<view::Table>,
    model: Option<view::Table>,
    pool: Option<view::Table>,
    sweeps: Vec<Sweep>,
    tails: Vec<Tail>,
}

#[derive(Serialize)]
struct Second<'a> {
    charts: Vec<Drawn>,
    threads: Vec<u32>,
    repeats: Vec<u32>,
    layers: BTreeMap<&'a str, Vec<(usize, &'a Head, bool)>>,
}

/// What the script is given.
#[derive(Serialize)]
struct Data<'a> {
    /// Where a picture that leaves the page comes from.
    source: String,
    configs: Vec<&'a str>,
    config: Value,
    plots: &'a [Plot],
    seconds: &'a [Template],
    any: Template,
    heads: &'a [Head],
    trials: Vec<DataTrial<'a>>,
}

#[derive(Serialize)]
struct DataTrial<'a> {
    config: usize,
    workload: usize,
    threads: u32,
    repeat: u32,
    /// Why there is nothing to draw.
    reason: Option<String>,
    window: Option<Window>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    phases: Vec<phases::Mark<'a>>,
    series: &'a BTreeMap<usize, Value>,
    /// What each chart of seconds shows of it, in their order.
    found: Vec<String>,
}

/// Makes the page.
///
/// # Errors
/// Data that cannot be written as JSON, or a template that does not fit its data: both are mistakes of ours.
pub(super) fn render(input: &Input<'_>, moments: &[Moments]) -> Result<String> {
    let study = input.study;
    let mut plots = Vec::new();
    let workloads = workloads(input, &mut plots);
    let space = space(input, &mut plots);
    let several = several::shown(study, input.groups, &mut plots);
    let opening = opening(input, &mut plots);
    let environment = template::environment()?;
    let ran = Ran { study, variables: input.variables };
    let caveats = caveats::of(ran, input.judgement, &input.judged.durability, &input.series);
    let page = Page {
        policy: POLICY,
        style: template::STYLE,
        script: template::SCRIPT,
        plotly: template::plotly_script(),
        version: version(),
        title: title(input),
        question: study.question.as_deref(),
        form: study.form.as_deref(),
        overlays: words::overlay::told(study),
        pool_scope: words::rig::pool_scope(study),
        compared: compared(study),
        notes: input.notes.as_deref(),
        opening,
        configs: configs(input),
        paper: study.paper.as_ref().map(|paper| paper.title.as_str()),
        paper_tables: paper::shown(input.compared),
        claims: claimed::claimed(
            study.paper.as_ref().map(|paper| paper.title.as_str()),
            input.claims,
            input.compared,
        ),
        verdicts: verdicts::shown(study, input.judgement),
        has_sweep: workloads.iter().any(|workload| !workload.sweeps.is_empty()),
        has_tail: workloads.iter().any(|workload| !workload.tails.is_empty()),
        has_flagged: study
            .trials
            .iter()
            .any(|trial| flagged::reason(std::iter::once(trial)).is_some()),
        has_drive: workloads.iter().any(|workload| workload.drive.is_some()),
        has_model: workloads.iter().any(|workload| workload.model.is_some()),
        has_pool: workloads.iter().any(|workload| workload.pool.is_some()),
        workloads,
        second: second(input),
        space,
        write_path: write_path::shown(study, input.groups, input.judged),
        capacity: capacity::table(study, input.groups),
        rates: rates::table(study, input.groups),
        statements: statements::table(study, input.groups, input.judgement),
        several,
        power_cuts: power_cuts::shown(study, &input.judgement.recoveries),
        phases: phases::shown(study, input.groups, input.judgement),
        endurance: worth::endurance::table(study, input.groups, input.judged),
        cost: worth::cost::table(study, input.groups, input.judged),
        servers: worth::servers::table(study, input.groups, input.judged),
        durability: durability(input.judged),
        uneven: caveats::uneven(study, &input.judged.durability),
        factors: &input.judged.factors,
        differences: differences::of_configs(study),
        options: differences::of_workloads(study),
        optioned: differences::optioned(study).map(|one| one.workload.as_str()).collect(),
        variables: differences::of_variables(input.variables),
        facts: &study.facts,
        plan_toml: &study.plan_toml,
        repeat_command: repeat::command(study),
        trials: view::trials(study),
        one_line: brief::brief(study, (input.judgement, input.judged), input.variables),
        markdown: markdown::markdown(
            study,
            (input.judgement, input.judged),
            input.variables,
            &caveats::of_study(ran, input.judgement, &input.judged.durability),
        ),
        caveats,
        data: json_for_script(&data(input, moments, &plots))
            .context("cannot write the report's data")?,
    };
    environment
        .get_template("report.html")
        .and_then(|template| template.render(minijinja::value::Serde(&page)))
        .context("the report's template does not fit its data")
}

fn durability(judged: &Judged) -> Vec<Kept<'_>> {
    let all = judged.durability.iter().enumerate();
    let kept = |(place, one)| Kept {
        label: judged.label(place),
        sentences: words::durability::sentences(one),
    };
    all.map(kept).collect()
}

fn configs<'a>(input: &'a Input<'_>) -> Vec<Config<'a>> {
    let Input { study, judged, variables, .. } = input;
    study
        .configs
        .iter()
        .enumerate()
        .map(|(place, config)| {
            let look = look(place);
            Config {
                name: &config.name,
                light: look.light,
                dark: look.dark,
                marker: look.svg_marker,
                is_aa_run: leading::is_aa_run(study, config),
                options: option_file::option_file(
                    config,
                    variables.get(place).and_then(|sets| sets.first()),
                ),
                durability: judged.label(place),
            }
        })
        .collect()
}

fn workloads<'a>(input: &Input<'a>, plots: &mut Vec<Plot>) -> Vec<Workload<'a>> {
    let summary = metrics::summary();
    let more = metrics::more(input.study);
    let [drive, model, pool] =
        [Columns::Drive, Columns::Model, Columns::Pool].map(metrics::columns);
    let study = input.study;
    study
        .workloads
        .iter()
        .enumerate()
        .map(|(place, workload)| Workload {
            name: &workload.name,
            short_name: &workload.workload,
            data_profile: workload.data_profile.as_deref(),
            recipe: &workload.recipe,
            table: view::table(input.groups, place, &summary),
            more: view::table(input.groups, place, &more),
            drive: view::table_where_any(input.groups, place, &drive),
            model: view::table_where_any(input.groups, place, &model),
            pool: view::table_where_any(input.groups, place, &pool),
            sweeps: sweeps(input, place, &more, plots),
            tails: tails(input, place, plots),
        })
        .collect()
}

fn second<'a>(input: &'a Input<'_>) -> Option<Second<'a>> {
    let trials = &input.study.trials;
    let mut layers: BTreeMap<&str, Vec<(usize, &Head, bool)>> = BTreeMap::new();
    for (place, head) in input.series.heads.iter().enumerate() {
        let is_here = !input.series.left_out.contains(&head.name);
        layers.entry(head.layer.word()).or_default().push((place, head, is_here));
    }
    let repeats: BTreeSet<u32> = trials.iter().map(|trial| trial.key.repeat).collect();
    (!layers.is_empty()).then(|| Second {
        charts: second::shown(&input.second_charts, input.study, &input.series),
        threads: summary::threads(input.study),
        repeats: repeats.into_iter().collect(),
        layers,
    })
}

/// The study, the day on which it began, and what made the page: e.g. `Which drive? · 2026-11-24 · assay 0.1.0`.
fn source(input: &Input<'_>) -> String {
    let began = input.study.trials.iter().filter_map(|trial| trial.started_at.as_deref()).min();
    let day = began.and_then(|time| time.get(..10)).unwrap_or("");
    let assay = format!("assay {}", version());
    let parts = [title(input), day, &assay];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" · ")
}

fn title<'a>(input: &Input<'a>) -> &'a str {
    if input.title.is_empty() { "Untitled study" } else { input.title }
}

fn data<'a>(input: &'a Input<'_>, moments: &[Moments], plots: &'a [Plot]) -> Data<'a> {
    let study = input.study;
    let place = |trial: &Trial| {
        let config = study.configs.iter().position(|config| config.name == trial.key.config)?;
        let workload = study.workloads.iter().position(|one| one.name == trial.key.workload)?;
        Some((config, workload))
    };
    let trial = |((trial, series), its): ((&'a Trial, &'a BTreeMap<usize, Value>), &Moments)| {
        let (config, workload) = place(trial)?;
        Some(DataTrial {
            config,
            workload,
            threads: trial.key.threads,
            repeat: trial.key.repeat,
            reason: (trial.state != State::Done).then(|| view::standing(trial)),
            window: trial.window,
            phases: phases::marks(trial),
            series,
            found: moments::told(input, trial, its),
        })
    };
    Data {
        source: source(input),
        configs: study.configs.iter().map(|config| config.name.as_str()).collect(),
        config: charts::configuration(),
        plots,
        seconds: &input.second_charts,
        any: second::any_series(),
        heads: &input.series.heads,
        trials: study
            .trials
            .iter()
            .zip(&input.series.trials)
            .zip(moments)
            .filter_map(trial)
            .collect(),
    }
}
