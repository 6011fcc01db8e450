//! A cloud volume, whose capacity is known: what was paid for.

use assay_load::Result;
use assay_load::capacity::{CapacityFound, MET_SHARE, Objective, Prober, Purpose, Search, Tried};
use assay_presets::{Preset, Scale};
use assay_testing::{count, is_full};

use super::device::{Asked, Loaded, searched};

/// Number of seeds, how many of them must be near, and how many 90 % intervals must hold the truth:
/// fewer than one study in forty would have fewer by chance.
fn seeds() -> (u64, usize, usize) {
    count((5, 4, 3), (20, 19, 15))
}

/// Number of seeds; fewer suffice for a load that lies.
fn lied_seeds() -> u64 {
    count(1, 5)
}

/// A search leans to lower rates, so that windows meet its rate.
const NEAR: f64 = 0.06;

/// Pages of 16 KiB, read: fewer bytes than the volume carries, so that its operations are what
/// limits it.
const ASKED: Asked = Asked {
    preset: "gp3",
    scale: Scale { capacity: 1024.0, parallel: 1.0 },
    bytes: 512 << 20,
    is_worn: false,
    read_share: 1.0,
    seconds: 4.0,
    objective: Objective { percentile: 99.0, ms: 25.0 },
};

const OPTIONS: Search =
    Search { start: 800.0, rate_min: 200.0, rate_max: 20_000.0, resolution: 0.015, runs_max: 150 };

/// Operations per second that the volume is sold with.
fn provisioned() -> f64 {
    let preset = Preset::find(ASKED.preset).unwrap();
    preset.document.volume.unwrap().operations_per_s.value
}

/// Rates of the searches that ended with one, each with its interval.
type Rates = Vec<[f64; 3]>;

fn rates(seeds: u64, prober: impl Fn(u64) -> Box<dyn Prober>) -> Rates {
    let searches = (0..seeds).map(|seed| searched(prober(seed).as_mut(), &ASKED, &OPTIONS));
    let rate = |found| match found {
        CapacityFound::Rate { rate, low, high, .. } => Some([low, rate, high]),
        _ => None,
    };
    searches.filter_map(|capacity| rate(capacity.found)).collect()
}

fn near(rates: &Rates, truth: f64) -> usize {
    rates.iter().filter(|[_, rate, _]| (rate / truth - 1.0).abs() <= NEAR).count()
}

fn covering(rates: &Rates, truth: f64) -> usize {
    rates.iter().filter(|[low, _, high]| (*low..=*high).contains(&truth)).count()
}

/// Runs at another rate than it says.
struct Lies(Loaded, f64);

impl Prober for Lies {
    fn run(&mut self, rate: f64, purpose: Purpose) -> Result<Tried> {
        let tried = self.0.tried(rate * self.1, purpose)?;
        Ok(Tried { rate, achieved: tried.achieved / self.1, ..tried })
    }
}

#[test]
fn the_provisioned_rate_of_a_cloud_volume_is_found_within_six_percent() {
    let (seeds, near_min, covered_min) = seeds();
    let truth = Loaded::new(ASKED, 1000).met_by(MET_SHARE, [2500.0, 3500.0], count(20, 60));
    let found = rates(seeds, |seed| Box::new(Loaded::new(ASKED, seed)));
    let (near_it, covered) = (near(&found, provisioned()), covering(&found, truth));
    println!(
        "{} operations/s provisioned, 95 % of runs meet the objective at {truth:.0}: \
         near {near_it}, covered {covered} of {seeds}",
        provisioned()
    );
    assert!(near_it >= near_min, "near {near_it}: {found:.0?}");
    assert!(covered >= covered_min, "covered {covered} of {truth:.0}: {found:.0?}");
    // The counts can fail: of many seeds, intervals a fifth as wide do not hold the truth so often,
    let narrowed = |[low, rate, high]: &[f64; 3]| {
        [rate + (low - rate) / 5.0, *rate, rate + (high - rate) / 5.0]
    };
    let narrowed: Rates = found.iter().map(narrowed).collect();
    let narrowed_covers = covering(&narrowed, truth);
    assert!(!is_full() || narrowed_covers < covered_min, "{narrowed:.0?}");
    // and a load that does less than it says finds more than there is.
    let lied = rates(lied_seeds(), |seed| Box::new(Lies(Loaded::new(ASKED, seed), 0.85)));
    assert!(!lied.is_empty(), "a lie is believed");
    assert_eq!((near(&lied, provisioned()), covering(&lied, truth)), (0, 0), "{lied:.0?}");
}
