//! Checks the commands and plans that README and `docs/` print: the program must accept them, and
//! those that need no server or device are run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use assay_plan::{Plan, PlanForm};
use clap::Parser;
use clap::error::ErrorKind;

use crate::args::{Arguments, Command};
use crate::carry_out;

/// Commands of the launcher, which are unknown to clap.
const OF_LAUNCHER: [&str; 4] = ["test", "check", "bench", "package"];

/// Beginnings of printed commands that are not checked, with the reason.
const NOT_READ: [(&str, &str); 2] = [
    ("load ycsb ", "it reads the files of an unpacked YCSB"),
    ("load /usr/share/sysbench/", "it reads a script of an installed sysbench"),
];

/// Errors that are expected of an incomplete command in a sentence.
const PARTS: [&str; 5] = [
    "required arguments were not provided",
    "requires a subcommand",
    "a value is required for",
    "no command is given",
    "no workload is given",
];

/// A command that a document prints.
#[derive(Debug)]
struct Printed {
    place: String,
    words: Vec<String>,
    /// False in a sentence, which may name a part of a command.
    is_whole: bool,
}

impl Printed {
    /// Whether a word stands for the reader's own value, as in `models NAME`.
    fn has_placeholder(&self) -> bool {
        self.words.iter().any(|word| word.chars().all(|sign| sign.is_ascii_uppercase()))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn documents() -> Vec<(String, String)> {
    let mut paths = vec![root().join("README.md")];
    for directory in ["docs", "docs/how-to"] {
        let entries = std::fs::read_dir(root().join(directory)).unwrap();
        paths.extend(entries.map(|entry| entry.unwrap().path()));
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        (name, std::fs::read_to_string(path).unwrap())
    };
    paths.into_iter().map(read).collect()
}

/// Fenced blocks of a document: number of the first line, language, lines.
fn blocks(text: &str) -> Vec<(usize, String, Vec<&str>)> {
    let mut blocks: Vec<(usize, String, Vec<&str>)> = Vec::new();
    let mut is_inside = false;
    for (number, line) in text.lines().enumerate() {
        let fence = line.trim().strip_prefix("```");
        match (fence, is_inside) {
            (Some(kind), false) => blocks.push((number + 2, kind.to_owned(), Vec::new())),
            (None, true) => blocks.last_mut().unwrap().2.push(line),
            _ => {}
        }
        is_inside ^= fence.is_some();
    }
    blocks
}

/// Splits a line into words as a shell does, without comments, also those in a column of their own.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut blanks = 0;
    for sign in line.trim().chars() {
        match (quote, sign) {
            (Some(open), _) if sign == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            (None, ' ') => {
                words.extend(word.take());
                blanks += 1;
                continue;
            }
            (None, '#') if word.is_none() => break,
            (None, _) if word.is_none() && blanks > 2 && !words.is_empty() => break,
            _ => word.get_or_insert_default().push(sign),
        }
        blanks = 0;
    }
    words.extend(word);
    words
}

/// Commands of this program in a shell's line, which may hold several and substitute their output.
fn commands(words: &[String]) -> Vec<Vec<String>> {
    let ends = |word: &str| ["&&", "||", "|", ">", ">>", "<", ";"].contains(&word);
    let mut found = Vec::new();
    let mut rest = words.iter();
    // A command begins a line or follows an operator or a variable assignment.
    let mut may_begin = true;
    while let Some(word) = rest.next() {
        let name = word.rsplit_once("$(").map_or(word.as_str(), |(_, name)| name);
        let begins = may_begin && ["assay", "./assay"].contains(&name);
        may_begin = ends(word) || word.contains('=');
        if !begins {
            continue;
        }
        may_begin = true;
        let is_inner = name.len() < word.len();
        let mut command = Vec::new();
        for word in rest.by_ref() {
            if ends(word) {
                break;
            }
            let closed = word.strip_suffix(')').filter(|_| is_inner);
            command.push(closed.unwrap_or(word).to_owned());
            if closed.is_some() {
                break;
            }
        }
        // An ellipsis stands for omitted arguments.
        command.retain(|word| word != "…");
        found.push(command);
    }
    found
}

fn printed_in(name: &str, text: &str) -> Vec<Printed> {
    let mut all = Vec::new();
    for (first, kind, lines) in blocks(text) {
        if !["", "sh", "bash"].contains(&kind.as_str()) {
            continue;
        }
        let mut whole = String::new();
        for (offset, line) in lines.iter().enumerate() {
            if let Some(open) = line.strip_suffix('\\') {
                whole += open;
                continue;
            }
            // Indentation after a continued line does not begin a column of comments.
            whole += if whole.is_empty() { line } else { line.trim_start() };
            let found = commands(&words(&std::mem::take(&mut whole)));
            let place = || format!("{name}:{}", first + offset);
            let printed = |words| Printed { place: place(), words, is_whole: true };
            all.extend(found.into_iter().map(printed));
        }
    }
    // Code spans within sentences may be incomplete commands.
    for (number, line) in text.lines().enumerate() {
        for span in line.split('`').skip(1).step_by(2).filter(|span| span.contains("assay ")) {
            let found = commands(&words(span)).into_iter();
            let place = || format!("{name}:{}", number + 1);
            all.extend(found.map(|words| Printed { place: place(), words, is_whole: false }));
        }
    }
    all.retain(|command| !command.words.is_empty());
    all
}

/// The error with which the program refuses the words; `None` if it accepts them.
fn refusal(words: &[String]) -> Option<String> {
    let line = words.join(" ") + " ";
    if OF_LAUNCHER.contains(&words[0].as_str())
        || NOT_READ.iter().any(|(begins, _)| line.starts_with(begins))
    {
        return None;
    }
    if words[0] == "load" {
        return assay_load::CommandLine::read(&words[1..]).err().map(|error| format!("{error:#}"));
    }
    let all = std::iter::once("assay").chain(words.iter().map(String::as_str));
    Arguments::try_parse_from(all.map(OsString::from)).err().and_then(|error| {
        let is_answer = !error.use_stderr();
        let line = match error.kind() {
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "requires a subcommand".into(),
            _ => error.to_string().lines().next().unwrap_or_default().to_owned(),
        };
        (!is_answer).then_some(line)
    })
}

#[test]
fn printed_commands_are_taken() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (name, text) in documents() {
        for printed in printed_in(&name, &text) {
            count += 1;
            let is_of_a_part = |why: &String| PARTS.iter().any(|part| why.contains(part));
            let refused = refusal(&printed.words).filter(|why| {
                printed.is_whole || !(printed.has_placeholder() || is_of_a_part(why))
            });
            let line = |why| format!("{}: {}: {why}", printed.place, printed.words.join(" "));
            wrong.extend(refused.map(line));
        }
    }
    assert!(count > 150, "only {count} commands were found");
    assert!(wrong.is_empty(), "of {count}:\n{}", wrong.join("\n"));
    for control in ["run plan.toml --dryrun", "load -- debug=off run", "frobnicate"] {
        assert!(refusal(&words(control)).is_some(), "{control}");
    }
}

