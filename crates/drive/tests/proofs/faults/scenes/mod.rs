//! Scenes that somebody who wished the drive ill thought of: rare states, each played as it was
//! found.

mod grown;
pub(super) mod host;
mod lost;
mod rebuilt;
mod resized;
