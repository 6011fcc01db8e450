//! The search on simulated queues with a known capacity: four servers, first come first served,
//! Poisson arrivals.

use assay_testing::count;

use super::*;
use crate::random::Rng;

const SERVERS: usize = 4;
const SECONDS: f64 = 5.0;
const OBJECTIVE: Objective = Objective { percentile: 99.0, ms: 10.0 };
const OPTIONS: Search =
    Search { start: 1000.0, rate_min: 20.0, rate_max: 50_000.0, resolution: 0.015, runs_max: 150 };

/// Servers with the service time `service_s`, a function of the events done so far.
struct Queue {
    rng: Rng,
    done: f64,
    service_s: fn(f64) -> f64,
}

impl Queue {
    fn new(seed: u64, service_s: fn(f64) -> f64) -> Queue {
        Queue { rng: Rng::new(seed, 9), done: 0.0, service_s }
    }

    /// The p99 in ms and the events per second of a run that starts with an empty queue.
    fn p99(&mut self, rate: f64, seconds: f64) -> (f64, f64) {
        let mut free = [0.0_f64; SERVERS];
        let (mut now, mut times) = (0.0, Vec::new());
        let mut ended = 0.0;
        loop {
            now += -(1.0 - self.rng.unit()).ln() / rate;
            if now > seconds {
                break;
            }
            let first = (0..SERVERS).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap();
            let end = free[first].max(now) + (self.service_s)(self.done);
            free[first] = end;
            self.done += 1.0;
            times.push(end - now);
            ended += f64::from(u8::from(end <= seconds));
        }
        times.sort_by(f64::total_cmp);
        let p99 = times.get(times.len() * 99 / 100).copied().unwrap_or(0.0);
        (p99 * 1e3, ended / seconds)
    }
}

impl Prober for Queue {
    fn run(&mut self, rate: f64, purpose: Purpose) -> Result<Tried> {
        let (latency_ms, achieved) = self.p99(rate, SECONDS);
        let is_met = latency_ms <= OBJECTIVE.ms && achieved >= 0.95 * rate;
        Ok(Tried { purpose, rate, achieved, latency_ms, is_met })
    }
}

/// The rate at which this share of runs meets the objective.
fn met_by(share: f64, service_s: fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (100.0, 50_000.0);
    let runs = count(40, 200);
    for _ in 0..14 {
        let rate = f64::sqrt(low * high);
        let met = (0..runs)
            .filter(|seed| Queue::new(1000 + seed, service_s).p99(rate, SECONDS).0 <= 10.0);
        if met.count() as f64 >= share * runs as f64 { low = rate } else { high = rate }
    }
    f64::sqrt(low * high)
}

#[test]
fn the_rate_that_windows_of_a_queue_meet_is_found_within_six_percent() {
    let service = |_| 1e-3;
    let truth = met_by(MET_SHARE, service);
    let (mut near, mut covered, mut runs, mut met) = (0, 0, 0, 0);
    let (seeds, near_least, covered_least) = count((6, 4, 4), (40, 33, 33));
    for seed in 0..seeds {
        let found = search(&mut Queue::new(seed, service), OBJECTIVE, &OPTIONS, &|_| {}).unwrap();
        runs += found.runs.len();
        let CapacityFound::Rate { rate, low, high, .. } = found.found else { continue };
        near += u32::from((rate / truth - 1.0).abs() < 0.06);
        covered += u32::from(low <= truth && truth <= high);
        let windows = (0..10).map(|one| Queue::new(5000 + 10 * seed + one, service));
        met += windows.map(|mut one| u64::from(one.p99(rate, SECONDS).0 <= 10.0)).sum::<u64>();
    }
    println!(
        "95 % of windows meet {truth:.0}, half {:.0}: near {near}, covered {covered} of {seeds}, \
         {met} of {} windows at the found rates met, {} runs each",
        met_by(0.5, service),
        10 * seeds,
        runs / seeds as usize
    );
    assert!(near >= near_least, "near {near} of {seeds}");
    // 90 % intervals.
    assert!(covered >= covered_least, "covered {covered} of {seeds}");
    assert!(met >= 9 * seeds, "{met} of {} windows", 10 * seeds);
}

