//! One configuration under power cuts: its rig and server, from one cut to the next.
//!
//! What survived a cut is what the next one begins with. After a loss everything begins anew.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use assay_base::Size;
use assay_judge::durability::{self, of_config};
use assay_load::{Endpoint, Observer, Schedule, Schema, Workload};
use assay_models::power::{Drawn, Survival, draw};
use assay_plan::RigKind;
use assay_serve::CutOrder;
use assay_study::power_cut::{Commits, Loss, PowerCut, Recovery};
use assay_system::ledger::Made;
use assay_system::resource::Resource;

use super::checks;
use super::kept::{Kept, KeptCut};
use super::ledger::{Ledger, Sent};
use super::rows::Rows;
use super::writers::{self, Said};
use super::{Cutting, fingerprint_of};
use crate::rig::powered::{Fallen, PoweredRig};
use crate::rig::server::{self, Flavour, Server, Start};
use crate::rig::snapshot::{Request, endpoint};
use crate::run::ConfigSetup;

/// A shutdown writes every dirty page.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(300);

/// Recovery may take as long as this until it counts as none.
const RECOVERY_LIMIT: Duration = Duration::from_secs(300);

/// A server that has told of an error and does not come up within this does not come up.
const ERROR_LIMIT: Duration = Duration::from_secs(15);

/// A page, unless the settings say otherwise (MySQL reference manual, `innodb_page_size`).
const PAGE_BYTES: u64 = 16 << 10;

/// The load beside the writers ends with the power.
const LOAD_S: f64 = 86_400.0;

/// A configuration that stands.
pub(super) struct Bench<'a> {
    cutting: &'a Cutting<'a>,
    name: &'a str,
    config: &'a ConfigSetup,
    fingerprint: String,
    rows: Rows,
    // Dropped from here: the server before the rig.
    running: Option<Running>,
    rig: PoweredRig<'a>,
    ledger: Ledger,
    directory: PathBuf,
}

/// A server on the rig.
struct Running {
    server: Server,
    may_lose: bool,
    _listed: Made,
    _run_dir: Made,
}

/// What came up again after a cut.
#[derive(Default)]
struct Came {
    commits: Option<Commits>,
    recovery: Option<Recovery>,
    losses: Vec<Loss>,
}