/// Plans that a document prints, by the name of the file that holds them.
fn printed_plans(name: &str, text: &str) -> BTreeMap<String, (String, String)> {
    let mut plans = BTreeMap::new();
    let lines: Vec<&str> = text.lines().collect();
    for (first, kind, block) in blocks(text) {
        if kind != "toml"
            || !["title = ", "[workloads"]
                .iter()
                .all(|it| block.iter().any(|line| line.starts_with(it)))
        {
            continue;
        }
        // The closest file name before the block is the plan's.
        let before =
            lines[..first].iter().rev().flat_map(|line| line.split('`').skip(1).step_by(2));
        let file = before.into_iter().find(|span| span.ends_with(".toml")).unwrap_or("plan.toml");
        plans.insert(file.to_owned(), (format!("{name}:{first}"), block.join("\n")));
    }
    plans
}

#[test]
fn printed_plans_can_be_read_and_have_what_commands_name() {
    let mut count = 0;
    for (name, text) in documents() {
        let plans = printed_plans(&name, &text);
        for (place, plan) in plans.values() {
            count += 1;
            Plan::parse(plan).unwrap_or_else(|error| panic!("{place}: {error:#}"));
        }
        let printed = printed_in(&name, &text);
        for command in printed.iter().filter(|command| command.words[0] == "run") {
            let plan = command.words.get(1).filter(|word| !word.starts_with('-'));
            let Some(plan) = plan else { continue };
            let form = match command.words.iter().any(|word| word == "--quick") {
                true => PlanForm::Quick,
                false => PlanForm::Full,
            };
            let is_printed = plans.contains_key(plan);
            // The reader's own file need not be in a document.
            let is_own = plan.ends_with(".toml") && !plan.starts_with("plans/") || *plan == "PLAN";
            if !is_printed && !is_own {
                let read = Plan::read(Path::new(plan), form);
                read.unwrap_or_else(|error| panic!("{}: {error:#}", command.place));
            }
        }
    }
    assert!(count >= 4, "only {count} plans were found");
}

#[test]
fn printed_commands_that_need_no_machine_succeed() {
    let mut count = 0;
    for (name, text) in documents() {
        for printed in printed_in(&name, &text) {
            let has = |wanted: &str| printed.words.iter().any(|word| word == wanted);
            let reads =
                ["claims", "models", "plans", "completions"].contains(&printed.words[0].as_str());
            let is_of_a_file =
                printed.words.iter().any(|word| word.ends_with(".toml")) || has("--study");
            let is_made = has("--attach") || has("--measure");
            if !reads || is_of_a_file || is_made || printed.has_placeholder() {
                continue;
            }
            count += 1;
            let all = std::iter::once("assay").chain(printed.words.iter().map(String::as_str));
            let command: Command = Arguments::try_parse_from(all).unwrap().command;
            carry_out(command).unwrap_or_else(|error| panic!("{}: {error:#}", printed.place));
        }
    }
    assert!(count >= 10, "only {count} commands were carried out");
}

#[test]
fn words_are_read_as_a_shell_reads_them() {
    let line = "device=$(assay drive attach 'my vol.img' | tail -n 1) && assay drive detach a # b";
    let found = commands(&words(line));
    assert_eq!(found, [vec!["drive", "attach", "my vol.img"], vec!["drive", "detach", "a"]]);
    let column = commands(&words("assay models p4610-3.2                its numbers, and more"));
    assert_eq!(column, [["models", "p4610-3.2"]]);
}
