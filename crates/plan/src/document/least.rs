//! The least machine that a plan is for, as its author names it; the tests hold the plans that come
//! with Assay to it.

use anyhow::{Result, ensure};
use assay_base::Size;
use serde::{Deserialize, Serialize};

/// The least machine on which a plan shows what it is for. It neither changes nor refuses a run: a
/// run checks the machine itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeastMachine {
    /// CPUs, for server, load and models together.
    pub cpus: u32,
    /// Memory that is free.
    pub memory: Size,
    /// Free space where the rigs lie.
    pub disk: Size,
    /// How long all runs take, in hours, without loading.
    pub hours: f64,
    /// The kernel's limit of asynchronous I/O, `fs.aio-max-nr`. Default: the kernel's own.
    #[serde(default = "kernels_default")]
    pub aio_max_nr: u64,
}

/// `Documentation/admin-guide/sysctl/fs.rst` of Linux; `fs/aio.c`.
fn kernels_default() -> u64 {
    0x10000
}

impl LeastMachine {
    /// # Errors
    /// One line.
    pub(crate) fn check(&self) -> Result<()> {
        ensure!(self.cpus > 0, "least_machine.cpus is 0; give at least 1");
        ensure!(
            self.hours.is_finite() && self.hours > 0.0,
            "least_machine.hours is {}; give a number of hours above 0",
            self.hours
        );
        Ok(())
    }
}
