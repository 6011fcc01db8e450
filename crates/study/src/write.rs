//! Writes a study: its head once, each run when it begins and completely when it ends.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use assay_load::capacity::Capacity;
use rusqlite::{Transaction, params};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Store;
use super::calibration::Calibration;
use super::judging::{Design, Judging, LookMade};
use super::paper::Paper;
use super::phases::Phase;
use super::power_cut::PowerCut;
use super::prices::Prices;
use super::read::BY_KEY;
use super::records::{
    Config, Histogram, Note, RunState, Series, StoredAttempt, Study, Trial, TrialKey,
    WorkloadRecord,
};
use super::seconds::SecondLatencies;
use super::servers::OfServer;
use super::sessions::Sessions;
use super::warning::{Stored, Warning};
use crate::metrics::Window;
use assay_base::clock::now;

/// The head of a study, known before its first run.
#[derive(Debug)]
pub struct StudyHead<'a> {
    pub title: &'a str,
    pub question: Option<&'a str>,
    /// Text of the plan.
    pub plan_toml: &'a str,
    /// Description of the plan's form, if not the full one.
    pub form: Option<&'a str>,
    pub paper: Option<&'a Paper>,
    /// Machine and programs.
    pub facts: &'a BTreeMap<String, String>,
    pub calibration: Option<&'a Calibration>,
    /// Configurations in the plan's order.
    pub configs: &'a [Config],
    /// Workloads in the plan's order.
    pub workloads: &'a [WorkloadRecord],
    pub judging: &'a Judging,
    pub prices: Option<&'a Prices>,
}

static NO_FACTS: BTreeMap<String, String> = BTreeMap::new();

static NO_JUDGING: Judging = Judging {
    baseline: None,
    margin_percent: None,
    aa_runs: BTreeMap::new(),
    compare: Vec::new(),
    looks: Vec::new(),
    design: Design::Adjacent,
    factors: Vec::new(),
    percentiles_by_statement: Vec::new(),
};

/// An empty head.
impl Default for StudyHead<'_> {
    fn default() -> Self {
        StudyHead {
            title: "",
            question: None,
            plan_toml: "",
            form: None,
            paper: None,
            facts: &NO_FACTS,
            calibration: None,
            configs: &[],
            workloads: &[],
            judging: &NO_JUDGING,
            prices: None,
        }
    }
}

impl<'a> From<&'a Study> for StudyHead<'a> {
    fn from(study: &'a Study) -> Self {
        StudyHead {
            title: &study.title,
            question: study.question.as_deref(),
            plan_toml: &study.plan_toml,
            form: study.form.as_deref(),
            paper: study.paper.as_ref(),
            facts: &study.facts,
            calibration: study.calibration.as_ref(),
            configs: &study.configs,
            workloads: &study.workloads,
            judging: &study.judging,
            prices: study.prices.as_ref(),
        }
    }
}

/// The outcome of a run, successful or not.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Reason of a failure; `None` for a run that is done.
    pub reason: Option<String>,
    /// The measuring window on the run's clock.
    pub window: Option<Window>,
    pub warnings: Vec<Warning>,
    pub facts: BTreeMap<String, String>,
    /// Figures over the measuring window.
    pub results: BTreeMap<String, f64>,
    /// Errors by server code.
    pub errors: BTreeMap<u16, u64>,
    pub series: Vec<Series>,
    pub histograms: Vec<Histogram>,
    pub second_latencies: SecondLatencies,
    /// Phases of the window, if it has more than one.
    pub phases: Vec<Phase>,
    /// The servers of a run on several servers.
    pub servers: Vec<OfServer>,
    /// Search for the highest rate within the plan's objective.
    pub capacity: Option<Capacity>,
    pub variables: BTreeMap<String, String>,
}

