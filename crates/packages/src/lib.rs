//! Runs programs from the distribution's packages, unpacked into a private directory and never
//! installed.
//!
//! [`Apt`] finds packages and their dependencies, [`bring`] downloads and unpacks them into a tree,
//! [`Archive`] unpacks what a server's makers publish, and [`Loader`] runs programs of the tree
//! with the tree's own C library.
//!
//! Guarantees: nothing on the machine changes except the given directory; apt verifies packages
//! against the archive's keys.

mod apt;
mod archive;
#[cfg(test)]
mod archive_tests;
mod bring;
mod loader;

pub use apt::{Apt, AptMirror, DownloadPlan, PackageIndex, Sources, debian_mirror};
pub use archive::Archive;
pub use bring::{MissingTool, bring, check_tools};
pub use loader::{Loader, command};
