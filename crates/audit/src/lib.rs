//! Answers whether the doublewrite buffer may be off: can a page write be torn on this kernel, file
//! system, files, devices and drive?
//!
//! - [`Audit::make`] examines a place ([`AuditFindings`]), judges it ([`AuditVerdict`]) and lists
//!   remedies ([`Remedy`])
//! - [`findings`] collects [`kernel`], [`server`] (its settings), [`files`] and their [`pages`],
//!   [`file_system`], [`layers`] (devices) and [`nvme`]; the last three form a [`stack`]
//!
//! [`trace`] watches page writes arrive at the device.
//!
//! Guarantees: nothing is written; of the user's files only names, sizes, extents and the headers
//! of two pages ([`assay_innodb::tablespace`]) are read, never a row; anything that cannot be
//! examined is reported as unknown and never counts for safety. No software can show that a drive
//! keeps its guarantee when power fails.

pub mod audit;
pub mod file_system;
pub mod files;
pub mod findings;
pub mod ground;
pub mod kernel;
pub mod layers;
pub mod nvme;
pub mod pages;
pub mod remedies;
pub mod server;
pub mod stack;
pub mod trace;
pub mod verdict;

pub use audit::Audit;
pub use findings::{AuditFindings, AuditRequest};
pub use remedies::Remedy;
pub use verdict::{AuditVerdict, Keeper, LayoutChange, SafetyClass, VerdictReason};
