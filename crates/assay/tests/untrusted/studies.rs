//! Tests malicious studies: a small study, damaged by SQL or byte by byte.

use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::answer::{all_hold, answer, holdings};
use crate::common::World;
use crate::small;

/// Expected answer to a study.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wanted {
    /// One line that contains these words.
    Refused(&'static str),
    /// A report: the study is unusual, but valid.
    Told,
    /// Either.
    Any,
}
use Wanted::{Any, Refused, Told};

/// Executes SQL on the study, with a writable schema.
fn sql(study: &Path, text: &str) {
    let db = Connection::open(study.join("study.sqlite")).unwrap();
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).unwrap();
    db.execute_batch(
        "PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON; PRAGMA \
        ignore_check_constraints = ON;",
    )
    .unwrap();
    db.execute_batch(text).unwrap();
}

const COUNT: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <";

/// Studies damaged by SQL: name, statements, expected answer.
fn by_sql() -> Vec<(&'static str, String, Wanted)> {
    let plain = |name, text: &str, wanted| (name, text.to_owned(), wanted);
    vec![
        plain(
            "a table that is a view without end",
            "DROP TABLE notes; CREATE VIEW notes(kind) AS WITH RECURSIVE n(i) AS (SELECT 1 UNION \
             ALL SELECT i + 1 FROM n) SELECT printf('%0100000d', i) FROM n ORDER BY 1",
            Refused("is not a study as Assay makes it: it has the view \"notes\""),
        ),
        plain(
            "a view beside the tables",
            "CREATE VIEW more AS SELECT randomblob(1000000000)",
            Refused("the view \"more\""),
        ),
        plain(
            "a trigger",
            "CREATE TRIGGER t AFTER UPDATE ON runs BEGIN DELETE FROM runs; END",
            Refused("the trigger \"t\""),
        ),
        plain(
            "an index on an expression",
            "CREATE INDEX i ON runs(length(hex(zeroblob(900))))",
            Refused("the index \"i\""),
        ),
        plain(
            "a virtual table",
            "CREATE VIRTUAL TABLE f USING fts5(x)",
            Refused("is not a study as Assay makes it"),
        ),
        plain(
            "a computed column",
            "DROP TABLE notes; CREATE TABLE notes (kind TEXT PRIMARY KEY, n AS \
             (hex(zeroblob(100000000)))) WITHOUT ROWID",
            Refused("the table \"notes\""),
        ),
        plain("a table that is missing", "DROP TABLE variables", Refused("no table \"variables\"")),
        plain(
            "another version",
            "PRAGMA user_version = 99",
            Refused("another version of Assay (format 99"),
        ),
        plain(
            "a schema that does not parse",
            "UPDATE sqlite_schema SET sql = 'CREATE TABLE x(' WHERE name = 'runs'",
            Refused("is not a study"),
        ),
        plain(
            "a second in 136 years",
            "UPDATE samples SET second = 4294967295 WHERE second = 20",
            Refused("holds seconds or values that no run has"),
        ),
        plain(
            "the last second of the longest run",
            "UPDATE samples SET second = 1296000 WHERE second = 20",
            Told,
        ),
        plain(
            "a second before all",
            "UPDATE samples SET second = -1 WHERE second = 20",
            Refused("cannot read"),
        ),
        plain("an infinite sample", "UPDATE samples SET value = 9e999", Refused("no run has")),
        plain("a text for a number", "UPDATE samples SET value = 'x'", Refused("cannot read")),
        plain(
            "an endless window",
            "UPDATE runs SET window_to_s = 1e300",
            Refused("invalid measuring window"),
        ),
        plain(
            "infinite results",
            "UPDATE results SET value = -9e999",
            Refused("not a finite number"),
        ),
        plain("huge results", "UPDATE results SET value = 1.7e308", Told),
        plain("tiny results", "UPDATE results SET value = -4e-320", Told),
        plain("huge samples", "UPDATE samples SET value = 1.7e308", Told),
        plain(
            "2^32 - 1 threads",
            "UPDATE runs SET threads = 4294967295",
            Refused("4294967295 threads"),
        ),
        plain(
            "2^32 - 1 repeats",
            "UPDATE runs SET repeat = 4294967295 WHERE repeat = 3",
            Refused("repeat 4294967295"),
        ),
        plain(
            "negative latencies",
            "UPDATE histograms SET latency_ns = -latency_ns",
            Refused("holds -"),
        ),
        plain(
            "2^63 - 1 events",
            "UPDATE histograms SET count = 9223372036854775807",
            Refused("holds 9223372036854775807"),
        ),
        plain(
            "the most events of the longest run, each as long",
            "UPDATE histograms SET count = 1099511627776, latency_ns = 1296000000000000 - \
             latency_ns; UPDATE errors SET count = 1099511627776",
            Told,
        ),
        plain(
            "2^63 - 1 errors",
            "UPDATE errors SET count = 9223372036854775807",
            Refused("holds 9223372036854775807"),
        ),
        plain("error 2^40", "UPDATE errors SET code = 1099511627776", Refused("cannot read")),
        plain(
            "latencies of a second in 136 years",
            "UPDATE second_latencies SET histograms = x'01ffffffff0f010101'",
            Refused("latencies of seconds that no run has"),
        ),
        plain(
            "seconds of latencies that overflow",
            "UPDATE second_latencies SET histograms = \
             x'01ffffffffffffffffff0101000101ffffffffffffffffff01010001'",
            Refused("latencies of seconds that no run has"),
        ),
        plain(
            "a million buckets that are not there",
            "UPDATE second_latencies SET histograms = x'0101ffffffff7f'",
            Any,
        ),
        plain(
            "no format of latencies",
            "UPDATE second_latencies SET histograms = zeroblob(1000)",
            Refused("unknown format"),
        ),
        plain(
            "JSON that nests",
            &format!("UPDATE configs SET rig_json = '{}'", "[".repeat(200_000)),
            Refused("does not parse"),
        ),
        plain(
            "JSON that nests in facts",
            &format!("UPDATE runs SET facts_json = '{}'", "{\"a\":".repeat(100_000)),
            Refused("does not parse"),
        ),
        plain("a state that is none", "UPDATE runs SET state = 'asleep'", Refused("asleep")),
        plain("a warning that is none", "INSERT INTO warnings (run_id, kind) VALUES (1, 'x')", Any),
        plain(
            "names of a megabyte",
            "UPDATE runs SET config = printf('%01000000d', 7) WHERE id = 1",
            Refused("has 1000000 bytes"),
        ),
        plain(
            "a title of a megabyte",
            "UPDATE study SET value = printf('%01000000d', 7) WHERE key = 'title'",
            Told,
        ),
        plain(
            "texts that move the cursor",
            &escapes("\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\r\u{8}\u{202e}\u{2066}"),
            Told,
        ),
        plain("texts that are formulas", &escapes("=cmd|'/c calc'!A1"), Told),
        plain("texts that are formulas by their sign", &escapes("@SUM(1)"), Told),
        plain("texts that are formulas behind a tab", &escapes("\t=1+1"), Told),
        plain(
            "texts that are script",
            &escapes("<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"),
            Told,
        ),
        (
            "as many series as samples",
            format!(
                "DELETE FROM samples; DELETE FROM series;
             {COUNT} 5000) INSERT INTO series SELECT i, 1, 'series ' || i, '1/s', 'l', 'load' FROM \
n;
             {COUNT} 5000) INSERT INTO samples SELECT i, i, 1 FROM \
n"
            ),
            Refused("share no seconds"),
        ),
        (
            "as many results as runs",
            format!(
                "{COUNT} 20000) INSERT INTO results SELECT 1 + i % 6, 'result ' || i, 1 FROM n"
            ),
            Refused("results"),
        ),
        (
            "two thousand configurations",
            format!("{COUNT} 2000) INSERT INTO configs SELECT 'c' || i, i, '{{}}', '{{}}' FROM n"),
            Refused("configurations"),
        ),
        (
            "five hundred configurations that ran",
            format!(
                "DELETE FROM configs; DELETE FROM runs WHERE id > 1;
             {COUNT} 500) INSERT INTO configs SELECT 'c' || i, i, '{{}}', '{{}}' FROM n;
             {COUNT} 500) INSERT INTO runs (config, workload, threads, repeat, position, \
fingerprint, state, window_from_s, window_to_s) SELECT 'c' || i, 'w', 8, 1, i, 'f', 'done', 0, 20 \
FROM n;
             INSERT INTO results SELECT id, 'tps', id FROM runs WHERE id > 6"
            ),
            Any,
        ),
        (
            "runs of no configuration",
            format!(
                "{COUNT} 3000) INSERT INTO runs (config, workload, threads, repeat, position, \
             fingerprint, state) SELECT 'x' || i, 'y', 1, 1, i, 'f', 'done' FROM n"
            ),
            Any,
        ),
        (
            "ten thousand power cuts that are none",
            format!("{COUNT} 10000) INSERT INTO power_cuts SELECT 'on', i, 1, '{{}}' FROM n"),
            Refused("power cut"),
        ),
        plain("no runs", "DELETE FROM runs", Any),
        plain(
            "nothing at all",
            "DELETE FROM runs; DELETE FROM configs; DELETE FROM workloads; DELETE FROM study",
            Any,
        ),
    ]
}

