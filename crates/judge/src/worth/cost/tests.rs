//! Costs of STEC's white paper of 2013, on its own inputs, and what each key does.

use super::*;
use assay_plan::{Plan, PlanForm};

/// An example of `docs/cost.md`.
fn example(place: usize) -> Prices {
    let page = include_str!("../../../../../docs/cost.md");
    let text = page.split("```toml").nth(1 + place).unwrap().split("```").next().unwrap();
    Prices::parse(text).unwrap()
}

/// The second: Chart 2 of the white paper, its configurations under shorter names.
fn stec() -> Prices {
    let mut prices = example(1);
    for (plans, ours) in [("six 15K disks", "disks"), ("s1120 card", "flash")] {
        let own = prices.configs.shift_remove(plans).unwrap();
        prices.configs.insert(ours.into(), own);
    }
    prices
}

#[test]
fn the_documentations_examples_are_of_the_configs_of_their_plans() {
    for (place, plan) in [(0, "demo"), (1, "stec-2013")] {
        for form in [PlanForm::Full, PlanForm::Quick] {
            let plan = Plan::read(plan.as_ref(), form).unwrap().plan;
            let prices = example(place);
            prices.check_configs(plan.configs.keys().map(String::as_str)).unwrap();
            let aa_run = |(name, config): (&String, &assay_plan::ConfigSpec)| {
                Some((name.clone(), config.aa_of.clone()?))
            };
            let prices = prices.with_aa_runs(&plan.configs.iter().filter_map(aa_run).collect());
            for config in plan.configs.keys() {
                assert_eq!(bill(&prices, &prices.of_config(config, None)).err(), None, "{config}");
            }
        }
    }
}

fn measured(tps: f64) -> MeasuredLoad {
    MeasuredLoad {
        tps: Interval::exactly(tps),
        space_ratio: None,
        scale: 1.0,
        capacity_bytes: None,
    }
}

fn cost(prices: &Prices, config: &str, measured: &MeasuredLoad) -> Cost {
    of(measured, prices, &prices.of_config(config, None)).unwrap()
}

fn near(one: f64, other: f64, tolerance: f64) -> bool {
    (one / other - 1.0).abs() < tolerance
}

#[test]
fn stecs_totals_come_out_and_its_costs_of_a_transaction_do_not() {
    let prices = stec();
    let (disks, flash) =
        (cost(&prices, "disks", &measured(27.0)), cost(&prices, "flash", &measured(251.0)));
    assert!(near(disks.bill.total, 15_024.0, 1e-4), "{:?}", disks.bill);
    assert!(near(flash.bill.total, 24_869.0, 1e-4), "{:?}", flash.bill);
    assert!(near(disks.cost_per_tps.mid, 556.44, 1e-4));
    assert!(near(flash.cost_per_tps.mid, 99.08, 1e-4));
    // Printed are 442 and 87, and 5.4 times as much for a dollar.
    assert!(!near(disks.cost_per_tps.mid, 442.0, 0.1) && !near(flash.cost_per_tps.mid, 87.0, 0.1));
    let gain = disks.cost_per_tps.mid / flash.cost_per_tps.mid;
    assert!(near(gain, 5.616, 1e-3) && !near(gain, 5.4, 0.03), "{gain}");
}

#[test]
fn stecs_nine_servers_are_its_rates_rounded_down() {
    let ratio = Interval { low: 250.5 / 27.5, mid: 251.0 / 27.0, high: 251.5 / 26.5 };
    let servers = consolidation(ratio, [1.0, 1.0]);
    assert!(near(servers.mid, 9.296, 1e-3));
    // Of a model at half its parallelism against one at an eighth the whole devices lie four times
    // as far apart.
    assert!(near(consolidation(ratio, [2.0, 8.0]).mid, 4.0 * 251.0 / 27.0, 1e-9));
    let prices = Prices { target: Some(Target { tps: Some(251.0), data_bytes: None }), ..stec() };
    let disks = cost(&prices, "disks", &measured(27.0)).fleet.unwrap();
    assert_eq!(disks.servers.mid, 10.0, "nine carry 243 of 251");
    assert_eq!(cost(&prices, "flash", &measured(251.0)).fleet.unwrap().servers.mid, 1.0);
}

#[test]
fn a_mirrored_pair_by_the_papers_text_costs_more_still() {
    let mut prices = stec();
    prices.configs["flash"].drives = Some(2.0);
    assert!(near(cost(&prices, "flash", &measured(251.0)).cost_per_tps.mid, 144.55, 1e-3));
}

#[test]
fn figures_are_as_wide_as_the_throughput_that_they_are_made_of() {
    let wide = MeasuredLoad { tps: Interval { low: 20.0, mid: 25.0, high: 40.0 }, ..measured(1.0) };
    let cost = cost(&stec(), "disks", &wide);
    let total = cost.bill.total;
    assert!(near(cost.cost_per_tps.low, total / 40.0, 1e-12));
    assert!(near(cost.cost_per_tps.high, total / 20.0, 1e-12));
    let target = Target { tps: Some(100.0), data_bytes: None };
    let prices = Prices { target: Some(target), ..stec() };
    let servers = super::tests::cost(&prices, "disks", &wide).fleet.unwrap().servers;
    assert_eq!((servers.low, servers.mid, servers.high), (3.0, 4.0, 5.0));
}