impl Store {
    /// Writes the head of the study, or updates it when a plan is resumed.
    pub fn write_head(&mut self, head: &StudyHead<'_>) -> Result<()> {
        let paper = head.paper.map(json).transpose()?;
        let prices = head.prices.map(json).transpose()?;
        let judging = json(head.judging)?;
        let calibration = head.calibration.map(json).transpose()?;
        let mut texts: Vec<(String, &str)> =
            vec![("title".into(), head.title), ("plan_toml".into(), head.plan_toml)];
        texts.push(("judging".into(), &judging));
        texts.extend(paper.as_ref().map(|paper| ("paper".into(), paper.as_str())));
        texts.extend(calibration.as_ref().map(|text| ("calibration".into(), text.as_str())));
        texts.extend(prices.as_ref().map(|prices| ("prices".into(), prices.as_str())));
        texts.extend(head.form.map(|form| ("form".into(), form)));
        texts.extend(head.question.map(|question| ("question".into(), question)));
        texts.extend(head.facts.iter().map(|(name, fact)| (format!("fact.{name}"), fact.as_str())));
        self.change(|transaction| {
            // Removes keys that the plan no longer has.
            for key in ["question", "form", "paper", "prices"] {
                transaction.execute("DELETE FROM study WHERE key = ?1", [key])?;
            }
            for (key, value) in texts {
                transaction.execute(
                    "INSERT OR REPLACE INTO study (key, value) VALUES (?1, ?2)",
                    params![key, value],
                )?;
            }
            for (position, config) in head.configs.iter().enumerate() {
                transaction.execute(
                    "INSERT OR REPLACE INTO configs (name, position, rig_json, settings_json) \
                    VALUES (?1, ?2, ?3, ?4)",
                    params![
                        config.name,
                        position as i64,
                        json(&config.rig)?,
                        json(&config.settings)?
                    ],
                )?;
            }
            for (position, workload) in head.workloads.iter().enumerate() {
                transaction.execute(
                    "INSERT OR REPLACE INTO workloads (name, position, workload,
                     data_profile, recipe, options_json) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    params![
                        workload.name,
                        position as i64,
                        workload.workload,
                        workload.data_profile,
                        workload.recipe,
                        json(&workload.options)?
                    ],
                )?;
            }
            Ok(())
        })
    }

    /// Plans a run; an existing one with the same fingerprint is kept.
    ///
    /// Fails if a run of the same coordinates was made under other conditions.
    pub fn plan_trial(&self, key: &TrialKey, position: u32, fingerprint: &str) -> Result<()> {
        self.execute(
            "INSERT INTO runs (config, workload, threads, repeat, position, fingerprint, state)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'pending') ON CONFLICT DO NOTHING",
            params![key.config, key.workload, key.threads, key.repeat, position, fingerprint],
        )?;
        self.planned(key, fingerprint).map(|_| ())
    }

    /// Marks a run as started and drops the data of an interrupted attempt. A run that had ended
    /// keeps its data until its new end is stored, whatever happens before.
    pub fn begin_trial(&mut self, key: &TrialKey) -> Result<()> {
        if matches!(self.state(key)?, Some(RunState::Done | RunState::Failed)) {
            self.again.insert(key.clone(), now());
            return Ok(());
        }
        self.change(|transaction| {
            let id = trial_id(transaction, key)?;
            forget_run(transaction, id)?;
            transaction.execute(
                "UPDATE runs SET state = 'running', reason = NULL, started_at = ?2, ended_at = NULL,
                 window_from_s = NULL, window_to_s = NULL, capacity_json = NULL WHERE id = ?1",
                params![id, now()],
            )?;
            Ok(())
        })
        .with_context(|| format!("cannot begin run {key}"))
    }

    /// Writes the outcome of a run in one transaction.
    pub fn end_trial(&mut self, key: &TrialKey, outcome: &Outcome) -> Result<()> {
        let again = self.again.remove(key);
        self.change(|transaction| {
            let id = trial_id(transaction, key)?;
            if let Some(began) = &again {
                forget_run(transaction, id)?;
                transaction
                    .execute("UPDATE runs SET started_at = ?2 WHERE id = ?1", params![id, began])?;
            }
            write_trial(transaction, id, outcome)?;
            write_counts(transaction, id, outcome)?;
            for series in &outcome.series {
                write_series(transaction, id, series)?;
            }
            for histogram in &outcome.histograms {
                write_histogram(transaction, id, histogram)?;
            }
            write_phases(transaction, id, &outcome.phases)?;
            write_servers(transaction, id, &outcome.servers)?;
            write_seconds(transaction, id, &outcome.second_latencies)
        })
        .with_context(|| format!("cannot store the results of run {key}"))
    }

    /// Discards an attempt that the machine disturbed, and with it the finished runs that it is
    /// compared with: all are pending again, and the attempts' warnings and figures are kept. A run
    /// that had ended before this attempt at it keeps its data.
    pub fn discard_attempt(
        &mut self,
        key: &TrialKey,
        outcome: &Outcome,
        compared_with: &[TrialKey],
    ) -> Result<()> {
        let partners = self
            .trials()?
            .into_iter()
            .filter(|trial| trial.state == RunState::Done && compared_with.contains(&trial.key));
        let partners: Vec<Trial> = partners.collect();
        self.change(|transaction| {
            let attempt = StoredAttempt::Whole {
                warnings: outcome.warnings.clone(),
                because_of: None,
                results: finite(&outcome.results),
            };
            let id = trial_id(transaction, key)?;
            discard(transaction, id, &attempt, RunState::Running)?;
            for Trial { id, warnings, results, .. } in partners {
                let because_of = Some(key.clone());
                let results = finite(&results);
                let attempt = StoredAttempt::Whole { warnings, because_of, results };
                discard(transaction, id, &attempt, RunState::Done)?;
            }
            Ok(())
        })
        .with_context(|| format!("cannot discard an attempt at run {key}"))
    }

    /// Keeps that somebody was told the results after so many repeats. A second look at the same
    /// repeats replaces the first.
    pub fn record_look(&self, look: LookMade) -> Result<()> {
        let mut looks = self.looks()?;
        looks.retain(|one| one.repeats != look.repeats);
        looks.push(look);
        self.execute(
            "INSERT OR REPLACE INTO study (key, value) VALUES ('looks', ?1)",
            [json(&looks)?],
        )?;
        Ok(())
    }

    /// Keeps how the repeats are divided into sessions.
    pub fn write_sessions(&self, sessions: &Sessions) -> Result<()> {
        self.execute(
            "INSERT OR REPLACE INTO study (key, value) VALUES ('sessions', ?1)",
            [json(sessions)?],
        )?;
        Ok(())
    }

    /// Deletes unfinished runs that are not planned any more, with everything that belongs to them
    /// alone. Returns their number.
    pub fn forget_unplanned(&mut self, is_planned: impl Fn(&TrialKey) -> bool) -> Result<usize> {
        let is_open = |trial: &Trial| matches!(trial.state, RunState::Pending | RunState::Running);
        let trials = self.trials()?;
        let forgotten: Vec<i64> = trials
            .iter()
            .filter(|trial| is_open(trial) && !is_planned(&trial.key))
            .map(|trial| trial.id)
            .collect();
        self.change(|transaction| {
            for id in &forgotten {
                transaction.execute("DELETE FROM runs WHERE id = ?1", [id])?;
            }
            if !forgotten.is_empty() {
                transaction.execute(
                    "DELETE FROM configs WHERE name NOT IN (SELECT config FROM runs)",
                    [],
                )?;
                transaction.execute(
                    "DELETE FROM workloads WHERE name NOT IN (SELECT workload FROM runs)",
                    [],
                )?;
            }
            Ok(forgotten.len())
        })
    }

    /// Sets interrupted runs back to pending. Returns their number.
    pub fn reset_interrupted(&self) -> Result<usize> {
        self.execute("UPDATE runs SET state = 'pending' WHERE state = 'running'", [])
    }

    /// Stores a note on the whole study, once.
    pub fn note(&self, note: Note) -> Result<()> {
        self.execute("INSERT OR IGNORE INTO notes (kind) VALUES (?1)", [note.word()])?;
        Ok(())
    }

    /// Stores a power cut, replacing one with the same number.
    pub fn write_power_cut(&self, cut: &PowerCut) -> Result<()> {
        let text = serde_json::to_string(cut)?;
        self.execute(
            "INSERT OR REPLACE INTO power_cuts (config, number, survived, cut_json) VALUES (?1, \
            ?2, ?3, ?4)",
            params![cut.config, cut.number, cut.is_survived(), text],
        )
        .map(drop)
    }
}