/// Writes a text into every place of a study that holds one.
fn escapes(text: &str) -> String {
    let text = text.replace('\'', "''");
    format!(
        "UPDATE study SET value = '{text}' || value WHERE key IN ('title', 'question', \
'fact.kernel');
         UPDATE configs SET name = '{text}' || name; UPDATE workloads SET name = '{text}' || name;
         UPDATE runs SET config = '{text}' || config, workload = '{text}' || workload;
         UPDATE runs SET state = 'failed', reason = '{text}' WHERE repeat = 3;
         UPDATE results SET name = '{text}' || name WHERE name <> 'tps';
         UPDATE series SET name = '{text}' || name, label = '{text}';
         UPDATE variables SET value = '{text}' || value"
    )
}

/// Writes bytes into the study's file.
fn bytes(study: &Path, at: u64, with: &[u8]) {
    let file = std::fs::File::options().write(true).open(study.join("study.sqlite")).unwrap();
    file.write_all_at(with, at).unwrap();
}

/// Root page of a table, counted from 1.
fn root(study: &Path, table: &str) -> u64 {
    let db = Connection::open(study.join("study.sqlite")).unwrap();
    db.query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [table], |row| {
        row.get::<_, i64>(0)
    })
    .unwrap()
    .cast_unsigned()
}

