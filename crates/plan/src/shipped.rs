//! The plans that come with Assay, so that the program alone can run them.

use assay_base::suggest::nearest;

macro_rules! plans {
    ($($name:literal,)+) => {
        /// The plans that come with Assay: names and texts.
        pub const PLANS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../plans/", $name, ".toml"))),)+];
    };
}

plans! {
    "demo",
    "disk",
    "doublewrite",
    "percona-2020",
    "stec-2013",
    "exflash-2015",
    "fungible-2021",
    "endpoint",
    "powercut",
    "powercut-layers",
}

/// The text of a plan that comes with Assay, by its name or by where it lies in the repository.
pub(super) fn text(named: &str) -> Option<&'static str> {
    let inside = named.strip_prefix("plans/").and_then(|rest| rest.strip_suffix(".toml"));
    let name = inside.unwrap_or(named);
    PLANS.iter().find(|(one, _)| *one == name).map(|(_, text)| *text)
}

/// The error for a name that is no plan, with the nearest name; `None` for a path.
pub(super) fn no_such_plan(named: &str) -> Option<String> {
    if named.contains('/') || named.contains('.') {
        return None;
    }
    let names = || PLANS.iter().map(|(name, _)| *name);
    let known = match nearest(named, names()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => {
            format!("there are {}; or name a TOML file", names().collect::<Vec<_>>().join(", "))
        }
    };
    Some(format!("there is no plan `{named}`; {known}"))
}
