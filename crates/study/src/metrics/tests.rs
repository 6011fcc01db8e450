//! The catalogue is consistent: names are unique, referenced names exist, values are shown in units
//! that fit.

use std::collections::BTreeSet;

use super::entry::Judged;
use super::*;

fn names() -> Vec<&'static str> {
    all().map(|metric| metric.name).collect()
}

#[test]
fn each_name_is_there_once() {
    let names = names();
    let distinct: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), distinct.len(), "{names:?}");
}

#[test]
fn a_metric_is_found_by_its_name_and_by_that_of_one_cpu() {
    assert_eq!(find("tps"), Some(metric!("tps")));
    assert_eq!(find("cpu12_busy_percent").map(|metric| metric.name), Some("cpu{}_busy_percent"));
    assert_eq!(find("cpu{}_busy_percent").unwrap().name_of("12"), "cpu12_busy_percent");
    assert_eq!(find("disk_reads_per_s").unwrap().label_of("vda"), "reads (vda)");
    for unknown in ["", "tp", "tpss", "cpu_busy_percent", "cpux_busy_percent", "cpu1_percent"] {
        assert_eq!(find(unknown), None, "{unknown}");
    }
}

#[test]
fn what_an_entry_speaks_of_is_there() {
    let unit = |name: &str| find(name).unwrap_or_else(|| panic!("{name}")).unit;
    for one in all() {
        match one.aggregation {
            Aggregation::WeightedMean { by } => {
                assert_eq!(unit(by), Unit::PerSecond, "{}", one.name);
                assert!(one.is_latency, "{}", one.name);
            }
            Aggregation::Quotient { over, under, .. } => {
                let is_share = matches!(one.unit, Unit::Ratio | Unit::Percent);
                assert!(unit(over) == unit(under) || !is_share, "{}", one.name);
            }
            _ => {}
        }
        for column in one.columns() {
            assert!(column.plus.is_none_or(|name| unit(name) == one.unit), "{}", one.name);
        }
    }
}

#[test]
fn series_alone_are_made_of_their_seconds() {
    for one in all() {
        let is_of_seconds =
            !matches!(one.aggregation, Aggregation::Quotient { .. } | Aggregation::Computed);
        assert!(one.is_series || !is_of_seconds, "{}", one.name);
        assert!(one.is_series || one.line.is_none(), "{} in a chart of seconds", one.name);
        assert!(one.is_series || one.gives.is_none(), "{}", one.name);
    }
}

/// A name ends with its unit, which equals the entry's.
#[test]
fn the_unit_is_that_of_the_name() {
    for one in all() {
        let ends = |ending: &str| one.name.ends_with(ending);
        // Counts commands that waited for bytes, not bytes.
        let is_bytes = one.name.contains("bytes") && !one.name.contains("waited_for_bytes");
        let expected = match one.name {
            _ if one.name.starts_with("tps_of_server") => Unit::PerSecond,
            _ if ends("_us_per_query") => Unit::MicrosecondsPerQuery,
            _ if ends("_us_per_s") => Unit::MicrosecondsPerSecond,
            _ if ends("_ms_per_s") => Unit::MillisecondsPerSecond,
            _ if ends("_per_s") && is_bytes => Unit::BytesPerSecond,
            _ if ends("_per_s") => Unit::PerSecond,
            _ if ends("_per_transaction") && is_bytes => Unit::BytesPerTransaction,
            _ if ends("_per_transaction") => Unit::PerTransaction,
            _ if ends("_percent") => Unit::Percent,
            _ if ends("_ms") || one.name.contains("_ms_") => Unit::Milliseconds,
            _ if is_bytes => Unit::Bytes,
            "tps" | "qps" | "target_rate" | "achieved_rate" => Unit::PerSecond,
            _ if ends("_ratio") || one.name.contains("amplification") => Unit::Ratio,
            _ if ends("_pages") => Unit::Pages,
            _ => Unit::Count,
        };
        assert_eq!(one.unit, expected, "{}", one.name);
    }
}

#[test]
fn what_is_shown_fits_its_unit_and_has_a_place_of_its_own() {
    let mut places = Vec::new();
    for one in all() {
        for column in one.columns() {
            assert!(column.shown.fits(one.unit), "{} as {}", one.name, column.shown.template());
            assert!(!column.head.is_empty() && !column.title.is_empty(), "{}", one.name);
            places.push(format!("column {} of {:?}", column.place, column.group));
        }
        places.extend(one.line.map(|line| format!("line {} of {:?}", line.place, line.chart)));
    }
    let distinct: BTreeSet<&String> = places.iter().collect();
    assert_eq!(places.len(), distinct.len(), "{places:?}");
}

#[test]
fn lines_of_a_chart_have_one_unit() {
    let lines = || all().filter_map(|metric| Some((metric.line?.chart, metric.unit)));
    for (chart, unit) in lines() {
        assert!(lines().all(|(other, its)| other != chart || its == unit), "{chart:?}");
    }
}

#[test]
fn few_are_judged_and_it_is_known_which_way_they_are_better() {
    for metric in all().filter(|metric| metric.judged.is_some()) {
        let Some(Judged { tail, .. }) = metric.judged else { unreachable!() };
        assert!(metric.better.is_some(), "{}", metric.name);
        assert_eq!(metric.is_better_higher(), tail.is_none(), "{}", metric.name);
    }
    assert_eq!(all().filter(|metric| metric.judged.is_some()).count(), 5);
}

#[test]
fn words_are_read_as_they_are_written() {
    for unit in Unit::ALL {
        assert_eq!(unit.word().parse(), Ok(unit));
    }
    for layer in Layer::ALL {
        assert_eq!(layer.word().parse(), Ok(layer));
    }
    assert!("B/s".parse::<Unit>().unwrap_err().starts_with("`B/s` is not a known unit"));
    assert!("flash".parse::<Layer>().unwrap_err().starts_with("`flash` is not a known layer"));
}
