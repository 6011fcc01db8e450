//! One configuration under power cuts: its rig and server, from one cut to the next.
//!
//! What survived a cut is what the next one begins with. After a loss everything begins anew.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use assay_base::Size;
use assay_load::{Endpoint, LoadSpec, Schedule, Schema, Workload};
use assay_models::power::{Drawn, Survival, draw};
use assay_plan::{Experiment, PlannedDisk};
use assay_serve::CutOrder;
use assay_study::Differing;
use assay_study::power_cut::{Aftermath, Commits, Loss, PowerCut, RecoveryTime, Replication};

use super::aftermath::aftermath;
use super::checks;
use super::expected::{Expected, Sent};
use super::kept::{KeptCut, KeptDisk};
use super::replica::Replica;
use super::rows::Rows;
use super::running::{Place, Running};
use super::writers::{self, Said};
use super::{Cutting, RepeatedCut, fingerprint_of};
use crate::rig::powered::{Fallen, PoweredRig};
use crate::rig::server;
use crate::rig::snapshot::{SnapshotRequest, endpoint};
use crate::run::ConfigSetup;

/// A page, unless the settings say otherwise (MySQL reference manual, `innodb_page_size`).
const PAGE_BYTES: u64 = 16 << 10;

/// The load beside the writers ends with the power.
const LOAD_S: f64 = 86_400.0;

/// A configuration that stands, and whose power is cut.
pub(super) struct Cuts<'a> {
    cutting: &'a Cutting<'a>,
    name: &'a str,
    config: &'a ConfigSetup,
    fingerprint: String,
    rows: Rows,
    // Dropped from here: the servers before the rig.
    running: Option<Running>,
    replica: Option<Replica<'a>>,
    rig: PoweredRig<'a>,
    expected: Expected,
    directory: PathBuf,
    /// Differences of the rig from the plan.
    differing: Vec<Differing>,
    /// Other configurations are cut between its cuts.
    takes_turns: bool,
    /// Server and rig were shut down after a cut, and their media hold what it left.
    is_down: bool,
}

/// Load and power cut, as seen from outside.
struct Loaded {
    survival: Survival,
    sent: Vec<Sent>,
    /// The server ended before the power was cut.
    ended: Option<Loss>,
}

/// State after recovery from a cut.
#[derive(Default)]
struct Came {
    commits: Option<Commits>,
    recovery: Option<RecoveryTime>,
    losses: Vec<Loss>,
}

