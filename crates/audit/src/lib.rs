//! Whether the doublewrite buffer may be off: can a page write be torn on this kernel, file system, files, devices and drive?
//!
//! - [`Audit::make`] looks ([`Seen`]), judges ([`Verdict`]) and says what would help ([`Remedy`])
//! - below [`seen`]: [`kernel`], [`server`] (its settings), [`files`] and their [`pages`], [`file_system`], [`layers`] (devices), [`nvme`],
//!   all of them one [`stack`]
//!
//! [`trace`] watches page writes arrive at the device.
//!
//! Guarantees: nothing is written; of the user's files names, sizes, places and the headers of two pages ([`assay_innodb::tablespace`]) are read, and
//! never a row; what cannot be seen
//! is told as unknown and never counts for safety. That a drive keeps its word when power goes, no software can show.

pub mod audit;
pub mod file_system;
pub mod files;
pub mod ground;
pub mod kernel;
pub mod layers;
pub mod nvme;
pub mod pages;
pub mod remedies;
pub mod seen;
pub mod server;
pub mod stack;
pub mod trace;
pub mod verdict;

pub use audit::Audit;
pub use remedies::Remedy;
pub use seen::{Request, Seen};
pub use verdict::{Change, Class, Keeper, Reason, Verdict};
