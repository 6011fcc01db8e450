//! Power cuts under load: what is lost of a configuration, again and again.
//!
//! For each cut the power of a rig's media goes at a moment that a seed draws, the server dies with
//! it, and everything comes up again: drive, file system, server. Then every table, every row of
//! the writers and every page is checked. What the writers were told is kept off the rig.
//!
//! - [`cuts`] brings one configuration through its cuts, in turn with others; [`running`] is a
//!   server of it, and [`replica`] one that keeps its power and takes over, behind a [`link`]
//! - [`rows`] says what the writers write, [`writers`] writes it, [`expected`] knows what must be
//!   there, [`checks`] looks
//! - [`aftermath`] reads the torn pages of a disk that lost something, and puts their newest copies
//!   back
//! - [`kept`] keeps what lost something, to be looked at again

mod aftermath;
mod checks;
mod cuts;
mod expected;
mod kept;
mod link;
mod replica;
mod rows;
mod running;
mod writers;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use indexmap::IndexMap;
use parking_lot::Mutex;
use serde_json::json;

use crate::rig::snapshot::{LoadProgress, Snapshots};
use crate::run::{ConfigSetup, StudyLock, config_setups, described_config, location_of};
pub use aftermath::pages_left;
use assay_models::power::seed_of;
use assay_plan::{Experiment, PowerCutSpec, VariantKey};
use assay_ports::filesystem;
use assay_study::power_cut::{Aftermath, Commits, Loss, PowerCut};
use assay_study::{Differing, Store, StudyHead, fingerprint};
use assay_system::interrupt::Interrupt;
use assay_system::ledger::{Ledger, LedgerGuard};
use assay_system::new_name;
use cuts::Cuts;
use kept::Keeping;
pub use kept::KeptDisk;

/// Everything that cutting the power needs.
#[derive(Clone, Copy)]
pub struct CutRequest<'a> {
    pub experiment: &'a Experiment,
    /// The text that it was read from.
    pub text: &'a str,
    /// The configurations whose power is cut.
    pub configs: &'a [String],
    pub study: &'a Path,
    /// Whether a configuration ends with its first cut that loses something.
    pub until_loss: bool,
    /// The most media kept for each configuration, of cuts that lost something.
    pub keep: u32,
    pub interrupt: &'a Interrupt,
}

/// Receiver of the progress of power cuts.
pub trait CutProgress: LoadProgress {
    /// A configuration's cuts begin, of which so many are there already. All configurations begin
    /// before the first cut.
    fn begin(&self, config: &str, done: u32, cuts: u32);

    /// The machine gave a configuration something otherwise than the plan asks for.
    fn differs(&self, config: &str, differing: &Differing);

    /// A cut was made and checked.
    fn cut(&self, cut: &PowerCut);
}

/// State shared by all configurations.
struct Cutting<'a> {
    experiment: &'a Experiment,
    interrupt: &'a Interrupt,
    loading: &'a dyn LoadProgress,
    ledger: Arc<Ledger>,
    snapshots: Mutex<Snapshots>,
    kept: Keeping,
    directory: PathBuf,
    // Dropped in this order.
    _work: LedgerGuard,
    _held: StudyLock,
}

impl<'a> Cutting<'a> {
    fn begin(wanted: &CutRequest<'a>, loading: &'a dyn LoadProgress) -> Result<Cutting<'a>> {
        let CutRequest { experiment, study, interrupt, keep, .. } = *wanted;
        let location = location_of(experiment, study)?;
        let held = StudyLock::take(study, Some(&location))?;
        let ledger = Ledger::of_run(&std::path::absolute(study)?)?;
        let directory = location.canonicalize()?.join(new_name("work"));
        let work = ledger.make_directory(&directory)?;
        Ok(Cutting {
            experiment,
            interrupt,
            loading,
            snapshots: Mutex::new(Snapshots::new(directory.clone(), Arc::clone(&ledger))),
            ledger,
            kept: Keeping::new(study, keep),
            directory,
            _work: work,
            _held: held,
        })
    }
}

