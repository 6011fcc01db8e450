//! Main effects and interactions of a full cross: `ON → OFF`, `doublewrite × compression`.

use assay_judge::{Effect, Effects, Interaction, SimpleEffect};

use super::verdict;

/// The two levels of an effect.
pub fn levels(one: &Effect) -> String {
    format!("{} → {}", one.judged.baseline, one.judged.config)
}

/// The effect as a verdict, and the factors that it depends on.
pub fn text(all: &Effects, one: &Effect) -> String {
    let depends = dependencies(all, one);
    let text = verdict::text_with_word(&one.judged);
    if depends.is_empty() {
        return text;
    }
    format!("{text}; depends on {}", depends.join(" and "))
}

/// Factors with which the effect interacts.
fn dependencies<'a>(all: &'a Effects, one: &Effect) -> Vec<&'a str> {
    let mut found = Vec::new();
    for each in all.interactions.iter().filter(|each| each.is_there()) {
        let place = each.factors.iter().position(|factor| *factor == one.factor);
        let is_its = |place: usize| {
            each.metric == one.judged.metric && each.levels[place] == one.judged.config
        };
        if let Some(place) = place.filter(|place| is_its(*place))
            && !found.contains(&each.factors[1 - place].as_str())
        {
            found.push(&each.factors[1 - place]);
        }
    }
    found
}

/// `doublewrite × compression`.
pub fn factors(one: &Interaction) -> String {
    one.factors.join(" × ")
}

/// The levels of an interaction: `ON → OFF, none → zlib`.
pub fn changes(one: &Interaction) -> String {
    let change = |place: usize| format!("{} → {}", one.against[place], one.levels[place]);
    format!("{}, {}", change(0), change(1))
}

/// The ratio of ratios, its interval, and what follows from it.
pub fn interaction(one: &Interaction) -> String {
    let [factor, other] = &one.factors;
    let interval = match one.interval {
        Some((low, high)) if high > OPEN_FROM => {
            format!("95 % interval {low:.2} to no upper end")
        }
        Some((low, high)) => format!("95 % interval {low:.2} to {high:.2}"),
        None => "a single repeat, so its interval is not known".to_owned(),
    };
    let ratio = format!(
        "the ratio of {factor} at {other} {} is {:.2} times that at {} ({interval})",
        one.levels[1], one.ratio, one.against[1]
    );
    match (one.is_there(), one.interval) {
        (true, _) => format!("{ratio}: the main effects depend on each other"),
        (false, Some(_)) => format!("no significant interaction: {ratio}"),
        (false, None) => ratio,
    }
}

/// Ends of intervals beyond this are not written out.
const OPEN_FROM: f64 = 100.0;

/// `innodb_doublewrite where compression is zlib`.
pub fn condition(one: &SimpleEffect) -> String {
    format!("{} where {} is {}", one.effect.factor, one.at_factor, one.at_level)
}