#[test]
fn runs_still_to_come_are_told_about_right() {
    let (mut told, mut came) = ([0.0; 3], [0.0; 3]);
    for seed in 0..count(10, 40) {
        let steps = std::cell::RefCell::new(Vec::new());
        let show = |step: &SearchStep| steps.borrow_mut().push(*step);
        let found = search(&mut Queue::new(seed, |_| 1e-3), OBJECTIVE, &OPTIONS, &show).unwrap();
        let (steps, all) = (steps.into_inner(), found.runs.len());
        assert_eq!(steps.last().map(|step| step.runs as usize), Some(all));
        for (quarter, (told, came)) in told.iter_mut().zip(&mut came).enumerate() {
            let step = steps[all * quarter / 4];
            *told += f64::from(step.runs_left);
            *came += (all - step.runs as usize) as f64;
        }
    }
    println!("told {told:?}, came {came:?}, from 0, 1/4 and 1/2 of the searches on");
    for (told, came) in told.into_iter().zip(came) {
        assert!((0.6..1.7).contains(&(told / came)), "told {told}, came {came}");
    }
}

#[test]
fn a_state_that_changes_while_it_is_to_hold_is_not_reported_as_it_was() {
    /// Meets any rate below its capacity, which halves after a number of holding runs.
    struct Falls(u32, u32);

    impl Prober for Falls {
        fn run(&mut self, rate: f64, purpose: Purpose) -> Result<Tried> {
            self.1 += u32::from(purpose == Purpose::Hold);
            let is_met = rate <= if self.1 >= self.0 { 500.0 } else { 1000.0 };
            let latency_ms = if is_met { 1.0 } else { 100.0 };
            Ok(Tried { purpose, rate, achieved: rate, latency_ms, is_met })
        }
    }
    for fallen in 1..=HOLDS {
        let found = search(&mut Falls(fallen, 0), OBJECTIVE, &OPTIONS, &|_| {}).unwrap();
        let CapacityFound::Rate { rate, .. } = found.found else {
            panic!("{fallen}: {:?}", found.found)
        };
        assert!((485.0..515.0).contains(&rate), "{fallen}: {rate}");
    }
    // A single miss by chance, last or not, is no change of state.
    for missed in 1..=HOLDS {
        let mut held = 0;
        let mut chance = |_: f64, purpose: Purpose| {
            held += u32::from(purpose == Purpose::Hold);
            purpose == Purpose::Hold && held == missed
        };
        let mut prober = Mistaken { chance: &mut chance };
        let found = search(&mut prober, OBJECTIVE, &OPTIONS, &|_| {}).unwrap();
        let CapacityFound::Rate { rate, .. } = found.found else {
            panic!("{missed}: {:?}", found.found)
        };
        assert!((970.0..1030.0).contains(&rate) && found.restarts == 0, "{missed}: {rate}");
    }
}

#[test]
fn a_run_that_chance_spoils_while_bracketing_is_made_up_for() {
    let mut runs = 0;
    let mut chance = |_: f64, _: Purpose| {
        runs += 1;
        runs == 1
    };
    let options = Search { start: 400.0, ..OPTIONS };
    let found =
        search(&mut Mistaken { chance: &mut chance }, OBJECTIVE, &options, &|_| {}).unwrap();
    let CapacityFound::Rate { rate, .. } = found.found else { panic!("{:?}", found.found) };
    assert!((970.0..1030.0).contains(&rate), "{rate}");
    assert_eq!(found.restarts, 0, "no state has changed");
}

/// Meets any rate up to 1000/s, except for runs disturbed by chance.
struct Mistaken<'a> {
    chance: &'a mut dyn FnMut(f64, Purpose) -> bool,
}

