//! `assay powercut pages`: finds torn pages of a data directory and their copies, and prints the
//! commands that put the newest ones back.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use assay_base::file_locks;
use assay_base::text::counted;
use assay_innodb::{PageScan, scan};
use assay_lab::power_cut::pages_left;
use assay_lab::rig::server::{self, Flavour, Settings, WantedServer};
use assay_lab::torn::{self, End, TearTrial, TrialPlace};
use assay_ports::copy;
use assay_report::words::power_cuts as words;
use assay_study::power_cut::Aftermath;
use assay_system::ledger::Ledger;
use assay_system::new_name;
use clap::Args;
use serde_json::json;

use super::{put_back, tear};
use crate::print;

/// Find the torn pages of a data directory that does not start, and the newest whole copies of
/// them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay powercut pages /var/lib/mysql          changes nothing
  assay powercut pages /var/lib/mysql --try /backup/copy
                                               put the copies back on a copy,
                                               and start a server on that

Stop the server, and copy the whole data directory before anything else: a start that fails may \
write to it. Files outside the directory (DATA DIRECTORY, innodb_undo_directory) are not read.

Exit codes: 0 no page is torn, or the copy starts and all tables are whole; 1 otherwise; 2 error.")]
pub(crate) struct PagesArgs {
    /// A server's data directory, on which no server runs
    directory: PathBuf,
    /// Directory of the doublewrite files (innodb_doublewrite_dir) [default: the data directory]
    #[arg(long, value_name = "DIRECTORY")]
    doublewrite_dir: Option<PathBuf>,
    /// Copy the data directory to this new directory, put the newest copies back there, start a
    /// server on it, and check every table
    #[arg(long = "try", value_name = "DIRECTORY")]
    try_in: Option<PathBuf>,
    /// Server for --try: the program, a directory with one, or its maker's .tar.xz or .tar.gz
    /// [default: the one found or downloaded]
    #[arg(long, value_name = "PATH", requires = "try_in")]
    server: Option<PathBuf>,
    /// Server variable for --try, e.g. lower_case_table_names=1 (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE", requires = "try_in")]
    settings: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Prints the pages and commands, and tries them with `--try`.
pub(crate) fn run(args: &PagesArgs) -> Result<ExitCode> {
    let directory = args.directory.canonicalize().with_context(|| {
        format!("{} is not there; give a data directory", args.directory.display())
    })?;
    check_unused(&directory)?;
    let elsewhere = args.doublewrite_dir.as_deref();
    let found = scan(&directory, elsewhere)?;
    let left = Aftermath {
        page_bytes: found.page_bytes,
        pages: pages_left(&found, &directory),
        put_back: None,
    };
    if !args.json {
        lines(&found, &left, &directory).into_iter().for_each(print::line);
    }
    let tried = args.try_in.as_deref().map(|copy| try_copy(args, &directory, copy)).transpose()?;
    match (args.json, &tried) {
        (true, tried) => print::line(serde_json::to_string_pretty(&json!({
            "look": found,
            "pages": left.pages,
            "commands": put_back::commands(&left, &directory),
            "tried": tried,
        }))?),
        (false, Some(trial)) => print::line(format_args!(
            "with the newest copies put back, on the copy: {}",
            tear::ended(trial)
        )),
        (false, None) => {}
    }
    let is_good = match tried {
        Some(trial) => matches!(trial.end, End::Whole { .. }),
        None => left.pages.is_empty(),
    };
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Refuses a directory on which a server runs: pages look torn while they are written.
fn check_unused(directory: &Path) -> Result<()> {
    let Ok(system) = directory.join("ibdata1").metadata() else { return Ok(()) };
    if let Some(process) = file_locks::holders(&system)?.first() {
        bail!("process {process} runs on {}; stop the server first", directory.display());
    }
    Ok(())
}

fn lines(found: &PageScan, left: &Aftermath, directory: &Path) -> Vec<String> {
    let torn = found.torn().count() as u64;
    let mut lines = vec![format!(
        "{} read, {torn} torn; {} in the doublewrite buffer",
        counted(found.pages, "page"),
        counted(found.copies.len() as u64, "copy")
    )];
    if found.unreadable > 0 {
        lines.push(format!(
            "not judged: {}, encrypted or compressed",
            counted(found.unreadable, "page")
        ));
    }
    lines.extend(
        found
            .unread
            .iter()
            .map(|file| format!("not read: {} (ROW_FORMAT=COMPRESSED)", file.display())),
    );
    lines.extend(left.pages.iter().map(words::page_left));
    if found.compared.iter().any(assay_innodb::PageComparison::is_read_too_early) {
        lines.push(
            "MySQL reads page 5 of tablespace 0 before it restores pages, and does not start"
                .into(),
        );
    }
    if found.torn().any(|page| page.older_first().is_some()) {
        lines.push(
            "MySQL restores a page from the first copy that it finds: it would take the older ones"
                .into(),
        );
    }
    let commands = put_back::commands(left, directory);
    if !commands.is_empty() {
        lines.push(
            "to put the newest copies back, once the whole directory is copied elsewhere:".into(),
        );
        lines.extend(commands.into_iter().map(|command| format!("  {command}")));
    }
    lines
}

/// Vendor of the files: MySQL since 8.0 keeps its dictionary in `mysql.ibd`.
fn make_of(directory: &Path) -> Flavour {
    if directory.join("mysql.ibd").is_file() { Flavour::Mysql } else { Flavour::Mariadb }
}

fn try_copy(args: &PagesArgs, directory: &Path, target: &Path) -> Result<TearTrial> {
    ensure!(!target.exists(), "{} is there already; give a new directory", target.display());
    let wanted = match WantedServer::named(args.server.as_ref()) {
        WantedServer::Any => WantedServer::Flavour(make_of(directory)),
        named => named,
    };
    let binary = server::find_or_fetch(&wanted, &|text| {
        print::note(format_args!("  {text}"));
    })?;
    copy::tree(directory, target)?;
    let target = target.canonicalize()?;
    let found = scan(&target, args.doublewrite_dir.as_deref())?;
    assay_innodb::put_back(&found)?;
    let mut settings = Settings::from([
        ("skip_grant_tables".to_owned(), "ON".to_owned()),
        ("innodb_page_size".into(), found.page_bytes.to_string()),
    ]);
    if binary.flavour != Flavour::Mariadb {
        settings.insert("log_error_verbosity".into(), "3".into());
    }
    for text in &args.settings {
        let (name, value) =
            text.split_once('=').with_context(|| format!("--set is `{text}`; give NAME=VALUE"))?;
        settings.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    let run_dir = target.with_file_name(new_name("try"));
    let ledger: Arc<Ledger> = Ledger::open()?;
    torn::trial(&TrialPlace {
        binary: &binary,
        data_dir: &target,
        run_dir: &run_dir,
        settings: &settings,
        ledger: &ledger,
    })
}
