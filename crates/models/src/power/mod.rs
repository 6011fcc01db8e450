//! Power that goes away: a disk with a volatile cache that knows what is durable, and the moment at which it loses the rest.
//!
//! [`VolatileDisk`] is what media do: until a flush, what was written may be lost, in part or whole. [`PowerWatch`] lies on top of
//! whatever stands on the media, sees what the host asks, and cuts the power at a moment that was set. From then on both
//! answer nothing; what survived is what lies below.

mod cache;
mod cut;
mod draw;
mod moment;
mod page;
#[cfg(test)]
mod tests;
mod volatile;

pub use cut::{Survival, TornPage};
pub use draw::{Drawn, draw, seed_of};
pub use moment::{Moment, PowerWatch};
pub use page::{PAGE_BYTES, PageName, pages_of};
pub use volatile::{Keeps, TearsAt, VolatileDisk, Volatility};
