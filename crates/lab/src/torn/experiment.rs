//! The experiment: one page after another is torn by hand, with copies of known age in the
//! doublewrite buffer, and a server is started.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use assay_innodb::doublewrite::{Slot, copies, slots};
use assay_innodb::page::{TRANSACTION_SYSTEM, word};
use assay_innodb::tablespaces::{PageFile, Tablespaces};
use assay_innodb::{PageFields, PageName, PageState};
use assay_mysql::{ClientSession, SessionError};
use assay_ports::copy;
use assay_system::interrupt::Interrupt;
use assay_system::ledger::Ledger;
use serde::Serialize;

use super::state::{self, DATABASE, GROWTH, ROUNDS, ROWS, State};
use super::trial::{End, TearTrial, TrialPlace, Watched, trial_of};
use crate::rig::server::{Binary, Settings};

/// Bytes of a torn page that are old: one block of the disk.
const OLD_BYTES: usize = 4096;

/// The kind of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TornKind {
    /// Page (0, 5).
    TransactionSystem,
    /// A later page of the system tablespace.
    System,
    /// Page 0 of an undo tablespace.
    UndoFirst,
    /// A page of undo records.
    Undo,
    /// Page 0 of the tablespace of the dictionary: `mysql.ibd`, for MariaDB the system tablespace.
    DictionaryFirst,
    /// A leaf of an index of the dictionary.
    Dictionary,
    /// Page 0 of a table's tablespace.
    TableFirst,
    /// A leaf of a table.
    Table,
}

const KINDS: [TornKind; 8] = [
    TornKind::TransactionSystem,
    TornKind::System,
    TornKind::UndoFirst,
    TornKind::Undo,
    TornKind::DictionaryFirst,
    TornKind::Dictionary,
    TornKind::TableFirst,
    TornKind::Table,
];

/// The copies that are in the doublewrite buffer, in the order in which a server finds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Case {
    /// The newest copy alone.
    Newest,
    /// The newest, then an older one.
    NewestThenOlder,
    /// An older one, then the newest.
    OlderThenNewest,
}

const CASES: [Case; 3] = [Case::Newest, Case::NewestThenOlder, Case::OlderThenNewest];

/// A page that is torn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TearTarget {
    pub name: PageName,
    /// Its file, relative to the data directory.
    pub file: String,
    /// LSNs of the older copy, of the old part and of the newest copy, which is the new part's.
    pub lsns: [u64; 3],
}

/// A page torn, a server started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TearRow {
    /// The copies in the doublewrite buffer.
    pub case: Case,
    /// The result of the server's start.
    #[serde(flatten)]
    pub trial: TearTrial,
    /// The data directory as it was before the server started, if it is kept.
    pub kept: Option<PathBuf>,
}

/// Everything that was tried with one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TearFindings {
    /// The server, with its version.
    pub server: String,
    /// The same state with nothing torn: it must start.
    pub control: TearTrial,
    /// The trials of each kind of page.
    pub pages: Vec<OfKind>,
}

/// The trials of one kind of page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OfKind {
    pub kind: TornKind,
    /// The page; nothing where the server wrote no such page in each round.
    pub target: Option<TearTarget>,
    /// With each set of copies.
    pub rows: Vec<TearRow>,
}

/// Inputs of the experiment.
#[derive(Clone, Copy)]
pub struct TearRequest<'a> {
    pub binary: &'a Binary,
    /// An empty directory for it.
    pub directory: &'a Path,
    /// Kinds of pages; empty: all.
    pub kinds: &'a [TornKind],
    /// Keeps every data directory that does not start, or is not whole, in this directory.
    pub keep: Option<&'a Path>,
    /// Lists everything that is made on the machine.
    pub ledger: &'a Arc<Ledger>,
    pub interrupt: &'a Interrupt,
    /// Gets a plain line for each step.
    pub say: &'a dyn Fn(&str),
}

