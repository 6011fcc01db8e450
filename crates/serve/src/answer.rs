//! What the serving process answers to whoever started it.

use serde::{Deserialize, Serialize};

use assay_models::power::Survival;

use super::health::Health;

/// What a server says: once when it serves or cannot, and once more when it was told to keep time, or to let the power go.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// It serves; and how the drive is.
    Serving(Box<Health>),
    /// It cannot, and has left nothing.
    Failed(String),
    /// Its model keeps time from now on.
    KeepsTime,
    /// The power of its media has gone, and this is what was left.
    PowerCut(Survival),
}
