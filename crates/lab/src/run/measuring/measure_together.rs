//! Several servers under load at once, each watched: what all did together is the run's, what each did stands beside it.
//!
//! All loads run on one clock, in one window. The run's figures are of the servers under its own load: sums of what is counted, percentiles
//! of all transactions as one. A noisy neighbour's are kept with it alone. The machine is watched once.

use std::thread::{Builder, ScopedJoinHandle};
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use assay_load::{LoadSpec, Outcome as Ran, Pace, Schedule, together};

use super::crowd::{Crowd, Member};
use super::measure::{Observing, Seen, conclude, preflight, workload};
use super::schedule;
use super::seconds::{Seconds, of_monitor};
use super::stand::Stand;
use crate::monitor::Targets;
use crate::run::config_setup::ConfigSetup;
use crate::run::loads::{AboutHosts, LoadResult};
use crate::run::progress::Progress;
use crate::run::results::combined_series::Disks;
use crate::run::results::{combined_series, figures, fill};
use crate::run::setup::Setup;
use assay_base::clock::now_precisely;
use assay_judge::CLOCK_BEGAN;
use assay_plan::{PlannedTrial, RigKind};
use assay_study::metrics::{Layer, Metric, Window, metric};
use assay_study::{OfServer, Outcome, Results, Series, fairness};

/// What is told of each server by its number, and of which of a run's metrics that is.
pub(crate) const OF_EACH: [(&Metric, &Metric); 2] = [
    (metric!("tps"), metric!("tps_of_server{}")),
    (metric!("latency_ms_p99"), metric!("latency_ms_p99_of_server{}")),
];

/// The load of one of the servers.
struct ServerLoad {
    load: LoadSpec,
    /// The name of the workload if the server is a neighbour.
    neighbour: Option<String>,
}

/// Loads all of them and monitors them; gives when the run's clock began. What was seen until it fails stays in `outcome`.
///
/// # Errors
/// What went wrong, in one line, of the first server that failed.
pub(super) fn measure(
    setup: &Setup<'_>,
    trial: &PlannedTrial,
    config: &ConfigSetup,
    stands: &mut [impl Stand + Send],
    progress: &dyn Progress,
    outcome: &mut Outcome,
) -> Result<Instant> {
    let loads = loads(setup, trial, config, stands)?;
    for ServerLoad { load, .. } in &loads {
        let warning = preflight(setup.loads, load, progress)?;
        outcome.warnings.extend(warning.filter(|one| !outcome.warnings.contains(one)));
    }
    let targets = targets(stands, &setup.plan.placement.load_cpus.0);
    let origin = Instant::now();
    outcome.facts.insert(CLOCK_BEGAN.into(), now_precisely());
    let counted = loads.iter().filter(|load| load.neighbour.is_none()).count();
    let crowd = Crowd::new(Seconds::new(&trial.key, progress), counted);
    let seconds: Vec<Seconds<'_>> = loads.iter().map(|_| Seconds::unseen()).collect();
    let seen: Vec<Result<Seen>> = std::thread::scope(|scope| {
        let mut threads: Vec<Result<ScopedJoinHandle<'_, Result<Seen>>>> = Vec::new();
        for (place, (stand, targets)) in stands.iter_mut().zip(targets).enumerate() {
            let (ServerLoad { load, neighbour }, seconds, crowd) =
                (&loads[place], &seconds[place], &crowd);
            let observe = move || {
                let observing = Observing { setup, trial, load, origin, progress };
                let crowd = neighbour.is_none().then_some(crowd);
                let member = Member { own: seconds, crowd };
                observing.observe(stand, targets, seconds, &member)
            };
            let thread = Builder::new().name(format!("server-{}", place + 1));
            threads.push(thread.spawn_scoped(scope, observe).context("cannot start a thread"));
        }
        let join = |thread: Result<ScopedJoinHandle<'_, Result<Seen>>>| {
            thread?.join().map_err(|_| anyhow!("the load of a server ended early"))?
        };
        threads.into_iter().map(join).collect()
    });
    outcome.series = crowd.total().series();
    outcome.second_latencies = crowd.total().latencies();
    let all = All { setup, config, loads: &loads, seconds: &seconds, stands };
    all.conclude(seen, outcome)?;
    Ok(origin)
}

