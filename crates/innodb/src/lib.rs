//! InnoDB's files, read without a server: pages, tablespaces, and the copies of pages in doublewrite buffers.
//!
//! - [`page`]: a page's name, LSN and checksum; whether the page is whole
//! - [`tablespace`]: what a file says about itself: page size, compression, encryption
//! - [`tablespaces`]: which files of a data directory hold the pages of which tablespace
//! - [`doublewrite`]: all copies that a server could restore a page from, in the order in which it finds them
//! - [`look`](mod@look): both compared: which pages are torn, which copies of them are whole, and which of those is the newest
//! - [`recovery`]: what is known of servers that do this by themselves
//! - [`put_back`]: writes the newest copies over torn pages, or gives the commands that do
//!
//! Guarantees: reading changes nothing; [`put_back`] alone writes, and only pages that [`look`](mod@look) found torn or restored from
//! an older copy. Pages whose contents are encrypted or compressed are reported as unreadable, never as torn.

pub mod doublewrite;
pub mod look;
pub mod page;
pub mod put_back;
pub mod recovery;
pub mod tablespace;
pub mod tablespaces;

pub use doublewrite::Copy;
pub use look::{Comparison, Look, look};
pub use page::{Format, PageName, Seen, State};
pub use put_back::{command, put_back};
pub use recovery::{Fault, Recovery, recovery_of};