/// Makes the state, tears page after page, and starts the server on each.
///
/// # Errors
/// The experiment cannot be made, or its control does not start.
pub fn experiment(wanted: &TearRequest<'_>) -> Result<TearFindings> {
    let state =
        state::make(wanted.binary, wanted.directory, wanted.ledger, wanted.interrupt, wanted.say)?;
    let bench = Bench { wanted: *wanted, settings: state::settings(wanted.binary), state: &state };
    let control = bench.control()?;
    ensure!(
        matches!(control.end, End::Whole { .. }),
        "the server does not come up on whole pages either: {:?}",
        control.end
    );
    let checkpoint = control.checkpoint.unwrap_or(state.log_end);
    let mut pages = Vec::new();
    for kind in KINDS {
        if wanted.kinds.is_empty() || wanted.kinds.contains(&kind) {
            pages.push(bench.page(kind, checkpoint)?);
        }
    }
    Ok(TearFindings { server: wanted.binary.to_string(), control, pages })
}

struct Bench<'a> {
    wanted: TearRequest<'a>,
    settings: Settings,
    state: &'a State,
}

/// Three versions of a page.
struct Versions {
    name: PageName,
    seen: [PageFields; 3],
    bytes: [Vec<u8>; 3],
}

impl Bench<'_> {
    fn control(&self) -> Result<TearTrial> {
        (self.wanted.say)("whole pages");
        let data_dir = self.wanted.directory.join("control");
        copy::tree(&self.state.killed, &data_dir)?;
        let trial = self.try_it(&data_dir, None)?;
        std::fs::remove_dir_all(&data_dir)?;
        Ok(trial)
    }

    fn page(&self, kind: TornKind, checkpoint: u64) -> Result<OfKind> {
        let Some(versions) = self.choose(kind, checkpoint)? else {
            return Ok(OfKind { kind, target: None, rows: Vec::new() });
        };
        let spaces = Tablespaces::find(&self.state.killed)?;
        let (file, _) = spaces.place(versions.name).context("the page is gone")?;
        let file = file.path.strip_prefix(&self.state.killed)?.display().to_string();
        let lsns = [0, 1, 2].map(|version: usize| versions.seen[version].lsn);
        let target = TearTarget { name: versions.name, file, lsns };
        let mut rows = Vec::new();
        for case in CASES {
            self.wanted.interrupt.check()?;
            let name = versions.name;
            (self.wanted.say)(&format!(
                "page {} of tablespace {}, {case:?}",
                name.page, name.space
            ));
            rows.push(self.tear(&versions, case)?);
        }
        Ok(OfKind { kind, target: Some(target), rows })
    }

    /// The first page of that kind that is whole in all three rounds, newer each time, and whose
    /// second version lies behind the checkpoint while the third does not.
    fn choose(&self, kind: TornKind, checkpoint: u64) -> Result<Option<Versions>> {
        let [one, two] = &self.state.earlier;
        let found = [one, two, &self.state.killed].map(|directory| Tablespaces::find(directory));
        let [one, two, three] = found;
        let spaces = [one?, two?, three?];
        for file in &spaces[2].files {
            for number in 0..file.pages {
                let name = PageName { space: file.space, page: (file.first_page + number) as u32 };
                if !kind.is(name, file, &self.state.killed) {
                    continue;
                }
                let Some(versions) = versions(&spaces, name)? else { continue };
                let [one, two, three] = versions.seen.map(|seen| seen.lsn);
                let fits = one < two && two < checkpoint && checkpoint < three;
                if fits && kind.has(&versions.bytes[2]) {
                    return Ok(Some(versions));
                }
            }
        }
        Ok(None)
    }

    fn tear(&self, versions: &Versions, case: Case) -> Result<TearRow> {
        let data_dir = self.wanted.directory.join("torn");
        copy::tree(&self.state.killed, &data_dir)?;
        let spaces = Tablespaces::find(&data_dir)?;
        let (file, offset) = spaces.place(versions.name).context("the page is gone")?;
        let [older, old, newest] = &versions.bytes;
        let torn = [&old[..OLD_BYTES], &newest[OLD_BYTES..]].concat();
        write(&file.path, offset, &torn)?;
        place_copies(&spaces, versions, case)?;
        let kept = self.wanted.keep.map(|keep| {
            let PageName { space, page } = versions.name;
            keep.join(format!("page-{space}-{page}-{}", word_of(case)))
        });
        if let Some(kept) = &kept {
            copy::tree(&data_dir, kept)?;
        }
        let watched = Watched {
            file: file.path.clone(),
            offset,
            torn,
            older: (case != Case::Newest).then(|| older.clone()),
            newest: newest.clone(),
        };
        let trial = self.try_it(&data_dir, Some(&watched))?;
        std::fs::remove_dir_all(&data_dir)?;
        let is_whole = matches!(trial.end, End::Whole { .. });
        let kept = match kept {
            Some(kept) if is_whole => {
                std::fs::remove_dir_all(kept)?;
                None
            }
            kept => kept,
        };
        Ok(TearRow { case, trial, kept })
    }

    fn try_it(&self, data_dir: &Path, watched: Option<&Watched>) -> Result<TearTrial> {
        let place = TrialPlace {
            binary: self.wanted.binary,
            data_dir,
            run_dir: &self.wanted.directory.join("run"),
            settings: &self.settings,
            ledger: self.wanted.ledger,
        };
        trial_of(&place, watched, &rows_are_right)
    }
}

