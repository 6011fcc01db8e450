//! The cost table of each plan that repeats a paper, with throughputs of a round size, beside the
//! same worked out by hand: what a configuration stands for is in its figures once, and a rate that
//! was asked for is no throughput.

use super::truth::{Load, load, page_of, store};
use super::*;
use assay_plan::{DiskBase, Experiment, Plan, PlanForm};
use assay_study::{DiskRecord, Media, Model, Pool, PoolCluster, Servers};

struct Costs {
    page: String,
    json: Value,
}

/// The study that the quick profile of a plan makes, with these throughputs of its workload,
/// against its baseline.
fn of_plan(name: &str, loads: &[Load<'_>], baseline: &str, rate: Option<f64>) -> Costs {
    let experiment = experiment(name);
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path(), loads);
    let mut study = store.study().unwrap();
    study.judging.baseline = Some(baseline.into());
    study.prices = experiment.prices.clone();
    if let Some(rate) = rate {
        study.workloads[0].options.insert("rate".into(), rate.to_string());
    }
    for config in &mut study.configs {
        config.rig.disk = Some(disk(&experiment, &config.name));
        let count = experiment.variant_of(&config.name).unwrap().servers;
        config.rig.servers = (count > 1).then_some(Servers { count, neighbour: None });
    }
    store.write_head(&StudyHead::from(&study)).unwrap();
    let page = page_of(directory.path(), &store, None);
    let json = fs::read(directory.path().join("results.json")).unwrap();
    Costs { page, json: serde_json::from_slice(&json).unwrap() }
}

fn experiment(plan: &str) -> Experiment {
    Experiment::of(Plan::read(plan.as_ref(), PlanForm::Quick).unwrap().plan).unwrap()
}

/// The disk under a configuration of the plan, as far as its scale is told.
fn disk(experiment: &Experiment, config: &str) -> DiskRecord {
    let rig = &experiment.variant_of(config).unwrap().rig;
    let media = match &rig.disk().unwrap().base {
        DiskBase::Model(model) => Media::Model(Model {
            devices: model.devices,
            capacity_scale: model.capacity_scale,
            parallel_scale: model.parallel_scale,
            ..Model::default()
        }),
        DiskBase::Pool(..) => {
            let cluster = PoolCluster::Existing { conf: "ceph.conf".into(), pool: "a".into() };
            Media::Pool(Pool { cluster, bytes: 2 << 30 })
        }
        other => panic!("{config}: {other:?}"),
    };
    DiskRecord { media, ..DiskRecord::default() }
}

impl Costs {
    fn of(&self, list: &str, config: &str) -> &Value {
        let all = self.json[list].as_array().unwrap();
        all.iter().find(|one| one["config"] == config).unwrap_or_else(|| panic!("{list}: {config}"))
    }

    /// Servers for 10,000 transactions a second, and what one is worth in servers of the baseline.
    #[track_caller]
    fn assert_servers(&self, config: &str, tps: f64, servers: f64, worth: f64) {
        let one = self.of("servers", config);
        let mid = |one: &Value| one["mid"].as_f64().unwrap();
        assert!((mid(&one["tps"]) / tps - 1.0).abs() < 0.01, "{one}");
        assert!((mid(&one["servers_per_10000_tps"]) - servers).abs() < 0.11, "{one}");
        assert!((mid(&one["worth_up_to"]) / worth - 1.0).abs() < 0.01, "{one}");
    }
}

#[test]
fn eight_dimms_are_not_dearer_than_one_card_because_of_their_divisors() {
    // 43.03 × 32 = 1,377; 10,000 ÷ 1,377 = 7.26. 90 × 32 = 2,880 (3.47 servers) and 125.5 × 32 =
    // 4,016 (2.49): the same scale for all, whatever they are made of.
    let loads = [load("4 DIMMs", 8, 90.0), load("8 DIMMs", 8, 125.5), load("PCIe card", 8, 43.03)];
    let costs = of_plan("exflash-2015", &loads, "PCIe card", None);
    costs.assert_servers("PCIe card", 1377.0, 7.3, 1.0);
    costs.assert_servers("4 DIMMs", 2880.0, 3.5, 90.0 / 43.03);
    costs.assert_servers("8 DIMMs", 4016.0, 2.5, 125.5 / 43.03);
    assert_eq!(costs.json.get("uncosted"), None);
    // Their endurance, their price and their power are of as many as there are.
    let experiment = experiment("exflash-2015");
    assert_eq!(
        ["PCIe card", "4 DIMMs", "8 DIMMs"].map(|one| disk(&experiment, one).devices()),
        [1.0, 4.0, 8.0]
    );
}

