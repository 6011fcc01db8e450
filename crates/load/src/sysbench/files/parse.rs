//! Parses fileio's command line.

use super::super::assemble::{endless, refuse_unsupported, reporting, schedule, seed};
use super::super::given::{Given, dashed};
use super::super::old;
use super::super::options::{FILES, RANDOM, REPORT, RUN, SERVER, find};
use super::super::parse::{SysbenchReporting, split};
use crate::error::{Error, Result};
use crate::fileio::{ExtraFlag, FILEIO, Fileio, FsyncMode, IoMode, TestMode};
use crate::generator::Generator;
use crate::mode::Mode;
use crate::schedule::Schedule;
use assay_base::{Size, suggest};

/// The command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileioCommand {
    Prepare,
    Run,
    Cleanup,
    Help,
}

const COMMANDS: [(&str, FileioCommand); 4] = [
    ("prepare", FileioCommand::Prepare),
    ("run", FileioCommand::Run),
    ("cleanup", FileioCommand::Cleanup),
    ("help", FileioCommand::Help),
];

/// A parsed command line of fileio.
#[derive(Debug, Clone, PartialEq)]
pub struct FileioLine {
    pub command: FileioCommand,
    pub fileio: Fileio,
    pub schedule: Schedule,
    pub reporting: SysbenchReporting,
    /// Warnings for standard error before anything is done.
    pub warnings: Vec<&'static str>,
}

/// Returns true if a sysbench command line is fileio's: it has the word `fileio`, or
/// `--test=fileio`.
#[must_use]
pub fn names_fileio(words: &[String]) -> bool {
    // An invalid command line is refused by its parser; a value `fileio` names nothing.
    split(words).is_ok_and(|(given, positional)| {
        given.get("test").is_some_and(|test| test == FILEIO)
            || positional.iter().take(2).any(|word| word == FILEIO)
    })
}

/// Parses the arguments.
///
/// # Errors
/// [`Error::Config`] for unknown options, with the nearest known name, and for invalid values.
pub fn parse_fileio(words: &[String]) -> Result<FileioLine> {
    let (given, positional) = split(words)?;
    let given = Given(given);
    let mut command = None;
    for word in positional.iter().filter(|word| *word != FILEIO) {
        let known = COMMANDS.iter().find(|(name, _)| name == word).map(|(_, command)| *command);
        match (known, command) {
            (Some(known), None) => command = Some(known),
            _ => return Err(Error::Config(unexpected(word))),
        }
    }
    if given.switch("help")? {
        command = Some(FileioCommand::Help);
    }
    let Some(command) = command else {
        let names = COMMANDS.map(|(name, _)| name).join(", ");
        return Err(Error::Config(format!("no command is given; known are {names}")));
    };
    refuse_others(&given)?;
    assemble(command, &given)
}

fn unexpected(word: &str) -> String {
    let names = COMMANDS.map(|(name, _)| name);
    match suggest::nearest(word, names) {
        Some(near) if near != word => format!("unknown command `{word}`, did you mean `{near}`?"),
        _ => format!("unexpected word `{word}`; give one command: {}", names.join(", ")),
    }
}

/// Refuses options of tables and statements, as sysbench does. Those of servers are accepted
/// without effect.
fn refuse_others(given: &Given) -> Result<()> {
    let groups = [RUN, RANDOM, REPORT, SERVER, FILES];
    let is_other =
        |name: &&&'static str| find(name).is_some_and(|option| !groups.contains(&option.group));
    match given.0.keys().find(is_other) {
        Some(name) => Err(Error::Config(format!(
            "`--{}` is no option of fileio; see `assay load fileio help`",
            dashed(name)
        ))),
        None => refuse_unsupported(given),
    }
}

fn assemble(command: FileioCommand, given: &Given) -> Result<FileioLine> {
    let fileio = fileio(given)?;
    let mut line = FileioLine {
        command,
        schedule: schedule(given, seed(given)?, Generator::V10)?,
        reporting: reporting(given)?,
        warnings: old::warnings(given, None),
        fileio,
    };
    if command != FileioCommand::Help {
        line.fileio.check()?;
        line.schedule.check()?;
    }
    if command == FileioCommand::Run {
        line.warnings.extend(endless(&line.schedule));
        line.fileio.test_mode()?;
    }
    Ok(line)
}

fn fileio(given: &Given) -> Result<Fileio> {
    let test_mode = given.is_given("file_test_mode");
    let test_mode =
        test_mode.then(|| given.choice("file_test_mode", &TestMode::ALL)).transpose()?;
    Ok(Fileio {
        mode: given.choice("mode", &[("compat", Mode::Compat), ("strict", Mode::Strict)])?,
        file_num: given.number("file_num")?,
        file_block_size: size(given, "file_block_size")?,
        file_total_size: size(given, "file_total_size")?,
        file_test_mode: test_mode,
        file_io_mode: given.choice(
            "file_io_mode",
            &[("sync", IoMode::Sync), ("async", IoMode::Async), ("mmap", IoMode::Mmap)],
        )?,
        file_async_backlog: given.number("file_async_backlog")?,
        file_extra_flags: extra_flags(given.text("file_extra_flags"))?,
        file_fsync_freq: given.number("file_fsync_freq")?,
        file_fsync_all: given.switch("file_fsync_all")?,
        file_fsync_end: given.switch("file_fsync_end")?,
        file_fsync_mode: given.choice(
            "file_fsync_mode",
            &[("fsync", FsyncMode::Fsync), ("fdatasync", FsyncMode::Fdatasync)],
        )?,
        file_merged_requests: given.number("file_merged_requests")?,
        file_rw_ratio: given.number("file_rw_ratio")?,
        file_data_ratio: given.number("file_data_ratio")?,
        validate: given.switch("validate")?,
    })
}

