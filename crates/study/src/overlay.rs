//! Overlays that `--overlay` merged into a study's plan. The plan's text keeps them, so that they
//! are shown again when the text is run again.

use serde::{Deserialize, Serialize};

use super::records::Study;

/// A file that was merged into a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlay {
    /// Name of a shipped overlay, or the file's name without its extension.
    pub name: String,
    /// Purpose, as the overlay states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Changed keys of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<OverlayChange>,
    /// Changed keys of the plan's quick profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quick_changes: Vec<OverlayChange>,
}

/// A key that an overlay changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverlayChange {
    /// Path, e.g. `settings.sync_binlog`.
    pub key: String,
    /// Value in the plan, as TOML; `None` if the plan does not set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Value with the overlay; `None` if the overlay excludes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// The key of a plan that holds the overlays.
#[derive(Deserialize)]
struct Kept {
    #[serde(default)]
    overlays: Vec<Overlay>,
}

impl Study {
    /// The overlays of the study's plan in the order of merging; empty if the plan's text is not
    /// TOML.
    #[must_use]
    pub fn overlays(&self) -> Vec<Overlay> {
        toml::from_str(&self.plan_toml).map_or_else(|_| Vec::new(), |kept: Kept| kept.overlays)
    }
}
