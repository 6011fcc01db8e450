//! Workloads, by the words that both sysbench and this program take.

use std::process::Command;
use std::sync::atomic::AtomicBool;

use assay_load::sysbench::{SysbenchLine, parse};
use assay_load::{Generator, PrepareOptions, Recipe};

use super::answer::Answer;
use super::bench::Bench;

/// Rows of a table.
const ROWS: u64 = 2000;

/// The sysbench, and its scripts, that this program is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// 1.0.20.
    V10,
    /// 1.0.20 with its legacy scripts, which the package does not have.
    Legacy,
    /// 0.5.
    V05,
    /// 0.4.12.
    V04,
}

/// A sysbench that can be run.
pub struct Sysbench {
    pub program: String,
    /// The directory of the scripts of 0.5, or of 1.0's legacy ones.
    pub scripts: String,
}

impl Sysbench {
    /// 1.0.20 is the installed one; the older ones are no packages any more, and environment
    /// variables name them.
    pub fn of(judge: Judge) -> Option<Sysbench> {
        let of = |name: &str| std::env::var(name).ok();
        let scripts = match judge {
            Judge::Legacy => of("SYSBENCH_LEGACY_SCRIPTS")?,
            _ => of("SYSBENCH_0_5_SCRIPTS").unwrap_or_default(),
        };
        let program = match judge {
            Judge::V04 => of("SYSBENCH_0_4")?,
            Judge::V05 => of("SYSBENCH_0_5")?,
            _ => "sysbench".into(),
        };
        Some(Sysbench { program, scripts })
    }

    pub fn is_there(&self) -> bool {
        Command::new(&self.program).arg("--version").output().is_ok()
    }
}

/// A workload.
pub struct Case {
    pub judge: Judge,
    /// The workload in the judge's own words, as in a recording's names.
    pub words: &'static str,
    /// For this program: runs of one seed on the same tables would write the same texts again,
    /// which MySQL counts as no change.
    pub seed: u64,
}

impl Case {
    fn line(&self, bench: &Bench, events: u64, command: &str) -> SysbenchLine {
        let mut words = self.all_words(bench, events, "");
        words.extend(["--mode=compat".into(), command.into()]);
        let mut line = parse(&words).unwrap();
        line.load.schedule.seed = self.seed;
        line
    }

    fn all_words(&self, bench: &Bench, events: u64, scripts: &str) -> Vec<String> {
        let common = match self.judge {
            Judge::V04 => "--test=oltp --oltp-table-size=2000 --max-time=0 --max-requests=",
            Judge::Legacy => {
                "--oltp-table-size=2000 --oltp-tables-count=4 --rand-seed=42 --time=0 --events="
            }
            Judge::V05 => {
                "--oltp-table-size=2000 --oltp-tables-count=4 --max-time=0 --max-requests="
            }
            _ => "--tables=4 --table-size=2000 --time=0 --rand-seed=42 --events=",
        };
        let common = format!("{common}{events}");
        let own = match self.judge {
            Judge::Legacy => self.words.replace("oltp_legacy/", &format!("{scripts}/")),
            _ => self.words.replace("--test=", &format!("--test={scripts}")),
        };
        // The options of a case come last: both programs take the last of two values.
        let words = common.split(' ').chain(own.split_whitespace()).map(str::to_owned);
        bench.words().into_iter().chain(words).collect()
    }

    /// Whether deletes hit rows by chance, and with it how many count as writes.
    pub fn is_counted_by_chance(&self) -> bool {
        matches!(self.words, "oltp_delete" | "oltp_legacy/delete.lua")
    }

    /// Whether a run leaves fewer rows than the next one needs.
    pub fn is_destructive(&self) -> bool {
        ["oltp_delete", "=delete", "=insert", "/delete.lua"]
            .iter()
            .any(|end| self.words.ends_with(end))
    }

    /// Differences of `ours` from `theirs`.
    pub fn differences(&self, theirs: &Answer, ours: &Answer) -> Vec<String> {
        match self.judge {
            Judge::V10 => theirs.differences(ours),
            _ => theirs.as_read().differences(&ours.as_read()),
        }
    }

    /// Loads the tables with this program.
    pub fn prepare(&self, bench: &Bench) {
        let line = self.line(bench, 1, "prepare");
        let options = PrepareOptions { threads: 1, seed: 1, workload: line.load.workload };
        let schema = assay_load::Schema { table_size: ROWS, ..line.load.schema };
        assay_load::prepare(
            &line.load.endpoint,
            &schema,
            &options,
            &|_| {},
            &AtomicBool::new(false),
        )
        .unwrap();
    }