/// Removes the data of an earlier attempt at a run.
fn forget_run(transaction: &Transaction<'_>, id: i64) -> Result<()> {
    for table in [
        "warnings",
        "results",
        "errors",
        "series",
        "histograms",
        "second_latencies",
        "phases",
        "servers",
    ] {
        transaction.execute(&format!("DELETE FROM {table} WHERE run_id = ?1"), [id])?;
    }
    Ok(())
}

fn trial_id(transaction: &Transaction<'_>, key: &TrialKey) -> Result<i64> {
    transaction
        .query_row(
            &format!("SELECT id FROM runs WHERE {BY_KEY}"),
            params![key.config, key.workload, key.threads, key.repeat],
            |row| row.get(0),
        )
        .with_context(|| format!("run {key} was never planned"))
}

/// The results that are numbers.
fn finite(results: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let finite = results.iter().filter(|(_, value)| value.is_finite());
    finite.map(|(name, value)| (name.clone(), *value)).collect()
}

/// Stores an attempt at a run as discarded; a run in this state is pending again.
fn discard(
    transaction: &Transaction<'_>,
    id: i64,
    attempt: &StoredAttempt,
    from: RunState,
) -> Result<()> {
    transaction.execute(
        "INSERT INTO discarded (run_id, ended_at, warnings_json) VALUES (?1, ?2, ?3)",
        params![id, now(), json(attempt)?],
    )?;
    transaction.execute(
        "UPDATE runs SET state = 'pending' WHERE id = ?1 AND state = ?2",
        params![id, from.word()],
    )?;
    Ok(())
}

