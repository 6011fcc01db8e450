use super::super::KeyChooser;
use super::*;

fn special(arithmetic: KeyArithmetic) -> Distribution {
    Distribution { rand_type: RandType::Special, arithmetic, ..Distribution::default() }
}

/// A million ids, in order.
fn ids(distribution: &Distribution, rows: u64) -> Vec<u64> {
    let keys = KeyChooser::new(distribution, 1, rows, None);
    let mut rng = Rng::new(4, 0);
    let mut ids: Vec<u64> = (0..1_000_000).map(|_| keys.draw(&mut rng)).collect();
    ids.sort_unstable();
    ids
}

/// The largest deviation of the percentiles 1, 25, 50, 75 and 99 of `ids` from the expected ones,
/// in millions.
fn distance(ids: &[u64], expected_millions: [f64; 5]) -> f64 {
    let of = |percent: usize| ids[(ids.len() - 1) * percent / 100] as f64 / 1e6;
    let found = [1, 25, 50, 75, 99].map(of);
    println!("percentiles {found:.1?}, expected {expected_millions:?}");
    found.iter().zip(expected_millions).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

const ROWS: u64 = 800_000_000;
/// The hot window of `ROWS`.
const HOT: std::ops::Range<u64> = 396_000_000..404_000_000;
/// Percentiles of the bell alone at that size, in millions, from an independent simulation.
const BELL_MILLIONS: [f64; 5] = [1.9, 62.5, 262.0, 314.0, 356.0];

#[test]
fn at_800_million_rows_the_bell_folds_as_simulated() {
    let all = ids(&special(KeyArithmetic::Words04), ROWS);
    let (hot, bell): (Vec<u64>, Vec<u64>) = all.into_iter().partition(|id| HOT.contains(id));
    let share = hot.len() as f64 / 1e6;
    println!("hot {share:.4}");
    assert!((share - 0.255).abs() < 0.002, "{share}");
    assert!(distance(&bell, BELL_MILLIONS) < 1.0);
    assert!(bell.last().is_some_and(|id| *id <= 357_913_941));
    // Exact arithmetic has no such bell, so the comparison can fail.
    let exact = ids(&special(KeyArithmetic::Exact), ROWS);
    let (hot, bell): (Vec<u64>, Vec<u64>) = exact.into_iter().partition(|id| HOT.contains(id));
    assert!((hot.len() as f64 / 1e6 - 0.255).abs() > 0.4);
    assert!(distance(&bell, BELL_MILLIONS) > 30.0);
}

#[test]
fn the_bells_share_grows_with_the_table() {
    let share = |rows| Words::new(&special(KeyArithmetic::Words04), rows).unwrap().bell_share();
    // Draws that fold back at the end of the range make the bell more than a quarter from 100 M
    // rows on.
    let expected = [
        (10_000, 0.250),
        (10_000_000, 0.251),
        (100_000_000, 0.279),
        (134_000_000, 0.251),
        (178_000_000, 0.332),
        (500_000_000, 0.466),
        (ROWS, 0.745),
    ];
    for (rows, share_expected) in expected {
        assert!((share(rows) - share_expected).abs() < 0.001, "{rows}: {}", share(rows));
        let distribution = special(KeyArithmetic::Words04);
        let keys = KeyChooser::new(&distribution, 1, rows, None);
        let words = Words::new(&distribution, rows).unwrap();
        let hot = u64::from(words.hot_from)..=u64::from(words.hot_from + words.hot_rows);
        let mut rng = Rng::new(6, 0);
        let in_hot = (0..200_000).filter(|_| hot.contains(&keys.draw(&mut rng))).count() as f64;
        // Some of the bell lies inside the hot window too: a twentieth, where the bell is not bent.
        let difference = in_hot / 200_000.0 - (1.0 - share(rows));
        assert!((-0.004..0.03).contains(&difference), "{rows}: {difference}");
    }
}

#[test]
fn both_generators_draw_alike_and_every_row_can_be_met() {
    for arithmetic in [KeyArithmetic::Words04, KeyArithmetic::Words05] {
        for rand_type in [RandType::Uniform, RandType::Gaussian, RandType::Special] {
            let ids = ids(&Distribution { rand_type, ..special(arithmetic) }, 1000);
            let mean = ids.iter().sum::<u64>() as f64 / 1e6;
            assert!((mean - 500.5).abs() < 4.0, "{arithmetic:?} {rand_type:?}: {mean}");
            assert!((1..=1000).contains(&ids[0]) && ids[999_999] <= 1000);
            if rand_type == RandType::Uniform {
                assert_eq!((ids[0], ids[999_999]), (1, 1000));
            }
        }
    }
}

#[test]
fn the_hot_window_is_a_whole_per_cent() {
    // 1 000 rows: 10 hot ones, 495 to 504 of 0.4 and one further in 0.5, which adds the first id at
    // the end.
    for (arithmetic, hot) in
        [(KeyArithmetic::Words04, 495..=504), (KeyArithmetic::Words05, 496..=505)]
    {
        let ids = ids(&special(arithmetic), 1000);
        let share = |id: u64| ids.iter().filter(|other| **other == id).count() as f64 / 1e6;
        let outside = share(hot.start() - 1).max(share(hot.end() + 1));
        assert!(hot.clone().all(|id| share(id) > 0.07) && outside < 0.01, "{arithmetic:?}");
    }
}

#[test]
fn what_overflows_is_told_and_what_does_not_is_not() {
    let told = |rand_type, arithmetic, rows| {
        let distribution = Distribution { rand_type, ..special(arithmetic) };
        Distortion::of(&distribution, rows).map(|distortion| distortion.to_string())
    };
    use KeyArithmetic::{Exact, Narrow, Words04, Words05};
    assert_eq!(
        told(RandType::Special, Words04, ROWS).unwrap(),
        "sysbench's 32-bit arithmetic overflows at 800000000 rows: 74.5 % of the keys are of \
         special's bell in place \
         of 25 %, none of which lies above 357913941"
    );
    assert!(told(RandType::Special, Words05, 178_956_971).unwrap().ends_with("in place of 25 %"));
    assert_eq!(told(RandType::Special, Words04, 178_956_970), None);
    assert!(
        told(RandType::Gaussian, Words04, ROWS).unwrap().contains("no key lies above 357913941")
    );
    assert_eq!(told(RandType::Uniform, Words04, ROWS), None);
    assert!(told(RandType::Uniform, Words05, 2_000_000_000).unwrap().contains("above 1073741823"));
    for arithmetic in [Exact, Narrow] {
        assert_eq!(told(RandType::Special, arithmetic, ROWS), None);
    }
    assert_eq!(told(RandType::Zipf, Words04, ROWS), None);
}
