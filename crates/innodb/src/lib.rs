//! Reads InnoDB's files without a server: pages, tablespaces, and the copies of pages in
//! doublewrite buffers.
//!
//! - [`page`]: a page's name, LSN and checksum, and whether it is whole
//! - [`tablespace`]: the header of a file: page size, compression, encryption
//! - [`tablespaces`]: which files of a data directory hold the pages of which tablespace
//! - [`doublewrite`]: all copies that a server could restore a page from, in the server's order
//! - [`scan`](mod@scan): compares pages and copies: which pages are torn, which copies are whole,
//!   and which of those is the newest
//! - [`recovery`]: known behaviour of servers' own recovery
//! - [`put_back`]: writes the newest copies over torn pages, or returns the commands that do
//!
//! Guarantees: reading changes nothing; [`put_back`] alone writes, and only pages that
//! [`scan`](mod@scan) found torn or restored from an older copy. Pages with encrypted or compressed
//! contents are reported as unreadable, never as torn.

pub mod doublewrite;
pub mod page;
pub mod put_back;
pub mod recovery;
pub mod scan;
pub mod tablespace;
pub mod tablespaces;

pub use doublewrite::PageCopy;
pub use page::{ChecksumFormat, PageFields, PageName, PageState};
pub use put_back::{command, put_back};
pub use recovery::{PageRecovery, RecoveryFault, recovery_of};
pub use scan::{PageComparison, PageScan, scan};