impl<'a> Bench<'a> {
    /// Makes the configuration's rig with its tables, whose media the cuts begin with.
    ///
    /// # Errors
    /// What could not be made.
    pub(super) fn make(
        cutting: &'a Cutting<'a>,
        name: &'a str,
        config: &'a ConfigSetup,
        directory: &Path,
    ) -> Result<Bench<'a>> {
        let mut bench = Bench::bare(cutting, name, config, directory)?;
        bench.fill().map_err(|error| bench.explain(error))?;
        Ok(bench)
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
    ) -> Result<Bench<'a>> {
        let spec = &cutting.spec;
        let rows = Rows::new(cutting.plan.seed, spec.writers, spec.rows);
        let cpus = &cutting.plan.placement.drive_cpus.0;
        let rig = PoweredRig::new(&config.rig, cpus, directory, &cutting.ledger)?;
        Ok(Bench {
            cutting,
            name,
            config,
            fingerprint: fingerprint_of(cutting.plan, spec, config)?,
            rows,
            running: None,
            rig,
            ledger: Ledger::new(rows),
            directory: directory.to_owned(),
        })
    }

    fn base(&self) -> PathBuf {
        self.directory.join("base.img")
    }

    fn fill(&mut self) -> Result<()> {
        self.rig.make()?;
        let data_dir = self.rig.data_dir();
        let binary = self.config.server()?;
        match self.workload() {
            Some(_) => {
                let plan = self.cutting.plan;
                let request = Request {
                    binary,
                    schema: &self.config.schema,
                    settings: &self.config.settings,
                    threads: 2,
                    seed: plan.seed,
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
        writers::prepare(&endpoint_of(&running.server), &self.rows, options)?;
        self.running = Some(running);
        self.stop_in_order()?;
        self.rig.take_down()?;
        self.rig.save_media(&self.base())
    }

    /// The workload that runs beside the writers.
    fn workload(&self) -> Option<&'a Workload> {
        let name = self.cutting.spec.workload.as_ref()?;
        self.cutting.plan.workloads.get(name)?.server()
    }

    fn workload_tables(&self) -> Option<&'a Schema> {
        self.workload().map(|_| &self.config.schema)
    }

    /// Cuts the power once, and checks what comes up again.
    ///
    /// # Errors
    /// What kept it from being tried. A loss is none.
    pub(super) fn cut(&mut self, number: u32, seed: u64) -> Result<PowerCut> {
        if self.running.is_none() {
            self.begin_anew().map_err(|error| self.explain(error))?;
        }
        let is_drive = self.config.rig.kind == RigKind::Drive;
        let drawn = draw(seed, self.cutting.spec.load_ms, is_drive);
        let began = Instant::now();
        let (survival, sent) = self.load_and_cut(&drawn)?;
        let loaded_ms = began.elapsed().as_secs_f64() * 1e3;
        self.rig.clear()?;
        let image = self.directory.join("cut.img");
        self.rig.save_media(&image)?;
        let before = self.ledger.clone();
        let came = self.come_up(&sent)?;
        let mut cut = PowerCut {
            config: self.name.to_owned(),
            number,
            fingerprint: self.fingerprint.clone(),
            seed,
            moment: drawn.moment,
            loaded_ms,
            survival,
            commits: came.commits,
            recovery: came.recovery,
            losses: came.losses,
            kept_in: None,
        };
        if !cut.is_survived() {
            self.throw_away()?;
            let kept = KeptCut { config: self.name.to_owned(), number, ledger: before, sent };
            cut.kept_in = self.cutting.kept.keep(&image, &kept)?;
        }
        std::fs::remove_file(&image).or_else(|error| match error.kind() {
            // It is kept now.
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
        Ok(cut)
    }

    /// Brings up what was kept of a cut, and checks it again.
    ///
    /// # Errors
    /// What kept it from being tried.
    pub(super) fn repeat(&mut self, kept: &Kept) -> Result<(Option<Commits>, Vec<Loss>)> {
        let (image, cut) = kept.read()?;
        ensure!(
            cut.ledger.rows() == &self.rows,
            "the plan has changed since: writers, rows or seed"
        );
        self.rig.restore_media(&image)?;
        self.ledger = cut.ledger;
        let came = self.come_up(&cut.sent)?;
        Ok((came.commits, came.losses))
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
        self.ledger = Ledger::new(self.rows);
        self.running = Some(self.start()?);
        Ok(())
    }

    fn throw_away(&mut self) -> Result<()> {
        if let Some(running) = self.running.take() {
            running.server.kill()?;
        }
        self.rig.clear()
    }

    /// Loads the server, cuts the power and kills the server; what survived, and what the writers had said by then.
    fn load_and_cut(&mut self, drawn: &Drawn) -> Result<(Survival, Vec<Sent>)> {
        let running = self.running.take().context("no server runs")?;
        let order = CutOrder {
            moment: drawn.moment,
            within_ms: self.cutting.spec.load_ms / 2,
            seed: drawn.seed,
        };
        let said: Vec<Said> = self.ledger.kept().iter().copied().map(Said::from).collect();
        let (stop, socket) = (AtomicBool::new(false), endpoint_of(&running.server));
        let workload = self.workload();
        let survival = std::thread::scope(|scope| {
            let begun = writers::begin(scope, &socket, &self.ledger, &said, &stop);
            if let (Ok(_), Some(workload)) = (&begun, workload) {
                let place = endpoint(running.server.socket());
                let (cutting, config, stop) = (self.cutting, self.config, &stop);
                scope.spawn(move || load_beside(cutting, config, &place, workload, stop));
            }
            let cut = begun.and_then(|()| {
                std::thread::sleep(drawn.load);
                self.rig.cut_power(&order)
            });
            // The server goes with the power, and with it all who talk to it.
            stop.store(true, Ordering::Relaxed);
            running.server.kill()?;
            cut
        })?;
        self.cutting.interrupt.check()?;
        Ok((survival, said.iter().map(Said::sent).collect()))
    }

    /// Brings up rig and server, checks all that they have, and leaves the server running if nothing is wrong.
    fn come_up(&mut self, sent: &[Sent]) -> Result<Came> {
        let stood = match self.rig.stand_up() {
            Ok(stood) => stood,
            Err(fallen) => return Ok(Came::lost(fallen.into_loss())),
        };
        let began = Instant::now();
        let running = match self.start() {
            Ok(running) => running,
            Err(error) => return Ok(Came::lost(Loss::Server { reason: one_line(&error) })),
        };
        let server_ms = began.elapsed().as_secs_f64() * 1e3;
        let repaired = running.server.repaired();
        let recovery = Recovery {
            file_system_ms: stood.as_secs_f64() * 1e3,
            server_ms,
            redo_bytes: repaired.redo_bytes,
            doublewrite_pages: repaired.doublewrite_pages,
        };
        let (may_lose, place) = (running.may_lose, endpoint_of(&running.server));
        self.running = Some(running);
        let checked =
            checks::tables(&place, self.workload_tables(), &mut self.ledger, sent, may_lose);
        let mut came = Came { recovery: Some(recovery), ..Came::default() };
        match checked {
            Ok(checked) => {
                came.commits = Some(checked.commits);
                came.losses = checked.losses;
            }
            Err(error) => came.losses.push(self.ended_while_asked(error)?),
        }
        came.losses.extend(self.check_files(came.losses.is_empty())?);
        Ok(came)
    }

    /// A server that ended while it was asked has found something that it cannot live with.
    fn ended_while_asked(&mut self, error: anyhow::Error) -> Result<Loss> {
        let ended = self.running.as_mut().map(|running| running.server.ended());
        match ended.transpose()?.flatten() {
            Some(_) => Ok(Loss::ServerEnded { reason: one_line(&error) }),
            None => Err(error),
        }
    }

    /// Stops the server, has every page looked at, and starts it again if it `goes_on`.
    fn check_files(&mut self, goes_on: bool) -> Result<Vec<Loss>> {
        if let Err(error) = self.stop_in_order() {
            return Ok(vec![Loss::ServerEnded { reason: one_line(&error) }]);
        }
        let page = self.config.settings.get("innodb_page_size");
        let page_bytes =
            page.and_then(|text| Size::parse(text).ok()).map_or(PAGE_BYTES, |size| size.0);
        let losses = checks::files(self.config.server()?, &self.rig.data_dir(), page_bytes)?;
        if losses.is_empty() && goes_on {
            self.running = Some(self.start()?);
        }
        Ok(losses)
    }

    fn stop_in_order(&mut self) -> Result<()> {
        let Some(running) = self.running.take() else { return Ok(()) };
        let tail = running.server.log_tail(1);
        let status = running.server.stop(SHUTDOWN_LIMIT)?;
        ensure!(
            status.success(),
            "the server did not shut down: {}; its log ends: {}",
            assay_ports::child::describe(status),
            tail.join(" ")
        );
        Ok(())
    }

    fn start(&self) -> Result<Running> {
        let run_dir = self.directory.join("run");
        let resource = Resource::Directory { path: run_dir.clone() };
        let mut start = Start::new(&self.rig.data_dir(), &run_dir);
        start.settings = self.config.settings.clone();
        // What recovery does it tells in notes.
        if self.config.server()?.flavour != Flavour::Mariadb {
            start.settings.entry("log_error_verbosity".into()).or_insert_with(|| "3".into());
        }
        start.cpus = self.cutting.plan.placement.server_cpus.0.clone();
        start.ready_within = RECOVERY_LIMIT;
        start.ready_after_error_within = ERROR_LIMIT;
        let ledger = &self.cutting.ledger;
        let binary = self.config.server()?;
        let (run_dir, server) = ledger.make(resource, || server::start(binary, &start))?;
        let (listed, ()) = ledger.make(server::process_of(&server), || Ok(()))?;
        let variables = server.variables()?;
        let kept = of_config(&self.config.settings, Some(&variables), None);
        let may_lose = kept.commits != durability::Commits::AtCommit;
        Ok(Running { server, may_lose, _listed: listed, _run_dir: run_dir })
    }

    fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        error.context(format!("configuration `{}`", self.name))
    }
}

impl Came {
    fn lost(loss: Loss) -> Came {
        Came { losses: vec![loss], ..Came::default() }
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
        threads: cutting.spec.workload_threads,
        seconds: LOAD_S,
        seed: cutting.plan.seed,
        cpus: cutting.plan.placement.load_cpus.0.clone(),
        ..Schedule::default()
    };
    let observer: &dyn Observer = &();
    let ran = assay_load::run(place, &config.schema, workload, &schedule, None, observer, stop);
    if let Err(error) = ran {
        log::debug!("the load beside the writers ended: {error}");
    }
}

fn endpoint_of(server: &Server) -> Endpoint {
    server.endpoint()
}

fn one_line(error: &anyhow::Error) -> String {
    assay_base::text::on_one_line(&format!("{error:#}"))
}