/// `FIL_PAGE_INDEX` (`fil0fil.h`).
const INDEX: u32 = 17855;

/// `FIL_PAGE_UNDO_LOG`.
const UNDO_LOG: u32 = 2;

/// Level of an index page, 2 bytes: 0 is a leaf (`PAGE_HEADER` 38 + `PAGE_LEVEL` 26,
/// `page0types.h`).
const LEVEL: usize = 64;

impl TornKind {
    fn is(self, name: PageName, file: &PageFile, directory: &Path) -> bool {
        let path = file.path.strip_prefix(directory).unwrap_or(&file.path).display().to_string();
        let is_undo = path.starts_with("undo");
        // MariaDB's dictionary is in the system tablespace.
        let has_own = directory.join("mysql.ibd").is_file();
        let is_dictionary = if has_own { path == "mysql.ibd" } else { name.space == 0 };
        match self {
            TornKind::TransactionSystem => name == TRANSACTION_SYSTEM,
            TornKind::System => name.space == 0 && name.page > TRANSACTION_SYSTEM.page,
            TornKind::UndoFirst => is_undo && name.page == 0,
            TornKind::Undo => is_undo,
            TornKind::DictionaryFirst => is_dictionary && name.page == 0,
            TornKind::Dictionary => is_dictionary && name.page > 3,
            TornKind::TableFirst => path == format!("{DATABASE}/g.ibd") && name.page == 0,
            TornKind::Table => path == format!("{DATABASE}/t.ibd") && name.page > 4,
        }
    }

    /// Returns true if a page has contents of this kind.
    fn has(self, page: &[u8]) -> bool {
        let kind = word(page, 24) >> 16;
        match self {
            TornKind::Undo => kind == UNDO_LOG,
            TornKind::Table | TornKind::Dictionary => kind == INDEX && word(page, LEVEL) >> 16 == 0,
            _ => true,
        }
    }
}

/// A name for a directory.
fn word_of(case: Case) -> &'static str {
    match case {
        Case::Newest => "newest",
        Case::NewestThenOlder => "newest-then-older",
        Case::OlderThenNewest => "older-then-newest",
    }
}

