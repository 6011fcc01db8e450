//! Tests a study at a rate: asked and achieved rates, latency from both starts, and why they
//! differ.

use super::truth::{Load, load, page_of, store};
use super::*;

fn page(loads: &[Load<'_>]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let store = store(directory.path(), loads);
    page_of(directory.path(), &store, None)
}

fn at_rate<'a>(config: &'static str, done: f64, more: &'a [(&'a str, f64)]) -> Load<'a> {
    Load { more, ..load(config, 8, done) }
}

const STALLING: [(&str, f64); 6] = [
    ("transactions", 20_000.0),
    ("target_rate", 200.0),
    ("achieved_rate", 199.9),
    ("service_ms_p99", 1.52),
    ("latency_ms_p99", 163.0),
    ("latency_ms_max", 214.0),
];
const SOUND: [(&str, f64); 6] = [
    ("transactions", 20_000.0),
    ("target_rate", 200.0),
    ("achieved_rate", 199.9),
    ("service_ms_p99", 1.5),
    ("latency_ms_p99", 1.6),
    ("latency_ms_max", 9.0),
];
const OVERLOADED: [(&str, f64); 6] = [
    ("transactions", 20_000.0),
    ("target_rate", 200.0),
    ("achieved_rate", 120.0),
    ("service_ms_p99", 80.0),
    ("latency_ms_p99", 9000.0),
    ("latency_ms_max", 9900.0),
];

#[test]
fn latency_has_two_starts_and_the_page_says_why_they_differ() {
    let page = page(&[at_rate("stalling", 199.9, &STALLING), at_rate("base", 199.9, &SOUND)]);
    let rates = section(&page, "rates").unwrap();
    assert!(page.contains("<a href=\"#rates\">Rates</a>"), "the first screen leads there");
    for cell in ["<td>200</td>", "<td>1.52</td>", "<td>163</td>", "<td>214</td>"] {
        assert!(rates.contains(cell), "{cell} in {rates}");
    }
    let why = "stalling under “mixed”: the p99 is 1.52 ms from when a transaction was sent, and \
        163 ms from when it was due";
    assert!(rates.contains(why), "{rates}");
    assert!(rates.contains("A closed loop sends none meanwhile"), "{rates}");
    assert!(!rates.contains("Overloaded"), "{rates}");
}

#[test]
fn overload_is_told_as_a_result() {
    let page = page(&[at_rate("small", 120.0, &OVERLOADED), at_rate("base", 199.9, &SOUND)]);
    let rates = section(&page, "rates").unwrap();
    let told = "Overloaded: 1 of 2 did less than 99 % of its rate, small under “mixed” 60 %.";
    assert!(rates.contains(told), "{rates}");
}

#[test]
fn arrivals_at_random_that_lack_some_by_chance_are_no_overload() {
    // 3 repeats of 20 s at 10/s are 600 arrivals, of which 4 % may lack by chance.
    let few = [("target_rate", 10.0), ("achieved_rate", 9.7), ("latency_ms_p99", 3.0)];
    let none = [("target_rate", 10.0), ("achieved_rate", 8.0), ("latency_ms_p99", 3.0)];
    let rates = |done: &'static [(&str, f64)]| {
        let page = page(&[at_rate("new", 9.7, done), at_rate("base", 199.9, &SOUND)]);
        section(&page, "rates").unwrap()
    };
    assert!(!rates(few.to_vec().leak()).contains("Overloaded"));
    assert!(rates(none.to_vec().leak()).contains("Overloaded"));
}

#[test]
fn a_sound_server_needs_no_sentence_and_a_closed_loop_no_section() {
    let all_sound = page(&[at_rate("other", 199.9, &SOUND), at_rate("base", 199.9, &SOUND)]);
    assert!(!section(&all_sound, "rates").unwrap().contains("The difference is waiting"));
    let closed = page(&[load("other", 8, 100.0), load("base", 8, 90.0)]);
    assert!(section(&closed, "rates").is_none());
    assert!(!closed.contains("#rates"));
}