const PAGE: u64 = 4096;

/// Largest number of cells of a page (`btreeInt.h`, `MX_CELL`).
const CELLS_MAX: u16 = 680;

/// Makes a million samples appear a thousand times: the pages above them name one page repeatedly.
fn repeat_pages(study: &Path) {
    let more = "INSERT OR IGNORE INTO samples SELECT 1, i, i FROM n";
    sql(study, &format!("{COUNT} 150000) {more}"));
    let top = (root(study, "samples") - 1) * PAGE;
    let below = (repeat_cell(study, top) - 1) * PAGE;
    repeat_cell(study, below);
}

/// Makes all cells of an interior page equal. Returns the page below it.
fn repeat_cell(study: &Path, page: u64) -> u64 {
    let mut options = std::fs::File::options();
    let file = options.read(true).write(true).open(study.join("study.sqlite")).unwrap();
    let mut bytes = vec![0; PAGE as usize];
    file.read_exact_at(&mut bytes, page).unwrap();
    assert_eq!(bytes[0], 2, "an interior page of an index");
    let cell = [bytes[12], bytes[13]];
    bytes[3..5].copy_from_slice(&CELLS_MAX.to_be_bytes());
    let at = usize::from(u16::from_be_bytes(cell));
    let pointers = 12..12 + 2 * usize::from(CELLS_MAX);
    assert!(at >= pointers.end, "the cell lies behind the pointers");
    bytes[pointers].as_chunks_mut().0.fill(cell);
    file.write_all_at(&bytes, page).unwrap();
    u64::from(u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()))
}

