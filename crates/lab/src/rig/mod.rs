//! One complete arrangement of media, file system and server.

pub(crate) mod server;
