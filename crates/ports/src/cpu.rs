//! Which CPUs threads and children may run on.
//!
//! A list is written as the kernel writes it, `0-3,8` (`cpuset(7)`, "List format").

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs that this process may use, ascending.
///
/// # Errors
/// What `sched_getaffinity` answered.
pub fn available() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// Binds the calling thread to `cpus`; an empty list leaves it alone.
///
/// # Errors
/// `InvalidInput` for a number beyond what the kernel's set can hold, else what `sched_setaffinity` answered.
pub fn bind_thread(cpus: &[usize]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    Ok(sched_setaffinity(None, &set_of(cpus)?)?)
}

/// Reads a list such as `0-3,8`; an empty text is an empty list.
///
/// # Errors
/// `InvalidInput`, naming the part that is not a number or a range.
pub fn parse_list(text: &str) -> io::Result<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let bad = || invalid(format!("`{part}` is not a CPU or a range such as 0-3"));
        let first: usize = first.trim().parse().map_err(|_| bad())?;
        let last: usize = last.trim().parse().map_err(|_| bad())?;
        if first > last || last >= CpuSet::MAX_CPU {
            return Err(bad());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

pub(crate) fn set_of(cpus: &[usize]) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(invalid(format!("CPU {cpu} is beyond what the kernel can name")));
        }
        set.set(cpu);
    }
    Ok(set)
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_as_the_kernel_writes_them() {
        assert_eq!(parse_list("0-2,5").unwrap(), [0, 1, 2, 5]);
        assert_eq!(parse_list("").unwrap(), [0usize; 0]);
        for bad in ["a", "3-1", "1-", "99999"] {
            assert!(parse_list(bad).is_err(), "{bad}");
        }
    }
}
