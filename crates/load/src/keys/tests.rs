use super::*;
use crate::random::Rng;
use proptest::prelude::{prop_assert, proptest};

fn keys(rand_type: RandType, first: u64, last: u64, scatter: Option<u64>) -> KeyChooser {
    let distribution =
        Distribution { rand_type, arithmetic: KeyArithmetic::Narrow, ..Distribution::default() };
    KeyChooser::new(&distribution, first, last, scatter)
}

fn special_of(u: f64) -> u64 {
    let keys = keys(RandType::Special, 1, 10_000_000, None);
    1 + keys.special(&mut Rng::new(1, 1), u, 12, 1.0, 75.0, true)
}

#[test]
fn special_meets_its_vectors() {
    let vectors = [
        (0.25, 4_975_000),
        (0.3, 4_980_000),
        (0.5, 5_000_001),
        (0.75, 5_025_001),
        (0.9999, 5_049_991),
    ];
    for (u, expected) in vectors {
        assert_eq!(special_of(u), expected, "u = {u}");
    }
}

#[test]
fn special_below_a_quarter_is_the_bell() {
    let rng = || Rng::new(1, 1);
    let expected = 1 + bell(&mut rng(), 12, 9_999_999);
    assert_eq!(special_of(0.2), expected);
}

#[test]
fn pareto_meets_its_vectors() {
    let Shape::Pareto { power } = keys(RandType::Pareto, 1, 10_000_000, None).shape else {
        panic!()
    };
    assert!((power - 7.212_567_4).abs() < 1e-6);
    let vectors = [
        (0.01, 1),
        (0.1, 1),
        (0.25, 455),
        (0.5, 67_422),
        (0.75, 1_255_657),
        (0.9, 4_677_040),
        (0.99, 9_300_763),
    ];
    for (u, expected) in vectors {
        assert_eq!(1 + (1e7 * f64::powf(u, power)) as u64, expected, "u = {u}");
    }
}

/// The share of a million draws in `low..high`, as fractions of the range.
fn share(keys: &KeyChooser, low: f64, high: f64) -> f64 {
    let mut rng = Rng::new(11, 0);
    let (low, high) = ((low * 1e6) as u64, (high * 1e6) as u64);
    let hits = (0..1_000_000).filter(|_| (low..high).contains(&keys.draw(&mut rng))).count();
    hits as f64 / 1e6
}

#[test]
fn special_heats_three_quarters_of_its_window_and_fixed_the_whole() {
    let narrow = keys(RandType::Special, 0, 999_999, None);
    assert!((share(&narrow, 0.4975, 0.5050) - 0.759).abs() < 0.003);
    let whole = KeyChooser::new(
        &Distribution { rand_type: RandType::Special, ..Distribution::default() },
        0,
        999_999,
        None,
    );
    assert!((share(&whole, 0.495, 0.505) - 0.763).abs() < 0.003);
    assert!((share(&whole, 0.4975, 0.5050) - 0.759).abs() > 0.1, "the whole window is wider");
}

#[test]
fn shares_of_the_hottest_rows_are_as_defined() {
    let defined = [
        (RandType::Uniform, [0.001, 0.01, 0.1, 0.5]),
        // x^(1/7.2125674), from the definition.
        (RandType::Pareto, [0.3838, 0.5281, 0.7267, 0.9084]),
        (RandType::Zipf, [0.207, 0.362, 0.609, 0.863]),
    ];
    for (rand_type, shares) in defined {
        let keys = keys(rand_type, 0, 999_999, None);
        for (hottest, expected) in [0.001, 0.01, 0.1, 0.5].into_iter().zip(shares) {
            let found = share(&keys, 0.0, hottest);
            assert!((found - expected).abs() < 0.003, "{rand_type:?} {hottest}: {found}");
        }
    }
    assert!(
        (share(&keys(RandType::Gaussian, 0, 999_999, None), 0.289, 0.711) - 0.99).abs() < 0.002
    );
    assert!((share(&keys(RandType::Hotspot, 0, 999_999, None), 0.0, 0.2) - 0.8).abs() < 0.002);
}

#[test]
fn zipf_is_exact_on_a_small_range() {
    let distribution =
        Distribution { rand_type: RandType::Zipf, zipfian_exp: 0.99, ..Distribution::default() };
    let keys = KeyChooser::new(&distribution, 0, 9, None);
    let mut rng = Rng::new(5, 0);
    let mut counts = [0u32; 10];
    for _ in 0..1_000_000 {
        counts[keys.draw(&mut rng) as usize] += 1;
    }
    let weights: Vec<f64> = (1..=10).map(|r| f64::from(r).powf(-0.99)).collect();
    let total: f64 = weights.iter().sum();
    for (count, weight) in counts.iter().zip(weights) {
        let expected = weight / total;
        assert!((f64::from(*count) / 1e6 - expected).abs() < 0.002, "{counts:?}");
    }
}

#[test]
fn scattering_keeps_the_counts_and_breaks_the_neighbourhood() {
    let clustered = keys(RandType::Pareto, 1, 1000, None);
    let scattered = keys(RandType::Pareto, 1, 1000, Some(9));
    let mut counts = [[0u32; 1001]; 2];
    let mut rngs = [Rng::new(2, 0), Rng::new(2, 0)];
    for _ in 0..100_000 {
        counts[0][clustered.draw(&mut rngs[0]) as usize] += 1;
        counts[1][scattered.draw(&mut rngs[1]) as usize] += 1;
    }
    let hot_neighbours =
        |c: &[u32; 1001]| c.windows(2).filter(|w| w[0] > 200 && w[1] > 200).count();
    assert!(hot_neighbours(&counts[0]) > 20);
    assert!(hot_neighbours(&counts[1]) < 10);
    counts.iter_mut().for_each(|c| c.sort_unstable());
    assert_eq!(counts[0], counts[1]);
}

proptest! {
    #[test]
    fn draws_stay_between_the_ends(
        first in 0u64..1 << 40,
        span in 0u64..1 << 33,
        seed: u64,
        scatter: Option<u64>,
    ) {
        let types = [
            RandType::Uniform,
            RandType::Gaussian,
            RandType::Special,
            RandType::Pareto,
            RandType::Zipf,
            RandType::Hotspot,
        ];
        for rand_type in types {
            let keys = keys(rand_type, first, first + span, scatter);
            let mut rng = Rng::new(seed, 0);
            for _ in 0..20 {
                let key = keys.draw(&mut rng);
                prop_assert!((first..=first + span).contains(&key), "{rand_type:?} {key}");
            }
        }
    }

    #[test]
    fn scatter_is_a_bijection(count in 1u64..3000, seed: u64) {
        let scatter = Scatter::new(count, seed);
        let mut seen = vec![false; count as usize];
        for rank in 0..count {
            let place = scatter.place(rank) as usize;
            prop_assert!(!std::mem::replace(&mut seen[place], true), "{place} twice");
        }
    }
}