/// Cuts the power of each configuration as often as wanted, but for the cuts that the study has
/// already. Each goes into the study when it has been checked. Returns how many were not made
/// because somebody had enough: then the interrupt is set.
///
/// # Errors
/// What kept a cut from being made. A loss is none.
pub fn cut(wanted: &CutRequest<'_>, progress: &dyn CutProgress) -> Result<usize> {
    let loading: &dyn LoadProgress = progress;
    let cutting = Cutting::begin(wanted, loading)?;
    let all = setups(wanted.experiment, loading)?;
    let setups = only(&all, wanted)?;
    check_programs(&setups)?;
    let is_new = Store::look(wanted.study)?.is_none();
    let mut store = Store::open_or_create(wanted.study)?;
    if is_new {
        write_head(&mut store, wanted, &all)?;
    }
    let made = cut_setups(wanted, progress, &cutting, &setups, &store);
    if is_new && made.is_err() && store.power_cuts().is_ok_and(|cuts| cuts.is_empty()) {
        // The first cut could not be made: a study of nothing is of no use, and its directory goes
        // with it.
        drop(store);
        let _ = std::fs::remove_file(wanted.study.join(assay_study::FILE_NAME));
    }
    made
}

/// Cuts the power of these configurations in turn: in each block once, in random order, so that
/// what drifts on the machine meets all of them alike.
fn cut_setups(
    wanted: &CutRequest<'_>,
    progress: &dyn CutProgress,
    cutting: &Cutting<'_>,
    setups: &Setups,
    store: &Store,
) -> Result<usize> {
    let lacking = || -> Result<Vec<Lacking<'_>>> {
        let its = setups.iter().map(|(name, (_, config))| {
            Ok(Lacking { name, config, cuts: missing(wanted, cutting, store, name, config)? })
        });
        its.collect()
    };
    let cuts = cutting.experiment.power_cut.cuts;
    let to_cut = lacking()?;
    for one in &to_cut {
        progress.begin(one.name, cuts - one.cuts.len() as u32, cuts);
    }
    let made = cut_in_turn(wanted, cutting, to_cut, store, progress);
    if wanted.interrupt.is_set() {
        return Ok(lacking()?.iter().map(|one| one.cuts.len()).sum());
    }
    made.map(|()| 0)
}

/// A configuration, and the numbers of its cuts that the study lacks.
struct Lacking<'a> {
    name: &'a str,
    config: &'a ConfigSetup,
    cuts: Vec<u32>,
}

/// Makes these cuts, block by block.
fn cut_in_turn(
    wanted: &CutRequest<'_>,
    cutting: &Cutting<'_>,
    lacking: Vec<Lacking<'_>>,
    store: &Store,
    progress: &dyn CutProgress,
) -> Result<()> {
    let lacking: Vec<Lacking<'_>> =
        lacking.into_iter().filter(|one| !one.cuts.is_empty()).collect();
    let takes_turns = lacking.len() > 1;
    let mut all = Vec::new();
    for (place, Lacking { name, config, cuts }) in lacking.into_iter().enumerate() {
        let directory = cutting.directory.join(format!("rig-{place}"));
        let its = Cuts::make(cutting, name, config, &directory, takes_turns)?;
        its.differing().iter().for_each(|one| progress.differs(name, one));
        all.push((name, its, cuts));
    }
    let seed = cutting.experiment.seed;
    for number in 1..=cutting.experiment.power_cut.cuts {
        let mut block: Vec<_> = all.iter_mut().filter(|one| one.2.contains(&number)).collect();
        block.sort_by_key(|one| seed_of(seed, &format!("order of {}", one.0), number));
        let began_ms = (block.len() > 1).then(ms_since_1970);
        for (name, its, left) in block {
            wanted.interrupt.check()?;
            let cut = its.cut(number, seed_of(seed, name, number))?;
            let cut = PowerCut { block_began_ms: began_ms, ..cut };
            store.write_power_cut(&cut)?;
            progress.cut(&cut);
            if wanted.until_loss && !cut.is_survived() {
                left.clear();
            }
        }
    }
    all.into_iter().try_for_each(|(_, its, _)| its.take_down())
}

fn ms_since_1970() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap_or_default().as_millis() as u64
}

/// The result of recovering a kept disk once more.
#[derive(Debug)]
pub struct RepeatedCut {
    /// Commits kept and lost; `None` if the server did not come up.
    pub commits: Option<Commits>,
    pub losses: Vec<Loss>,
    /// The torn pages, where they could be read.
    pub aftermath: Option<Aftermath>,
}

