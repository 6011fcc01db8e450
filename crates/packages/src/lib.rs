//! Programs from the distribution's packages, unpacked into a private directory and never installed.
//!
//! [`Apt`] finds packages and all that they need, [`bring`] downloads and unpacks them into a tree, and [`Loader`] runs what
//! is in the tree with the tree's own C library. What the tree is for, only its user knows.
//!
//! Guarantees: nothing on the machine changes but the directory that is named; packages are verified by apt against the
//! archive's keys.

mod apt;
mod bring;
mod loader;

pub use apt::{Apt, Mirror, Plan, Sources, Target, debian_mirror};
pub use bring::{MissingTool, bring, check_tools};
pub use loader::{Loader, command};
