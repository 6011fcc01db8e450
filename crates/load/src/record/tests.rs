use super::*;

#[test]
fn a_sample_gives_back_what_was_put_in() {
    let events = [
        Event::Statement(StatementKind::Begin, Counted::Other),
        Event::Statement(StatementKind::RandomRanges, Counted::Read),
        Event::Statement(StatementKind::Delete, Counted::Write),
        Event::Unsuccessful(StatementKind::RecordRead, Failure::NotFound),
        Event::Unsuccessful(StatementKind::FileFsync, Failure::UnexpectedState),
        Event::Failed,
        Event::Transaction,
        Event::Ignored,
        Event::Reconnect,
    ];
    for event in events {
        for time in [Time::Both, Time::Service, Time::Response] {
            for phase in [Phase::Warmup, Phase::Measure, Phase::Late, Phase::Between] {
                for (second, number) in [(0, 0), (7, 1205), (4, NUMBER_MAX)] {
                    let sample = Sample::new(event, time, phase, second, number);
                    assert_eq!((sample.event(), sample.time()), (event, time));
                    assert_eq!((sample.phase(), sample.number()), (phase, number));
                    assert_eq!(sample.odd_second(), second % 2 == 1);
                }
            }
        }
    }
    let huge = Sample::new(Event::Failed, Time::Both, Phase::Late, 1, u64::MAX);
    assert_eq!(huge.number(), NUMBER_MAX);
}

fn read(ns: u64, phase: Phase, second: u64) -> Sample {
    Sample::new(
        Event::Statement(StatementKind::PointSelect, Counted::Read),
        Time::Both,
        phase,
        second,
        ns,
    )
}

#[test]
fn known_times_give_known_percentiles() {
    let mut collector = Collector::new(2, false);
    for i in 1..=1000u64 {
        collector.ledger((i % 2) as usize).note(read(i * 1_000, Phase::Measure, 0));
    }
    collector.collect();
    let latencies = collector.measured.latencies();
    let (name, service, response) = &latencies[0];
    assert_eq!((name.as_str(), service.count), ("point_select", 1000));
    assert_eq!(service, response);
    for (found, truth) in [
        (service.latency_ms_p50, 0.5),
        (service.latency_ms_p95, 0.95),
        (service.latency_ms_p99, 0.99),
        (service.latency_ms_max, 1.0),
        (service.latency_ms_mean, 0.5005),
        (service.quantile_ms(0.25), 0.25),
    ] {
        assert!((found / truth - 1.0).abs() < 0.001, "{found} is not {truth}");
    }
    assert_eq!(service.buckets_ns.iter().map(|(_, count)| count).sum::<u64>(), 1000);
}

#[test]
fn warmup_and_late_samples_stay_out_of_the_window() {
    let mut collector = Collector::new(1, false);
    let event = |phase| Sample::new(Event::Transaction, Time::Both, phase, 0, 5);
    for phase in [Phase::Warmup, Phase::Warmup, Phase::Measure, Phase::Late] {
        collector.ledger(0).note(event(phase));
        collector.ledger(0).note(read(7, phase, 0));
    }
    collector.collect();
    assert_eq!((collector.warmup_events, collector.late_events), (2, 1));
    assert_eq!((collector.measured.events, collector.measured.queries.read), (1, 1));
    assert_eq!(collector.threads[0].events, 1);
}

#[test]
fn samples_of_the_next_second_wait_for_it() {
    let mut collector = Collector::new(1, false);
    for second in [4, 4, 5] {
        collector.ledger(0).note(read(7, Phase::Measure, second));
    }
    collector.collect();
    assert_eq!(collector.second(4).queries.read, 2);
    collector.second(4).clear();
    assert_eq!(collector.second(5).queries.read, 1);
}

#[test]
fn service_and_response_are_kept_apart_and_an_event_counts_once() {
    let mut collector = Collector::new(1, false);
    let ledger = collector.ledger(0);
    let sample = |time, ns| Sample::new(Event::Transaction, time, Phase::Measure, 0, ns);
    ledger.note(sample(Time::Both, 1_000_000));
    ledger.note(sample(Time::Service, 2_000_000));
    ledger.note(sample(Time::Response, 9_000_000));
    collector.collect();
    let (_, service, response) = collector.measured.latencies().remove(0);
    assert_eq!((service.count, response.count, collector.measured.events), (2, 2, 2));
    assert!((service.latency_ms_max - 2.0).abs() < 0.01, "{service:?}");
    assert!((response.latency_ms_max - 9.0).abs() < 0.01, "{response:?}");
    assert_eq!(collector.measured.response_ns_sum, 10_000_000);
}

#[test]
fn errors_are_counted_by_code() {
    let mut collector = Collector::new(1, false);
    for code in [1213, 1205, 1213] {
        collector.ledger(0).note(Sample::new(Event::Ignored, Time::Both, Phase::Measure, 0, code));
    }
    collector.collect();
    assert_eq!(collector.measured.ignored, [(1205, 1), (1213, 2)].into());
}
