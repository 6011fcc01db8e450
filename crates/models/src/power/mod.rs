//! Power cuts: a disk with a volatile cache that knows what is durable, and the moment at which it
//! loses the rest.
//!
//! [`VolatileDisk`] is the media: until a flush, written data may be lost, in part or whole.
//! [`PowerWatch`] lies on top of the layers above the media, sees the host's commands, and cuts the
//! power at a set moment. From then on both fail every command; the surviving data are on the disk
//! below.

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