impl Prober for Mistaken<'_> {
    fn run(&mut self, rate: f64, purpose: Purpose) -> Result<Tried> {
        let is_met = rate <= 1000.0 && !(self.chance)(rate, purpose);
        Ok(Tried { purpose, rate, achieved: rate, latency_ms: 1.0, is_met })
    }
}

#[test]
fn a_state_that_decays_is_not_reported_as_it_was_fresh() {
    // From 1 to 2 ms in some 30 000 events, as a drive whose garbage collection sets in.
    let decaying = |done: f64| 1e-3 * (2.0 - (-done / 30_000.0).exp());
    let worn = met_by(MET_SHARE, |_| 2e-3);
    let (mut settled, mut restarts) = (0, 0);
    let (seeds, settled_least) = count((3, 2), (10, 8));
    for seed in 0..seeds {
        let found = search(&mut Queue::new(seed, decaying), OBJECTIVE, &OPTIONS, &|_| {}).unwrap();
        println!("{:?} of {worn:.0}, {} restarts", found.found, found.restarts);
        restarts += found.restarts;
        // An unsettled search reports that, and not the fresh state's rate.
        match found.found {
            CapacityFound::Rate { rate, .. } => {
                settled += 1;
                assert!((rate / worn - 1.0).abs() < 0.08, "{rate} of {worn}");
            }
            CapacityFound::Unsettled { high, .. } => assert!(high < 1.3 * worn, "{high} of {worn}"),
            other => panic!("{other:?}"),
        }
    }
    assert!(settled >= settled_least, "{settled} of {seeds}");
    assert!(restarts > 0, "the state changed");
}

#[test]
fn an_objective_that_no_rate_meets_is_told_with_the_lowest_that_was_tried() {
    let slow = |_| 20e-3;
    let found = search(&mut Queue::new(1, slow), OBJECTIVE, &OPTIONS, &|_| {}).unwrap();
    let CapacityFound::NoneMeets { lowest, latency_ms } = found.found else {
        panic!("{:?}", found.found)
    };
    assert!(lowest == 20.0 && latency_ms >= 10.0, "{lowest} {latency_ms}");
}

#[test]
fn a_server_that_meets_every_rate_is_told_so_and_a_search_without_runs_ends() {
    let quick = |_| 1e-6;
    let options = Search { rate_max: 4000.0, ..OPTIONS };
    let found = search(&mut Queue::new(1, quick), OBJECTIVE, &options, &|_| {}).unwrap();
    assert_eq!(found.found, CapacityFound::AllMeet { highest: 4000.0 });
    let short = Search { runs_max: 3, ..OPTIONS };
    let found = search(&mut Queue::new(1, |_| 1e-3), OBJECTIVE, &short, &|_| {}).unwrap();
    assert!(matches!(found.found, CapacityFound::Unsettled { .. }), "{:?}", found.found);
    assert_eq!(found.runs.iter().filter(|run| run.purpose != Purpose::Rest).count(), 3);
}

#[test]
fn the_record_of_an_older_search_is_of_the_rate_that_half_of_the_windows_meet() {
    let text = r#"{"objective":{"percentile":99.0,"ms":10.0},"outcome":"rate","rate":3811.0,
        "low":3760.0,"high":3860.0,"restarts":0,"runs":[]}"#;
    let older: Capacity = serde_json::from_str(text).unwrap();
    let expected = CapacityFound::Rate {
        rate: 3811.0,
        low: 3760.0,
        high: 3860.0,
        met_share: 0.5,
        spread: None,
    };
    assert_eq!(older.found, expected);
    let now = CapacityFound::Rate {
        rate: 1.0,
        low: 0.5,
        high: 2.0,
        met_share: MET_SHARE,
        spread: Some(0.01),
    };
    let stored = serde_json::to_string(&Capacity { found: now, ..older }).unwrap();
    assert_eq!(serde_json::from_str::<Capacity>(&stored).unwrap().found, now);
}
