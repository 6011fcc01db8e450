//! The state that a power cut leaves, made without one: a data directory of a killed server, in
//! which three versions of each page are known, and nothing is left to chance.
//!
//! In each of three rounds the server changes rows, grows a table, makes a table and writes every
//! page out. Then:
//!
//! - version 1 of a page is what round 1 wrote, and *older than the checkpoint*;
//! - version 2 is on the disk when round 3 begins, and the checkpoint is behind it;
//! - version 3 is what round 3 wrote. The checkpoint that would follow is not on the disk: the redo
//!   log is as it was before the pages were written, with all of round 3 in it. No page is newer
//!   than that log, which is checked.
//!
//! So version 3 torn over version 2 is what a power cut leaves while a page is written, and a copy
//! of version 1 may be in the doublewrite buffer, because a buffer keeps the copies of earlier
//! batches until others take their places.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use assay_innodb::tablespaces::Tablespaces;
use assay_mysql::ClientSession;
use assay_ports::copy;
use assay_system::interrupt::Interrupt;
use assay_system::ledger::Ledger;

use crate::rig::server::{self, Binary, Flavour, Server, Settings, Start};

/// Database of the experiment.
pub(super) const DATABASE: &str = "assay_torn";

/// The last round.
pub(super) const ROUNDS: u32 = 3;

/// Rows of `t`, which every round changes.
pub(super) const ROWS: u32 = 1600;

/// Transactions of a round that change rows: the server notes transaction numbers on page (0, 5) at
/// every 256th (`TRX_SYS_TRX_ID_WRITE_MARGIN`, `trx0sys.h`).
const TRANSACTIONS: u32 = 800;

/// Rows that a round adds to `g`, which so grows by some pages.
pub(super) const GROWTH: u32 = 400;

/// More than MariaDB logs at a checkpoint (`FILE_CHECKPOINT`).
const CHECKPOINT_BYTES: u64 = 64;

/// Tables that a round makes, and columns of each, whose comments fill pages of the dictionary.
const MADE: u32 = 10;
const COLUMNS: u32 = 40;

/// Time that the server may take to write its pages, or to come to rest.
const PATIENCE: Duration = Duration::from_secs(120);

const ASK_EVERY: Duration = Duration::from_millis(100);

/// Times that it must answer the same until it counts as at rest: purge and statistics wait for
/// some hundred ms in between.
const AT_REST: u32 = 10;

/// The state: directories with the versions of all pages.
#[derive(Debug)]
pub(super) struct State {
    /// Data directories with versions 1 and 2.
    pub(super) earlier: [PathBuf; 2],
    /// The data directory that the kill left, with version 3.
    pub(super) killed: PathBuf,
    /// LSN up to which the redo log is there.
    pub(super) log_end: u64,
}

