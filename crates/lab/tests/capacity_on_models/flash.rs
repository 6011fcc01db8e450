//! A flash drive that was filled once: what it writes doubles when its garbage collection sets in
//! while the search goes on.

use assay_load::Result;
use assay_load::capacity::{
    Capacity, CapacityFound, MET_SHARE, Objective, Prober, Purpose, Search, Tried,
};
use assay_presets::{Device, Preset, Scale};
use assay_testing::count;

use super::device::{Asked, Loaded, searched};

/// Largest ratio of the reported rate to the rate that the drive then keeps.
const ABOVE_MOST: f64 = 1.1;
/// And so far below the rate that 95 % of runs keep then, as a share of it.
const BELOW_MOST: f64 = 0.8;

/// One die of the P4610, 85 % full, overwritten at random in pages of 16 KiB.
const SCALE: Scale = Scale { capacity: 6400.0, parallel: 72.0 };
const FILL: f64 = 0.85;

const OPTIONS: Search =
    Search { start: 300.0, rate_min: 50.0, rate_max: 20_000.0, resolution: 0.03, runs_max: 200 };

fn asked(is_worn: bool) -> Asked {
    let preset = Preset::find("p4610-3.2").unwrap();
    let user_bytes = Device::new(&preset, SCALE).unwrap().user_bytes();
    Asked {
        preset: "p4610-3.2",
        scale: SCALE,
        bytes: (user_bytes as f64 * FILL) as u64,
        is_worn,
        read_share: 0.0,
        seconds: 0.5,
        objective: Objective { percentile: 99.0, ms: 20.0 },
    }
}

/// Whether a search reported more than the drive keeps after it.
fn reports_too_much(found: CapacityFound, kept: f64) -> bool {
    match found {
        CapacityFound::Rate { rate, .. } => rate > ABOVE_MOST * kept,
        CapacityFound::AllMeet { highest } => highest > ABOVE_MOST * kept,
        CapacityFound::Unsettled { .. } | CapacityFound::NoneMeets { .. } => false,
    }
}

/// Rate that half of the runs keep in the drive's present state.
fn kept(drive: &mut Loaded) -> f64 {
    drive.met_by(0.5, [800.0, 3200.0], count(4, 10))
}

/// Rate that 95 % of them keep: what a search reports. Garbage collection makes short runs unequal,
/// so it lies well below.
fn kept_by_most(drive: &mut Loaded) -> f64 {
    drive.met_by(MET_SHARE, [400.0, 3200.0], count(20, 40))
}

/// A search that halves its bracket and believes what it saw: no run holds what was found, and
/// nothing is forgotten.
fn stops_at_the_first(prober: &mut dyn Prober) -> CapacityFound {
    let (mut low, mut high) = (OPTIONS.start, OPTIONS.start);
    let mut is_met = |rate: f64| prober.run(rate, Purpose::Probe).unwrap().is_met;
    while is_met(high) {
        (low, high) = (high, high * 2.0);
    }
    while high / low > 1.0 + 2.0 * OPTIONS.resolution {
        let rate = f64::sqrt(low * high);
        if is_met(rate) { low = rate } else { high = rate }
    }
    let rate = f64::sqrt(low * high);
    CapacityFound::Rate { rate, low, high, met_share: 0.5, spread: None }
}

/// Runs on a drive that is filled anew before its garbage collection sets in.
struct AlwaysFresh {
    drive: Loaded,
    runs: u64,
}

/// A third of what is free after filling is written in so many runs at most.
const FRESH_RUNS: u64 = 3;

impl Prober for AlwaysFresh {
    fn run(&mut self, rate: f64, purpose: Purpose) -> Result<Tried> {
        self.runs += 1;
        if self.runs.is_multiple_of(FRESH_RUNS) {
            self.drive = Loaded::new(asked(false), self.runs);
        }
        self.drive.tried(rate, purpose)
    }
}

fn show(seed: u64, capacity: &Capacity, kept: f64) {
    let Capacity { found, restarts, runs, .. } = capacity;
    println!(
        "seed {seed}: {found:.0?}, {} runs, {restarts} restarts; the drive then keeps {kept:.0}",
        runs.len()
    );
}

#[test]
fn the_rate_of_a_fresh_flash_drive_is_not_reported_once_its_garbage_collection_has_set_in() {
    let worn = kept(&mut Loaded::new(asked(true), 1000));
    let fresh = stops_at_the_first(&mut Loaded::new(asked(false), 1000));
    println!("worn {worn:.0}, of the fresh drive {fresh:.0?}");
    // A search that believes what it sees first reports what the worn drive does not keep,
    assert!(reports_too_much(fresh, worn), "{fresh:?} of {worn}");
    // Number of searches, and how many of them must end with a rate.
    let (seeds, settled_min) = count((1, 1), (5, 4));
    let mut settled = 0;
    for seed in 0..seeds {
        let mut drive = Loaded::new(asked(false), seed);
        let capacity = searched(&mut drive, &asked(false), &OPTIONS);
        let kept = kept(&mut drive);
        show(seed, &capacity, kept);
        assert!(!reports_too_much(capacity.found, kept), "{seed}: {:?}", capacity.found);
        if let CapacityFound::Rate { rate, .. } = capacity.found {
            settled += 1;
            let kept_by_most = kept_by_most(&mut drive);
            println!("95 % of runs keep {kept_by_most:.0}");
            assert!(rate > BELOW_MOST * kept_by_most, "{seed}: {rate} of {kept_by_most}");
        }
        assert!(kept < 1.3 * worn, "garbage collection has set in: {kept} of {worn}");
        let (media, host) = drive.written();
        assert!(media as f64 > 1.3 * host as f64, "{media} of {host}");
    }
    assert!(settled >= settled_min, "{settled} of {seeds}");
    // and so does ours on a prober that hides what became of the drive.
    let mut lies = AlwaysFresh { drive: Loaded::new(asked(false), 0), runs: 0 };
    let lied = searched(&mut lies, &asked(false), &OPTIONS);
    assert!(reports_too_much(lied.found, worn), "{:?} of {worn}", lied.found);
}