impl<'a> Cuts<'a> {
    /// Makes the configuration's rig with its tables, whose media the cuts begin with. If it
    /// `takes_turns` with others, it is down between its cuts.
    ///
    /// # Errors
    /// What could not be made.
    pub(super) fn make(
        cutting: &'a Cutting<'a>,
        name: &'a str,
        config: &'a ConfigSetup,
        directory: &Path,
        takes_turns: bool,
    ) -> Result<Cuts<'a>> {
        let mut cuts = Cuts::bare(cutting, name, config, directory)?;
        cuts.takes_turns = takes_turns;
        let how = cuts.replication();
        let replica = how.map(|how| Replica::new(cutting, config, how, directory)).transpose();
        cuts.replica = replica.map_err(|error| cuts.explain(error))?;
        cuts.fill().map_err(|error| cuts.explain(error))?;
        Ok(cuts)
    }

    /// The configuration's rig with nothing on it.
    ///
    /// # Errors
    /// Its directory cannot be made.
    pub(super) fn bare(
        cutting: &'a Cutting<'a>,
        name: &'a str,
        config: &'a ConfigSetup,
        directory: &Path,
    ) -> Result<Cuts<'a>> {
        let Experiment { power_cut, seed, placement, .. } = cutting.experiment;
        let rows = Rows::new(*seed, power_cut.writers, power_cut.rows);
        let file = config.rig.disk().and_then(PlannedDisk::powered);
        let file = file.context("the power can be cut of files alone")?;
        let cpus = &placement.drive_cpus.0;
        let rig = PoweredRig::new(file, cpus, directory, &cutting.ledger)?;
        Ok(Cuts {
            cutting,
            name,
            config,
            fingerprint: fingerprint_of(cutting.experiment, name, config)?,
            rows,
            running: None,
            replica: None,
            rig,
            expected: Expected::new(rows),
            directory: directory.to_owned(),
            differing: Vec::new(),
            takes_turns: false,
            is_down: false,
        })
    }

    /// Differences of the rig from the plan, known once it is made.
    pub(super) fn differing(&self) -> &[Differing] {
        &self.differing
    }

    fn base(&self) -> PathBuf {
        self.directory.join("base.img")
    }

    fn fill(&mut self) -> Result<()> {
        self.rig.make()?;
        self.differing = self.rig.in_effect().differing;
        let data_dir = self.rig.data_dir();
        let binary = self.config.server()?;
        match self.workload() {
            Some(_) => {
                let request = SnapshotRequest {
                    binary,
                    schema: &self.config.schema,
                    settings: &self.config.settings,
                    threads: 2,
                    seed: self.cutting.experiment.seed,
                    only_of: None,
                };
                let mut snapshots = self.cutting.snapshots.lock();
                let snapshot =
                    snapshots.get(&request, self.cutting.interrupt, self.cutting.loading)?;
                snapshot.restore(&data_dir)?;
            }
            None => {
                let say = |text: &str| self.cutting.loading.say(text);
                server::make_datadir(binary, &self.config.settings, &data_dir, &say)?;
            }
        }
        let running = self.start()?;
        let options = &self.config.schema.create_table_options;
        writers::prepare(&running.endpoint(), &self.rows, options)?;
        if let Some(replica) = &self.replica {
            replica.prepare(&running.server)?;
        }
        running.stop_in_order()?;
        if let Some(replica) = &self.replica {
            replica.copy(&data_dir)?;
        }
        self.rig.take_down()?;
        self.rig.save_media(&self.base())
    }

    /// The workload that runs beside the writers.
    fn workload(&self) -> Option<&'a Workload> {
        let name = self.cutting.experiment.power_cut.workload.as_ref()?;
        self.cutting.experiment.workloads.get(name)?.spec.server()
    }

    fn workload_tables(&self) -> Option<&'a Schema> {
        self.workload().map(|_| &self.config.schema)
    }

    /// Replication mode of its replica, if it has one.
    fn replication(&self) -> Option<Replication> {
        self.cutting.experiment.power_cut.replicas.get(self.name).copied()
    }

    /// Cuts the power once, and checks what comes up again.
    ///
    /// # Errors
    /// A power cut that cannot be made. A loss is not an error.
    pub(super) fn cut(&mut self, number: u32, seed: u64) -> Result<PowerCut> {
        if self.is_down {
            if let Err(loss) = self.come_back() {
                self.cutting.interrupt.check()?;
                self.throw_away()?;
                return Ok(PowerCut { losses: vec![loss], ..self.blank(number, seed) });
            }
        } else if self.running.is_none() {
            self.begin_anew().map_err(|error| self.explain(error))?;
        }
        let load_ms = self.cutting.experiment.power_cut.load_ms;
        let drawn = draw(seed, load_ms, self.rig.is_drive());
        let began = Instant::now();
        let Loaded { survival, sent, ended } = self.load_and_cut(&drawn)?;
        let loaded_ms = began.elapsed().as_secs_f64() * 1e3;
        let mut cut = PowerCut { loaded_ms, survival, ..self.blank(number, seed) };
        if self.replica.is_some() {
            self.take_over(&sent)?.tell(&mut cut);
            cut.losses.splice(0..0, ended);
        } else {
            self.come_up_or_keep(sent, ended, &mut cut)?;
        }
        Ok(cut)
    }

    /// A cut before anything is known of it.
    fn blank(&self, number: u32, seed: u64) -> PowerCut {
        let load_ms = self.cutting.experiment.power_cut.load_ms;
        PowerCut {
            config: self.name.to_owned(),
            number,
            fingerprint: self.fingerprint.clone(),
            seed,
            block_began_ms: None,
            moment: draw(seed, load_ms, self.rig.is_drive()).moment,
            loaded_ms: 0.0,
            survival: Survival::default(),
            replica: self.replication(),
            commits: None,
            recovery: None,
            losses: Vec::new(),
            kept_in: None,
            aftermath: None,
        }
    }

    /// Shuts server and rig down until the next cut, so that neither takes memory or CPU time from
    /// the other configurations. A server that does not shut down is a loss.
    fn go_down(&mut self) -> Result<Vec<Loss>> {
        if let Err(error) = self.stop_in_order() {
            return Ok(vec![Loss::ServerEnded { reason: one_line(&error) }]);
        }
        self.rig.take_down()?;
        self.is_down = true;
        Ok(Vec::new())
    }

    /// Brings rig and server up after [`Cuts::go_down`].
    fn come_back(&mut self) -> Result<(), Loss> {
        self.rig.stand_up().map_err(Fallen::into_loss)?;
        let next_start = |error| Loss::NextStart { reason: one_line(&error) };
        self.running = Some(self.start().map_err(next_start)?);
        self.is_down = false;
        Ok(())
    }

    /// Brings up again what lost its power; if that lost something, keeps it as the power cut left
    /// it.
    fn come_up_or_keep(
        &mut self,
        sent: Vec<Sent>,
        ended: Option<Loss>,
        cut: &mut PowerCut,
    ) -> Result<()> {
        self.rig.clear()?;
        let image = self.directory.join("cut.img");
        self.rig.save_media(&image)?;
        let before = self.expected.clone();
        self.come_up(&sent)?.tell(cut);
        cut.losses.splice(0..0, ended);
        if !cut.is_survived() {
            cut.aftermath = self.aftermath(&image, &before, &sent)?;
            let (config, number) = (self.name.to_owned(), cut.number);
            let kept = KeptCut { config, number, expected: before, sent };
            cut.kept_in = self.cutting.kept.keep(&image, &kept)?;
        }
        std::fs::remove_file(&image).or_else(|error| match error.kind() {
            // It is kept now.
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error.into()),
        })
    }

    /// Brings up the disk once more as the power cut left it, and finds out which pages are torn
    /// and whether their newest copies bring back what was lost; nothing if there is no data
    /// directory that could be read.
    fn aftermath(
        &mut self,
        image: &Path,
        before: &Expected,
        sent: &[Sent],
    ) -> Result<Option<Aftermath>> {
        self.throw_away()?;
        self.rig.restore_media(image)?;
        if self.rig.stand_up().is_err() {
            return Ok(None);
        }
        self.expected = before.clone();
        let data_dir = self.rig.data_dir();
        let found = aftermath(&data_dir, || Ok(self.start_and_check(Duration::ZERO, sent)?.losses));
        self.throw_away()?;
        found.map(Some).or_else(|error| {
            log::debug!("the pages could not be read: {error:#}");
            Ok(None)
        })
    }

    /// Lets the replica take over from the server that is gone, and checks all that it has.
    /// Whatever it has, the next cut begins anew.
    fn take_over(&mut self, sent: &[Sent]) -> Result<Came> {
        let tables = self.workload_tables();
        // A primary that waits for no replica may lose what it acknowledged last.
        let may_lose = self.replication() == Some(Replication::Async);
        let replica = self.replica.as_mut().context("there is no replica")?;
        let took = match replica.take_over()? {
            Ok(took) => took,
            Err(reason) => {
                let reason = assay_base::text::on_one_line(&reason);
                self.throw_away()?;
                return Ok(Came::lost(Loss::TakeOver { reason }));
            }
        };
        let recovery =
            RecoveryTime { server_ms: took.as_secs_f64() * 1e3, ..RecoveryTime::default() };
        let mut came = Came { recovery: Some(recovery), ..Came::default() };
        let running = replica.running().context("the replica has ended")?;
        came.check(running, tables, &mut self.expected, sent, may_lose)?;
        let losses = match replica.stop_in_order() {
            Ok(()) => check_files(self.config, &replica.data_dir())?,
            Err(error) => vec![Loss::ServerEnded { reason: one_line(&error) }],
        };
        came.losses.extend(losses);
        self.throw_away()?;
        Ok(came)
    }

    /// Brings up what was kept of a cut, and checks it again.
    ///
    /// # Errors
    /// The reason why the power cut could not be made.
    pub(super) fn repeat(&mut self, kept: &KeptDisk) -> Result<RepeatedCut> {
        let (image, cut) = kept.read()?;
        ensure!(
            cut.expected.rows() == &self.rows,
            "the plan has changed since: writers, rows or seed"
        );
        self.rig.restore_media(&image)?;
        self.expected = cut.expected.clone();
        let came = self.come_up(&cut.sent)?;
        let aftermath = self.aftermath(&image, &cut.expected, &cut.sent)?;
        Ok(RepeatedCut { commits: came.commits, losses: came.losses, aftermath })
    }

    /// Takes everything down.
    ///
    /// # Errors
    /// What cannot be taken down.
    pub(super) fn take_down(mut self) -> Result<()> {
        self.throw_away()
    }

    /// Puts the media of the beginning in place, and starts the server on them.
    fn begin_anew(&mut self) -> Result<()> {
        self.throw_away()?;
        self.rig.restore_media(&self.base())?;
        self.rig.stand_up().map_err(Fallen::into_error)?;
        self.expected = Expected::new(self.rows);
        if let Some(replica) = &mut self.replica {
            replica.renew_port()?;
        }
        let running = self.start()?;
        if let Some(replica) = &mut self.replica {
            replica.follow(&running.server)?;
        }
        self.running = Some(running);
        Ok(())
    }

    fn throw_away(&mut self) -> Result<()> {
        self.is_down = false;
        if let Some(running) = self.running.take() {
            running.kill()?;
        }
        if let Some(replica) = &mut self.replica {
            replica.throw_away()?;
        }
        self.rig.clear()
    }

    /// Loads the server, cuts the power and kills the server; what survived, and what the writers
    /// had said by then.
    fn load_and_cut(&mut self, drawn: &Drawn) -> Result<Loaded> {
        let mut running = self.running.take().context("no server runs")?;
        let order = CutOrder {
            moment: drawn.moment,
            within_ms: self.cutting.experiment.power_cut.load_ms / 2,
            seed: drawn.seed,
        };
        let said: Vec<Said> = self.expected.kept().iter().copied().map(Said::from).collect();
        let (stop, socket) = (AtomicBool::new(false), running.endpoint());
        let workload = self.workload();
        let (rig, replica) = (&mut self.rig, &mut self.replica);
        let (cutting, config) = (self.cutting, self.config);
        let (survival, ended) = std::thread::scope(|scope| {
            let begun = writers::begin(scope, &socket, &self.expected, &said, &stop);
            if let (Ok(_), Some(workload)) = (&begun, workload) {
                let place = endpoint(running.server.socket());
                let stop = &stop;
                scope.spawn(move || load_beside(cutting, config, &place, workload, stop));
            }
            if begun.is_ok() {
                std::thread::sleep(drawn.load);
            }
            let ended = running.ended_under_load(begun.is_err());
            let cut =
                begun.or_else(|error| matches!(ended, Ok(Some(_))).then_some(()).ok_or(error));
            let cut = cut.and_then(|()| rig.cut_power(&order));
            replica.iter_mut().for_each(Replica::cut_off);
            // The server goes with the power, and with it all who talk to it.
            stop.store(true, Ordering::Relaxed);
            running.kill()?;
            anyhow::Ok((cut?, ended?))
        })?;
        self.cutting.interrupt.check()?;
        let ended = ended.map(|reason| Loss::EndedUnderLoad { reason });
        Ok(Loaded { survival, sent: said.iter().map(Said::sent).collect(), ended })
    }

    /// Brings up rig and server, checks all that they have, and leaves the server running if
    /// nothing is wrong.
    fn come_up(&mut self, sent: &[Sent]) -> Result<Came> {
        let stood = match self.rig.stand_up() {
            Ok(stood) => stood,
            Err(fallen) => return Ok(Came::lost(fallen.into_loss())),
        };
        self.start_and_check(stood, sent)
    }

    /// Starts the server on the rig that stands, which took so long, and checks all that it has.
    fn start_and_check(&mut self, stood: Duration, sent: &[Sent]) -> Result<Came> {
        let began = Instant::now();
        let running = match self.start() {
            Ok(running) => running,
            Err(error) => return Ok(Came::lost(Loss::Server { reason: one_line(&error) })),
        };
        let server_ms = began.elapsed().as_secs_f64() * 1e3;
        let repaired = running.server.repaired();
        let recovery = RecoveryTime {
            file_system_ms: stood.as_secs_f64() * 1e3,
            server_ms,
            redo_bytes: repaired.redo_bytes,
            doublewrite_pages: repaired.doublewrite_pages,
        };
        // One that ends before it is asked this much has not come up either.
        let may_lose = match running.may_lose(self.config) {
            Ok(may_lose) => may_lose,
            Err(error) => return Ok(Came::lost(Loss::Server { reason: one_line(&error) })),
        };
        let mut came = Came { recovery: Some(recovery), ..Came::default() };
        let tables = self.workload_tables();
        let running = self.running.insert(running);
        came.check(running, tables, &mut self.expected, sent, may_lose)?;
        came.losses.extend(self.check_pages(came.losses.is_empty())?);
        Ok(came)
    }

    /// Stops the server, has every page looked at, and starts it again if it `goes_on`. A start
    /// that fails then is a loss of this cut: recovery may leave damage that no check finds.
    fn check_pages(&mut self, goes_on: bool) -> Result<Vec<Loss>> {
        if let Err(error) = self.stop_in_order() {
            return Ok(vec![Loss::ServerEnded { reason: one_line(&error) }]);
        }
        let losses = check_files(self.config, &self.rig.data_dir())?;
        if losses.is_empty() && goes_on {
            match self.start() {
                Ok(running) => self.running = Some(running),
                Err(error) => return Ok(vec![Loss::NextStart { reason: one_line(&error) }]),
            }
            if self.takes_turns {
                return self.go_down();
            }
        }
        Ok(losses)
    }

    fn stop_in_order(&mut self) -> Result<()> {
        self.running.take().map_or(Ok(()), Running::stop_in_order)
    }

    fn start(&self) -> Result<Running> {
        let (data_dir, run_dir) = (self.rig.data_dir(), self.directory.join("run"));
        let (settings, port) = self.replica.as_ref().map(Replica::of_primary).unzip();
        let settings = settings.unwrap_or_default();
        let place = Place { data_dir: &data_dir, run_dir: &run_dir, settings, port };
        Running::start(self.cutting, self.config, place)
    }

    fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        error.context(format!("configuration `{}`", self.name))
    }
}