/// Variables that decide which pages are written when; the same for every start.
pub(super) fn settings(binary: &Binary) -> Settings {
    let common = [
        ("innodb_buffer_pool_size", "64M"),
        ("innodb_doublewrite", "ON"),
        ("innodb_flush_method", "fsync"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_max_dirty_pages_pct", "90"),
        ("innodb_max_dirty_pages_pct_lwm", "0"),
        ("innodb_adaptive_flushing", "OFF"),
        ("innodb_undo_log_truncate", "OFF"),
        ("innodb_stats_auto_recalc", "OFF"),
        ("innodb_io_capacity", "2000"),
        ("skip_log_bin", "ON"),
        ("performance_schema", "OFF"),
    ];
    let own: &[_] = match binary.flavour {
        Flavour::Mariadb => &[("innodb_log_file_size", "64M"), ("innodb_undo_tablespaces", "3")],
        _ => &[
            ("innodb_redo_log_capacity", "64M"),
            // No page is written before it is asked for.
            ("innodb_idle_flush_pct", "0"),
            ("log_error_verbosity", "3"),
        ],
    };
    common.iter().chain(own).map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

/// Makes the state below `directory`.
///
/// # Errors
/// The server does not do what it is asked to, or does not come to rest.
pub(super) fn make(
    binary: &Binary,
    directory: &Path,
    ledger: &Arc<Ledger>,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<State> {
    let killed = directory.join("data");
    let settings = settings(binary);
    server::make_datadir(binary, &settings, &killed, say)?;
    let run_dir = directory.join("run");
    let mut start = Start::new(&killed, &run_dir, ledger);
    start.settings = settings;
    let _run = ledger.make_directory(&run_dir)?;
    let server = server::start(binary, &start)?;
    let mut rounds = Rounds {
        session: open(&server)?,
        can_rest: binary.flavour != Flavour::Mariadb,
        killed: &killed,
    };
    rounds.begin()?;
    let mut earlier = [directory.join("round-1"), directory.join("round-2")];
    for (round, kept) in (1..).zip(&mut earlier) {
        interrupt.check()?;
        say(&format!("round {round} of {ROUNDS}"));
        rounds.change(round)?;
        rounds.write_pages(true)?;
        copy::tree(&killed, kept)?;
    }
    say(&format!("round {ROUNDS} of {ROUNDS}"));
    // Keeps the undo records of this round from being purged, so that the next start has to read
    // them.
    let mut reader = open(&server)?;
    run(&mut reader, "START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
    // Is rolled back at the next start.
    let mut unfinished = open(&server)?;
    run(&mut unfinished, "START TRANSACTION")?;
    run(&mut unfinished, &format!("UPDATE {DATABASE}.v SET n = n + 1000"))?;
    rounds.change(ROUNDS)?;
    let log_end = rounds.rest()?;
    let log = directory.join("log");
    rounds.save_log(&log)?;
    rounds.write_pages(false)?;
    server.kill()?;
    rounds.bring_back_log(&log)?;
    check(&killed, log_end)?;
    Ok(State { earlier, killed, log_end })
}

fn open(server: &Server) -> Result<ClientSession> {
    ClientSession::open(&server.endpoint()).context("cannot connect to the server")
}

fn run(session: &mut ClientSession, statement: &str) -> Result<()> {
    let done = session.query(statement.as_bytes());
    done.map(drop).with_context(|| format!("the server refused `{statement}`"))
}

struct Rounds<'a> {
    session: ClientSession,
    /// Whether the server writes pages when idle, unless `innodb_idle_flush_pct` forbids it (MySQL
    /// since 8.0.18).
    can_rest: bool,
    killed: &'a Path,
}

impl Rounds<'_> {
    fn begin(&mut self) -> Result<()> {
        self.run(&format!("CREATE DATABASE {DATABASE}"))?;
        for table in ["t", "g", "u", "v"] {
            self.run(&format!(
                "CREATE TABLE {DATABASE}.{table} (id INT PRIMARY KEY, round_1 INT NOT NULL, \
                round_2 INT NOT NULL, round_3 INT NOT NULL, n INT NOT NULL, pad CHAR(200) NOT \
                NULL) ENGINE=InnoDB DEFAULT CHARSET=latin1"
            ))?;
        }
        for table in ["t", "u", "v"] {
            self.insert(table, 0..ROWS)?;
        }
        self.write_pages(true)
    }

    fn insert(&mut self, table: &str, ids: std::ops::Range<u32>) -> Result<()> {
        let row = |id: u32| format!("({id}, 0, 0, 0, {id}, REPEAT('x', 200))");
        let rows: Vec<_> = ids.map(row).collect();
        self.run(&format!("INSERT INTO {DATABASE}.{table} VALUES {}", rows.join(", ")))
    }

    /// Each round has a column of its own: what a page lacks that was restored from an older copy,
    /// no later round writes again.
    fn change(&mut self, round: u32) -> Result<()> {
        let at_once = ROWS / TRANSACTIONS;
        for first in (0..ROWS).step_by(at_once as usize) {
            self.run(&format!(
                "UPDATE {DATABASE}.t SET round_{round} = {round}, n = n + 7 WHERE id >= {first} \
                AND id < {}",
                first + at_once
            ))?;
        }
        self.insert("g", round * GROWTH..(round + 1) * GROWTH)?;
        // One transaction whose undo records need pages.
        self.run(&format!("UPDATE {DATABASE}.u SET pad = REPEAT('{round}', 200)"))?;
        let column = |column| format!("c{column} INT COMMENT '{}'", "x".repeat(500));
        let columns: Vec<_> = (0..COLUMNS).map(column).collect();
        for table in 0..MADE {
            let columns = columns.join(", ");
            let name = format!("{DATABASE}.made_{round}_{table}");
            self.run(&format!(
                "CREATE TABLE {name} (id INT PRIMARY KEY, {columns}) ENGINE=InnoDB"
            ))?;
        }
        Ok(())
    }

    /// Makes the server write every page; with `checkpoint`, until the checkpoint is behind all of
    /// them.
    fn write_pages(&mut self, checkpoint: bool) -> Result<()> {
        self.write_when_idle(true)?;
        let began = Instant::now();
        loop {
            let dirty = self.status("Innodb_buffer_pool_pages_dirty")?;
            if dirty == 0 && (!checkpoint || self.is_checkpoint_behind()?) {
                return self.write_when_idle(false);
            }
            ensure!(
                began.elapsed() < PATIENCE,
                "the server still has {dirty} dirty pages after {} s",
                PATIENCE.as_secs()
            );
            std::thread::sleep(ASK_EVERY);
        }
    }

    fn write_when_idle(&mut self, is_on: bool) -> Result<()> {
        if self.can_rest {
            self.run(&format!("SET GLOBAL innodb_idle_flush_pct = {}", u32::from(is_on) * 100))?;
        }
        self.run(&format!("SET GLOBAL innodb_max_dirty_pages_pct = {}", u32::from(!is_on) * 90))
    }

    fn is_checkpoint_behind(&mut self) -> Result<bool> {
        let [end, checkpoint] = self.log_numbers()?;
        // MariaDB's checkpoint ends with a record of its own.
        Ok(end.saturating_sub(checkpoint) < CHECKPOINT_BYTES)
    }

    /// Waits until nothing changes any more; returns the end of the redo log.
    fn rest(&mut self) -> Result<u64> {
        let (began, mut last, mut same) = (Instant::now(), 0, 0);
        while same < AT_REST {
            ensure!(began.elapsed() < PATIENCE, "the server does not come to rest");
            std::thread::sleep(ASK_EVERY);
            let [end, _] = self.log_numbers()?;
            same = if end == last { same + 1 } else { 0 };
            last = end;
        }
        Ok(last)
    }

    /// End of the redo log and the last checkpoint.
    fn log_numbers(&mut self) -> Result<[u64; 2]> {
        let rows = self.session.rows("SHOW ENGINE INNODB STATUS")?;
        let text = rows.into_iter().flatten().flatten().next_back().unwrap_or_default();
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
            let number = line.and_then(|rest| rest.trim().parse().ok());
            number.with_context(|| format!("the server does not say `{name}`"))
        };
        Ok([number("Log sequence number")?, number("Last checkpoint at")?])
    }

    fn status(&mut self, name: &str) -> Result<u64> {
        let rows = self.session.rows(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))?;
        let value = rows.into_iter().next().and_then(|row| row.into_iter().nth(1)).flatten();
        value.and_then(|value| value.parse().ok()).with_context(|| format!("no status {name}"))
    }

    fn run(&mut self, statement: &str) -> Result<()> {
        run(&mut self.session, statement)
    }

    /// The redo log: a directory of files in MySQL since 8.0.30, files before and in MariaDB.
    fn log_files(&self) -> Result<Vec<PathBuf>> {
        let directory = self.killed.join("#innodb_redo");
        if directory.is_dir() {
            return Ok(vec![directory]);
        }
        let mut files = Vec::new();
        for entry in std::fs::read_dir(self.killed)? {
            let path = entry?.path();
            let is_log = path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("ib_logfile"));
            files.extend(is_log.then_some(path));
        }
        Ok(files)
    }

    fn save_log(&self, to: &Path) -> Result<()> {
        std::fs::create_dir(to)?;
        for file in self.log_files()? {
            let name = file.file_name().context("no name")?;
            copy::tree(&file, &to.join(name))?;
        }
        Ok(())
    }

    fn bring_back_log(&self, from: &Path) -> Result<()> {
        for file in self.log_files()? {
            if file.is_dir() {
                std::fs::remove_dir_all(file)?;
            } else {
                std::fs::remove_file(file)?;
            }
        }
        Ok(copy::tree(&from.join("."), self.killed)?)
    }
}

/// No page may be newer than the redo log, nor torn.
fn check(killed: &Path, log_end: u64) -> Result<()> {
    let found = assay_innodb::scan(killed, None)?;
    let spaces = Tablespaces::find(killed)?;
    ensure!(found.torn().next().is_none(), "the server left torn pages without a power cut");
    let newest = assay_innodb::scan::newest_lsn(&spaces)?;
    ensure!(newest <= log_end, "a page has LSN {newest}, and the redo log ends at {log_end}");
    Ok(())
}
