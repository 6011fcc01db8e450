//! Tests of the live view on terminals of every size.

use assay_load::{LatencyStats, Queries, Second, SecondPhase};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::draw::{draw, rows_on};
use super::seen::{DiskSecond, LoadSecond, Seen};
use super::*;
use crate::run_command::count::{Count, Lengths};
use assay_study::TrialKey;

const LENGTHS: Lengths = Lengths {
    seconds: 60.0,
    warmup_seconds: 20.0,
    is_warmup_a_cap: false,
    is_measuring_a_cap: false,
    search_runs: None,
};
const SECOND: DiskSecond = [
    Some(5.0 * 1024.0 * 1024.0),
    Some(320.0),
    Some(0.25),
    Some(40.0 * 1024.0 * 1024.0),
    Some(2560.0),
    Some(1.5),
    Some(77.0),
    None,
];

/// State of a study in its second run of four.
fn seen() -> Seen {
    let mut count = Count::new(LENGTHS, 4);
    count.ended();
    let mut seen = Seen::new("disk against disk", PhaseNames::default(), count);
    let key = TrialKey { config: "csd".into(), workload: "rw".into(), threads: 8, repeat: 2 };
    seen.begin_trial(&key);
    seen.step = seen.count.phase(40.0, Some(20.0));
    seen.trial_s = 40.0;
    seen.load = (1..=60)
        .map(|second| LoadSecond { tps: f64::from(second) * 50.0, latency_ms_p99: 12.345 })
        .collect();
    seen.disk = vec![SECOND; 60];
    seen
}

/// Lines of a terminal that shows only the view, without styles.
fn drawn(seen: &Seen, columns: usize, rows: usize) -> Vec<String> {
    draw(seen, columns, rows).iter().map(|line| without_styles(&line.text(true))).collect()
}

#[test]
fn trial_step_figures_and_keys_are_there() {
    let rows = drawn(&seen(), 90, 11);
    let row = |start: &str| {
        let found = rows.iter().find(|row| row.starts_with(start));
        found.unwrap_or_else(|| panic!("no row {start} in {rows:#?}")).clone()
    };
    assert_eq!(rows[0], "", "where the cursor rests");
    assert_eq!(rows[1], "run 2 of 4: csd / rw / 8 threads / repeat 2");
    // One run and half of another, of four.
    assert!(row(" 38 %").contains(" left ━━━━") && row(" 38 %").ends_with('─'), "{rows:#?}");
    assert_eq!(rows[3], "measuring, second 20 of 60");
    assert!(row("tps").ends_with("█  3000.0 /s"), "{rows:#?}");
    assert!(row("p99").ends_with("12.35 ms") && row("p99").contains("████"), "{rows:#?}");
    assert!(row("read").ends_with("5.0 MiB/s  320 /s  0.25 ms"), "{rows:#?}");
    assert!(row("write").ends_with("40.0 MiB/s  2560 /s  1.50 ms"), "{rows:#?}");
    assert!(row("flush").ends_with("█  77 /s"), "a latency that is not known is left out");
    assert_eq!(rows[10], "q: stop after this run    Ctrl-C: stop now");
}

#[test]
fn seconds_of_load_tell_the_phase_and_a_new_trial_begins_empty() {
    let mut seen = seen();
    let second = |end_s, length_s, phase| Second {
        end_s,
        length_s,
        phase,
        threads: 8,
        events: 90,
        tps: 90.0,
        qps: 1800.0,
        queries: Queries::default(),
        latency: LatencyStats { latency_ms_p99: 3.0, ..LatencyStats::default() },
        errors: 0,
        reconnects: 0,
        queue_length: 0,
        concurrency: 0,
    };
    seen.begin_trial(&TrialKey { config: "a".into(), workload: "w".into(), threads: 1, repeat: 1 });
    assert!(seen.load.is_empty() && seen.disk.is_empty());
    seen.second(&second(20.0, 1.0, SecondPhase::Warmup));
    assert_eq!(seen.step, "warming up, second 20 of 20");
    seen.second(&second(21.0, 1.0, SecondPhase::Measure));
    seen.second(&second(22.0, 1.0, SecondPhase::Measure));
    assert_eq!(seen.step, "measuring, second 2 of 60");
    seen.second(&second(22.1, 0.1, SecondPhase::Measure));
    let kept = LoadSecond { tps: 90.0, latency_ms_p99: 3.0 };
    assert_eq!(seen.load, [kept; 3], "a rest of a second is no second");
}

