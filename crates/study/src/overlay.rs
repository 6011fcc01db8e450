//! Overlays: what `--overlay` merged into a study's plan. The plan's text keeps them, so that whoever runs that text again sees them too.

use serde::{Deserialize, Serialize};

use super::records::Study;

/// A file that was merged into a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlay {
    /// The name of an overlay that comes with Assay, else that of its file without the ending.
    pub name: String,
    /// Its purpose, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The keys of the plan that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<OverlayChange>,
    /// The keys of the plan's quick profile that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quick_changes: Vec<OverlayChange>,
}

/// A key that an overlay changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverlayChange {
    /// Its path, e.g. `settings.sync_binlog`.
    pub key: String,
    /// Its value in the plan, as TOML; `None` if the plan does not set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Its value with the overlay; `None` if the overlay excludes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// The key of a plan that holds them.
#[derive(Deserialize)]
struct Kept {
    #[serde(default)]
    overlays: Vec<Overlay>,
}

impl Study {
    /// The overlays of its plan, in the order in which they were merged; none if the plan's text is not TOML.
    #[must_use]
    pub fn overlays(&self) -> Vec<Overlay> {
        toml::from_str(&self.plan_toml).map_or_else(|_| Vec::new(), |kept: Kept| kept.overlays)
    }
}
