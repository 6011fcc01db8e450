//! Reads a study, for resuming it and for reports.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail};
use rusqlite::types::ValueRef;
use rusqlite::{Row, params};
use serde::de::DeserializeOwned;

use super::judging::LookMade;
use super::limits::{
    COUNT_MAX, LATENCY_NS_MAX, LISTED_MAX, NAME_BYTES_MAX, REPEAT_MAX, RESULTS_MAX, RUNS_MAX,
    SECONDS_MAX, SERIES_MAX, THREADS_MAX,
};
use super::phases::Phase;
use super::power_cut::PowerCut;
use super::records::{
    Config, Discarded, Histogram, Note, RunState, Series, Study, Timed, Trial, TrialKey,
    WorkloadRecord,
};
use super::servers::OfServer;
use super::sessions::Sessions;
use super::warning::{Stored, Warning};
use super::{SecondLatencies, Store};
use crate::metrics::Window;

/// Bytes that every query may read; more follow from the file's length.
const ALLOWANCE_BYTES: u64 = 256 << 10;

/// SQL condition that selects a run by its key.
pub(super) const BY_KEY: &str = "config = ?1 AND workload = ?2 AND threads = ?3 AND repeat = ?4";

impl Store {
    /// Reads the study without series, histograms and variables, which are read for each run.
    pub fn study(&self) -> Result<Study> {
        self.allow();
        let configs = self.configs()?;
        let workloads = self.workloads()?;
        let mut trials = self.trials()?;
        let config_place = |name: &str| configs.iter().position(|config| config.name == name);
        let workload_place =
            |name: &str| workloads.iter().position(|workload| workload.name == name);
        trials.sort_by_key(|trial| {
            let key = &trial.key;
            (workload_place(&key.workload), key.threads, config_place(&key.config), key.repeat)
        });
        self.check_counts(Study {
            title: self.text("title")?.unwrap_or_default(),
            question: self.text("question")?,
            form: self.text("form")?,
            paper: self.text("paper")?.map(|paper| parse(&paper)).transpose()?,
            judging: self
                .text("judging")?
                .map(|text| parse(&text))
                .transpose()?
                .unwrap_or_default(),
            prices: self.text("prices")?.map(|prices| parse(&prices)).transpose()?,
            plan_toml: self.text("plan_toml")?.unwrap_or_default(),
            facts: self.facts()?,
            calibration: self.text("calibration")?.map(|text| parse(&text)).transpose()?,
            notes: self.notes()?,
            looks: self.looks()?,
            sessions: self.sessions()?,
            configs,
            workloads,
            trials,
            discarded: self.discarded()?,
            power_cuts: self.power_cuts()?,
        })
    }

    /// Looks at the results that somebody was told, in the order of time.
    pub(crate) fn looks(&self) -> Result<Vec<LookMade>> {
        let looks = self.text("looks")?.map(|text| parse(&text)).transpose()?;
        Ok(looks.unwrap_or_default())
    }

    /// How the repeats were divided into sessions.
    pub fn sessions(&self) -> Result<Sessions> {
        let sessions = self.text("sessions")?.map(|text| parse(&text)).transpose()?;
        Ok(sessions.unwrap_or_default())
    }

    /// The runs that are still missing.
    pub fn pending(&self) -> Result<BTreeSet<TrialKey>> {
        self.allow();
        self.rows(
            "SELECT config, workload, threads, repeat FROM runs WHERE state = 'pending'",
            [],
            |row| trial_key(row, 0),
        )
        .map(BTreeSet::from_iter)
    }

    /// Discarded attempts at runs, in the order of time.
    pub fn discarded(&self) -> Result<Vec<Discarded>> {
        self.allow();
        let rows = self.rows(
            "SELECT config, workload, threads, repeat, discarded.ended_at, warnings_json
             FROM discarded JOIN runs ON runs.id = run_id ORDER BY discarded.id",
            [],
            |row| Ok((trial_key(row, 0)?, row.get::<_, String>(4)?, row.get::<_, String>(5)?)),
        )?;
        rows.into_iter()
            .map(|(key, ended_at, stored)| Ok(Discarded::of(key, ended_at, parse(&stored)?)))
            .collect()
    }

