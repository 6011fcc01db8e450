//! sysbench and this crate in turn on one server: transactions per second and client processor time per query, pinned,
//! and loading one large table.
//!
//! Needs `sysbench`, `taskset` and a server: `ASSAY_TEST_SOCKET` names its Unix socket, user `root` without password;
//! best on an otherwise idle machine. Both tools run as child processes, so that the processor time of each is all it
//! took, set-up included. The server is bound to processor 0, the tools to processor 0 ("same") or 1 ("other"):
//! on small virtual machines a wake-up across processors costs more than the query.
//!
//! `cargo bench -p assay-load --bench against_sysbench -- [--seconds=5] [--rounds=3] [--threads=1,8,64,256]
//! [--recipes=oltp_point_select,oltp_read_only,oltp_read_write] [--rows=2000000] [--skip-load|--skip-run]`

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for people, which may fail by panicking"
)]

use std::process::{Command, Output};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use assay_load::sysbench::{self, Printer};
use assay_load::{PrepareOptions, prepare, run};
use mysql::prelude::Queryable;
use rustix::process::{Pid, getpid};

const DATABASE: &str = "assay_bench";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if words.first().is_some_and(|word| word == "as-load") {
        return act_as_load(&words[1..]);
    }
    let Ok(socket) = std::env::var("ASSAY_TEST_SOCKET") else {
        println!("SKIPPED: the comparison of speed needs a server; set ASSAY_TEST_SOCKET");
        return;
    };
    let bench = Bench::open(socket, Settings::read(&words));
    if !bench.settings.skip_run {
        bench.compare_runs();
    }
    if !bench.settings.skip_load {
        bench.compare_loading();
    }
}

/// What `assay load` does, in a process of its own.
fn act_as_load(words: &[String]) {
    let line = sysbench::parse(words).unwrap();
    let stop = AtomicBool::new(false);
    if line.command == sysbench::Command::Prepare {
        let options = PrepareOptions {
            threads: line.schedule.threads,
            seed: line.schedule.seed,
            workload: line.workload.clone(),
        };
        prepare(&line.endpoint, &line.schema, &options, &|_| {}, &stop).unwrap();
        return;
    }
    let mut printer = Printer::new(std::io::stdout(), &line);
    let outcome =
        run(&line.endpoint, &line.schema, &line.workload, &line.schedule, None, &(), &stop)
            .unwrap();
    printer.outcome(&outcome).unwrap();
}

struct Settings {
    seconds: u32,
    rounds: usize,
    threads: Vec<u32>,
    recipes: Vec<String>,
    rows: u64,
    skip_run: bool,
    skip_load: bool,
}

impl Settings {
    fn read(words: &[String]) -> Settings {
        let value = |name: &str, default: &str| {
            let found =
                words.iter().find_map(|w| w.strip_prefix(&format!("--{name}=")).map(str::to_owned));
            found.unwrap_or_else(|| default.into())
        };
        let list = |name: &str, default: &str| {
            value(name, default).split(',').map(str::to_owned).collect::<Vec<_>>()
        };
        let has = |name: &str| words.iter().any(|word| word == name);
        Settings {
            seconds: value("seconds", "5").parse().unwrap(),
            rounds: value("rounds", "3").parse().unwrap(),
            threads: list("threads", "1,8,64,256").iter().map(|t| t.parse().unwrap()).collect(),
            recipes: list("recipes", "oltp_point_select,oltp_read_only,oltp_read_write"),
            rows: value("rows", "2000000").parse().unwrap(),
            skip_run: has("--skip-run"),
            skip_load: has("--skip-load"),
        }
    }
}

/// What one child process did.
#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    tps: f64,
    cpu_us_per_query: f64,
    seconds: f64,
}

#[derive(Clone, Copy)]
enum Tool {
    Sysbench,
    Ours,
}

struct Bench {
    socket: String,
    server: u32,
    settings: Settings,
}

impl Bench {
    fn open(socket: String, settings: Settings) -> Bench {
        let options =
            mysql::OptsBuilder::new().user(Some("root")).socket(Some(&socket)).prefer_socket(false);
        let mut control = mysql::Conn::new(options).unwrap();
        control.query_drop(format!("CREATE DATABASE IF NOT EXISTS {DATABASE}")).unwrap();
        let pid_file: String = control.query_first("SELECT @@pid_file").unwrap().unwrap();
        let server = std::fs::read_to_string(pid_file).unwrap().trim().parse().unwrap();
        Bench { socket, server, settings }
    }

    fn bind_server(&self, cpus: &str) {
        let server = self.server.to_string();
        Command::new("taskset").args(["-apc", cpus, &server]).output().unwrap();
    }