impl Came {
    fn lost(loss: Loss) -> Came {
        Came { losses: vec![loss], ..Came::default() }
    }

    /// Checks all that the server has.
    fn check(
        &mut self,
        running: &mut Running,
        workload_tables: Option<&Schema>,
        expected: &mut Expected,
        sent: &[Sent],
        may_lose: bool,
    ) -> Result<()> {
        match checks::tables(&running.endpoint(), workload_tables, expected, sent, may_lose) {
            Ok(checked) => {
                self.commits = Some(checked.commits);
                self.losses.extend(checked.losses);
            }
            // One that ended while it was asked has found something that it cannot live with.
            Err(error) if running.server.ended()?.is_some() => {
                self.losses.push(Loss::ServerEnded { reason: one_line(&error) });
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn tell(self, cut: &mut PowerCut) {
        cut.commits = self.commits;
        cut.recovery = self.recovery;
        cut.losses = self.losses;
    }
}

impl Fallen {
    fn into_error(self) -> anyhow::Error {
        match self {
            Fallen::Disk(error) | Fallen::FileSystem(error) => error,
        }
    }

    fn into_loss(self) -> Loss {
        match self {
            Fallen::Disk(error) => Loss::Drive { reason: one_line(&error) },
            Fallen::FileSystem(error) => Loss::FileSystem { reason: one_line(&error) },
        }
    }
}

/// Runs the plan's workload until the server is gone.
fn load_beside(
    cutting: &Cutting<'_>,
    config: &ConfigSetup,
    place: &Endpoint,
    workload: &Workload,
    stop: &AtomicBool,
) {
    let schedule = Schedule {
        threads: cutting.experiment.power_cut.workload_threads,
        seconds: LOAD_S,
        seed: cutting.experiment.seed,
        cpus: cutting.experiment.placement.load_cpus.0.clone(),
        ..Schedule::default()
    };
    let (endpoint, schema) = (place.clone(), config.schema.clone());
    let load = LoadSpec { endpoint, schema, workload: workload.clone(), schedule };
    if let Err(error) = assay_load::run(&load, None, &(), stop) {
        log::debug!("the load beside the writers ended: {error}");
    }
}

/// Checks every page below a data directory that no server uses.
fn check_files(config: &ConfigSetup, data_dir: &Path) -> Result<Vec<Loss>> {
    let page = config.settings.get("innodb_page_size");
    let page_bytes = page.and_then(|text| Size::parse(text).ok()).map_or(PAGE_BYTES, |size| size.0);
    checks::files(config.server()?, data_dir, page_bytes)
}

fn one_line(error: &anyhow::Error) -> String {
    assay_base::text::on_one_line(&format!("{error:#}"))
}
