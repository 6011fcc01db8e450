//! A client of MySQL's protocol.
//!
//! [`ClientConnect`] makes connections to an [`Endpoint`]: a [`ClientSession`] blocks, a
//! [`LoopSession`] is one of many on an event loop. Load generators use the narrow traits
//! [`Connect`] and [`Session`], which a test can implement with a fake. Errors are values: the
//! server's own, a lost connection, a failed one. An [`account::Account`] describes a login without
//! holding a secret.
//!
//! A query over a connection that blocks its thread:
//!
//! ```
//! use assay_mysql::{ClientSession, Endpoint};
//!
//! # let server = assay_testing::RecordedServer::start(&[Some("Berlin"), None]);
//! # let socket = server.socket();
//! let mut session = ClientSession::open(&Endpoint::root_over(&socket, "world"))?;
//! let rows = session.rows("SELECT name FROM city")?;
//! assert_eq!(rows, [[Some("Berlin".to_owned())], [None]]);
//! # Ok::<(), assay_mysql::SessionError>(())
//! ```
//!
//! The same on an event loop, where other tasks run while this one waits:
//!
//! ```
//! use assay_mysql::{ClientConnect, Connect, Endpoint, Reply, Session};
//!
//! # let server = assay_testing::RecordedServer::start(&[Some("Berlin"), None]);
//! # let socket = server.socket();
//! let connect = ClientConnect::new(&Endpoint::root_over(&socket, "world"))?;
//! let reply = assay_event_loop::block_on(async |events| {
//!     let mut session = connect.connect_on(&events).await?;
//!     session.put_query(b"SELECT name FROM city");
//!     session.exchange().await
//! });
//! assert_eq!(reply??, Reply::Rows { rows: 2 });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod account;
mod client;
pub mod cutting;
mod endpoint;
pub mod option_file;
pub mod secrets;
mod session;
mod ssl_mode;

pub use client::{Bounds, ClientConnect, ClientSession, Fields, LoopSession};
pub use endpoint::{Address, Endpoint, ServerKey, Tls};
pub use session::{
    BoundValue, Connect, Interrupter, LOST_IN_QUERY, Reply, Session, SessionError, StatementId,
};
pub use ssl_mode::SslMode;
