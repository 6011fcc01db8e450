//! `assay audit`: reports whether page writes can be torn on a data directory, why, and how to
//! change that.

mod words;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use assay_audit::trace::{Traced, watch};
use assay_audit::{Audit, AuditRequest};
use assay_base::Size;
use assay_mysql::{Address, Endpoint, ServerKey, Tls};
use assay_system::interrupt::Interrupt;
use assay_system::ledger::Ledger;
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::print;

/// Check whether the doublewrite buffer may be off on a data directory: can page writes be torn
/// there?
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay audit /var/lib/mysql --server /run/mysqld/mysqld.sock
  assay audit /var/lib/mysql --writes direct  without a server, for O_DIRECT
  assay audit /mnt/new-disk --writes direct   before MySQL's data go there
  assay audit /var/lib/mysql --trace 30       and watch its page writes for 30 s
  assay audit /var/lib/mysql --server /run/mysqld/mysqld.sock --json | jq .class

The password is read from MYSQL_PWD. Nothing is written, and no table's rows are read: of each \
file only two headers, which say whether InnoDB encrypts it.

Exit codes: 0 page writes are safe there, 1 unsafe or unknown, 2 error.")]
pub(crate) struct AuditArgs {
    /// A data directory, or a directory where one will be created
    directory: PathBuf,
    /// The server that runs there: its socket, or HOST:PORT
    #[arg(long, value_name = "ADDRESS")]
    server: Option<String>,
    /// User at the server
    #[arg(long, default_value = "root", requires = "server")]
    user: String,
    /// How the server will write data files, if --server is not given
    #[arg(long, value_name = "HOW", conflicts_with = "server")]
    writes: Option<Writes>,
    /// Page size [default: the server's, else that of the files, else 16K]
    #[arg(long, value_name = "SIZE", value_parser = Size::parse, conflicts_with = "server")]
    page_size: Option<Size>,
    /// Watch page writes at the block device for this many seconds; needs root
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    trace: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.strip_suffix('s').unwrap_or(text).parse::<f64>();
    let good = seconds.ok().filter(|seconds| *seconds > 0.0 && *seconds <= 86_400.0);
    good.ok_or_else(|| "give seconds, such as 30".into())
}

/// Path of page writes through the kernel.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Writes {
    /// Past the page cache: innodb_flush_method=O_DIRECT
    Direct,
    /// Through the page cache: innodb_flush_method=fsync
    Buffered,
}

/// Audits the directory and prints the result. Exit code 1 unless page writes are safe.
pub(crate) fn run(args: &AuditArgs) -> Result<ExitCode> {
    let audit = Audit::make(&AuditRequest {
        directory: args.directory.clone(),
        server: args.server.as_deref().map(|text| endpoint(text, &args.user)).transpose()?,
        page_bytes: args.page_size.map(|size| size.0),
        is_direct: args.writes.map(|writes| matches!(writes, Writes::Direct)),
    })?;
    let traced = args.trace.map(|seconds| trace(&audit, seconds)).transpose()?;
    let came_apart = traced.as_ref().is_some_and(|traced| traced.pages_in_pieces > 0);
    let is_safe = audit.verdict.class.is_safe() && !came_apart;
    if args.json {
        let mut value = serde_json::to_value(&audit)?;
        value["safe"] = json!(is_safe);
        value["trace"] = json!(traced);
        let server = audit.findings.server.as_ref();
        value["recovery"] = json!(server.and_then(assay_audit::server::ServerSettings::recovery));
        print::line(serde_json::to_string_pretty(&value)?);
    } else {
        words::lines(&audit, traced.as_ref()).iter().for_each(print::line);
    }
    Ok(if is_safe { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Traces page writes at the block device. Ctrl-C ends the trace early and keeps its events.
fn trace(audit: &Audit, seconds: f64) -> Result<Traced> {
    let interrupt = Interrupt::listen()?;
    let ledger = Ledger::open()?;
    print::note(format_args!("assay: watching page writes for {seconds} s; Ctrl-C ends it"));
    watch(&audit.findings, Duration::from_secs_f64(seconds), &ledger, interrupt.flag())
}

fn endpoint(text: &str, user: &str) -> Result<Endpoint> {
    let address = Address::parse(text)
        .with_context(|| format!("`{text}` is no address; give a socket's path or HOST:PORT"))?;
    Ok(Endpoint {
        address,
        user: user.to_owned(),
        password: std::env::var("MYSQL_PWD").unwrap_or_default(),
        database: String::new(),
        // The default of MySQL's own clients.
        tls: Tls::Preferred,
        key: ServerKey::None,
        hides_user: false,
    })
}
