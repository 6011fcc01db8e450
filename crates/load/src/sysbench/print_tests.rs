use std::collections::BTreeMap;

use super::super::parse::parse;
use super::*;
use crate::outcome::{KindLatency, SecondPhase, ThreadOutcome, Unfinished};

fn line(words: &str) -> SysbenchLine {
    parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).unwrap()
}

fn latency(ms: u64, count: u64) -> LatencyStats {
    let ms_f = ms as f64;
    LatencyStats {
        count,
        latency_ms_mean: ms_f,
        latency_ms_min: ms_f,
        latency_ms_max: ms_f,
        latency_ms_p50: ms_f,
        latency_ms_p95: ms_f,
        latency_ms_p99: ms_f,
        latency_ms_p999: ms_f,
        buckets_ns: vec![(ms * 1_000_000, count)],
    }
}

fn second(end_s: f64, events: u64) -> Second {
    Second {
        end_s,
        length_s: 1.0,
        phase: SecondPhase::Measure,
        threads: 2,
        events,
        tps: events as f64,
        qps: events as f64 * 20.0,
        queries: Queries { read: events * 14, write: events * 4, other: events * 2 },
        latency: latency(10, events),
        errors: 3,
        reconnects: 0,
        queue_length: 5,
        concurrency: 2,
    }
}

fn outcome(line: &SysbenchLine) -> LoadOutcome {
    let transaction = KindLatency {
        kind: "transaction".into(),
        service: latency(10, 100),
        response: latency(10, 100),
    };
    LoadOutcome {
        measure_start_s: 0.0,
        measure_end_s: 2.0,
        elapsed_s: 2.0,
        events: 100,
        tps: 50.0,
        queries: Queries { read: 1400, write: 400, other: 200 },
        qps: 1000.0,
        events_warmup: 0,
        events_late: 0,
        events_between: 0,
        events_cut: 0,
        unfinished: Unfinished { events: 2, wait_ms_max: 10.5 },
        errors: BTreeMap::from([(1213, 4)]),
        reconnects: 0,
        latency: vec![transaction],
        latency_ms_sum: 1000.0,
        threads: vec![
            ThreadOutcome { events: 60, busy_s: 0.6 },
            ThreadOutcome { events: 40, busy_s: 0.4 },
        ],
        rate_target: None,
        client_cpu_s: Some(0.02),
        steady: None,
        device: None,
        interrupted: false,
        work: Work::Server {
            workload: line.load.workload.clone(),
            schema: line.load.schema.clone(),
        },
        schedule: line.load.schedule.clone(),
    }
}

fn printed(
    words: &str,
    act: impl FnOnce(&mut SysbenchPrinter<&mut Vec<u8>>, &SysbenchLine),
) -> String {
    let line = line(words);
    let mut out = Vec::new();
    act(&mut SysbenchPrinter::new(&mut out, &line), &line);
    String::from_utf8(out).unwrap()
}

#[test]
fn interval_lines_bear_sysbenchs_labels() {
    let text = printed("oltp_read_write run --report-interval=2 --rate=9", |printer, _| {
        for (end_s, events) in [(7.0, 10), (8.0, 30)] {
            printer.second(&second(end_s, events)).unwrap();
        }
    });
    assert_eq!(
        text,
        "[ 2s ] thds: 2 tps: 20.00 qps: 400.00 (r/w/o: 280.00/80.00/40.00) lat (ms,95%): 10.09 \
         err/s: 3.00 \
         reconn/s: 0.00\n[ 2s ] queue length: 5, concurrency: 2\n"
    );
}

/// sysbench 1.0.20's output for these numbers, with its spaces.
const FINAL_BLOCK: &str = "\
SQL statistics:
    queries performed:
        read:                            1400
        write:                           400
        other:                           200
        total:                           2000
    transactions:                        100    (50.00 per sec.)
    queries:                             2000   (1000.00 per sec.)
    ignored errors:                      4      (2.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          2.0000s
    total number of events:              100

Latency (ms):
         min:                                   10.00
         avg:                                   10.00
         max:                                   10.00
         95th percentile:                       10.09
         sum:                                 1000.00

Threads fairness:
    events (avg/stddev):           50.0000/10.00
    execution time (avg/stddev):   0.5000/0.10

";

#[test]
fn the_final_block_is_sysbenchs_then_ours() {
    let text =
        printed("oltp_read_write run", |printer, line| printer.outcome(&outcome(line)).unwrap());
    assert!(text.starts_with(FINAL_BLOCK), "{text}");
    let ours = &text[FINAL_BLOCK.len()..];
    for label in ["compat, special, seed", "ignored error 1213:", "us per query", "transaction"] {
        assert!(ours.contains(label), "{label} in {ours}");
    }
}

#[test]
fn a_forced_shutdown_is_told_in_sysbenchs_words() {
    let printed = |words: &str, events_cut, interrupted| {
        printed(words, |printer, line| {
            printer.header(line).unwrap();
            printer.outcome(&LoadOutcome { events_cut, interrupted, ..outcome(line) }).unwrap();
        })
    };
    let told = printed("oltp_read_write run --time=3 --forced-shutdown=1", 4, false);
    for words in [
        "from current time\n\nForcing shutdown in 4 seconds\n\nInitializing worker threads...\n",
        "\nFATAL: The --max-time limit has expired, forcing shutdown...\nSQL statistics:\n",
        "(0.00 per sec.)\n\nNumber of unfinished transactions on forced shutdown: 4\n\nGeneral \
         statistics:\n",
    ] {
        assert!(told.contains(words), "{words} in {told}");
    }
    for (words, cut, interrupted) in [
        ("oltp_read_write run --time=3 --forced-shutdown=1", 0, false),
        ("oltp_read_write run --time=3 --forced-shutdown=1", 4, true),
        ("oltp_read_write run --time=3", 4, true),
    ] {
        let told = printed(words, cut, interrupted);
        assert!(!told.contains("FATAL") && !told.contains("unfinished transactions"), "{told}");
    }
}

#[test]
fn what_waited_longer_than_all_that_was_measured_is_told() {
    let with = |wait_ms_max| {
        printed("oltp_read_write run", |printer, line| {
            let unfinished = Unfinished { events: 25, wait_ms_max };
            printer.outcome(&LoadOutcome { unfinished, ..outcome(line) }).unwrap();
        })
    };
    let told = "    waiting when the window ended:       25 (20.0 %), the oldest for 350 ms: \
                percentiles are too low\n";
    assert!(with(350.4).contains(told), "{}", with(350.4));
    assert!(
        !with(99.0).contains("waiting when"),
        "longer than the longest, and short all the same"
    );
    assert!(!with(9.9).contains("waiting when"));
}

#[test]
fn percentile_0_and_low_verbosity_are_obeyed() {
    let text = printed("oltp_read_write run --percentile=0", |printer, line| {
        printer.outcome(&outcome(line)).unwrap();
    });
    assert!(text.contains("         percentile stats:               disabled\n"));
    let silent =
        printed("oltp_read_write run --verbosity=1 --report-interval=1", |printer, line| {
            printer.header(line).unwrap();
            printer.second(&second(1.0, 1)).unwrap();
            printer.outcome(&outcome(line)).unwrap();
        });
    assert_eq!(silent, "");
}

#[test]
fn the_histogram_shows_each_bucket_once() {
    let text = printed("oltp_read_write run --histogram", |printer, line| {
        printer.outcome(&outcome(line)).unwrap();
    });
    let bar = "*".repeat(40);
    assert!(text.contains(&format!("      10.090 |{bar} 100\n")), "{text}");
}
