//! The machine as it is: what must be known to repeat a result or to doubt it.

use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use assay_base::version::version;
use assay_ports::{blockdev, cpu, filesystem};

/// Facts by name; those of the disk under `location` where that `is_measured`. What a machine does
/// not tell is absent.
#[must_use]
pub fn facts(location: &Path, is_measured: bool) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut note = |name: &str, fact: Option<String>| {
        if let Some(fact) = fact.filter(|fact| !fact.is_empty()) {
            facts.insert(name.to_owned(), fact);
        }
    };
    note("assay_version", Some(version().to_owned()));
    note("kernel", Some(kernel()));
    note("operating_system", field("/etc/os-release", "PRETTY_NAME="));
    note("cpu", field("/proc/cpuinfo", "model name"));
    note("cpus", cpu::available().ok().map(|cpus| cpus.len().to_string()));
    note("memory", field("/proc/meminfo", "MemTotal:"));
    note("is_virtual", is_virtual().map(|is| if is { "yes" } else { "no" }.to_owned()));
    note("machine_model", text("/sys/class/dmi/id/product_name"));
    note("clock_source", text("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
    note("cpu_governor", text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    note("transparent_huge_pages", chosen("/sys/kernel/mm/transparent_hugepage/enabled"));
    note("swappiness", text("/proc/sys/vm/swappiness"));
    note("location", Some(location.display().to_string()));
    if is_measured {
        disk_facts(location, &mut note);
    }
    facts
}

fn disk_facts(location: &Path, note: &mut impl FnMut(&str, Option<String>)) {
    if let Ok(Some(mount)) = filesystem::mount_of(location) {
        note("disk_file_system", Some(format!("{} ({})", mount.file_system, mount.options)));
        note("disk_source", Some(mount.source));
    }
    let Some(queue) = queue_directory(location) else { return };
    let queue_text = |name: &str| text(queue.join(name));
    note("disk_model", text(queue.join("../device/model")));
    note(
        "disk_is_rotational",
        queue_text("rotational").map(|is| if is == "1" { "yes" } else { "no" }.into()),
    );
    note("disk_scheduler", chosen(queue.join("scheduler")));
    note("disk_write_cache", queue_text("write_cache"));
    note("disk_logical_block_bytes", queue_text("logical_block_size"));
    note("disk_physical_block_bytes", queue_text("physical_block_size"));
    note("disk_atomic_write_bytes", queue_text("atomic_write_unit_max_bytes"));
}

/// The write cache of the disk `path`, or of the disk that holds it, as the kernel knows it.
pub(super) fn write_cache(path: &Path) -> Option<String> {
    text(queue_directory(path)?.join("write_cache"))
}

/// `/sys/…/queue` of the whole disk that holds `path`, or that it is, also when it lies on a
/// partition.
fn queue_directory(path: &Path) -> Option<PathBuf> {
    let metadata = std::fs::metadata(path).ok()?;
    let is_device = metadata.file_type().is_block_device();
    let number = if is_device { metadata.rdev() } else { metadata.dev() };
    let directory = blockdev::sysfs_directory(number).ok()?;
    [directory.join("queue"), directory.parent()?.join("queue")]
        .into_iter()
        .find(|queue| queue.is_dir())
}

fn kernel() -> String {
    let uname = rustix::system::uname();
    let part = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    format!("{} {} {}", part(uname.release()), part(uname.version()), part(uname.machine()))
}

/// CPUs of virtual machines carry the flag `hypervisor` (CPUID leaf 1, ECX bit 31).
fn is_virtual() -> Option<bool> {
    let flags = field("/proc/cpuinfo", "flags")?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// The rest of the first line of `path` that begins with `name`, without separator and quotes.
pub(crate) fn field(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start_matches([' ', '\t', ':', '=']).trim_matches('"').trim().to_owned())
}

fn text(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The kernel brackets the chosen one of several: `none [mq-deadline] kyber`.
fn chosen(path: impl AsRef<Path>) -> Option<String> {
    let all = text(path)?;
    let inside = all.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    Some(inside.map_or(all.clone(), |(chosen, _)| chosen.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_and_the_memory_are_known_everywhere() {
        let facts = facts(Path::new("/"), true);
        assert!(facts["kernel"].contains(std::env::consts::ARCH), "{facts:?}");
        assert!(facts["memory"].ends_with("kB"), "{facts:?}");
    }
}