/// Name, damage, expected answer.
type Spoilt = (&'static str, Box<dyn Fn()>, Wanted);

/// Studies damaged as files.
fn by_file(study: &Path, outside: &Path) -> Vec<Spoilt> {
    let own = |action: fn(&Path, &Path)| -> Box<dyn Fn()> {
        let (study, outside) = (study.to_owned(), outside.to_owned());
        Box::new(move || action(&study, &outside))
    };
    vec![
        (
            "a store that is a link",
            own(|study, outside| {
                std::fs::rename(study.join("study.sqlite"), study.join("moved")).unwrap();
                symlink(outside, study.join("study.sqlite")).unwrap();
            }),
            Refused("is a symbolic link"),
        ),
        (
            "a store that is a pipe",
            own(|study, _| {
                std::fs::remove_file(study.join("study.sqlite")).unwrap();
                let made =
                    std::process::Command::new("mkfifo").arg(study.join("study.sqlite")).status();
                assert!(made.unwrap().success());
            }),
            Refused("not a regular file"),
        ),
        (
            "tables that are a link",
            own(|study, outside| {
                symlink(outside.parent().unwrap(), study.join("tables")).unwrap();
            }),
            Refused("tables is a symbolic link"),
        ),
        (
            "a report that is a link",
            own(|study, outside| {
                symlink(outside, study.join("report.html")).unwrap();
            }),
            Refused("report.html is a symbolic link"),
        ),
        ("a write-ahead log", own(|study, _| bytes(study, 18, &[2, 2])), Refused("is not a study")),
        (
            "a journal that has another file deleted",
            own(super_journal),
            Refused("names another file"),
        ),
        (
            "a file that ends in the middle",
            own(|study, _| {
                let file =
                    std::fs::File::options().write(true).open(study.join("study.sqlite")).unwrap();
                let length = file.metadata().unwrap().len();
                file.set_len(length / 2).unwrap();
            }),
            Refused("study.sqlite"),
        ),
        (
            "a text",
            own(|study, _| {
                std::fs::write(study.join("study.sqlite"), "x".repeat(10_000)).unwrap();
            }),
            Refused("is not a study"),
        ),
        (
            "a header and nothing that follows from it",
            own(|study, _| {
                let head =
                    [b"SQLite format 3\0\xff\xff\x01\x01".as_slice(), &[0xff; 80], &[0xa5; 9000]];
                std::fs::write(study.join("study.sqlite"), head.concat()).unwrap();
            }),
            Refused("is not a study"),
        ),
        (
            "pages that repeat themselves",
            own(|study, _| repeat_pages(study)),
            Refused("rows that repeat themselves"),
        ),
    ]
}

/// Writes a hot journal that names a super-journal: SQLite deletes the named file after the
/// rollback (sqlite.org/fileformat2.html, "The Rollback Journal").
fn super_journal(study: &Path, outside: &Path) {
    let db = std::fs::read(study.join("study.sqlite")).unwrap();
    let name = outside.to_str().unwrap();
    let pages = u32::try_from(db.len() as u64 / PAGE).unwrap();
    let mut journal = vec![0; 512];
    let magic = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    journal[..8].copy_from_slice(&magic);
    for (place, number) in [(8, 1), (12, 7), (16, pages), (20, 512), (24, PAGE as u32)] {
        journal[place..place + 4].copy_from_slice(&u32::to_be_bytes(number));
    }
    let first = &db[..PAGE as usize];
    let sum = (0..).map(|step| PAGE as i64 - 200 * (step + 1)).take_while(|at| *at > 0);
    let sum = sum.fold(7_u32, |sum, at| sum.wrapping_add(u32::from(first[at as usize])));
    journal.extend(1_u32.to_be_bytes());
    journal.extend(first);
    journal.extend(sum.to_be_bytes());
    // The name's own record begins at the next multiple of a sector.
    let pending = u32::try_from(0x4000_0000 / PAGE + 1).unwrap();
    journal.extend(pending.to_be_bytes());
    journal.extend(name.bytes());
    journal.extend(u32::try_from(name.len()).unwrap().to_be_bytes());
    let sum = name.bytes().fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(byte)));
    journal.extend(sum.to_be_bytes());
    journal.extend(magic);
    std::fs::write(study.join("study.sqlite-journal"), journal).unwrap();
}

/// Commands that read a study.
const READERS: [&[&str]; 6] = [
    &["report", "study", "--summary"],
    &["report", "study", "--markdown"],
    &["compare", "study", "on", "off"],
    &["compare", "study", "study"],
    &["claims", "stec-2013", "--study", "study"],
    &["report", "study"],
];

