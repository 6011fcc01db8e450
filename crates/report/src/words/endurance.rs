//! From where a device's rating is known.

use std::collections::BTreeMap;

use serde::Serialize;

use assay_judge::worth::endurance::{Rated, RatedBy};

/// From where, in a few words.
pub fn how(by: &RatedBy) -> String {
    match by {
        RatedBy::Given => "endurance_bytes as given".into(),
        RatedBy::GivenWrites { per_day, years } => {
            format!("{per_day} drive writes a day for {years} years, as given")
        }
        RatedBy::Preset { mark, source } => format!("{mark}, {source}"),
        RatedBy::PresetWrites { per_day, years } => {
            format!("{per_day} drive writes a day for {years} years, by the preset")
        }
    }
}

/// A rating as JSON has it.
#[derive(Debug, Serialize)]
pub struct RatedView {
    bytes: f64,
    how: String,
}

/// The ratings of configurations, by name.
pub fn view(rated: &BTreeMap<String, Rated>) -> BTreeMap<&str, RatedView> {
    let one = |rated: &Rated| RatedView { bytes: rated.bytes, how: how(&rated.by) };
    rated.iter().map(|(config, rated)| (config.as_str(), one(rated))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rating_says_from_where_it_is() {
        let given = RatedBy::GivenWrites { per_day: 3.0, years: 5.0 };
        assert_eq!(how(&given), "3 drive writes a day for 5 years, as given");
        let preset = RatedBy::PresetWrites { per_day: 0.5, years: 3.0 };
        assert_eq!(how(&preset), "0.5 drive writes a day for 3 years, by the preset");
        let printed = RatedBy::Preset { mark: "computed".into(), source: "its makers".into() };
        assert_eq!(how(&printed), "computed, its makers");
    }
}