fn write_trial(transaction: &Transaction<'_>, id: i64, outcome: &Outcome) -> Result<()> {
    let state = if outcome.reason.is_some() { RunState::Failed } else { RunState::Done };
    transaction.execute(
        "UPDATE runs SET state = ?2, reason = ?3, ended_at = ?4, window_from_s = ?5,
         window_to_s = ?6, facts_json = ?7, variables_hash = ?8, capacity_json = ?9 WHERE id = ?1",
        params![
            id,
            state.word(),
            outcome.reason,
            now(),
            outcome.window.map(|window| window.from_s),
            outcome.window.map(|window| window.to_s),
            json(&outcome.facts)?,
            write_variables(transaction, &outcome.variables)?,
            outcome.capacity.as_ref().map(json).transpose()?,
        ],
    )?;
    Ok(())
}

/// Servers of a configuration differ in few variables from run to run, so equal sets are stored
/// once.
fn write_variables(
    transaction: &Transaction<'_>,
    variables: &BTreeMap<String, String>,
) -> Result<Option<String>> {
    if variables.is_empty() {
        return Ok(None);
    }
    let hash = fingerprint(&json(variables)?);
    let mut insert = transaction.prepare_cached(
        "INSERT OR IGNORE INTO variables (hash, name, value) VALUES (?1, ?2, ?3)",
    )?;
    for (name, value) in variables {
        insert.execute(params![hash, name, value])?;
    }
    Ok(Some(hash))
}

