//! Creating, checking, opening and removing the files.
//!
//! They are `test_file.0`, `test_file.1` … in the given directory, as in sysbench, so either
//! program accepts the other's files. Existing files are kept, and extended if they are too short.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use assay_base::Size;
use assay_disk::BlockBuffer;
use rustix::fs::{Advice, AtFlags, OFlags, StatxFlags};

use super::data::Data;
use crate::error::{Error, Result};
use crate::file_options::{ExtraFlag, Fileio, FsyncMode, TestMode};

/// The action of `prepare` on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrepareStep {
    /// The file did not exist.
    Creating,
    /// The file was too short.
    Extending,
    /// The file is long enough.
    Reusing,
}

/// The result of `prepare`.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct PreparedFiles {
    pub bytes: u64,
    pub seconds: f64,
}

/// Bytes per write while preparing, at least one block.
const WRITE_BYTES: u64 = 1 << 20;

/// The path of a file.
fn path(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("test_file.{number}"))
}

/// An error about a file of the directory.
fn failed(what: &str, path: &Path, source: io::Error) -> Error {
    Error::system(format!("cannot {what} {}", path.display()), source)
}

/// The length of a file; `None` if it does not exist.
fn length(path: &Path) -> Result<Option<u64>> {
    match path.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(Some(metadata.len())),
        Ok(_) => Err(Error::Config(format!("{} is not a file; remove it", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("look at", path, error)),
    }
}

/// Creates the files in `directory`, filled with data and durable; calls `say` for each file.
///
/// # Errors
/// [`Error::Config`] for invalid options or lack of space, before anything is written.
/// [`Error::System`] for the system's errors.
pub fn prepare(
    directory: &Path,
    fileio: &Fileio,
    say: &mut dyn FnMut(PrepareStep, &Path),
    stop: &AtomicBool,
) -> Result<PreparedFiles> {
    fileio.check()?;
    check_room(directory, fileio)?;
    let begun = Instant::now();
    let mut made = PreparedFiles::default();
    for number in 0..fileio.file_num {
        made.bytes += make(directory, number, fileio, say, stop)?;
    }
    Ok(PreparedFiles { seconds: begun.elapsed().as_secs_f64(), ..made })
}

/// Checks that the missing data fit into the free space before writing.
fn check_room(directory: &Path, fileio: &Fileio) -> Result<()> {
    let mut needed = 0;
    for number in 0..fileio.file_num {
        let there = length(&path(directory, number))?.unwrap_or(0);
        needed += fileio.file_bytes().saturating_sub(there);
    }
    let status = rustix::fs::statvfs(directory)
        .map_err(|error| failed("use the directory", directory, error.into()))?;
    let free = status.f_bavail.saturating_mul(status.f_frsize);
    if needed <= free {
        return Ok(());
    }
    Err(Error::Config(format!(
        "no space: the files need {} more in {}, {} are free; free some or lower file_total_size",
        mib(needed),
        directory.display(),
        mib(free)
    )))
}

fn mib(bytes: u64) -> String {
    format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Extends one file to its length. Returns the number of bytes written.
fn make(
    directory: &Path,
    number: u32,
    fileio: &Fileio,
    say: &mut dyn FnMut(PrepareStep, &Path),
    stop: &AtomicBool,
) -> Result<u64> {
    let path = path(directory, number);
    let there = length(&path)?;
    let from = there.unwrap_or(0);
    if from >= fileio.file_bytes() {
        say(PrepareStep::Reusing, &path);
        return Ok(0);
    }
    say(if there.is_some() { PrepareStep::Extending } else { PrepareStep::Creating }, &path);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(flags(fileio));
    let file = options.open(&path).map_err(|error| failed("make", &path, error))?;
    // From the start of a block: direct I/O accepts nothing else, and the rest of an incomplete
    // block is needed too.
    let block = fileio.file_block_size.0;
    fill(&file, number, from / block * block, fileio, stop)
        .and_then(|()| file.sync_all())
        .map_err(|error| failed("write", &path, error))?;
    Ok(fileio.file_bytes() - from)
}

fn fill(file: &File, number: u32, from: u64, fileio: &Fileio, stop: &AtomicBool) -> io::Result<()> {
    let block = fileio.file_block_size.0;
    let most = (WRITE_BYTES / block).max(1) * block;
    let mut buffer = BlockBuffer::zeroed(most as usize);
    let data = Data::new(fileio.data_ratio());
    let mut offset = from;
    while offset < fileio.file_bytes() {
        if stop.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted"));
        }
        let bytes = buffer.first(most.min(fileio.file_bytes() - offset) as usize);
        if let Some(data) = data {
            data.fill(bytes, number, offset);
        }
        file.write_all_at(bytes, offset)?;
        offset += bytes.len() as u64;
    }
    Ok(())
}

/// Removes the existing files of these options. Returns their paths.
pub fn cleanup(directory: &Path, fileio: &Fileio) -> Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for number in 0..fileio.file_num {
        let path = path(directory, number);
        match std::fs::remove_file(&path) {
            Ok(()) => removed.push(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("remove", &path, error)),
        }
    }
    Ok(removed)
}

/// Checks that the files for a run exist. `seqwr` creates its files itself.
///
/// # Errors
/// [`Error::Config`] with what to do.
pub fn check(directory: &Path, fileio: &Fileio) -> Result<()> {
    fileio.check()?;
    if fileio.test_mode()? == TestMode::Seqwr {
        return check_room(directory, fileio);
    }
    for number in 0..fileio.file_num {
        let path = path(directory, number);
        let Some(there) = length(&path)? else {
            return Err(Error::Config(format!(
                "{} is missing; run `prepare` first, with the same options",
                path.display()
            )));
        };
        if there < fileio.file_bytes() {
            return Err(Error::Config(format!(
                "{} has {}, but {} are needed; run `prepare` with the same file_num and \
                 file_total_size",
                path.display(),
                Size(there),
                Size(fileio.file_bytes())
            )));
        }
    }
    Ok(())
}

