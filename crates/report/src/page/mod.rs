//! The page: what the template is given, and the parts that stand outside of charts and tables.

pub(crate) mod caveats;
pub(crate) mod markdown;
pub(crate) mod notes;
mod option_file;
mod repeat;
mod template;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use crate::words;
use assay_base::version::version;
use assay_judge::reconcile::FactorPair;
use assay_study::metrics::{Group as Columns, Window};
use assay_study::{Events, RunState, Trial};

use crate::analysis::Analysis;
use crate::charts::highlights::{self, Highlights};
use crate::charts::looks::look;
use crate::charts::plots::{self, Plot};
use crate::charts::series::Head;
use crate::charts::sweeps::{Sweep, sweeps};
use crate::charts::tails::{Tail, tails};
use crate::charts::timeline::{self, Drawn, Template};
use crate::charts::{series, tails};
use crate::comparisons::{flagged, questions};
use crate::figures::columns;
use crate::figures::format::json_for_script;
use crate::first_screen::one_line;
use crate::first_screen::scope::compared;
use crate::first_screen::{FirstScreen, first_screen};
use crate::input::Input;
use crate::published::PaperMatch;
use crate::tables::capacity;
use crate::tables::differences::{self, Compared};
use crate::tables::multi_server;
use crate::tables::phases;
use crate::tables::rates;
use crate::tables::space::{Space, space};
use crate::tables::statements;
use crate::tables::{claims, figures, paper, power_cuts, verdicts, worth, write_path};
use assay_judge::summary;

/// Everything that the page is made of.
pub(crate) struct PageInput<'a> {
    pub(crate) input: Input<'a>,
    pub(crate) title: &'a str,
    /// Notes of the person who sends the page, as safe HTML.
    pub(crate) notes: Option<String>,
    /// Response times of the runs' transactions.
    pub(crate) distributions: &'a tails::Distributions,
    /// Measured figures next to those that the plan's paper printed.
    pub(crate) compared: &'a [assay_judge::paper::Compared],
    pub(crate) claims: &'a PaperMatch,
    /// Charts of the timeline.
    pub(crate) timeline: Vec<Template>,
    /// Series of all runs, coded.
    pub(crate) series: series::Embedded,
}

impl<'a> PageInput<'a> {
    fn title(&self) -> &'a str {
        if self.title.is_empty() { "Untitled study" } else { self.title }
    }
}

/// Nothing may be fetched, by anything on the page: its own script and style stand in it, pictures
/// are made in it.
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
    events: Nouns,
    question: Option<&'a str>,
    form: Option<&'a str>,
    overlays: Vec<String>,
    /// Limits of a private pool, where there is one.
    pool_scope: Option<&'static str>,
    compared: String,
    notes: Option<&'a str>,
    first_screen: FirstScreen,
    configs: Vec<Config<'a>>,
    workloads: Vec<Workload<'a>>,
    paper: Option<&'a str>,
    paper_tables: Vec<paper::Shown>,
    claims: Option<claims::Claimed>,
    verdicts: Option<verdicts::Shown>,
    has_sweep: bool,
    has_tail: bool,
    has_flagged: bool,
    has_drive: bool,
    has_model: bool,
    has_pool: bool,
    timeline: Option<Timeline<'a>>,
    space: Option<Space>,
    write_path: Vec<write_path::Evidence>,
    capacity: Option<worth::Table>,
    rates: Option<worth::Table>,
    statements: Option<worth::Table>,
    multi_server: Option<multi_server::Shown>,
    power_cuts: Option<power_cuts::Shown>,
    phases: Option<phases::Shown>,
    endurance: Option<worth::Table>,
    cost: Option<worth::Table>,
    servers: Option<worth::Table>,
    durability: Vec<Kept<'a>>,
    uneven: Vec<String>,
    factors: &'a [FactorPair],
    differences: Compared,
    options: Compared,
    optioned: Vec<&'a str>,
    variables: Compared,
    facts: &'a BTreeMap<String, String>,
    plan_toml: &'a str,
    repeat_command: String,
    trials: Vec<figures::TrialRow>,
    caveats: Vec<caveats::Caveat>,
    /// The result to be pasted elsewhere.
    one_line: String,
    markdown: String,
    data: String,
}