fn write_counts(transaction: &Transaction<'_>, id: i64, outcome: &Outcome) -> Result<()> {
    for warning in &outcome.warnings {
        write_warning(transaction, id, warning)?;
    }
    // SQLite stores NaN as NULL; a figure that could not be computed is left out.
    for (name, value) in outcome.results.iter().filter(|(_, value)| value.is_finite()) {
        transaction.execute(
            "INSERT INTO results (run_id, name, value) VALUES (?1, ?2, ?3)",
            params![id, name, value],
        )?;
    }
    for (code, &count) in &outcome.errors {
        transaction.execute(
            "INSERT INTO errors (run_id, code, count) VALUES (?1, ?2, ?3)",
            params![id, code, count.cast_signed()],
        )?;
    }
    Ok(())
}

/// Writes the kind in a column of its own, for queries of other programs.
fn write_warning(transaction: &Transaction<'_>, id: i64, warning: &Warning) -> Result<()> {
    let stored = Stored::of(warning)?;
    transaction.execute(
        "INSERT INTO warnings (run_id, kind, facts_json) VALUES (?1, ?2, ?3)",
        params![id, stored.kind, stored.facts_json],
    )?;
    Ok(())
}

fn write_series(transaction: &Transaction<'_>, trial_id: i64, series: &Series) -> Result<()> {
    transaction.execute(
        "INSERT INTO series (run_id, name, unit, label, layer) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![trial_id, series.name, series.unit.word(), series.label, series.layer.word()],
    )?;
    let id = transaction.last_insert_rowid();
    let mut insert = transaction
        .prepare_cached("INSERT INTO samples (series_id, second, value) VALUES (?1, ?2, ?3)")?;
    for (second, value) in series.points.iter().filter(|(_, value)| value.is_finite()) {
        insert.execute(params![id, second, value])?;
    }
    Ok(())
}

fn write_histogram(transaction: &Transaction<'_>, id: i64, histogram: &Histogram) -> Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO histograms (run_id, kind, clock, latency_ns, count) VALUES (?1, ?2, ?3, ?4, \
        ?5)",
    )?;
    for &(latency_ns, count) in &histogram.buckets {
        insert.execute(params![
            id,
            histogram.kind.word(),
            histogram.clock.word(),
            latency_ns.cast_signed(),
            count.cast_signed()
        ])?;
    }
    Ok(())
}

fn write_phases(transaction: &Transaction<'_>, id: i64, phases: &[Phase]) -> Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO phases (run_id, position, name, from_s, to_s, pace_json, workload,
         happened_json) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for (position, phase) in (1_i64..).zip(phases) {
        let Phase { name, window, pace, workload, happened } = phase;
        let happened = happened.as_ref().map(json).transpose()?;
        insert.execute(params![
            id,
            position,
            name,
            window.from_s,
            window.to_s,
            json(pace)?,
            workload,
            happened
        ])?;
    }
    Ok(())
}

fn write_servers(transaction: &Transaction<'_>, id: i64, servers: &[OfServer]) -> Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO servers (run_id, server, neighbour, results_json) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for OfServer { server, neighbour, results } in servers {
        // Leaves out figures that could not be computed, as for the run itself.
        let known: BTreeMap<&String, f64> = results
            .iter()
            .filter(|(_, value)| value.is_finite())
            .map(|(name, value)| (name, *value))
            .collect();
        insert.execute(params![id, server, neighbour, json(&known)?])?;
    }
    Ok(())
}

fn write_seconds(transaction: &Transaction<'_>, id: i64, seconds: &SecondLatencies) -> Result<()> {
    if !seconds.is_empty() {
        transaction.execute(
            "INSERT INTO second_latencies (run_id, histograms) VALUES (?1, ?2)",
            params![id, seconds.blob()],
        )?;
    }
    Ok(())
}

/// Fingerprint of a text: the first 16 hexadecimal digits of its SHA-256.
#[must_use]
pub fn fingerprint(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).context("cannot write JSON")
}