    /// State of a run under any plan; `None` if it was never planned.
    pub(crate) fn state(&self, key: &TrialKey) -> Result<Option<RunState>> {
        self.allow();
        let found = self.rows(
            &format!("SELECT state FROM runs WHERE {BY_KEY}"),
            params![key.config, key.workload, key.threads, key.repeat],
            |row| row.get::<_, String>(0),
        )?;
        let state = found.first().map(|state| state.parse().map_err(anyhow::Error::msg));
        state.transpose()
    }

    /// State of a run; `None` if it was never planned.
    ///
    /// Fails if the run was planned under other conditions.
    pub fn planned(&self, key: &TrialKey, fingerprint: &str) -> Result<Option<RunState>> {
        self.allow();
        let found = self.rows(
            &format!("SELECT fingerprint, state FROM runs WHERE {BY_KEY}"),
            params![key.config, key.workload, key.threads, key.repeat],
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)),
        )?;
        let Some((stored, state)) = found.into_iter().next() else { return Ok(None) };
        if stored != fingerprint {
            bail!(
                "the plan differs from the one that {} was made with (run {key}); give another \
                --out",
                self.path.display()
            );
        }
        state.parse().map(Some).map_err(anyhow::Error::msg)
    }

    /// Returns true if every run is done or failed.
    pub fn is_finished(&self) -> Result<bool> {
        self.allow();
        let open = "SELECT config FROM runs WHERE state NOT IN ('done', 'failed') LIMIT 1";
        Ok(self.column(open, [])?.is_empty())
    }

    /// All series of a run, in the order of writing.
    pub fn series(&self, trial_id: i64) -> Result<Vec<Series>> {
        self.allow();
        let heads = self.rows(
            "SELECT id, name, unit, label, layer FROM series WHERE run_id = ?1 ORDER BY id",
            [trial_id],
            |row| {
                let id: i64 = row.get(0)?;
                let (name, label): (String, String) = (row.get(1)?, row.get(3)?);
                let (unit, layer): (String, String) = (row.get(2)?, row.get(4)?);
                Ok((id, name, label, unit, layer))
            },
        )?;
        self.check(heads.len() <= SERIES_MAX, || format!("a run has {} series", heads.len()))?;
        let series = heads.into_iter().map(|(id, name, label, unit, layer)| {
            self.check_name("series", &name)?;
            self.check_name("label", &label)?;
            let unit = self.word(&unit, &format!("series {name}"))?;
            let layer = self.word(&layer, &format!("series {name}"))?;
            self.with_points(id, Series { name, unit, label, layer, points: Vec::new() })
        });
        series.collect()
    }

    /// Parses a stored word, which belongs to `of_what`.
    fn word<T: FromStr<Err = String>>(&self, word: &str, of_what: &str) -> Result<T> {
        word.parse().map_err(|error| {
            anyhow!(
                "cannot read {of_what} of the study {}: {error}; it is damaged, or a later \
                version made it",
                self.path.display()
            )
        })
    }

    fn with_points(&self, id: i64, series: Series) -> Result<Series> {
        let points = self.rows(
            "SELECT second, value FROM samples WHERE series_id = ?1 ORDER BY second",
            [id],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        self.check_points(&series.name, &points)?;
        Ok(Series { points, ..series })
    }

    /// All latency distributions of a run.
    pub fn histograms(&self, trial_id: i64) -> Result<Vec<Histogram>> {
        self.allow();
        let rows = self.rows(
            "SELECT kind, clock, latency_ns, count FROM histograms WHERE run_id = ?1
             ORDER BY kind, clock, latency_ns",
            [trial_id],
            |row| {
                let bucket = (row.get::<_, i64>(2)?, row.get::<_, i64>(3)?);
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, bucket))
            },
        )?;
        let mut histograms: Vec<Histogram> = Vec::new();
        for (kind, clock, (latency_ns, count)) in rows {
            let of_what = || format!("a latency of {kind:?}");
            let bucket = (
                self.count(&of_what(), latency_ns, LATENCY_NS_MAX)?,
                self.count(&of_what(), count, COUNT_MAX)?,
            );
            let clock = self.word(&clock, &format!("latencies of {kind}"))?;
            let kind = Timed::named(&kind);
            match histograms.last_mut() {
                Some(last) if last.kind == kind && last.clock == clock => last.buckets.push(bucket),
                _ => histograms.push(Histogram { kind, clock, buckets: vec![bucket] }),
            }
        }
        Ok(histograms)
    }

    /// Response times of a run's transactions by second, if recorded.
    pub fn second_latencies(&self, trial_id: i64) -> Result<Option<SecondLatencies>> {
        self.allow();
        let blobs: Vec<Vec<u8>> = self.rows(
            "SELECT histograms FROM second_latencies WHERE run_id = ?1",
            [trial_id],
            |row| row.get(0),
        )?;
        blobs.into_iter().next().map(SecondLatencies::from_blob).transpose()
    }

    /// A series of a run, if recorded.
    pub fn points(&self, trial_id: i64, name: &str) -> Result<Vec<(u32, f64)>> {
        self.allow();
        let points = self.rows(
            "SELECT second, value FROM samples JOIN series ON id = series_id
             WHERE run_id = ?1 AND name = ?2 ORDER BY second",
            params![trial_id, name],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        self.check_points(name, &points)?;
        Ok(points)
    }

    /// Checks seconds and order: callers iterate over all seconds from the first to the last.
    fn check_points(&self, name: &str, points: &[(u32, f64)]) -> Result<()> {
        let is_ordered = points.is_sorted_by(|a, b| a.0 < b.0);
        let is_one = |(second, value): &(u32, f64)| *second <= SECONDS_MAX && value.is_finite();
        self.check(is_ordered && points.iter().all(is_one), || {
            format!("series {name:?} holds seconds or values that no run has")
        })
    }

    /// Fails with the message of a damaged study unless `is_sound`.
    fn check(&self, is_sound: bool, what: impl FnOnce() -> String) -> Result<()> {
        if is_sound {
            return Ok(());
        }
        bail!(
            "the study {} is damaged: {}; use a backup of the study, or run it again with \
            another --out",
            self.path.display(),
            what()
        )
    }

    fn check_name(&self, what: &str, name: &str) -> Result<()> {
        self.check(name.len() <= NAME_BYTES_MAX, || {
            let start: String = name.chars().take(20).collect();
            format!("the {what} {start:?}… has {} bytes", name.len())
        })
    }

    /// Checks a stored count against its limit.
    fn count(&self, what: &str, stored: i64, most: u64) -> Result<u64> {
        let count = u64::try_from(stored).ok().filter(|count| *count <= most);
        self.check(count.is_some(), || format!("{what} holds {stored}"))?;
        Ok(count.unwrap_or_default())
    }

    /// All server variables of a run.
    pub fn variables(&self, trial_id: i64) -> Result<BTreeMap<String, String>> {
        self.allow();
        self.rows(
            "SELECT name, value FROM variables JOIN runs ON hash = variables_hash WHERE id = ?1",
            [trial_id],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .map(BTreeMap::from_iter)
    }

    fn notes(&self) -> Result<Vec<Note>> {
        let words = self.column("SELECT kind FROM notes ORDER BY kind", [])?;
        words.iter().map(|word| word.parse().map_err(anyhow::Error::msg)).collect()
    }

    fn configs(&self) -> Result<Vec<Config>> {
        let rows = self.rows(
            "SELECT name, rig_json, settings_json FROM configs ORDER BY position",
            [],
            three_texts,
        )?;
        rows.into_iter()
            .map(|(name, rig, settings)| {
                Ok(Config { name, rig: parse(&rig)?, settings: parse(&settings)? })
            })
            .collect()
    }

    fn workloads(&self) -> Result<Vec<WorkloadRecord>> {
        let rows = self.rows(
            "SELECT name, data_profile, workload, recipe, options_json FROM workloads ORDER BY \
            position",
            [],
            |row| {
                let workload = WorkloadRecord {
                    name: row.get(0)?,
                    data_profile: row.get(1)?,
                    workload: row.get(2)?,
                    recipe: row.get(3)?,
                    options: BTreeMap::new(),
                };
                Ok((workload, row.get::<_, String>(4)?))
            },
        )?;
        let whole = |(workload, options): (WorkloadRecord, String)| {
            Ok(WorkloadRecord { options: parse(&options)?, ..workload })
        };
        rows.into_iter().map(whole).collect()
    }

    pub(super) fn trials(&self) -> Result<Vec<Trial>> {
        let heads = self.rows(
            "SELECT id, config, workload, threads, repeat, position, state, reason, started_at,
             ended_at, window_from_s, window_to_s, facts_json, capacity_json FROM runs",
            [],
            |row| {
                let window: (Option<f64>, Option<f64>) = (row.get(10)?, row.get(11)?);
                let state: String = row.get(6)?;
                let facts: String = row.get(12)?;
                let capacity: Option<String> = row.get(13)?;
                let trial = Trial {
                    id: row.get(0)?,
                    key: trial_key(row, 1)?,
                    position: row.get(5)?,
                    state: RunState::Pending,
                    reason: row.get(7)?,
                    started_at: row.get(8)?,
                    ended_at: row.get(9)?,
                    window: window.0.zip(window.1).map(|(from_s, to_s)| Window { from_s, to_s }),
                    warnings: Vec::new(),
                    facts: BTreeMap::new(),
                    results: BTreeMap::new(),
                    errors: BTreeMap::new(),
                    phases: Vec::new(),
                    servers: Vec::new(),
                    capacity: None,
                };
                Ok((trial, state, facts, capacity))
            },
        )?;
        heads
            .into_iter()
            .map(|(trial, state, facts, capacity)| {
                let state = state.parse().map_err(anyhow::Error::msg)?;
                self.check_key(&trial.key)?;
                self.check_window(&trial, trial.window)?;
                let capacity = capacity.as_deref().map(parse).transpose()?;
                self.with_figures(Trial { state, facts: parse(&facts)?, capacity, ..trial })
            })
            .collect()
    }

    /// Checks that a window is short enough to iterate over its seconds.
    fn check_window(&self, trial: &Trial, window: Option<Window>) -> Result<()> {
        let Some(Window { from_s, to_s }) = window else { return Ok(()) };
        let is_one = 0.0 <= from_s && from_s <= to_s && to_s <= f64::from(SECONDS_MAX);
        self.check(is_one, || {
            format!("run {} has an invalid measuring window, {from_s:?} to {to_s:?}", trial.key)
        })
    }

    /// Checks the numbers of listed items, which tables of a report multiply.
    fn check_counts(&self, study: Study) -> Result<Study> {
        let names: BTreeSet<&str> = study
            .trials
            .iter()
            .flat_map(|trial| trial.results.keys().map(String::as_str))
            .collect();
        for (what, count, most) in [
            ("configurations", study.configs.len(), LISTED_MAX),
            ("workloads", study.workloads.len(), LISTED_MAX),
            ("runs", study.trials.len(), RUNS_MAX),
            ("sessions", study.sessions.repeats.len(), LISTED_MAX),
            ("results", names.len(), RESULTS_MAX),
        ] {
            self.check(count <= most, || {
                format!("it has {count} {what}, and a study has at most {most}")
            })?;
        }
        Ok(study)
    }

    fn check_key(&self, key: &TrialKey) -> Result<()> {
        let TrialKey { config, workload, threads, repeat } = key;
        self.check_name("configuration", config)?;
        self.check_name("workload", workload)?;
        self.check(*threads <= THREADS_MAX && *repeat <= REPEAT_MAX, || {
            format!("a run has {threads} threads and is repeat {repeat}")
        })
    }

    fn with_figures(&self, trial: Trial) -> Result<Trial> {
        let id = trial.id;
        let results =
            self.rows("SELECT name, value FROM results WHERE run_id = ?1", [id], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        let errors =
            self.rows("SELECT code, count FROM errors WHERE run_id = ?1", [id], |row| {
                Ok((row.get(0)?, row.get::<_, i64>(1)?))
            })?;
        let results: Vec<(String, f64)> = results;
        self.check(results.iter().all(|(_, value)| value.is_finite()), || {
            format!("a result of run {} is not a finite number", trial.key)
        })?;
        let counted = |(code, count)| Ok((code, self.count("an error", count, COUNT_MAX)?));
        let errors = errors.into_iter().map(counted).collect::<Result<BTreeMap<u16, u64>>>()?;
        Ok(Trial {
            warnings: self.warnings(id)?,
            phases: self.phases(&trial)?,
            servers: self.servers(id)?,
            results: BTreeMap::from_iter(results),
            errors,
            ..trial
        })
    }

    fn servers(&self, id: i64) -> Result<Vec<OfServer>> {
        let stored = self.rows(
            "SELECT server, neighbour, results_json FROM servers WHERE run_id = ?1 ORDER BY server",
            [id],
            |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?)),
        )?;
        let whole = |(server, neighbour, results): (u32, Option<String>, String)| {
            Ok(OfServer { server, neighbour, results: parse(&results)? })
        };
        stored.into_iter().map(whole).collect()
    }

    fn phases(&self, trial: &Trial) -> Result<Vec<Phase>> {
        let stored = self.rows(
            "SELECT name, from_s, to_s, workload, pace_json, happened_json FROM phases
             WHERE run_id = ?1 ORDER BY position",
            [trial.id],
            |row| {
                let window = Window { from_s: row.get(1)?, to_s: row.get(2)? };
                let names: (String, Option<String>) = (row.get(0)?, row.get(3)?);
                Ok((names, window, row.get::<_, String>(4)?, row.get::<_, Option<String>>(5)?))
            },
        )?;
        let whole = |((name, workload), window, pace, happened): (_, _, String, Option<String>)| {
            self.check_window(trial, Some(window))?;
            let happened = happened.as_deref().map(parse).transpose()?;
            Ok(Phase { name, window, pace: parse(&pace)?, workload, happened })
        };
        stored.into_iter().map(whole).collect()
    }

    fn warnings(&self, trial_id: i64) -> Result<Vec<Warning>> {
        let stored = self.rows(
            "SELECT kind, facts_json FROM warnings WHERE run_id = ?1 ORDER BY id",
            [trial_id],
            |row| Ok(Stored { kind: row.get(0)?, facts_json: row.get(1)? }),
        )?;
        stored.into_iter().map(Stored::warning).collect()
    }

    fn facts(&self) -> Result<BTreeMap<String, String>> {
        self.named("fact.")
    }

    /// Entries of the study's head whose keys begin with `prefix`, by the rest of the key.
    pub(super) fn named(&self, prefix: &str) -> Result<BTreeMap<String, String>> {
        self.rows(
            "SELECT substr(key, length(?1) + 1), value FROM study WHERE substr(key, 1, \
            length(?1)) = ?1",
            [prefix],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .map(BTreeMap::from_iter)
    }

    fn text(&self, key: &str) -> Result<Option<String>> {
        Ok(self.column("SELECT value FROM study WHERE key = ?1", params![key])?.pop())
    }

    pub(super) fn column(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<String>> {
        self.rows(sql, parameters, |row| row.get(0))
    }

    fn rows<T>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        let read_all = || {
            let mut statement = self.db.prepare_cached(sql)?;
            let mut rows = statement.query(parameters)?;
            while let Some(row) = rows.next()? {
                if !self.spend(row)? {
                    return Ok(false);
                }
                all.push(read(row)?);
            }
            Ok(true)
        };
        let is_within = read_all().map_err(|error| self.cannot("read", error))?;
        self.check(is_within, || "its file holds rows that repeat themselves".to_owned())?;
        Ok(all)
    }

    /// All power cuts, by configuration and number.
    pub fn power_cuts(&self) -> Result<Vec<PowerCut>> {
        self.allow();
        let texts = self.column("SELECT cut_json FROM power_cuts ORDER BY config, number", [])?;
        let parse = |text: String| {
            serde_json::from_str(&text).context("a power cut in the study cannot be understood")
        };
        texts.into_iter().map(parse).collect()
    }

    /// Sets the allowance of a query: the size of the file, twice for joined rows. Pages of a
    /// damaged file can point to each other and hold unlimited rows.
    pub(super) fn allow(&self) {
        let bytes = self.path.metadata().map_or(0, |file| file.len());
        self.allowance.set(ALLOWANCE_BYTES.saturating_add(bytes.saturating_mul(2)));
    }

    /// Subtracts a row's bytes from the allowance: at least a byte for each column's type, and the
    /// length of each text (sqlite.org/fileformat2.html, "Record Format"). Returns false if nothing
    /// is left.
    fn spend(&self, row: &Row<'_>) -> rusqlite::Result<bool> {
        let columns = row.as_ref().column_count();
        let mut bytes = 2 + columns as u64;
        for column in 0..columns {
            bytes += match row.get_ref(column)? {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len() as u64,
                _ => 0,
            };
        }
        let left = self.allowance.get().checked_sub(bytes);
        self.allowance.set(left.unwrap_or(0));
        Ok(left.is_some())
    }
}

fn trial_key(row: &Row<'_>, first: usize) -> rusqlite::Result<TrialKey> {
    Ok(TrialKey {
        config: row.get(first)?,
        workload: row.get(first + 1)?,
        threads: row.get(first + 2)?,
        repeat: row.get(first + 3)?,
    })
}

fn three_texts(row: &Row<'_>) -> rusqlite::Result<(String, String, String)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

fn parse<T: DeserializeOwned>(json: &str) -> Result<T> {
    serde_json::from_str(json).context("the study holds JSON that does not parse")
}