    /// Runs this program, and returns its counts.
    pub fn run(&self, bench: &Bench, events: u64) -> [u64; 3] {
        let line = self.line(bench, events, "run");
        let stop = AtomicBool::new(false);
        let outcome = assay_load::run(&line.load, None, &(), &stop).unwrap();
        assert_eq!(outcome.events, events);
        [outcome.queries.read, outcome.queries.write, outcome.queries.other]
    }

    /// Runs sysbench.
    pub fn sysbench(
        &self,
        sysbench: &Sysbench,
        bench: &Bench,
        events: u64,
        command: &str,
    ) -> String {
        let output = Command::new(&sysbench.program)
            .args(self.all_words(bench, events, &sysbench.scripts))
            .arg(command)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}: {text}", self.words);
        text
    }

    /// Runs sysbench's workload, and returns its counts.
    pub fn run_sysbench(&self, sysbench: &Sysbench, bench: &Bench, events: u64) -> [u64; 3] {
        let text = self.sysbench(sysbench, bench, events, "run");
        ["read:", "write:", "other:"].map(|label| {
            let line = text.lines().find_map(|line| line.trim().strip_prefix(label)).unwrap();
            line.trim().parse().unwrap()
        })
    }
}

/// Workloads of a judge, destructive ones last; the first one's tables are compared too.
pub fn cases(judge: Judge) -> Vec<Case> {
    let words: Vec<&'static str> = match judge {
        Judge::V10 => Recipe::of(Generator::V10).map(Recipe::name).chain(OF_1_0).collect(),
        Judge::Legacy => OF_LEGACY.to_vec(),
        Judge::V05 => OF_0_5.to_vec(),
        _ => OF_0_4.to_vec(),
    };
    let mut cases: Vec<Case> =
        words.into_iter().zip(1..).map(|(words, seed)| Case { judge, words, seed }).collect();
    cases.sort_by_key(Case::is_destructive);
    cases
}

const OF_1_0: [&str; 4] = [
    "oltp_read_write --skip-trx=on --db-ps-mode=disable --index-updates=2 --delete-inserts=2 \
     --sum-ranges=0",
    "oltp_write_only --rand-type=pareto",
    "oltp_point_select --rand-type=uniform",
    "oltp_point_select --rand-type=gaussian",
];

const OF_LEGACY: [&str; 9] = [
    "oltp_legacy/oltp.lua",
    "oltp_legacy/oltp.lua --oltp-write-only=on",
    "oltp_legacy/oltp.lua --oltp-range-selects=off --oltp-delete-inserts=2 --oltp-reconnect=on",
    "oltp_legacy/oltp_simple.lua",
    "oltp_legacy/select.lua",
    "oltp_legacy/insert.lua",
    "oltp_legacy/update_index.lua",
    "oltp_legacy/update_non_index.lua",
    "oltp_legacy/delete.lua",
];

/// Where a table is larger than the one that is there, rows are asked for that are not: the ids of
/// a large table show how the program's 32-bit words overflow.
const OF_0_5: [&str; 5] = [
    "--test=oltp.lua",
    "--test=oltp.lua --oltp-skip-trx=on --oltp-point-selects=1 --oltp-index-updates=2 \
     --oltp-sum-ranges=0",
    "--test=oltp.lua --rand-type=uniform",
    "--test=oltp.lua --rand-type=gaussian",
    "--test=oltp.lua --oltp-read-only=on --oltp-table-size=800000000",
];

const OF_0_4: [&str; 14] = [
    "--oltp-test-mode=complex",
    "--oltp-test-mode=simple",
    "--oltp-test-mode=nontrx --oltp-nontrx-mode=select",
    "--oltp-test-mode=nontrx --oltp-nontrx-mode=update_key",
    "--oltp-test-mode=nontrx --oltp-nontrx-mode=update_nokey",
    "--oltp-test-mode=nontrx --oltp-nontrx-mode=insert",
    "--oltp-test-mode=nontrx --oltp-nontrx-mode=delete",
    "--oltp-test-mode=complex --oltp-skip-trx=on --oltp-point-selects=1 --oltp-index-updates=2 \
     --oltp-sum-ranges=0 --db-ps-mode=disable",
    "--oltp-auto-inc=off --oltp-test-mode=nontrx --oltp-nontrx-mode=insert",
    // Ranges are moved into a table that is hardly larger than one.
    "--oltp-test-mode=complex --oltp-dist-type=uniform --oltp-table-size=180",
    "--oltp-test-mode=simple --oltp-dist-type=uniform",
    "--oltp-test-mode=simple --oltp-dist-type=gaussian",
    "--oltp-test-mode=simple --oltp-table-size=800000000",
    "--oltp-test-mode=simple --oltp-dist-type=gaussian --oltp-table-size=800000000",
];