#[test]
fn a_sparkline_shows_the_newest_seconds_and_leaves_gaps() {
    let mut seen = seen();
    seen.load = [8.0, 4.0, 8.0].map(|tps| LoadSecond { tps, latency_ms_p99: f64::NAN }).into();
    let rows = drawn(&seen, 90, 11);
    assert!(rows[4].starts_with("tps    █▄█ "), "{rows:#?}");
    assert!(!rows[5].contains(['█', '▄']), "what is not known is not drawn: {rows:#?}");
    // With 49 columns, the high seconds at the beginning are not shown any more.
    seen.load = (0..60).map(|second| if second < 5 { 1e9 } else { 1.0 }).map(second_of).collect();
    let rows = drawn(&seen, 90, 11);
    assert!(rows[4].starts_with("tps    ████████"), "{rows:#?}");
}

fn second_of(tps: f64) -> LoadSecond {
    LoadSecond { tps, latency_ms_p99: 1.0 }
}

#[test]
fn a_small_terminal_gets_what_matters_most() {
    assert_eq!(rows_on(5), 4);
    let rows = drawn(&seen(), 39, 4);
    assert!(rows[0].starts_with("run 2 of 4: csd / rw / 8 threads"), "{rows:#?}");
    assert_eq!(
        rows[1..],
        ["measuring, second 20 of 60", "tps    3000.0 /s", "q: stop after this run  ^C: now"]
    );
    assert_eq!(drawn(&seen(), 6, 1), ["run 2…"]);
    assert_eq!([rows_on(0), rows_on(1), rows_on(60)], [1, 1, 11]);
}

#[test]
fn a_machine_that_counts_nothing_says_so() {
    let seen = Seen { disk: vec![], is_disk_counted: Some(false), ..seen() };
    let rows = drawn(&seen, 90, 11);
    assert_eq!(rows.iter().filter(|row| row.ends_with("not counted on this machine")).count(), 3);
}

#[test]
fn a_key_asks_again_before_a_trial_is_lost() {
    let typed =
        |keys: &[&[u8]]| keys.iter().fold(Ending::None, |ending, key| after_keys(ending, key));
    assert_eq!(typed(&[b"q"]), Ending::AfterTrial);
    assert_eq!(typed(&[b"\x1b"]), Ending::AfterTrial);
    assert_eq!(typed(&[b"q", b"x"]), Ending::None);
    assert_eq!(typed(&[b"q", b"q"]), Ending::Now);
    assert_eq!(typed(&[b"q", b"q", b"x"]), Ending::Now, "what has begun goes on");
    assert_eq!(typed(&[b"qq"]), Ending::AfterTrial, "a paste is one key");
    assert_eq!(typed(&[b"quick quiz\nqqq"]), Ending::AfterTrial);
    assert_eq!(typed(&[b"a quick quiz"]), Ending::None);
    assert_eq!(typed(&[b"x", b"\r", b"\x1b[A"]), Ending::None, "an arrow is not the Escape key");
    let keys = |ending| drawn(&Seen { ending, ..seen() }, 110, 11)[10].clone();
    assert!(keys(Ending::AfterTrial).contains("q: stop now"));
    assert!(keys(Ending::Now).contains("q or Ctrl-C: end at once"));
}

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        0.0..1e12,
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(0.0)
    ]
}

prop_compose! {
    fn any_seen()(
        values in prop::collection::vec((any_value(), any_value()), 0..250),
        disk in prop::collection::vec(prop::array::uniform8(prop::option::of(any_value())), 0..250),
        trial in ".{0,80}",
        step in ".{0,80}",
        trial_s in any_value(),
        done in 0..5_usize,
        trials in 0..5_usize,
        is_disk_counted in any::<Option<bool>>(),
        ending in prop::sample::select(vec![Ending::None, Ending::AfterTrial, Ending::Now]),
    ) -> Seen {
        let mut count = Count::new(LENGTHS, trials);
        count.done = done;
        let mut seen = Seen::new("title", PhaseNames::default(), count);
        seen.trial = Some(trial);
        seen.step = step;
        seen.trial_s = trial_s;
        let second = |(tps, latency_ms_p99)| LoadSecond { tps, latency_ms_p99 };
        seen.load = values.into_iter().map(second).collect();
        (seen.disk, seen.is_disk_counted, seen.ending) = (disk, is_disk_counted, ending);
        seen
    }
}

proptest! {
    #[test]
    fn any_state_is_drawn_at_any_size(
        seen in any_seen(),
        columns in 1..=200_usize,
        rows in 1..=60_usize,
    ) {
        let lines = drawn(&seen, columns, rows);
        prop_assert_eq!(lines.len(), rows.min(11));
        for text in lines {
            prop_assert!(text.width() <= columns, "{text}");
            prop_assert!(!text.contains(char::is_control), "{text:?}");
        }
    }
}

fn without_styles(row: &str) -> String {
    let mut pieces = row.split("\x1b[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once('m').map_or("", |(_, rest)| rest))
}
