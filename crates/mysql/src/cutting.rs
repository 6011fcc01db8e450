//! Set-up work that waits for a server without a limit, and ends when the user interrupts it.
//!
//! Guarantee: [`GRACE`] after the flag is set, every connection that was passed to a [`Cutting`] is
//! cut, and so is every later one: threads that wait for an answer wake with an error. Until then
//! running statements may end normally.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::ClientSession;
use crate::session::Interrupter;

/// Time for running statements to end by themselves.
pub const GRACE: Duration = Duration::from_secs(2);

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The connections to cut when the user interrupts.
pub struct Cutting<'a> {
    stop: &'a AtomicBool,
    open: Mutex<Vec<Interrupter>>,
}

impl Cutting<'_> {
    /// Registers a connection to cut when the flag is set. It stays registered until the work ends.
    pub fn watch(&self, session: &ClientSession) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.push(session.interrupter());
    }

    /// Returns true once the user has interrupted.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn cut(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.drain(..).for_each(|connection| connection.cut());
    }
}

/// Runs `work`, whose connections are cut when `stop` is set.
///
/// # Errors
/// The thread that watches the flag cannot be started.
pub fn cut_by<T>(stop: &AtomicBool, work: impl FnOnce(&Cutting<'_>) -> T) -> std::io::Result<T> {
    let cutting = Cutting { stop, open: Mutex::default() };
    thread::scope(|scope| {
        let (done, ended) = channel::<()>();
        let watch = || {
            let ended = ended;
            let mut since = None;
            while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                if cutting.is_set() && since.get_or_insert_with(Instant::now).elapsed() >= GRACE {
                    cutting.cut();
                }
            }
        };
        thread::Builder::new().name("stop watch".into()).spawn_scoped(scope, watch)?;
        let worked = work(&cutting);
        drop(done);
        Ok(worked)
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::endpoint::Endpoint;

    /// A greeting of protocol version 10 without TLS, for an empty password.
    const GREETING: &[u8] =
        b"\x40\0\0\0\x0a8.0.0\0\x01\0\0\0abcdefgh\0\xff\xf7\x2d\x02\0\x08\0\x15\
        \0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_x\0";

    #[test]
    fn a_statement_that_is_not_answered_ends_with_the_wish_to_stop() {
        let directory = std::env::temp_dir().join(format!("assay-cutting-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let stop = AtomicBool::new(false);
        let error = thread::scope(|scope| {
            scope.spawn(|| {
                let (mut server, _) = listener.accept().unwrap();
                let mut greeting = GREETING.to_vec();
                greeting[0] = (greeting.len() - 4) as u8;
                server.write_all(&greeting).unwrap();
                let mut taken = [0; 1000];
                assert!(server.read(&mut taken).unwrap() > 0);
                server.write_all(b"\x07\0\0\x02\0\0\0\x02\0\0\0").unwrap();
                // A dropped session is closed, although its interrupter still exists.
                assert_eq!(server.read(&mut taken).unwrap(), 0);
                let (mut server, _) = listener.accept().unwrap();
                server.write_all(&greeting).unwrap();
                assert!(server.read(&mut taken).unwrap() > 0);
                server.write_all(b"\x07\0\0\x02\0\0\0\x02\0\0\0").unwrap();
                assert!(server.read(&mut taken).unwrap() > 0);
                stop.store(true, Ordering::SeqCst);
                // The server sends nothing; the client closes.
                assert_eq!(server.read(&mut taken).unwrap_or(0), 0);
            });
            let waited = cut_by(&stop, |cutting| {
                let open = || ClientSession::open(&Endpoint::root_over(&path, "")).unwrap();
                let ended = open();
                cutting.watch(&ended);
                drop(ended);
                let mut session = open();
                cutting.watch(&session);
                session.query(b"ALTER TABLE t ADD KEY (k)")
            });
            waited.unwrap().unwrap_err()
        });
        std::fs::remove_dir_all(&directory).unwrap();
        assert!(error.to_string().contains("the server closed the connection"), "{error}");
    }
}
