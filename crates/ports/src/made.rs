//! The parameters with which a file system was made, from its own tool: `dumpe2fs -h`, `xfs_info`,
//! `btrfs inspect-internal dump-super`.
//!
//! Guarantees: identifiers of one file system (UUID, label, times) and changing values (free
//! blocks, mounts, checksums) are left out, so that two file systems made alike have equal
//! parameters.

use std::collections::BTreeMap;
use std::path::Path;

use crate::program::{ProgramError, run};

/// Names and values, both in the tool's words.
pub type FileSystemFacts = BTreeMap<String, String>;

/// The parameters of ext4 that `dumpe2fs(8)` prints.
const EXT4: [&str; 13] = [
    "Filesystem features",
    "Default mount options",
    "Inode count",
    "Block count",
    "Reserved block count",
    "Block size",
    "Cluster size",
    "Blocks per group",
    "RAID stride",
    "RAID stripe width",
    "Flex block group size",
    "Inode size",
    "Total journal size",
];

/// Features that appear and disappear while ext4 is mounted.
const PASSING: [&str; 2] = ["needs_recovery", "orphan_present"];

/// The parameters of btrfs that `btrfs-inspect-internal(8)` prints.
const BTRFS: [&str; 6] =
    ["csum_type", "sectorsize", "nodesize", "total_bytes", "incompat_flags", "compat_ro_flags"];

/// The parameters of a file system of `kind` on `device`, mounted on `mount`; empty for other
/// kinds.
///
/// # Errors
/// The tool's message, or that it is missing.
pub fn facts(kind: &str, device: &Path, mount: &Path) -> Result<FileSystemFacts, ProgramError> {
    Ok(match kind {
        "ext4" => of_ext4(&run("dumpe2fs", ["-h".as_ref(), device.as_os_str()])?),
        "xfs" => of_xfs(&run("xfs_info", [mount])?),
        "btrfs" => {
            let words = ["inspect-internal".as_ref(), "dump-super".as_ref(), device.as_os_str()];
            of_btrfs(&run("btrfs", words)?)
        }
        _ => FileSystemFacts::new(),
    })
}

fn of_ext4(text: &str) -> FileSystemFacts {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    let pairs = pairs.map(|(name, value)| (name.trim(), value.trim()));
    let kept = pairs.filter(|(name, _)| EXT4.contains(name));
    kept.map(|(name, value)| {
        let words = value.split_whitespace().filter(|word| !PASSING.contains(word));
        (name.to_owned(), words.collect::<Vec<_>>().join(" "))
    })
    .collect()
}

/// Parses `data     =    bsize=4096   blocks=19200, imaxpct=25`, and continuation lines that begin
/// with `=`; names get their section as a prefix.
fn of_xfs(text: &str) -> FileSystemFacts {
    let mut facts = FileSystemFacts::new();
    let mut section = "";
    for line in text.lines() {
        let Some((head, rest)) = line.split_once('=') else { continue };
        if !head.trim().is_empty() {
            section = head.trim();
        }
        // The first word may belong to no pair: a device, "version 2", "internal log".
        let words = rest.split([' ', ',']).filter_map(|word| word.split_once('='));
        facts.extend(words.map(|(name, value)| (format!("{section}.{name}"), value.to_owned())));
    }
    facts
}

fn of_btrfs(text: &str) -> FileSystemFacts {
    let pairs = text.lines().filter_map(|line| line.split_once(char::is_whitespace));
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
    pairs.filter(|(name, _)| BTRFS.contains(&name.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(options: &[&str]) -> FileSystemFacts {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let image = directory.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(640 << 20).unwrap();
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        crate::filesystem::make("ext4", &image, None, &options).unwrap();
        facts("ext4", &image, directory.path()).unwrap()
    }

    #[test]
    fn file_systems_that_were_made_alike_give_the_same_facts() {
        let plain = made(&[]);
        assert_eq!(plain["Block size"], "4096");
        assert_eq!(plain, made(&["-b", "4096", "-L", "label"]), "the default, said aloud");
        let clusters = made(&["-b", "4096", "-O", "bigalloc", "-C", "16384"]);
        assert_eq!(clusters["Cluster size"], "16384");
        assert_ne!(plain, clusters);
    }

    #[test]
    fn xfs_is_read_section_by_section() {
        let facts = of_xfs(
            "meta-data=/dev/loop1             isize=512    agcount=4, agsize=19200 blks\n\
             \x20        =                       crc=1        finobt=1, sparse=1, rmapbt=0\n\
             data     =                       bsize=4096   blocks=76800, imaxpct=25\n\
             \x20        =                       sunit=4      swidth=8 blks\n\
             naming   =version 2              bsize=4096   ascii-ci=0, ftype=1\n\
             log      =internal log           bsize=4096   blocks=16384, version=2\n",
        );
        assert_eq!(facts["meta-data.isize"], "512");
        assert_eq!(facts["meta-data.rmapbt"], "0");
        assert_eq!(facts["data.swidth"], "8");
        assert_eq!(facts["log.blocks"], "16384");
        assert!(!facts.keys().any(|name| name.contains("/dev")), "{facts:?}");
    }

    #[test]
    fn of_btrfs_its_name_is_left_out() {
        let facts = of_btrfs("fsid\t\t\tabc\nnodesize\t\t16384\nincompat_flags\t\t0x361\n");
        assert_eq!(facts.into_keys().collect::<Vec<_>>(), ["incompat_flags", "nodesize"]);
    }
}
