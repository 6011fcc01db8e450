//! The closed forms agree with the model.

use super::*;
use crate::rotating::figures;
use crate::testing::{assert_near, closed_loop, per_s};

const MANY: usize = 40_000;

#[test]
fn random_reads_at_depth_1_take_a_seek_and_half_a_revolution() {
    for spindles in [1, 6] {
        let array = array(spindles, false);
        let mut pages = Pages::of(&array, 1);
        let answered = closed_loop(&mut rotating(&array), 1, MANY, |_| pages.read());
        assert_near(mean_us(&answered), figures::read_latency_us(&array, PAGE, 1.0).unwrap(), 0.02);
        let mut pages = Pages::of(&array, 2);
        let rate = per_s(&mut rotating(&array), 1, MANY, |_| pages.read());
        assert_near(rate, 1e6 / figures::read_latency_us(&array, PAGE, 1.0).unwrap(), 0.02);
    }
}

#[test]
fn random_reads_of_a_mirrored_pair_take_the_sooner_of_two() {
    for spindles in [2, 6] {
        let array = array(spindles, true);
        let mut pages = Pages::of(&array, 1);
        let answered = closed_loop(&mut rotating(&array), 1, MANY, |_| pages.read());
        let figure = figures::read_latency_us(&array, PAGE, 1.0).unwrap();
        println!("{spindles}: {:.0} for {figure:.0} us", mean_us(&answered));
        assert_near(mean_us(&answered), figure, 0.03);
    }
}

#[test]
fn on_a_part_of_the_disks_arms_travel_less_far() {
    for (mirrored, span) in [(false, 0.5), (true, 0.5), (false, 0.1)] {
        let array = array(2, mirrored);
        let part = |mut pages: Pages| {
            pages.pages = (pages.pages as f64 * span) as u64;
            pages
        };
        let mut pages = part(Pages::of(&array, 5));
        let reads = closed_loop(&mut rotating(&array), 1, MANY, |_| pages.read());
        let figure = figures::read_latency_us(&array, PAGE, span).unwrap();
        assert_near(mean_us(&reads), figure, 0.03);
        let writes = closed_loop(&mut rotating(&array), 1, MANY, |_| pages.write());
        let figure = figures::write_latency_us(&array, PAGE, span).unwrap();
        assert_near(mean_us(&writes), figure, 0.03);
    }
}

#[test]
fn random_writes_at_depth_1_wait_for_the_later_mirror() {
    for mirrored in [false, true] {
        let array = array(2, mirrored);
        let mut pages = Pages::of(&array, 3);
        let answered = closed_loop(&mut rotating(&array), 1, MANY, |_| pages.write());
        assert_near(
            mean_us(&answered),
            figures::write_latency_us(&array, PAGE, 1.0).unwrap(),
            0.02,
        );
    }
}

#[test]
fn the_elevator_gains_with_depth_what_the_sweep_gives() {
    let mut array = array(1, false);
    array.command_time = Time::ZERO;
    for depth in [1, 2, 4, 8, 16, 32, 64] {
        let mut pages = Pages::of(&array, 4);
        let rate = per_s(&mut rotating(&array), depth, MANY, |_| pages.read());
        let figure = figures::reads_per_s(&array, PAGE, depth as u32, 1.0).unwrap();
        println!("depth {depth}: {rate:.1} for {figure:.1}");
        assert_near(rate, figure, 0.02);
    }
}

#[test]
fn a_sequence_of_large_reads_runs_at_the_rate_of_the_media_or_of_the_link() {
    for (spindles, mirrored, depth) in
        [(1, false, 1), (2, false, 4), (2, true, 1), (6, true, 8), (6, false, 8)]
    {
        let array = array(spindles, mirrored);
        let length = CHUNK * array.sides() * 4;
        let make = |number: usize| read(number as u64 * length, length, Time::ZERO);
        let total = (array.capacity_bytes() / length / 4) as usize;
        let rate = per_s(&mut rotating(&array), depth, total, make) * length as f64;
        let figure = figures::sequential_bytes_per_s(&array);
        println!("{spindles} {mirrored} {depth}: {:.1} for {:.1} MB/s", rate / 1e6, figure / 1e6);
        // At depth, the second side of a mirror takes its part, as far as the link lets it.
        let is_shared = mirrored && depth > 1;
        assert_near(rate, if is_shared { 600e6 } else { figure }, 0.02);
    }
}
