//! `assay powercut tear`: tears pages, and starts a server on each.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use assay_base::text::on_one_line;
use assay_lab::rig::server::{self, WantedServer};
use assay_lab::torn::{
    self, Case, End, RestoredFrom, TearFindings, TearRequest, TearRow, TearTarget, TearTrial,
    TornKind,
};
use assay_system::interrupt::Interrupt;
use assay_system::ledger::Ledger;
use assay_system::new_name;
use clap::{Args, ValueEnum};

use crate::print;

/// Tear pages by hand, with older and newest copies in the doublewrite buffer: does the server
/// start?
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay powercut tear                            the server found or downloaded
  assay powercut tear --server /usr/sbin/mysqld --json
  assay powercut tear --page transaction-system --keep kept
                                                 keep what does not start

A server changes rows in three rounds and is killed, so that three versions of each page are \
known. Then the first 4 KiB of a page are set back to the version before, the newest copy and one \
from before the checkpoint are put in the doublewrite buffer, and the server starts. Each \
time the same versions are torn.

Exit codes: 0 the server restored every page from its newest copy, 1 it did not, 2 error.")]
pub(crate) struct TearArgs {
    /// Only pages of this kind (repeatable) [default: all]
    #[arg(long, value_name = "KIND")]
    page: Vec<Page>,
    /// Server program, a directory with one, or its maker's .tar.xz or .tar.gz [default: the one
    /// found or downloaded]
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,
    /// Directory for temporary data directories, some 600 MiB
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    location: PathBuf,
    /// Keep the data directories that do not come up whole in this new directory
    #[arg(long, value_name = "DIRECTORY")]
    keep: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Page {
    /// Page 5 of the system tablespace
    TransactionSystem,
    /// Another page of the system tablespace
    System,
    /// Page 0 of an undo tablespace
    UndoFirst,
    /// A page of undo records
    Undo,
    /// Page 0 of mysql.ibd (MariaDB: of ibdata1)
    DictionaryFirst,
    /// A leaf of an index of the dictionary
    Dictionary,
    /// Page 0 of a table's file
    TableFirst,
    /// A leaf of a table
    Table,
}

/// Tears pages, starts a server on each, and prints the results.
pub(crate) fn run(args: &TearArgs) -> Result<ExitCode> {
    let interrupt = Interrupt::listen()?;
    let say = |text: &str| print::note(format_args!("  {text}"));
    let location = args.location.canonicalize().with_context(|| {
        format!("the location {} is not a directory; give another", args.location.display())
    })?;
    server::check_places(&location)?;
    let binary = server::find_or_fetch(&WantedServer::named(args.server.as_ref()), &say)?;
    let keep = args.keep.as_deref().map(std::path::absolute).transpose()?;
    if let Some(keep) = &keep {
        std::fs::create_dir(keep).with_context(|| format!("cannot make {}", keep.display()))?;
    }
    let ledger = Ledger::open()?;
    let directory = location.join(new_name("tear"));
    let _made = ledger.make_directory(&directory)?;
    let kinds: Vec<TornKind> = args.page.iter().map(|page| page.kind()).collect();
    let found = torn::experiment(&TearRequest {
        binary: &binary,
        directory: &directory,
        kinds: &kinds,
        keep: keep.as_deref(),
        ledger: &ledger,
        interrupt: &interrupt,
        say: &say,
    })?;
    if args.json {
        print::line(serde_json::to_string_pretty(&found)?);
    } else {
        lines(&found).into_iter().for_each(print::line);
    }
    Ok(if is_right(&found) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

impl Page {
    fn kind(self) -> TornKind {
        match self {
            Page::TransactionSystem => TornKind::TransactionSystem,
            Page::System => TornKind::System,
            Page::UndoFirst => TornKind::UndoFirst,
            Page::Undo => TornKind::Undo,
            Page::DictionaryFirst => TornKind::DictionaryFirst,
            Page::Dictionary => TornKind::Dictionary,
            Page::TableFirst => TornKind::TableFirst,
            Page::Table => TornKind::Table,
        }
    }
}

fn is_right(found: &TearFindings) -> bool {
    found.pages.iter().flat_map(|one| &one.rows).all(|row| {
        matches!(row.trial.end, End::Whole { .. })
            && row.trial.restored != Some(RestoredFrom::Older)
    })
}

fn lines(found: &TearFindings) -> Vec<String> {
    let mut lines = vec![found.server.clone(), format!("whole pages: {}", ended(&found.control))];
    for one in &found.pages {
        lines.push(match &one.target {
            None => format!("{}: not written in each round, not tried", kind_word(one.kind)),
            Some(target) => page(one.kind, target),
        });
        lines.extend(one.rows.iter().flat_map(row));
    }
    lines
}

fn page(kind: TornKind, target: &TearTarget) -> String {
    let [older, old, newest] = target.lsns;
    format!(
        "{}: page {} of tablespace {} ({}), LSN {old} at its head, {newest} at its end; newest \
         copy {newest}, older copy {older}",
        kind_word(kind),
        target.name.page,
        target.name.space,
        target.file
    )
}

fn row(row: &TearRow) -> Vec<String> {
    let copies = match row.case {
        Case::Newest => "newest copy alone",
        Case::NewestThenOlder => "newest copy first, then the older",
        Case::OlderThenNewest => "older copy first, then the newest",
    };
    let restored = match row.trial.restored {
        Some(RestoredFrom::Older) => "restored from the OLDER copy; ",
        Some(RestoredFrom::Newest) => "restored from the newest copy; ",
        Some(RestoredFrom::Not) => "not restored; ",
        Some(RestoredFrom::Other) => "restored, read too late to see from which copy; ",
        None => "",
    };
    let rows = if matches!(row.trial.end, End::Whole { .. }) { ", no row is lost" } else { "" };
    let mut lines = vec![format!("  {copies}: {restored}{}{rows}", ended(&row.trial))];
    if let Some(kept) = &row.kept {
        lines.push(format!("    kept in {}", kept.display()));
    }
    lines
}

/// Describes a server's reaction to a directory.
pub(super) fn ended(trial: &TearTrial) -> String {
    match &trial.end {
        End::Whole { tables } => format!("starts, CHECK TABLE finds all {tables} tables whole"),
        End::NotStarted { reason } => format!("DOES NOT START: {}", shown(reason)),
        End::Ended { reason } => format!("ENDS after it has started: {}", shown(reason)),
        End::Table { table, reason } => format!("starts, {table} is DAMAGED: {}", shown(reason)),
        End::NextStart { reason } => {
            format!("starts, all tables are whole, DOES NOT START AGAIN: {}", shown(reason))
        }
    }
}

/// Shortens a reason: a server's log may be pages long.
fn shown(reason: &str) -> String {
    const CHARACTERS: usize = 240;
    let line = on_one_line(reason);
    match line.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn kind_word(kind: TornKind) -> &'static str {
    match kind {
        TornKind::TransactionSystem => "transaction system",
        TornKind::System => "system tablespace",
        TornKind::UndoFirst => "undo, page 0",
        TornKind::Undo => "undo",
        TornKind::DictionaryFirst => "dictionary, page 0",
        TornKind::Dictionary => "dictionary",
        TornKind::TableFirst => "table, page 0",
        TornKind::Table => "table",
    }
}