/// Nouns for the events that the study counts.
#[derive(Serialize)]
struct Nouns {
    noun: &'static str,
    one: &'static str,
    many: &'static str,
    capital: &'static str,
    short: &'static str,
    per_second: &'static str,
    /// Files that are written.
    files: &'static str,
}

impl Nouns {
    fn of(events: Events) -> Nouns {
        Nouns {
            noun: events.noun(),
            one: events.one(),
            many: events.many(),
            capital: events.capital(),
            short: events.short(),
            per_second: events.per_second(),
            files: match events {
                Events::Transactions => "InnoDB's files",
                Events::Operations => "the files",
            },
        }
    }
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

/// Durability of a configuration.
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
    table: figures::Table,
    more: figures::Table,
    drive: Option<figures::Table>,
    model: Option<figures::Table>,
    pool: Option<figures::Table>,
    sweeps: Vec<Sweep>,
    tails: Vec<Tail>,
}

#[derive(Serialize)]
struct Timeline<'a> {
    charts: Vec<Drawn>,
    threads: Vec<u32>,
    repeats: Vec<u32>,
    layers: BTreeMap<&'a str, Vec<(usize, &'a Head, bool)>>,
}

/// Data for the script.
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
    /// Findings of each chart of seconds, in the charts' order.
    found: Vec<String>,
}

/// Makes the page.
///
/// # Errors
/// Data that cannot be written as JSON, or a template that does not fit its data: both are mistakes
/// of ours.
pub(crate) fn render(page: &PageInput<'_>, highlights: &[Highlights]) -> Result<String> {
    let input = &page.input;
    let study = input.study;
    let mut plots = Vec::new();
    let workloads = workloads(page, &mut plots);
    let space = space(input, &mut plots);
    let multi_server = multi_server::shown(study, input.groups, &mut plots);
    let first_screen = first_screen(input, &mut plots);
    let environment = template::environment()?;
    let caveats = caveats::of(input.analysis, &page.series);
    let rendered = Page {
        policy: POLICY,
        style: template::STYLE,
        script: template::SCRIPT,
        plotly: template::plotly_script(),
        version: version(),
        title: page.title(),
        events: Nouns::of(study.events()),
        question: study.question.as_deref(),
        form: study.form.as_deref(),
        overlays: words::overlay::told(study),
        pool_scope: words::rig::pool_scope(study),
        compared: compared(study),
        notes: page.notes.as_deref(),
        first_screen,
        configs: configs(input),
        paper: study.paper.as_ref().map(|paper| paper.title.as_str()),
        paper_tables: paper::shown(page.compared),
        claims: claims::claimed(
            study.paper.as_ref().map(|paper| paper.title.as_str()),
            page.claims,
            page.compared,
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
        timeline: timeline(page),
        space,
        write_path: write_path::shown(study, input.groups, input.analysis),
        capacity: capacity::table(study, input.groups),
        rates: rates::table(study, input.groups),
        statements: statements::table(study, input.groups, input.judgement),
        multi_server,
        power_cuts: power_cuts::shown(study, &input.judgement.recoveries),
        phases: phases::shown(study, input.groups, input.judgement),
        endurance: worth::endurance::table(study, input.groups, input.analysis),
        cost: worth::cost::table(study, input.groups, input.analysis),
        servers: worth::servers::table(study, input.groups, input.analysis),
        durability: durability(input.analysis),
        uneven: caveats::uneven(study, &input.analysis.appraisal.durability),
        factors: &input.analysis.appraisal.factors,
        differences: differences::of_configs(study),
        options: differences::of_workloads(study),
        optioned: differences::optioned(study).map(|one| one.workload.as_str()).collect(),
        variables: differences::of_variables(input.variables),
        facts: &study.facts,
        plan_toml: &study.plan_toml,
        repeat_command: repeat::command(study),
        trials: figures::trials(study),
        one_line: one_line::one_line(input.analysis),
        markdown: markdown::markdown(input.analysis, &caveats::of_study(input.analysis)),
        caveats,
        data: json_for_script(&data(page, highlights, &plots))
            .context("cannot write the report's data")?,
    };
    environment
        .get_template("report.html")
        .and_then(|template| template.render(minijinja::value::Serde(&rendered)))
        .context("the report's template does not fit its data")
}

fn durability(analysis: &Analysis) -> Vec<Kept<'_>> {
    let all = analysis.appraisal.durability.iter().enumerate();
    let kept = |(place, one)| Kept {
        label: analysis.label(place),
        sentences: words::durability::sentences(one),
    };
    all.map(kept).collect()
}

