//! Messages from the serving process to the process that started it.

use serde::{Deserialize, Serialize};

use assay_models::power::Survival;

use super::health::Health;

/// A message of the server: one when it serves or fails to, and another after the order to keep
/// time or to cut the power.
#[derive(Debug, Serialize, Deserialize)]
pub enum ServerAnswer {
    /// The server is ready; with the drive's health.
    Serving(Box<Health>),
    /// The server failed, and left nothing.
    Failed(String),
    /// The model keeps time from now on.
    KeepsTime,
    /// The power of the media was cut, with the parts that survived.
    PowerCut(Survival),
}
