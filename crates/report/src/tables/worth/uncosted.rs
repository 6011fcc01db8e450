//! Why throughput makes no cost, in words: once for all loads and configurations of which the same
//! is true.

use std::collections::{BTreeMap, BTreeSet};

use crate::comparisons::questions::named;
use crate::figures::format::list;
use assay_judge::worth::{Uncosted, Why};

/// A line for each reason.
pub(crate) fn notes(uncosted: &[Uncosted]) -> Vec<String> {
    let mut notes: Vec<String> = at_rates(uncosted).into_iter().collect();
    notes.extend(at_other_scales(uncosted));
    notes.extend(at_unknown_scales(uncosted));
    notes
}

fn at_rates(uncosted: &[Uncosted]) -> Option<String> {
    let its = uncosted.iter().filter(|one| one.why == Why::RateAsked);
    let loads: BTreeSet<String> = its.map(|one| format!("“{}”", one.workload)).collect();
    let loads: Vec<String> = loads.into_iter().collect();
    (!loads.is_empty()).then(|| {
        format!(
            "No cost under {}: the rate was asked for, so it is not what a server can do. A plan \
            with `objective` searches for that (docs/plans.md).",
            list(&loads)
        )
    })
}

fn at_other_scales(uncosted: &[Uncosted]) -> Vec<String> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for one in uncosted {
        let Why::OtherScale { own, measure, of_measure } = &one.why else { continue };
        let why = format!(
            "{}, and {} {}: they do not stand for servers under the same load.",
            runs(*own),
            named(measure),
            runs(*of_measure)
        );
        found.entry(why).or_default().insert(named(&one.config));
    }
    let line = |(why, configs): (String, BTreeSet<String>)| {
        format!("No cost of {}, which {why}", list(&configs.into_iter().collect::<Vec<_>>()))
    };
    found.into_iter().map(line).collect()
}

fn runs(scale: f64) -> String {
    if scale == 1.0 {
        "runs at full scale".into()
    } else {
        format!("runs at 1/{scale} of its parallelism")
    }
}

fn at_unknown_scales(uncosted: &[Uncosted]) -> Option<String> {
    let its = uncosted.iter().filter(|one| one.why == Why::UnknownScale);
    let configs: BTreeSet<String> = its.map(|one| named(&one.config)).collect();
    let configs: Vec<String> = configs.into_iter().collect();
    (!configs.is_empty()).then(|| {
        format!("No cost of {}: the study does not keep the scale of its model.", list(&configs))
    })
}
