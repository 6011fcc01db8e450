//! Options of fileio under sysbench's own names (underscores for dashes).

use assay_base::Size;
use assay_disk::BLOCK_BYTES;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::mode::Mode;

/// The order of operations and their kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestMode {
    /// Writes new files from the first byte to the last, one after the other; existing ones are
    /// removed.
    Seqwr,
    /// The same with existing files.
    Seqrewr,
    /// Reads in the same order.
    Seqrd,
    /// Reads of blocks drawn at random.
    Rndrd,
    /// Writes of blocks drawn at random.
    Rndwr,
    /// Reads and writes of random blocks, in a fixed ratio.
    Rndrw,
}

impl TestMode {
    /// All modes with their names.
    pub const ALL: [(&str, TestMode); 6] = [
        ("seqwr", TestMode::Seqwr),
        ("seqrewr", TestMode::Seqrewr),
        ("seqrd", TestMode::Seqrd),
        ("rndrd", TestMode::Rndrd),
        ("rndwr", TestMode::Rndwr),
        ("rndrw", TestMode::Rndrw),
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        TestMode::ALL.into_iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| name)
    }

    /// Returns true for a mode that writes. Others have no fsyncs either.
    #[must_use]
    pub fn writes(self) -> bool {
        !matches!(self, TestMode::Seqrd | TestMode::Rndrd)
    }

    /// Returns true for random modes.
    #[must_use]
    pub fn is_random(self) -> bool {
        matches!(self, TestMode::Rndrd | TestMode::Rndwr | TestMode::Rndrw)
    }

    /// The name in sysbench's output.
    pub(crate) fn words(self) -> &'static str {
        match self {
            TestMode::Seqwr => "sequential write (creation)",
            TestMode::Seqrewr => "sequential rewrite",
            TestMode::Seqrd => "sequential read",
            TestMode::Rndrd => "random read",
            TestMode::Rndwr => "random write",
            TestMode::Rndrw => "random r/w",
        }
    }
}

/// The way operations reach the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IoMode {
    /// One system call, which returns when the operation is done.
    #[default]
    Sync,
    /// Asynchronous submission; not supported.
    Async,
    /// Mapped memory; not supported.
    Mmap,
}

/// Flags for opening files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExtraFlag {
    /// `O_SYNC`: a write ends when data and metadata are durable.
    Sync,
    /// `O_DSYNC`: a write ends when the data are durable.
    Dsync,
    /// `O_DIRECT`: past the page cache.
    Direct,
}

/// The system call that makes a file durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FsyncMode {
    /// `fsync(2)`.
    #[default]
    Fsync,
    /// `fdatasync(2)`.
    Fdatasync,
}

/// The options of a load of files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fileio {
    /// With sysbench's quirks, or repaired.
    pub mode: Mode,
    /// Number of files, `test_file.0` and so on.
    pub file_num: u32,
    /// Bytes of an operation.
    pub file_block_size: Size,
    /// Bytes of all files together.
    pub file_total_size: Size,
    /// The order of operations and their kinds; required for a run.
    pub file_test_mode: Option<TestMode>,
    /// The way operations reach the kernel.
    pub file_io_mode: IoMode,
    /// Operations in flight with `async`; without effect, as that is not supported.
    #[serde(skip_serializing)]
    pub file_async_backlog: u32,
    /// Flags for opening files.
    pub file_extra_flags: Vec<ExtraFlag>,
    /// Number of reads and writes after which all files are made durable; 0 for never.
    pub file_fsync_freq: u32,
    /// True if each write makes its file durable in the same event; the other two options are off
    /// then.
    pub file_fsync_all: bool,
    /// True if each thread makes all files durable after its last event.
    pub file_fsync_end: bool,
    /// The system call that makes a file durable.
    pub file_fsync_mode: FsyncMode,
    /// Blocks in one operation of a sequential mode; 0 for one.
    pub file_merged_requests: u32,
    /// Reads for each write, with `rndrw`.
    pub file_rw_ratio: f64,
    /// Compression ratio of the written data, 1 for incompressible; 0 for zeroes, which sysbench
    /// writes.
    pub file_data_ratio: f64,
    /// True if reads are verified.
    pub validate: bool,
}