#[test]
fn a_scale_model_stands_for_the_whole_device_at_the_whole_price() {
    let scaled = MeasuredLoad { scale: 36.0, ..measured(10.0) };
    let whole = measured(360.0);
    let (scaled, whole) = (cost(&stec(), "flash", &scaled), cost(&stec(), "flash", &whole));
    assert_eq!(scaled.cost_per_tps, whole.cost_per_tps);
    assert_eq!(scaled.tps.mid, 360.0);
}

#[test]
fn a_gigabyte_costs_less_where_it_takes_less_and_data_may_take_more_servers_than_load() {
    let holding = |ratio: f64| MeasuredLoad {
        space_ratio: Some(Interval::exactly(ratio)),
        capacity_bytes: Some(800e9),
        ..measured(251.0)
    };
    let target = Target { tps: Some(251.0), data_bytes: Some(4.7e12) };
    let prices = Prices { target: Some(target), replicas: Some(2), ..stec() };
    let (plain, half) =
        (cost(&prices, "flash", &holding(1.0)), cost(&prices, "flash", &holding(2.0)));
    assert!(near(plain.drive_cost_per_gb.unwrap().mid, 2.0 * 11_414.0 / 800.0, 1e-9));
    assert!(near(half.drive_cost_per_gb.unwrap().mid, 11_414.0 / 800.0, 1e-9));
    let (plain, half) = (plain.fleet.unwrap(), half.fleet.unwrap());
    assert_eq!((plain.servers.mid, plain.bound_by), (12.0, Bound::Data), "six of each of both");
    assert_eq!(half.servers.mid, 6.0);
    assert!(near(plain.cost.mid, 12.0 * 24_868.0, 1e-3));
    // Without a capacity nothing is said of data.
    let unknown = cost(&prices, "flash", &measured(251.0));
    assert_eq!((unknown.drive_cost_per_gb, unknown.fleet.unwrap().bound_by), (None, Bound::Load));
}

#[test]
fn energy_discount_and_replicas_count() {
    let text = "currency = \"EUR\"\nyears = 2\nprice_per_kwh = 0.25\nreplicas = \
        3\n[every_config]\nserver_price = 1000\n\
        server_power_w = 180\ndrive_price = 500\ndrive_power_w = 10\ndrives = 2\ndiscount_percent \
        = 10\n";
    let prices = Prices::parse(text).unwrap();
    let cost = cost(&prices, "any", &measured(100.0));
    let energy = 0.2 * 8766.0 * 2.0 * 0.25;
    assert!(near(cost.bill.amount(What::Energy).unwrap(), energy, 1e-12));
    assert!(near(cost.bill.total, 900.0 + 900.0 + energy, 1e-12));
    assert!(near(cost.cost_per_tps.mid, 3.0 * cost.bill.total / 100.0, 1e-12));
}

#[test]
fn the_prices_that_matter_most_are_named_with_what_they_do() {
    let prices = stec();
    let flash = cost(&prices, "flash", &measured(251.0));
    let names: Vec<&str> = flash.sensitivity.iter().map(|one| one.price).collect();
    assert_eq!(names, ["drive_price", "server_price"]);
    let disks = cost(&prices, "disks", &measured(27.0));
    assert_eq!(disks.sensitivity[0].price, "server_price");
    // What is told comes out when the price is moved.
    let mut dearer = stec();
    dearer.configs["flash"].drive_price = Some(11_414.0 * 1.2);
    let moved = cost(&dearer, "flash", &measured(251.0)).cost_per_tps.mid;
    assert!(near(moved, flash.sensitivity[0].cost_per_tps_more, 1e-12));
    let elasticity = (moved / flash.cost_per_tps.mid - 1.0) / 0.2;
    assert!(near(elasticity, flash.sensitivity[0].elasticity, 1e-9));
    assert!(near(elasticity, 0.459, 1e-2));
}

#[test]
fn what_is_missing_is_named_and_makes_no_figure() {
    let missing = |text: &str| {
        let prices = Prices::parse(text).unwrap();
        of(&measured(1.0), &prices, &prices.of_config("a", None)).unwrap_err()
    };
    assert_eq!(missing(""), ["currency", "years", "server_price", "drive_price"]);
    let most = "currency = \"USD\"\nyears = 3\n";
    assert_eq!(missing(&format!("{most}[every_config]\nserver_price = 1\n")), ["drive_price"]);
    let energy =
        format!("{most}price_per_kwh = 0.1\n[every_config]\nserver_price = 1\ndrive_price = 1\n");
    assert_eq!(missing(&energy), ["server_power_w", "drive_power_w"]);
}