/// The three versions of a page, if all are whole.
fn versions(spaces: &[Tablespaces; 3], name: PageName) -> Result<Option<Versions>> {
    let mut bytes = Vec::new();
    let mut seen = Vec::new();
    for spaces in spaces {
        let Some((file, offset)) = spaces.place(name) else { return Ok(None) };
        let mut page = vec![0; spaces.page_bytes as usize];
        File::open(&file.path)?.read_exact_at(&mut page, offset)?;
        seen.push(PageFields::of(&page, file.format));
        bytes.push(page);
    }
    let (Ok(seen), Ok(bytes)) = (<[PageFields; 3]>::try_from(seen), bytes.try_into()) else {
        return Ok(None);
    };
    let is_whole = seen.iter().all(|seen| seen.state == PageState::Whole);
    Ok(is_whole.then_some(Versions { name, seen, bytes }))
}

/// Takes away every copy of the page, and puts those of the case in the first place of the first
/// file and of the last: a copy of another page there is not needed, since all others are whole.
fn place_copies(spaces: &Tablespaces, versions: &Versions, case: Case) -> Result<()> {
    let slots = slots(spaces, None)?;
    for copy in copies(spaces, &slots)? {
        if copy.fields.name == versions.name {
            write(&copy.file, copy.offset, &vec![0; spaces.page_bytes as usize])?;
        }
    }
    let first = slots.first().context("the server has no doublewrite buffer")?;
    let later = slots.iter().find(|slot| slot.file != first.file);
    let later = later.or(slots.get(1)).context("the doublewrite buffer has one place alone")?;
    let [older, _, newest] = &versions.bytes;
    let put = |slot: &Slot, page: &[u8]| write(&slot.file, slot.offset, page);
    match case {
        Case::Newest => put(later, newest),
        Case::NewestThenOlder => put(first, newest).and_then(|()| put(later, older)),
        Case::OlderThenNewest => put(first, older).and_then(|()| put(later, newest)),
    }
}

fn write(path: &Path, offset: u64, bytes: &[u8]) -> Result<()> {
    let file = File::options().write(true).open(path);
    let written = file.and_then(|file| file.write_all_at(bytes, offset));
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Every row must be as the last round left it: the transaction that was not finished is rolled
/// back.
fn rows_are_right(session: &mut ClientSession) -> Result<Option<End>, SessionError> {
    // The shutdown that follows shall purge everything, which reads all undo records that are left.
    session.query(b"SET GLOBAL innodb_fast_shutdown = 0")?;
    let sum = |ids: std::ops::Range<u32>| ids.map(u64::from).sum::<u64>();
    let marks = u64::from(ROWS * (1..=ROUNDS).sum::<u32>());
    let grown = GROWTH..GROWTH * (ROUNDS + 1);
    for (table, rows, numbers, marks) in [
        ("t", ROWS, sum(0..ROWS) + u64::from(ROWS * ROUNDS) * 7, marks),
        ("u", ROWS, sum(0..ROWS), 0),
        ("v", ROWS, sum(0..ROWS), 0),
        ("g", grown.end - grown.start, sum(grown), 0),
    ] {
        let found = session.rows(&format!(
            "SELECT COUNT(*), SUM(n), SUM(round_1 + round_2 + round_3) FROM {DATABASE}.{table} \
            FORCE INDEX (PRIMARY)"
        ));
        let table = format!("{DATABASE}.{table}");
        let found = match found {
            Err(error @ SessionError::Server { .. }) => {
                return Ok(Some(End::Table { table, reason: error.to_string() }));
            }
            found => found?,
        };
        let found: Vec<String> = found.into_iter().flatten().flatten().collect();
        let expected = [u64::from(rows), numbers, marks].map(|number| number.to_string());
        if found != expected {
            let (found, expected) = (found.join(", "), expected.join(", "));
            let reason = format!(
                "acknowledged commits are missing: number of rows, sum of n and sum of rounds \
                are {found}, not {expected}"
            );
            return Ok(Some(End::Table { table, reason }));
        }
    }
    Ok(None)
}
