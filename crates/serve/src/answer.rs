//! What the serving process answers to whoever started it.

use serde::{Deserialize, Serialize};

use super::health::Health;

/// What a server says: once when it serves or cannot, and once more when it was told to keep time.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// It serves; and how the drive is.
    Serving(Box<Health>),
    /// It cannot, and has left nothing.
    Failed(String),
    /// Its model keeps time from now on.
    KeepsTime,
}