/// Opens all files for a run; `seqwr` removes existing ones and creates new ones, as sysbench does.
pub(super) fn open(directory: &Path, fileio: &Fileio) -> Result<Vec<File>> {
    check(directory, fileio)?;
    let makes = fileio.test_mode()? == TestMode::Seqwr;
    if makes {
        cleanup(directory, fileio)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(makes).mode(0o600);
    options.custom_flags(flags(fileio));
    let open = |number| {
        let path = path(directory, number);
        let file = options.open(&path).map_err(|error| failed("open", &path, error))?;
        if number == 0 && fileio.has(ExtraFlag::Direct) {
            check_alignment(&file, &path, fileio)?;
        }
        Ok(file)
    };
    (0..fileio.file_num).map(open).collect()
}

/// Checks the file system's alignment for direct I/O; kernels before 6.1 do not report it.
fn check_alignment(file: &File, path: &Path, fileio: &Fileio) -> Result<()> {
    let Ok(told) = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) else {
        return Ok(());
    };
    let (align, block) = (u64::from(told.stx_dio_offset_align), fileio.file_block_size.0);
    if align == 0 || block.is_multiple_of(align) {
        return Ok(());
    }
    Err(Error::Config(format!(
        "file_block_size is {}, but direct I/O on {} takes multiples of {align} bytes; give {}",
        fileio.file_block_size,
        path.display(),
        block.next_multiple_of(align)
    )))
}

fn flags(fileio: &Fileio) -> i32 {
    let flags = fileio.file_extra_flags.iter().map(|flag| match flag {
        ExtraFlag::Sync => OFlags::SYNC,
        ExtraFlag::Dsync => OFlags::DSYNC,
        ExtraFlag::Direct => OFlags::DIRECT,
    });
    flags.fold(OFlags::empty(), OFlags::union).bits().cast_signed()
}

/// Makes a file durable.
pub(super) fn sync(file: &File, mode: FsyncMode) -> io::Result<()> {
    match mode {
        FsyncMode::Fsync => file.sync_all(),
        FsyncMode::Fdatasync => file.sync_data(),
    }
}

/// Drops the files from the page cache, so that reads reach the disk.
pub fn forget(directory: &Path, fileio: &Fileio) -> Result<()> {
    for number in 0..fileio.file_num {
        let path = path(directory, number);
        let forgotten = File::open(&path).and_then(|file| {
            rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).map_err(io::Error::from)
        });
        forgotten.map_err(|error| failed("uncache", &path, error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Fileio {
        Fileio {
            file_num: 3,
            file_block_size: Size(4096),
            file_total_size: Size(3 * 20_480),
            file_test_mode: Some(TestMode::Rndrd),
            ..Fileio::default()
        }
    }

    fn prepared(directory: &Path, fileio: &Fileio) -> (Vec<PrepareStep>, u64) {
        let mut steps = Vec::new();
        let made = prepare(directory, fileio, &mut |step, _| steps.push(step), &false.into());
        (steps, made.unwrap().bytes)
    }

    #[test]
    fn files_are_made_kept_lengthened_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        assert_eq!(prepared(at, &small()), (vec![PrepareStep::Creating; 3], 61_440));
        assert_eq!(prepared(at, &small()), (vec![PrepareStep::Reusing; 3], 0));
        std::fs::remove_file(at.join("test_file.2")).unwrap();
        let file = OpenOptions::new().write(true).open(at.join("test_file.1")).unwrap();
        file.set_len(5000).unwrap();
        let steps = vec![PrepareStep::Reusing, PrepareStep::Extending, PrepareStep::Creating];
        assert_eq!(prepared(at, &small()), (steps, 15_480 + 20_480));
        assert!(std::fs::read(at.join("test_file.1")).unwrap().iter().all(|byte| *byte == 0));
        check(at, &small()).unwrap();
        forget(at, &small()).unwrap();
        let two = Fileio { file_num: 2, ..small() };
        assert_eq!(cleanup(at, &two).unwrap().len(), 2);
        assert!(at.join("test_file.2").exists());
        assert_eq!(cleanup(at, &small()).unwrap(), [at.join("test_file.2")]);
    }

    #[test]
    fn what_a_run_lacks_is_told_in_one_line() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        let told = |fileio: &Fileio| check(at, fileio).unwrap_err().to_string();
        assert!(told(&small()).contains("test_file.0 is missing; run `prepare` first"));
        let written = Fileio { file_test_mode: Some(TestMode::Seqwr), ..small() };
        check(at, &written).unwrap();
        prepared(at, &small());
        let larger = Fileio { file_total_size: Size(6 * 20_480), ..small() };
        assert!(told(&larger).contains("test_file.0 has 20K, but 40K are needed; run `prepare`"));
        let none = Fileio { file_test_mode: None, ..small() };
        assert!(told(&none).contains("file_test_mode is missing"));
        let huge = Fileio { file_total_size: Size(3 << 50), file_num: 3, ..small() };
        let error = prepare(at, &huge, &mut |_, _| {}, &false.into()).unwrap_err().to_string();
        assert!(error.starts_with("no space: the files need 3221225472 MiB more in"), "{error}");
        assert_eq!(length(&at.join("test_file.0")).unwrap(), Some(20_480), "nothing was written");
    }
}