/// What each is loaded with: all with the run's own, but the last where it is a neighbour.
fn loads(
    setup: &Setup<'_>,
    trial: &PlannedTrial,
    config: &ConfigSetup,
    stands: &[impl Stand],
) -> Result<Vec<ServerLoad>> {
    let own = workload(setup, &trial.workload)?;
    let schedule = schedule::schedule(setup.plan, trial);
    let spec = setup.plan.configs.get(&trial.variant.config);
    let neighbour = spec.and_then(|spec| spec.neighbour.as_ref());
    let load = |(place, stand): (usize, &_)| {
        let endpoint = Stand::endpoint(stand)?;
        // No two draw the same: each server has other keys in hand.
        let seed = schedule.seed.wrapping_add(SEED_STEP.wrapping_mul(place as u64));
        let schedule = Schedule { seed, ..schedule.clone() };
        let is_last = place + 1 == stands.len();
        let Some(spec) = neighbour.filter(|_| is_last) else {
            let (schema, workload) = (config.schema.clone(), own.clone());
            let load = LoadSpec { endpoint, schema, workload, schedule };
            return Ok(ServerLoad { load, neighbour: None });
        };
        let arrivals = setup.plan.arrivals;
        let schedule = Schedule {
            threads: spec.threads.unwrap_or(schedule.threads),
            pace: spec.rate.map_or(Pace::Closed, |per_second| Pace::Rate { per_second, arrivals }),
            phases: None,
            ..schedule
        };
        let workload = workload(setup, &spec.workload)?.clone();
        let load = LoadSpec { endpoint, schema: config.schema.clone(), workload, schedule };
        Ok(ServerLoad { load, neighbour: Some(spec.workload.clone()) })
    };
    stands.iter().enumerate().map(load).collect()
}

/// Far from the steps of one that repeats take.
const SEED_STEP: u64 = 1 << 32;

/// What is monitored of each; the machine with the first.
fn targets(stands: &[impl Stand], cpus: &[usize]) -> Vec<Targets> {
    let mut all: Vec<Targets> = stands.iter().map(|stand| stand.targets(cpus)).collect();
    let beside = all.iter().skip(1).flat_map(Targets::server_pids).collect();
    for (place, targets) in all.iter_mut().enumerate() {
        targets.with_machine = place == 0;
    }
    if let Some(first) = all.first_mut() {
        first.beside = beside;
    }
    all
}

/// All servers of a run that was loaded.
struct All<'a, S> {
    setup: &'a Setup<'a>,
    config: &'a ConfigSetup,
    loads: &'a [ServerLoad],
    seconds: &'a [Seconds<'a>],
    stands: &'a [S],
}

impl<S: Stand> All<'_, S> {
    /// Makes results of what was seen of each.
    fn conclude(&self, seen: Vec<Result<Seen>>, outcome: &mut Outcome) -> Result<()> {
        let mut seen = seen.into_iter().collect::<Result<Vec<Seen>>>()?;
        let series: Vec<Vec<Series>> = seen.iter().map(|one| of_monitor(&one.monitored)).collect();
        let counted: Vec<Vec<Series>> = self.counted(&series).cloned().collect();
        outcome.series.extend(combined_series::together(&counted, self.disks()));
        outcome.series.extend(self.of_each());
        let mut rans = Vec::new();
        for one in &mut seen {
            // Taken out, so that each error is met by its own server.
            let ran = std::mem::replace(&mut one.ran, Ok(Default::default()));
            rans.push(ran?.0.outcome);
        }
        let own: Vec<Ran> = self.counted(&rans).cloned().collect();
        let ran = together(&own).context("a run without a server")?;
        let window = Window { from_s: ran.measure_start_s, to_s: ran.measure_end_s };
        let warnings = seen.iter_mut().skip(1);
        let warnings: Vec<_> =
            warnings.flat_map(|one| std::mem::take(&mut one.monitored.warnings)).collect();
        let mut first = seen.into_iter().next().context("a run without a server")?;
        let about = AboutHosts::default();
        first.ran = Ok((LoadResult { outcome: ran, about }, None));
        let schedule = &self.loads.first().context("a run without a server")?.load.schedule;
        let ended = conclude(self.setup, schedule, first, outcome, |_, _| Ok(()));
        for warning in warnings {
            if !outcome.warnings.contains(&warning) {
                outcome.warnings.push(warning);
            }
        }
        ended?;
        for (place, monitored) in series.into_iter().enumerate() {
            let its = self.of_server(place, monitored, &rans[place], window, outcome)?;
            outcome.servers.push(its);
        }
        let summary = summary(&outcome.servers);
        outcome.results.extend(summary);
        Ok(())
    }

    /// Directories lie on one disk; every other rig makes each server its own.
    fn disks(&self) -> Disks {
        match self.config.rig.kind {
            RigKind::Directory => Disks::Shared,
            _ => Disks::Own,
        }
    }

    /// Of all, those of servers under the run's own load.
    fn counted<'b, T>(&'b self, all: &'b [T]) -> impl Iterator<Item = &'b T> {
        let own = self.loads.iter().zip(all).filter(|(load, _)| load.neighbour.is_none());
        own.map(|(_, one)| one)
    }

    /// Throughput and tail of each server, second by second.
    fn of_each(&self) -> Vec<Series> {
        let mut all = Vec::new();
        for (number, seconds) in (1..).zip(self.seconds) {
            let its = seconds.series();
            for (of, shown) in OF_EACH {
                let points = its.iter().find(|one| one.name == of.name);
                let points = points.map(|one| one.points.clone()).unwrap_or_default();
                all.push(named(shown, number, points));
            }
        }
        all
    }

    /// The figures of one, which must have had room for what it wrote.
    fn of_server(
        &self,
        place: usize,
        monitored: Vec<Series>,
        ran: &Ran,
        window: Window,
        outcome: &mut Outcome,
    ) -> Result<OfServer> {
        let disks = self.disks();
        // What a disk that all share did is no server's own.
        let of_disk = |one: &Series| one.layer == Layer::Disk && disks == Disks::Shared;
        let monitored = monitored.into_iter().filter(|one| !of_disk(one)).collect();
        let series = [self.seconds[place].series(), monitored].concat();
        let mut one = Outcome { series, window: Some(window), ..Outcome::default() };
        self.stands[place].verify(&mut one, window)?;
        fill::verify(&mut one, &self.config.rig);
        outcome.warnings.append(&mut one.warnings);
        one.results.extend(figures::of(&one.series, ran, window));
        Ok(OfServer {
            server: place as u32 + 1,
            neighbour: self.loads[place].neighbour.clone(),
            results: one.results,
        })
    }
}

