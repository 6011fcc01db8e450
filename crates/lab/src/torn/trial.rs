//! A server started on a data directory whose pages may be torn: does it start, are its tables
//! whole, does it start again?

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use assay_base::text::on_one_line;
use assay_mysql::{ClientSession, SessionError};
use assay_system::ledger::Ledger;
use serde::Serialize;

use crate::rig::server::{self, Binary, Server, Settings, Start};

/// A server that has logged an error and is not ready within this does not start.
const ERROR_LIMIT: Duration = Duration::from_secs(15);

/// Recovery of a directory of somebody else may read gigabytes of redo log.
const READY_LIMIT: Duration = Duration::from_secs(1800);

/// A shutdown writes every dirty page.
const STOP_LIMIT: Duration = Duration::from_secs(300);

/// Interval between reads of the watched page while a server starts; redo that changes the page is
/// written much later.
const WATCH_EVERY: Duration = Duration::from_micros(50);

/// Tables of `InnoDB`, those of the server's own among them.
const TABLES: &str = "SELECT table_schema, table_name FROM information_schema.tables WHERE \
    engine = 'InnoDB' AND table_type = 'BASE TABLE' ORDER BY 1, 2";

/// The end of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The server started, every table is whole, and it started again.
    Whole {
        /// Tables that were checked.
        tables: u64,
    },
    /// The server did not start.
    NotStarted {
        /// In its log's words.
        reason: String,
    },
    /// The server ended while its tables were checked or while it shut down.
    Ended {
        /// In its log's words.
        reason: String,
    },
    /// `CHECK TABLE` or a statement finds an error.
    Table {
        /// With its database.
        table: String,
        /// The server's message.
        reason: String,
    },
    /// Everything was whole, and the server did not start a second time.
    NextStart {
        /// In its log's words.
        reason: String,
    },
}

/// The version that a page was restored to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RestoredFrom {
    /// It was not: the page is as it was.
    Not,
    /// The bytes of the older copy.
    Older,
    /// The bytes of the newest copy.
    Newest,
    /// Other bytes than those of the copies: redo has gone over the page before it was read here.
    Other,
}

/// The findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TearTrial {
    /// The end of a trial.
    pub end: End,
    /// The fate of the page under watch; `None` without one.
    pub restored: Option<RestoredFrom>,
    /// Pages that the server reports as restored from the doublewrite buffer.
    pub doublewrite_pages: u64,
    /// LSN of the checkpoint from which recovery began, where the server's log says so.
    pub checkpoint: Option<u64>,
}

/// A page that is read while a server starts.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) file: PathBuf,
    pub(super) offset: u64,
    /// The page before the start.
    pub(super) torn: Vec<u8>,
    pub(super) older: Option<Vec<u8>>,
    pub(super) newest: Vec<u8>,
}

/// The server, and the directory that it is tried on.
#[derive(Debug, Clone, Copy)]
pub struct TrialPlace<'a> {
    pub binary: &'a Binary,
    /// The data directory, which the server changes.
    pub data_dir: &'a Path,
    /// Made for socket and log, and removed.
    pub run_dir: &'a Path,
    /// Server variables.
    pub settings: &'a Settings,
    /// Lists everything that is made on the machine.
    pub ledger: &'a Arc<Ledger>,
}

/// Starts the server, checks every table, shuts down and starts again.
///
/// # Errors
/// The trial cannot be made.
pub fn trial(place: &TrialPlace<'_>) -> Result<TearTrial> {
    trial_of(place, None, &|_| Ok(None))
}

/// Statements beside `CHECK TABLE`: the first thing that they find wrong.
pub(super) type More<'a> = &'a dyn Fn(&mut ClientSession) -> Result<Option<End>, SessionError>;

/// Like [`trial`], with a watched page and `more` checks.
pub(super) fn trial_of(
    place: &TrialPlace<'_>,
    watched: Option<&Watched>,
    more: More<'_>,
) -> Result<TearTrial> {
    let _run_dir = place.ledger.make_directory(place.run_dir)?;
    let (started, restored) = match watched {
        Some(watched) => start_watched(place, watched)?,
        None => (place.start(), None),
    };
    let log = server::repaired_in(&place.run_dir.join("mysqld.log"));
    let end = match started {
        Ok(server) => place.use_it(server, more)?,
        Err(error) => End::NotStarted { reason: one_line(&error) },
    };
    Ok(TearTrial {
        end,
        restored,
        doublewrite_pages: log.doublewrite_pages,
        checkpoint: log.checkpoint,
    })
}