#[test]
fn stecs_totals_follow_from_its_prices_and_replacement_from_throughput() {
    // Chart 2: 9,999 + 1,570 + 3,455 = 15,024 and 9,999 + 11,414 + 3,455 = 24,868; ÷ 27 and ÷ 251
    // transactions a second. The pair has the chart's one line too, for both of its cards.
    let pair = "s1120 pair, RAID 1";
    let loads =
        [load("s1120 card", 20, 251.0), load("six 15K disks", 20, 27.0), load(pair, 20, 300.0)];
    let costs = of_plan("stec-2013", &loads, "six 15K disks", None);
    for (config, total, each) in [
        ("six 15K disks", 15_024.0, 556.4),
        ("s1120 card", 24_868.0, 99.08),
        (pair, 24_868.0, 82.89),
    ] {
        let one = costs.of("costs", config);
        assert!((one["bill"]["total"].as_f64().unwrap() - total).abs() < 0.1, "{one}");
        assert!((one["cost_per_tps"]["mid"].as_f64().unwrap() / each - 1.0).abs() < 0.01, "{one}");
    }
    let replaces = &costs.of("costs", "s1120 card")["replaces"]["mid"];
    assert!((replaces.as_f64().unwrap() / (251.0 / 27.0) - 1.0).abs() < 0.01, "{replaces}");
}

#[test]
fn the_drives_of_the_white_paper_of_2020_are_at_one_scale() {
    // 88.4 × 36 = 3,182 (3.14 servers); 61.2 × 36 = 2,203 (4.54).
    let loads = [load("csd, doublewrite off", 8, 88.4), load("plain, doublewrite on", 8, 61.2)];
    let costs = of_plan("percona-2020", &loads, "plain, doublewrite on", None);
    costs.assert_servers("csd, doublewrite off", 3182.0, 3.2, 88.4 / 61.2);
    costs.assert_servers("plain, doublewrite on", 2203.0, 4.6, 1.0);
}

const POOL: &str = "pool, 2 copies, compressed";

#[test]
fn at_fungibles_rates_nothing_is_said_of_cost() {
    let loads = [load(POOL, 8, 160.0), load("drive, zlib pages", 8, 160.0)];
    let costs = of_plan("fungible-2021", &loads, "drive, zlib pages", Some(160.0));
    assert_eq!(costs.json["servers"], serde_json::json!([]));
    let section = section(&costs.page, "cost").unwrap();
    assert!(section.contains("the rate was asked for"), "{section}");
    assert!(!section.contains("<table") && !section.contains("servers.csv"), "{section}");
    assert_eq!(costs.of("uncosted", POOL)["why"], "rate_asked");
}

#[test]
fn of_fungibles_sides_without_a_rate_one_is_a_model_and_has_no_peer() {
    // Three servers on one pool do 240 together: 80 each, 125 of which carry 10,000.
    let three = "3 servers on one pool";
    let loads = [load(three, 8, 240.0), load("drive, zlib pages", 8, 300.0), load(POOL, 8, 160.0)];
    let costs = of_plan("fungible-2021", &loads, POOL, None);
    costs.assert_servers(POOL, 160.0, 63.0, 1.0);
    costs.assert_servers(three, 80.0, 125.0, 0.5);
    let uncosted = costs.of("uncosted", "drive, zlib pages");
    assert_eq!((&uncosted["why"], &uncosted["own"]), (&"other_scale".into(), &36.0.into()));
    let section = section(&costs.page, "cost").unwrap();
    assert!(section.contains("runs at 1&#x2f;36 of its parallelism"), "{section}");
}