fn size(given: &Given, name: &'static str) -> Result<Size> {
    Size::parse(given.text(name))
        .map_err(|reason| Error::Config(format!("`--{}`: {reason}", dashed(name))))
}

fn extra_flags(text: &str) -> Result<Vec<ExtraFlag>> {
    let known =
        [("sync", ExtraFlag::Sync), ("dsync", ExtraFlag::Dsync), ("direct", ExtraFlag::Direct)];
    let flag = |word: &str| {
        let found = known.iter().find(|(name, _)| *name == word).map(|(_, flag)| *flag);
        found.ok_or_else(|| {
            let names = known.map(|(name, _)| name);
            let hint = suggest::hint(word, names);
            let names = names.join(", ");
            Error::Config(format!("`{word}` in --file-extra-flags is none of {names}{hint}"))
        })
    };
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(flag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn parsed(text: &str) -> FileioLine {
        parse_fileio(&words(text)).unwrap()
    }

    fn refusal(text: &str) -> String {
        parse_fileio(&words(text)).unwrap_err().to_string()
    }

    #[test]
    fn fileio_is_known_by_its_name_in_old_and_new_lines() {
        for line in [
            "fileio --file-num=4 prepare",
            "--file-num 4 fileio prepare",
            "prepare fileio",
            "--test=fileio --file-total-size=1G prepare",
            "--test fileio prepare",
        ] {
            assert!(names_fileio(&words(line)), "{line}");
        }
        for line in ["oltp_read_only run", "--mysql-user=fileio oltp_insert run", ""] {
            assert!(!names_fileio(&words(line)), "{line}");
        }
    }

    #[test]
    fn defaults_are_sysbenchs() {
        let line = parsed("fileio prepare");
        assert_eq!(line.fileio, Fileio { mode: Mode::Compat, ..Fileio::default() });
        assert_eq!(
            (line.schedule.threads, line.schedule.seconds, line.schedule.events),
            (1, 10.0, 0)
        );
        assert_eq!(line.reporting.percentile, 95);
    }

    /// A line as printed in a paper of 2015, and one with every option.
    #[test]
    fn published_lines_are_taken_as_they_stand() {
        let line = parsed(
            "--test=fileio --file-total-size=128G --file-num=64 --file-test-mode=rndrw \
             --max-time=240 --max-requests=0 \
             --num-threads=8 --rand-init=on --rand-type=uniform --file-block-size=16384 \
             --file-extra-flags=direct \
             --file-io-mode=sync run",
        );
        assert_eq!(line.fileio.file_bytes(), 2 << 30);
        assert_eq!((line.schedule.threads, line.schedule.seconds), (8, 240.0));
        assert_eq!(line.warnings.len(), 3, "{:?}", line.warnings);
        let line = parsed(
            "fileio --file-num=4 --file-block-size=4K --file-total-size=1M --file-test-mode=seqwr \
             --file-async-backlog=7 \
             --file-extra-flags=dsync,direct --file-fsync-freq=0 --file-fsync-all \
             --file-fsync-end=off \
             --file-fsync-mode=fdatasync --file-merged-requests=8 --file-rw-ratio=2 --validate \
             --rate=50 --mysql-user=x run",
        );
        let fileio = &line.fileio;
        assert_eq!(fileio.file_test_mode, Some(TestMode::Seqwr));
        assert_eq!(fileio.file_extra_flags, [ExtraFlag::Dsync, ExtraFlag::Direct]);
        assert!(fileio.file_fsync_all && !fileio.file_fsync_end && fileio.validate);
        assert_eq!((fileio.file_block_size, fileio.file_merged_requests), (Size(4096), 8));
        assert_eq!(line.schedule.pace.per_second(), Some(50.0));
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_one_line() {
        for (line, said) in [
            ("fileio", "no command is given; known are prepare, run, cleanup, help"),
            ("fileio rnu", "unknown command `rnu`, did you mean `run`?"),
            ("fileio run", "file_test_mode is missing; give one of seqwr,"),
            (
                "fileio run --file-test-mode=rndwx",
                "is none of seqwr, seqrewr, seqrd, rndrd, rndwr, rndrw, did you mean",
            ),
            (
                "fileio run --file-io-mode=async --file-test-mode=rndrd",
                "`async` is not built; give `sync`",
            ),
            ("fileio run --file-io-mode=mmap --file-test-mode=rndrd", "`mmap` is not built"),
            (
                "fileio prepare --file-extra-flags=dircet",
                "`dircet` in --file-extra-flags is none of sync, dsync, direct, did you mean \
                 `direct`?",
            ),
            ("fileio prepare --file-total-size=1x", "`--file-total-size`: `1x` is not a size"),
            ("fileio prepare --file-nmu=3", "unknown option `--file-nmu`, did you mean `file_num`"),
            ("fileio prepare --table-size=3", "`--table-size` is no option of fileio"),
            ("fileio prepare --file-num=3", "no multiple of 3 files"),
        ] {
            let told = refusal(line);
            assert!(told.contains(said), "{line}: {told}");
            assert!(!told.contains('\n'));
        }
    }
}