/// Brings up once more what was kept of a cut, and tells what is lost of it.
///
/// # Errors
/// The reason why the power cut could not be made.
pub fn repeat(
    wanted: &CutRequest<'_>,
    kept: &KeptDisk,
    progress: &dyn CutProgress,
) -> Result<RepeatedCut> {
    let loading: &dyn LoadProgress = progress;
    let cutting = Cutting::begin(wanted, loading)?;
    let setups = setups(wanted.experiment, loading)?;
    let (name, _) = kept.name()?;
    let (_, config) =
        setups.get(&name).with_context(|| format!("the plan has no configuration `{name}`"))?;
    let mut cuts = Cuts::bare(&cutting, &name, config, &cutting.directory.join("rig"))?;
    let found = cuts.repeat(kept)?;
    cuts.take_down()?;
    Ok(found)
}

/// Server and settings of each configuration, by its name.
type Setups = IndexMap<String, (VariantKey, ConfigSetup)>;

/// Server and settings of each configuration that is none other run again, on the first of its data
/// profiles.
fn setups(experiment: &Experiment, progress: &dyn LoadProgress) -> Result<Setups> {
    let all = config_setups(experiment, &|text| progress.say(text))?;
    let of_config = |name: &String| {
        let its = all.iter().find(|(key, _)| key.config == *name)?;
        Some((name.clone(), (its.0.clone(), its.1.clone())))
    };
    Ok(experiment.power_cut_configs().filter_map(of_config).collect())
}

/// Those of them that are wanted, in that order.
fn only(all: &Setups, wanted: &CutRequest<'_>) -> Result<Setups> {
    let of_config = |name: &String| {
        let setup = all.get(name);
        let setup = setup.with_context(|| format!("the plan has no configuration `{name}`"))?;
        Ok((name.clone(), setup.clone()))
    };
    wanted.configs.iter().map(of_config).collect()
}

/// The numbers of a configuration's cuts that the study lacks.
fn missing(
    wanted: &CutRequest<'_>,
    cutting: &Cutting<'_>,
    store: &Store,
    name: &str,
    config: &ConfigSetup,
) -> Result<Vec<u32>> {
    let conditions = fingerprint_of(cutting.experiment, name, config)?;
    let there = there(store, name)?;
    ensure!(
        there.iter().all(|cut| cut.fingerprint == conditions),
        "configuration `{name}` has power cuts in this study that were made under other \
        conditions; give another --out"
    );
    let is_enough = wanted.until_loss && there.iter().any(|cut| !cut.is_survived());
    let has = |number: &u32| is_enough || there.iter().any(|cut| cut.number == *number);
    Ok((1..=cutting.experiment.power_cut.cuts).filter(|number| !has(number)).collect())
}

/// The cuts that the study has of a configuration.
fn there(store: &Store, name: &str) -> Result<Vec<PowerCut>> {
    let all = store.power_cuts()?.into_iter();
    Ok(all.filter(|cut| cut.config == name).collect())
}

/// Fingerprint of everything that decides what a cut can lose.
fn fingerprint_of(experiment: &Experiment, name: &str, config: &ConfigSetup) -> Result<String> {
    let spec = &experiment.power_cut;
    let workload = spec.workload.as_ref().and_then(|name| experiment.workloads.get(name));
    let conditions = json!({
        "seed": experiment.seed,
        "power_cut": PowerCutSpec { cuts: 1, ..spec.of_config(name) },
        "workload": workload.map(|workload| &workload.spec),
        "server": config.server()?.version_text,
        "settings": config.settings,
        "schema": config.schema,
        "rig": config.rig_document,
    });
    Ok(fingerprint(&conditions.to_string()))
}

/// Looks for what file systems are made with before anything takes time.
fn check_programs(setups: &Setups) -> Result<()> {
    for (name, (_, config)) in setups {
        let Some(disk) = config.rig.disk() else { continue };
        filesystem::check_maker(disk.file_system.kind.name())
            .with_context(|| format!("configuration `{name}` (--config runs others alone)"))?;
    }
    Ok(())
}

/// Writes the head of a study before its first cut; a study of runs has one already.
fn write_head(store: &mut Store, wanted: &CutRequest<'_>, setups: &Setups) -> Result<()> {
    let experiment = wanted.experiment;
    let location = location_of(experiment, wanted.study)?;
    let described = setups
        .iter()
        .filter_map(|(name, (key, config))| described_config(name, &[(key, config)], &location));
    let configs: Vec<_> = described.collect();
    store.write_head(&StudyHead {
        title: &experiment.title,
        question: experiment.question.as_deref(),
        plan_toml: wanted.text,
        configs: &configs,
        ..StudyHead::default()
    })
}
