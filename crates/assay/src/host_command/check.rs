//! `assay host check`: the usability of hosts, their systems, and the offsets of their clocks.

use std::process::ExitCode;

use anyhow::Result;
use assay_base::text::{counted, size};
use assay_hosts::{ClockOffset, Failure, HostFacts, RemoteHost};
use assay_system::interrupt::Interrupt;
use clap::Args;
use serde_json::{Value, json};

use super::{Reach, with_all};
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay host check ann@db1
  assay host check load1 load2 --json
  assay host check db1 --host-directory /mnt/scratch/assay

Hosts are named as ssh takes them; its configuration, keys, agent and known hosts are used, \
and nobody is asked anything: `ssh HOST` must work without a password. \
The program is copied to each host unless it is there already; \
`assay clean --cache --host HOST` removes it.

Exit codes: 0 all can be used, 2 some cannot.")]
pub(super) struct CheckArgs {
    /// The hosts, as ssh takes them
    #[arg(required = true, value_name = "USER@HOST")]
    hosts: Vec<String>,
    #[command(flatten)]
    reach: Reach,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// The result of checking one host.
struct HostCheck {
    facts: HostFacts,
    clock: ClockOffset,
    address: Option<String>,
    copied_bytes: Option<u64>,
}

/// Checks all hosts concurrently, and prints each.
pub(super) fn run(args: &CheckArgs) -> Result<ExitCode> {
    let interrupt = Interrupt::listen()?;
    let all = with_all(&args.reach.specs(&args.hosts), &interrupt, look)?;
    interrupt.check()?;
    let told = args.hosts.iter().zip(&all);
    if args.json {
        let all: Vec<Value> = told.map(|(host, found)| as_json(host, found)).collect();
        print::line(serde_json::to_string_pretty(&all)?);
    } else {
        told.for_each(|(host, found)| tell(host, found));
    }
    Ok(if all.iter().all(Result::is_ok) { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

fn look(host: RemoteHost) -> Result<HostCheck, Failure> {
    let session = host.session()?;
    let found = HostCheck {
        clock: session.compare_clocks()?,
        facts: session.facts().clone(),
        address: session.address().map(str::to_owned),
        copied_bytes: host.copied_bytes(),
    };
    session.end()?;
    Ok(found)
}

fn tell(host: &str, found: &Result<HostCheck, Failure>) {
    let HostCheck { facts, clock, copied_bytes, .. } = match found {
        Ok(found) => found,
        Err(failure) => return print::note(format_args!("assay: {failure}")),
    };
    let copied = match copied_bytes {
        Some(bytes) => format!("copied, {}", size(*bytes as f64)),
        None => "was there".into(),
    };
    print::line(format_args!("{host}: assay {} {copied}", env!("CARGO_PKG_VERSION")));
    let memory = facts.memory_bytes.map(|bytes| format!(", {} memory", size(bytes as f64)));
    print::line(format_args!(
        "  {}, Linux {} {}, {}{}, {}",
        facts.name,
        facts.kernel,
        facts.machine,
        counted(facts.cpus as u64, "CPU"),
        memory.unwrap_or_default(),
        if facts.is_root { "root" } else { "not root" }
    ));
    if let (Some(cache), Some(free)) = (&facts.cache, facts.cache_free_bytes) {
        print::line(format_args!("  {} free for {}", size(free as f64), cache.display()));
    }
    print::line(format_args!(
        "  round trip {:.2} ms, clock {:+.2} ms ± {:.2} ms",
        clock.round_trip_ms, clock.offset_ms, clock.uncertainty_ms
    ));
}

fn as_json(host: &str, found: &Result<HostCheck, Failure>) -> Value {
    match found {
        Err(failure) => json!({ "host": host, "usable": false, "reason": failure.to_string() }),
        Ok(HostCheck { facts, clock, address, copied_bytes }) => json!({
            "host": host,
            "usable": true,
            "version": env!("CARGO_PKG_VERSION"),
            "copied_bytes": copied_bytes,
            "facts": facts,
            "address": address,
            "clock": clock,
        }),
    }
}
