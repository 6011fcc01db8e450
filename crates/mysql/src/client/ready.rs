//! How a wire learns that its socket is ready: from the event loop that watches it, or never, as the socket blocks.

use std::io;

use assay_event_loop::Watch;

use super::socket::Socket;

/// Whether a socket is worth a try.
pub(super) trait Ready {
    /// Whether the socket blocks until it is.
    const BLOCKS: bool;

    /// Whether something may have happened on it since this was asked last.
    fn take_ready(&self) -> bool;

    /// The last try did not take all there was.
    fn set_ready(&self);

    /// Whether to be told of room to write, too.
    fn want_room(&self, socket: &Socket, wanted: bool) -> io::Result<()>;
}

impl Ready for Watch {
    const BLOCKS: bool = false;

    #[inline]
    fn take_ready(&self) -> bool {
        Watch::take_ready(self)
    }

    #[inline]
    fn set_ready(&self) {
        Watch::set_ready(self);
    }

    #[inline]
    fn want_room(&self, socket: &Socket, wanted: bool) -> io::Result<()> {
        Watch::want_room(self, socket, wanted)
    }
}

/// A socket that blocks is always worth a try.
pub(super) struct Blocks;

impl Ready for Blocks {
    const BLOCKS: bool = true;

    fn take_ready(&self) -> bool {
        true
    }

    fn set_ready(&self) {}

    fn want_room(&self, _: &Socket, _: bool) -> io::Result<()> {
        Ok(())
    }
}