fn check(world: &World, name: &str, wanted: Wanted) {
    let outside = world.path("outside/data");
    let before = holdings(&world.path("study"), &[]);
    let mut is_told = false;
    for words in READERS {
        let told = answer(world, name, words);
        let is_refused = told.code == Some(2);
        match wanted {
            // Each command reads other parts of a study, so only the last one's reason is checked.
            Refused(_) if words == READERS[5] => {
                let line = told.refusal(name).to_owned();
                let Refused(says) = wanted else { unreachable!() };
                assert!(line.contains(says), "{name}: {line}");
                assert_eq!(holdings(&world.path("study"), &[]), before, "{name}: {words:?}");
            }
            Told if words[0] == "report" => assert_eq!(told.code, Some(0), "{name}: {told:?}"),
            _ if is_refused && words[0] == "report" => drop(told.refusal(name)),
            _ => {}
        }
        is_told |= words == READERS[5] && !is_refused;
    }
    if is_told {
        check_report(world, name);
    }
    assert_eq!(
        std::fs::read_to_string(&outside).unwrap(),
        "kept",
        "{name}: another file was touched"
    );
    let names = world.listing();
    assert_eq!(names, ["outside", "study"], "{name}: left behind");
    assert_eq!(holdings(&world.path("outside"), &[]).len(), 1, "{name}: made elsewhere");
}

/// Checks that a report is inert: no text of the study is markup, and no cell a formula.
fn check_report(world: &World, name: &str) {
    let page = std::fs::read_to_string(world.path("study/report.html")).unwrap();
    assert!(!page.contains("<script>alert") && !page.contains("<img src=x"), "{name}: markup");
    for (file, held) in holdings(&world.path("study/tables"), &[]) {
        let text = String::from_utf8_lossy(&held);
        let cells = text.lines().flat_map(|line| line.split(','));
        let mut cells = cells.map(|cell| cell.trim_start_matches('"'));
        let formula = cells.find(|cell| {
            cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err()
        });
        assert_eq!(formula, None, "{name}: {file}");
    }
}

fn world() -> World {
    let world = World::new();
    std::fs::create_dir_all(world.path("outside")).unwrap();
    std::fs::write(world.path("outside/data"), "kept").unwrap();
    small::study(&world.path("study"));
    world
}

#[test]
fn a_hostile_study_is_refused_in_a_line_or_told() {
    let plain = world();
    check(&plain, "as it was made", Told);
    let cases = by_sql().into_iter().map(|(name, text, wanted)| {
        (name, move || {
            let world = world();
            sql(&world.path("study"), &text);
            check(&world, name, wanted);
        })
    });
    all_hold(cases);
}

#[test]
fn a_study_whose_files_are_not_what_they_seem_touches_no_other() {
    let count = by_file(Path::new(""), Path::new("")).len();
    let cases = (0..count).map(|place| {
        let case = move || {
            let world = world();
            let all = by_file(&world.path("study"), &world.path("outside/data"));
            let (name, spoil, wanted) = &all[place];
            spoil();
            check(&world, name, *wanted);
        };
        (by_file(Path::new(""), Path::new(""))[place].0, case)
    });
    all_hold(cases);
}

/// A run does not continue such a study either.
#[test]
fn a_run_goes_on_with_no_study_that_leads_elsewhere() {
    for (link, says) in
        [("lock", "lock is a symbolic link"), ("study.sqlite", "is a symbolic link")]
    {
        let world = world();
        let plan = crate::common::small_plan(crate::common::DIRECTORY);
        world.write("outside/plan.toml", &plan);
        std::fs::remove_file(world.path("study/study.sqlite")).unwrap();
        symlink(world.path("outside/data"), world.path("study").join(link)).unwrap();
        let told = answer(&world, link, &["run", "outside/plan.toml", "--out", "study"]);
        assert_eq!(told.code, Some(2), "{link}");
        assert!(told.stderr.lines().last().unwrap().contains(says), "{link}: {}", told.stderr);
        assert_eq!(std::fs::read_to_string(world.path("outside/data")).unwrap(), "kept", "{link}");
    }
}
