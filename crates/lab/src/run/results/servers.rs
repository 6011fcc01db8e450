//! Figures of each server of a run, and of the servers compared with each other.

use assay_study::metrics::{MetricEntry, metric};
use assay_study::{OfServer, Results, Series, fairness};

use super::observation::Observation;

/// Metrics of a run, and the same metric of one of its servers.
pub(crate) const OF_EACH: [(&MetricEntry, &MetricEntry); 2] = [
    (metric!("tps"), metric!("tps_of_server{}")),
    (metric!("latency_ms_p99"), metric!("latency_ms_p99_of_server{}")),
];

/// Throughput and tail of each server, second by second.
pub(crate) fn series(observations: &[Observation]) -> Vec<Series> {
    let of_server = |(number, observation): (u32, &Observation)| {
        let its = &observation.seconds.series;
        OF_EACH.map(|(of_run, of_server)| {
            let points = its.iter().find(|series| series.name == of_run.name);
            let points = points.map(|series| series.points.clone()).unwrap_or_default();
            named(of_server, number, points)
        })
    };
    (1..).zip(observations).flat_map(of_server).collect()
}

fn named(metric: &'static MetricEntry, number: u32, points: Vec<(u32, f64)>) -> Series {
    let number = number.to_string();
    let (name, label) = (metric.name_of(&number), metric.label_of(&number));
    Series { name, label, points, ..Series::of(metric) }
}

/// Figures of each server, and the comparison of those under the run's own load.
pub(crate) fn summary(servers: &[OfServer]) -> Results {
    let of = |name: &str| -> Vec<f64> {
        let own = servers.iter().filter(|server| server.neighbour.is_none());
        own.filter_map(|server| server.results.get(name).copied()).collect()
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