impl Default for Fileio {
    fn default() -> Fileio {
        Fileio {
            mode: Mode::Strict,
            file_num: 128,
            file_block_size: Size(16 << 10),
            file_total_size: Size(2 << 30),
            file_test_mode: None,
            file_io_mode: IoMode::Sync,
            file_async_backlog: 128,
            file_extra_flags: Vec::new(),
            file_fsync_freq: 100,
            file_fsync_all: false,
            file_fsync_end: true,
            file_fsync_mode: FsyncMode::Fsync,
            file_merged_requests: 0,
            file_rw_ratio: 1.5,
            file_data_ratio: 0.0,
            validate: false,
        }
    }
}

/// Highest number of files: no process may open more by default, and no test needs them.
const FILES_MAX: u32 = 100_000;

/// Bytes of the largest operation.
const REQUEST_BYTES_MAX: u64 = 1 << 30;

impl Fileio {
    /// Bytes of one file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.file_total_size.0 / u64::from(self.file_num.max(1))
    }

    /// Bytes of the largest operation: blocks of sequential modes may be merged.
    pub(crate) fn request_bytes(&self) -> u64 {
        match self.test_mode() {
            Ok(mode) if !mode.is_random() => {
                let merged = u64::from(self.file_merged_requests.max(1));
                self.file_block_size.0.saturating_mul(merged).min(self.file_bytes())
            }
            _ => self.file_block_size.0,
        }
    }

    /// Mean bytes of an operation over all files: the last one of a file may be shorter if blocks
    /// are merged.
    #[must_use]
    pub fn request_bytes_mean(&self) -> f64 {
        let of_file = self.file_bytes() as f64;
        of_file / (of_file / self.request_bytes().max(1) as f64).ceil().max(1.0)
    }

    /// The mode, which a run requires.
    ///
    /// # Errors
    /// [`Error::Config`] if none was given.
    pub fn test_mode(&self) -> Result<TestMode> {
        let names = || TestMode::ALL.map(|(name, _)| name).join(", ");
        let missing = || format!("file_test_mode is missing; give one of {}", names());
        self.file_test_mode.ok_or_else(|| Error::Config(missing()))
    }

    /// Compression ratio of the written data; `None` for zeroes. Verified data cannot be zeroes.
    #[must_use]
    pub fn data_ratio(&self) -> Option<f64> {
        match (self.file_data_ratio > 0.0, self.validate) {
            (true, _) => Some(self.file_data_ratio),
            (false, true) => Some(1.0),
            (false, false) => None,
        }
    }

    /// Returns true if files are opened with this flag.
    #[must_use]
    pub fn has(&self, flag: ExtraFlag) -> bool {
        self.file_extra_flags.contains(&flag)
    }

    /// Returns true if files are made durable periodically.
    pub(crate) fn fsyncs_periodically(&self) -> bool {
        self.file_fsync_freq > 0 && !self.file_fsync_all && self.may_fsync()
    }

    /// Returns true if files are made durable after the last event.
    pub(crate) fn fsyncs_at_end(&self) -> bool {
        self.file_fsync_end && !self.file_fsync_all && self.may_fsync()
    }

    fn may_fsync(&self) -> bool {
        self.file_test_mode.is_some_and(TestMode::writes)
    }

    /// Checks the options.
    ///
    /// # Errors
    /// [`Error::Config`] with what to change.
    pub fn check(&self) -> Result<()> {
        let refuse = |message: String| Err(Error::Config(message));
        if self.file_num == 0 || self.file_num > FILES_MAX {
            return refuse(format!("file_num is {}; give 1 to {FILES_MAX}", self.file_num));
        }
        let (block, total) = (self.file_block_size.0, self.file_total_size.0);
        if block == 0 || self.request_bytes() > REQUEST_BYTES_MAX {
            return refuse(format!(
                "file_block_size is {}; give 1 byte to 1G, merged requests included",
                self.file_block_size
            ));
        }
        let unit = block.saturating_mul(u64::from(self.file_num));
        if total == 0 || !total.is_multiple_of(unit) {
            let nearest = (total.saturating_add(unit / 2) / unit).max(1).saturating_mul(unit);
            return refuse(format!(
                "file_total_size is {}, which is no multiple of {} files of {} blocks; give \
                 {nearest}",
                self.file_total_size, self.file_num, self.file_block_size
            ));
        }
        if self.has(ExtraFlag::Direct) && !block.is_multiple_of(512) {
            return refuse(format!(
                "file_block_size is {}, but `direct` takes multiples of 512 bytes, and of \
                 {BLOCK_BYTES} on most disks; give {}",
                self.file_block_size,
                block.next_multiple_of(BLOCK_BYTES)
            ));
        }
        match self.file_io_mode {
            IoMode::Sync => {}
            IoMode::Async => {
                return refuse(
                    "file_io_mode `async` is not built; give `sync` and as many threads as \
                     operations in flight"
                        .into(),
                );
            }
            IoMode::Mmap => {
                return refuse("file_io_mode `mmap` is not built; give `sync`".into());
            }
        }
        if !(self.file_rw_ratio >= 0.0 && self.file_rw_ratio.is_finite()) {
            return refuse(format!(
                "file_rw_ratio is {}; give reads for each write, 0 or more",
                self.file_rw_ratio
            ));
        }
        let ratio = self.file_data_ratio;
        if !(ratio == 0.0 || (1.0..=1000.0).contains(&ratio)) {
            return refuse(format!(
                "file_data_ratio is {ratio}; give 1 (incompressible) to 1000, or 0 for zeroes"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(change: impl FnOnce(&mut Fileio)) -> String {
        let mut fileio = Fileio::default();
        change(&mut fileio);
        fileio.check().unwrap_err().to_string()
    }

    #[test]
    fn sysbenchs_defaults_are_right_and_make_128_files_of_16_mib() {
        let fileio = Fileio::default();
        fileio.check().unwrap();
        assert_eq!((fileio.file_bytes(), fileio.request_bytes()), (16 << 20, 16 << 10));
        assert!(fileio.test_mode().unwrap_err().to_string().contains("seqwr, seqrewr, seqrd"));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_to_give() {
        for (said, change) in [
            ("file_num is 0; give 1 to", (|f| f.file_num = 0) as fn(&mut Fileio)),
            ("no multiple of 3 files of 16K blocks; give 2147500032", |f| f.file_num = 3),
            ("no multiple of 128 files of 16K blocks; give 2097152", |f| {
                f.file_total_size = Size(0)
            }),
            ("file_block_size is 0", |f| f.file_block_size = Size(0)),
            ("`async` is not built; give `sync` and as many threads", |f| {
                f.file_io_mode = IoMode::Async;
            }),
            ("`mmap` is not built; give `sync`", |f| f.file_io_mode = IoMode::Mmap),
            ("file_rw_ratio is -1", |f| f.file_rw_ratio = -1.0),
            ("file_data_ratio is 0.5", |f| f.file_data_ratio = 0.5),
            (
                "file_block_size is 1000, but `direct` takes multiples of 512 bytes, and of 4096 \
                 on most disks; give 4096",
                |f| {
                    f.file_block_size = Size(1000);
                    f.file_total_size = Size(128_000);
                    f.file_extra_flags = vec![ExtraFlag::Direct];
                },
            ),
        ] {
            let told = refusal(change);
            assert!(told.contains(said), "{told}");
            assert!(!told.contains('\n'));
        }
    }

    #[test]
    fn merged_requests_are_shorter_at_a_files_end() {
        let fileio = Fileio {
            file_num: 1,
            file_block_size: Size(4096),
            file_total_size: Size(10 * 4096),
            file_merged_requests: 4,
            file_test_mode: Some(TestMode::Seqrd),
            ..Fileio::default()
        };
        assert_eq!(fileio.request_bytes(), 16_384);
        assert!((fileio.request_bytes_mean() - 40_960.0 / 3.0).abs() < 1e-9, "16, 16 and 8 KiB");
        let random = Fileio { file_test_mode: Some(TestMode::Rndrd), ..fileio };
        assert_eq!((random.request_bytes(), random.request_bytes_mean()), (4096, 4096.0));
    }
}