impl TrialPlace<'_> {
    fn start(&self) -> Result<Server> {
        let mut start = Start::new(self.data_dir, self.run_dir, self.ledger);
        start.settings = self.settings.clone();
        start.ready_within = READY_LIMIT;
        start.ready_after_error_within = ERROR_LIMIT;
        server::start(self.binary, &start)
    }

    fn use_it(&self, mut server: Server, more: More<'_>) -> Result<End> {
        let checked = match check(&server, more) {
            Ok(checked) => checked,
            Err(error) => match server.ended_while("its tables were checked")? {
                Some(reason) => return Ok(End::Ended { reason: on_one_line(&reason) }),
                None => return Err(error.into()),
            },
        };
        let tables = match checked {
            Checked::Whole(tables) => tables,
            Checked::Wrong(end) => {
                server.kill()?;
                return Ok(end);
            }
        };
        let last = server.log_tail(1);
        let status = server.stop(STOP_LIMIT)?;
        if !status.success() {
            let status = assay_ports::child::describe(status);
            let reason = format!("{status} at shutdown; its log ends: {}", last.join(" "));
            return Ok(End::Ended { reason });
        }
        match self.start() {
            Ok(server) => server.kill().map(|()| End::Whole { tables }),
            Err(error) => Ok(End::NextStart { reason: one_line(&error) }),
        }
    }
}

enum Checked {
    Whole(u64),
    Wrong(End),
}

fn check(server: &Server, more: More<'_>) -> Result<Checked, SessionError> {
    let mut session = ClientSession::open(&server.endpoint())?;
    let mut count = 0;
    for row in session.rows(TABLES)? {
        let names: Vec<String> = row.into_iter().flatten().collect();
        let quoted: Vec<_> =
            names.iter().map(|name| format!("`{}`", name.replace('`', "``"))).collect();
        if let Some(reason) = check_table(&mut session, &quoted.join("."))? {
            return Ok(Checked::Wrong(End::Table { table: names.join("."), reason }));
        }
        count += 1;
    }
    Ok(more(&mut session)?.map_or(Checked::Whole(count), Checked::Wrong))
}

/// The first message of `CHECK TABLE` that is neither a note nor OK: rows of table, operation,
/// kind, message (MySQL reference manual, "CHECK TABLE Statement").
fn check_table(session: &mut ClientSession, table: &str) -> Result<Option<String>, SessionError> {
    let said = match session.rows(&format!("CHECK TABLE {table}")) {
        Err(error @ SessionError::Server { .. }) => return Ok(Some(error.to_string())),
        said => said?,
    };
    let fields = |row: Vec<Option<String>>| {
        let mut fields = row.into_iter().skip(2).flatten();
        (fields.next().unwrap_or_default(), fields.next().unwrap_or_default())
    };
    let is_wrong = |(kind, message): &(String, String)| kind != "note" && message != "OK";
    Ok(said.into_iter().map(fields).find(is_wrong).map(|(_, message)| message))
}

/// Starts the server while its page is read again and again; the first bytes that are not the torn
/// ones tell the copy.
fn start_watched(
    place: &TrialPlace<'_>,
    watched: &Watched,
) -> Result<(Result<Server>, Option<RestoredFrom>)> {
    let file = File::open(&watched.file)
        .with_context(|| format!("cannot open {}", watched.file.display()))?;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watched.until(&file, &is_over));
        let started = place.start();
        is_over.store(true, Ordering::Release);
        let restored = watcher.join().map_err(|_| anyhow::anyhow!("the watching thread ended"))?;
        Ok((started, Some(restored?)))
    })
}

impl Watched {
    fn until(&self, file: &File, is_over: &AtomicBool) -> Result<RestoredFrom> {
        let mut page = vec![0; self.torn.len()];
        loop {
            // Read before the page is, so that the last look is at the end's state.
            let is_last = is_over.load(Ordering::Acquire);
            file.read_exact_at(&mut page, self.offset)?;
            match page == self.torn {
                false => return Ok(self.told(&page)),
                true if is_last => return Ok(RestoredFrom::Not),
                true => std::thread::sleep(WATCH_EVERY),
            }
        }
    }

    fn told(&self, page: &[u8]) -> RestoredFrom {
        match page {
            page if page == self.newest => RestoredFrom::Newest,
            page if self.older.as_deref() == Some(page) => RestoredFrom::Older,
            _ => RestoredFrom::Other,
        }
    }
}

fn one_line(error: &anyhow::Error) -> String {
    on_one_line(&format!("{error:#}"))
}