fn configs<'a>(input: &'a Input<'_>) -> Vec<Config<'a>> {
    let Input { study, analysis, variables, .. } = *input;
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
                is_aa_run: questions::is_aa_run(study, config),
                options: option_file::option_file(
                    config,
                    variables.get(place).and_then(|sets| sets.first()),
                ),
                durability: analysis.label(place),
            }
        })
        .collect()
}

fn workloads<'a>(page: &PageInput<'a>, plots: &mut Vec<Plot>) -> Vec<Workload<'a>> {
    let input = &page.input;
    let events = input.study.events();
    let summary = columns::summary();
    let more = columns::more(input.study);
    let [drive, model, pool] =
        [Columns::Drive, Columns::Model, Columns::Pool].map(columns::columns);
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
            table: figures::table(events, input.groups, place, &summary),
            more: figures::table(events, input.groups, place, &more),
            drive: figures::table_where_any(events, input.groups, place, &drive),
            model: figures::table_where_any(events, input.groups, place, &model),
            pool: figures::table_where_any(events, input.groups, place, &pool),
            sweeps: sweeps(input, place, &more, plots),
            tails: tails(input, page.distributions, place, plots),
        })
        .collect()
}

fn timeline<'a>(page: &'a PageInput<'_>) -> Option<Timeline<'a>> {
    let (study, series) = (page.input.study, &page.series);
    let trials = &study.trials;
    let mut layers: BTreeMap<&str, Vec<(usize, &Head, bool)>> = BTreeMap::new();
    for (place, head) in series.heads.iter().enumerate() {
        let is_here = !series.left_out.contains(&head.name);
        layers.entry(head.layer.word()).or_default().push((place, head, is_here));
    }
    let repeats: BTreeSet<u32> = trials.iter().map(|trial| trial.key.repeat).collect();
    (!layers.is_empty()).then(|| Timeline {
        charts: timeline::shown(&page.timeline, study, series),
        threads: summary::threads(study),
        repeats: repeats.into_iter().collect(),
        layers,
    })
}

/// The study, the day on which it began, and what made the page: e.g. `Which drive? · 2026-11-24 ·
/// assay 0.1.0`.
fn source(page: &PageInput<'_>) -> String {
    let began =
        page.input.study.trials.iter().filter_map(|trial| trial.started_at.as_deref()).min();
    let day = began.and_then(|time| time.get(..10)).unwrap_or("");
    let assay = format!("assay {}", version());
    let parts = [page.title(), day, &assay];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" · ")
}

fn data<'a>(page: &'a PageInput<'_>, highlights: &[Highlights], plots: &'a [Plot]) -> Data<'a> {
    let study = page.input.study;
    let place = |trial: &Trial| {
        let config = study.configs.iter().position(|config| config.name == trial.key.config)?;
        let workload = study.workloads.iter().position(|one| one.name == trial.key.workload)?;
        Some((config, workload))
    };
    let trial = |((trial, series), its): ((&'a Trial, &'a BTreeMap<usize, Value>), &Highlights)| {
        let (config, workload) = place(trial)?;
        Some(DataTrial {
            config,
            workload,
            threads: trial.key.threads,
            repeat: trial.key.repeat,
            reason: (trial.state != RunState::Done).then(|| figures::standing(trial)),
            window: trial.window,
            phases: phases::marks(trial),
            series,
            found: highlights::told(
                page.input.judgement,
                (study.events(), &page.timeline, &page.series.heads),
                trial,
                its,
            ),
        })
    };
    Data {
        source: source(page),
        configs: study.configs.iter().map(|config| config.name.as_str()).collect(),
        config: plots::configuration(),
        plots,
        seconds: &page.timeline,
        any: timeline::any_series(),
        heads: &page.series.heads,
        trials: study
            .trials
            .iter()
            .zip(&page.series.trials)
            .zip(highlights)
            .filter_map(trial)
            .collect(),
    }
}