fn named(metric: &'static Metric, number: u32, points: Vec<(u32, f64)>) -> Series {
    let number = number.to_string();
    let (name, label) = (metric.name_of(&number), metric.label_of(&number));
    Series { name, label, points, ..Series::of(metric) }
}

/// What each does, and how those under the run's own load stand beside each other.
pub(crate) fn summary(servers: &[OfServer]) -> Results {
    let of = |name: &str| -> Vec<f64> {
        let own = servers.iter().filter(|one| one.neighbour.is_none());
        own.filter_map(|one| one.results.get(name).copied()).collect()
    };
    let (tps, p99) = (of("tps"), of("latency_ms_p99"));
    let least = |all: &[f64]| all.iter().copied().reduce(f64::min);
    let most = |all: &[f64]| all.iter().copied().reduce(f64::max);
    let figures = [
        (metric!("servers"), Some(tps.len() as f64)),
        (metric!("tps_of_servers_mean"), Some(tps.iter().sum::<f64>() / tps.len() as f64)),
        (metric!("tps_of_servers_least"), least(&tps)),
        (metric!("tps_of_servers_most"), most(&tps)),
        (metric!("fairness_ratio"), fairness(&tps)),
        (metric!("latency_ms_p99_of_servers_best"), least(&p99)),
        (metric!("latency_ms_p99_of_servers_worst"), most(&p99)),
    ];
    let known = figures.into_iter().filter_map(|(metric, value)| Some((metric, value?)));
    let known = known.map(|(metric, value)| (metric.name.to_owned(), value));
    let of_each = |server: &OfServer| {
        OF_EACH.map(|(of, shown)| {
            let value = server.results.get(of.name).copied();
            (shown.name_of(&server.server.to_string()), value)
        })
    };
    let each = servers.iter().flat_map(of_each);
    known.chain(each.filter_map(|(name, value)| Some((name, value?)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_has_no_part_in_what_servers_share() {
        let server = |server, neighbour: Option<&str>, tps: f64, p99: f64| OfServer {
            server,
            neighbour: neighbour.map(str::to_owned),
            results: [("tps".to_owned(), tps), ("latency_ms_p99".to_owned(), p99)].into(),
        };
        let found = summary(&[
            server(1, None, 100.0, 9.0),
            server(2, None, 300.0, 4.0),
            server(3, Some("noise"), 9000.0, 99.0),
        ]);
        assert_eq!((found["servers"], found["tps_of_servers_mean"]), (2.0, 200.0));
        assert_eq!((found["tps_of_servers_least"], found["tps_of_servers_most"]), (100.0, 300.0));
        assert_eq!((found["tps_of_server2"], found["tps_of_server3"]), (300.0, 9000.0));
        assert_eq!(found["fairness_ratio"], 0.8);
        assert_eq!(found["latency_ms_p99_of_servers_best"], 4.0);
        assert_eq!(found["latency_ms_p99_of_servers_worst"], 9.0);
    }
}
