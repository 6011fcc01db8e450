//! Cost of configurations and life of their drives, each within the bounds of the figures that it
//! follows from.

pub mod break_even;
pub mod cost;
pub(crate) mod costed;
pub(crate) mod drive_life;
pub mod endurance;
pub mod flash_life;
pub(crate) mod load;
pub(crate) mod load_cost;
pub(crate) mod servers;
pub mod space;

pub use crate::interval;
pub use costed::{Uncosted, Why};
pub use drive_life::{AtRate, DriveLife, RateOrigin};
pub use load::server_scale;
pub use load_cost::{Assumption, CostOfLoad};
pub use servers::{ServersForLoad, WorthUpTo};
