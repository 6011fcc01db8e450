//! The readiness of a wire's socket: reported by the event loop that watches it, or assumed if the
//! socket blocks.

use std::io;

use assay_event_loop::Watch;

use super::socket::Socket;

/// The readiness of a socket.
pub(super) trait Ready {
    /// True for a socket that blocks until it is ready.
    const BLOCKS: bool;

    /// Returns true if the socket may have become ready since the last call.
    fn take_ready(&self) -> bool;

    /// Marks the socket as ready: the last read did not take everything.
    fn set_ready(&self);

    /// Requests a wake-up when the socket is writable, too.
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

/// A blocking socket, which is always worth a try.
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