    /// Runs one tool on `cpus` with `words`.
    fn child(&self, tool: Tool, cpus: &str, words: &[String]) -> Figures {
        let mut command = Command::new("taskset");
        command.args(["-c", cpus]);
        match tool {
            Tool::Sysbench => command.arg("sysbench"),
            Tool::Ours => command.arg(std::env::current_exe().unwrap()).arg("as-load"),
        };
        command.args(words).arg(format!("--mysql-socket={}", self.socket));
        command.args(["--mysql-user=root", &format!("--mysql-db={DATABASE}")]);
        let (before, began) = (children_cpu(), Instant::now());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", complaint(&output));
        let cpu = children_cpu() - before;
        let queries = number_after(&text, "    queries: ");
        let transactions = text.lines().find_map(|line| line.strip_prefix("    transactions:"));
        let rate =
            transactions.and_then(|rest| rest.split(['(', ' ']).rev().find_map(|w| w.parse().ok()));
        Figures {
            tps: rate.unwrap_or(0.0),
            cpu_us_per_query: cpu.as_secs_f64() * 1e6 / queries.max(1.0),
            seconds: began.elapsed().as_secs_f64(),
        }
    }

    fn compare_runs(&self) {
        let words = |recipe: &str, command: &str, more: &[String]| {
            let mut words =
                vec![recipe.to_owned(), "--tables=4".into(), "--table-size=20000".into()];
            words.push("--rand-type=uniform".into());
            words.extend_from_slice(more);
            words.push(command.into());
            words
        };
        self.child(Tool::Sysbench, "0,1", &words("oltp_read_write", "cleanup", &[]));
        self.child(
            Tool::Ours,
            "0,1",
            &words("oltp_read_write", "prepare", &["--threads=2".into()]),
        );
        println!(
            "recipe               cpu    threads    sysbench TPS     our TPS   ratio | sysbench us/q   our us/q   ratio"
        );
        for (recipe, (placement, cpu)) in self
            .settings
            .recipes
            .iter()
            .flat_map(|r| [("same", "0"), ("other", "1")].map(|p| (r, p)))
        {
            self.bind_server("0");
            for threads in &self.settings.threads {
                let more =
                    [format!("--threads={threads}"), format!("--time={}", self.settings.seconds)];
                let words = words(recipe, "run", &more);
                let mut rounds = [Vec::new(), Vec::new()];
                for _ in 0..self.settings.rounds {
                    rounds[0].push(self.child(Tool::Sysbench, cpu, &words));
                    rounds[1].push(self.child(Tool::Ours, cpu, &words));
                }
                let [theirs, ours] = rounds.map(|rounds| median(&rounds));
                println!(
                    "{recipe:20} {placement:6} {threads:7} {:15.0} {:11.0} {:7.2} | {:13.2} {:10.2} {:7.2}",
                    theirs.tps,
                    ours.tps,
                    theirs.tps / ours.tps,
                    theirs.cpu_us_per_query,
                    ours.cpu_us_per_query,
                    ours.cpu_us_per_query / theirs.cpu_us_per_query,
                );
            }
        }
        self.bind_server("0,1");
    }

    fn compare_loading(&self) {
        self.bind_server("0,1");
        let words = |command: &str| {
            let size = format!("--table-size={}", self.settings.rows);
            ["oltp_read_write", "--tables=1", &size, "--threads=2", command].map(str::to_owned)
        };
        self.child(
            Tool::Sysbench,
            "0,1",
            &words("cleanup").map(|w| w.replace("--tables=1", "--tables=4")),
        );
        let mut rounds = [Vec::new(), Vec::new()];
        for _ in 0..self.settings.rounds {
            for (place, tool) in [Tool::Sysbench, Tool::Ours].into_iter().enumerate() {
                rounds[place].push(self.child(tool, "0,1", &words("prepare")));
                self.child(Tool::Sysbench, "0,1", &words("cleanup"));
            }
        }
        let [theirs, ours] = rounds.map(|mut rounds| {
            rounds.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
            rounds[rounds.len() / 2].seconds
        });
        let rows = self.settings.rows;
        println!(
            "loading {rows} rows on 2 threads: sysbench {theirs:.1} s, we {ours:.1} s, {:.2} times as fast",
            theirs / ours
        );
    }
}

/// The round whose throughput is in the middle, with the processor time in the middle.
fn median(rounds: &[Figures]) -> Figures {
    let middle = |value: fn(&Figures) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Figures {
        tps: middle(|f| f.tps),
        cpu_us_per_query: middle(|f| f.cpu_us_per_query),
        seconds: middle(|f| f.seconds),
    }
}

fn number_after(text: &str, label: &str) -> f64 {
    let rest = text.lines().find_map(|line| line.strip_prefix(label));
    rest.and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0.0)
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Processor time of all children that have ended: fields 16 and 17 of `/proc/self/stat` (`proc(5)`), in ticks of 10 ms.
fn children_cpu() -> Duration {
    let own: Pid = getpid();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", own.as_raw_nonzero())).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_ascii_whitespace();
    let ticks: u64 = fields.skip(13).take(2).map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}
