//! Options of `mkfs` as they were asked for, against what the superblock says (`mkfs.ext4(8)`,
//! `mkfs.xfs(8)`, `mkfs.btrfs(8)`).
//!
//! Guarantees: only options whose value stands in the superblock are compared; what a tool works
//! out from others is not.

use assay_base::Size;
use assay_plan::FileSystemKind;
use assay_ports::made::FileSystemFacts;
use assay_study::{Asked, Differing};

/// Options that take a value, by the letter.
const WITH_VALUE: [(FileSystemKind, &str); 3] = [
    (FileSystemKind::Ext4, "bCdeEgGiIJLmMNoOrtTUz"),
    (FileSystemKind::Xfs, "bcdilLmnprs"),
    (FileSystemKind::Btrfs, "ALbdmnsOrRUv"),
];

/// ext4 rounds the number of inodes up to whole blocks of every group, by less than this share of
/// all.
const INODE_SHARE: f64 = 0.1;

/// Every option that did not come out as it was asked for.
pub(super) fn differing(
    kind: FileSystemKind,
    options: &[String],
    made: &FileSystemFacts,
) -> Vec<Differing> {
    if made.is_empty() {
        return Vec::new();
    }
    let asked = words(kind, options);
    let of_one = |(letter, value): &(char, String)| -> Vec<Differing> {
        match kind {
            FileSystemKind::Ext4 => of_ext4(*letter, value, made),
            FileSystemKind::Xfs => of_xfs(*letter, value, made),
            FileSystemKind::Btrfs => of_btrfs(*letter, value, made),
        }
    };
    asked.iter().flat_map(of_one).collect()
}

/// Letters with their values, which stand behind them or follow.
fn words(kind: FileSystemKind, options: &[String]) -> Vec<(char, String)> {
    let with_value = WITH_VALUE.iter().find(|(one, _)| *one == kind).map_or("", |(_, all)| all);
    let mut found = Vec::new();
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        let mut signs = option.strip_prefix('-').unwrap_or_default().chars();
        let Some(letter) = signs.next().filter(|letter| with_value.contains(*letter)) else {
            continue;
        };
        let behind = signs.as_str().trim();
        let value = if behind.is_empty() { rest.next().cloned() } else { Some(behind.to_owned()) };
        found.extend(value.map(|value| (letter, value)));
    }
    found
}

fn of_ext4(letter: char, value: &str, made: &FileSystemFacts) -> Vec<Differing> {
    let size = |name: &str| of_size(made, (&format!("-{letter} "), value), name);
    match letter {
        'b' => size("Block size"),
        'C' => size("Cluster size"),
        'I' => size("Inode size"),
        'G' => size("Flex block group size"),
        'N' => inodes(value, made),
        'O' => features(value, made),
        'J' => parts(value)
            .filter(|(key, _)| *key == "size")
            .filter_map(|(_, mib)| journal(mib, made))
            .collect(),
        'E' => {
            let told = |(key, value): (&str, &str)| {
                let name = match key {
                    "stride" => "RAID stride",
                    "stripe_width" | "stripe-width" => "RAID stripe width",
                    _ => return Vec::new(),
                };
                of_size(made, (&format!("-E {key}="), value), name)
            };
            parts(value).flat_map(told).collect()
        }
        _ => Vec::new(),
    }
}

/// `a=1,b=2,c`: keys with their values; one without has none.
fn parts(value: &str) -> impl Iterator<Item = (&str, &str)> {
    value.split(',').map(|part| part.split_once('=').unwrap_or((part, "")))
}

/// A size or number that stands in the superblock by that name; what is no number there or here is
/// not compared. A size by its option, e.g. `-b ` or `-E stride=`.
fn of_size(made: &FileSystemFacts, (option, value): (&str, &str), name: &str) -> Vec<Differing> {
    let Ok(asked) = Size::parse(value) else { return Vec::new() };
    let told = made.get(name).map(|text| (text, Size::parse(text)));
    let effective = match told {
        Some((_, Ok(told))) if told == asked => return Vec::new(),
        Some((text, _)) => Some(format!("{option}{text}")),
        None => None,
    };
    vec![Differing::new(Asked::MkfsOption, format!("{option}{value}"), effective)]
}

fn inodes(value: &str, made: &FileSystemFacts) -> Vec<Differing> {
    let told = made.get("Inode count").and_then(|text| text.parse::<f64>().ok());
    let (Ok(asked), Some(told)) = (value.parse::<f64>(), told) else { return Vec::new() };
    let is_rounded = (asked..=asked * (1.0 + INODE_SHARE)).contains(&told);
    let effective = Some(format!("-N {told}"));
    let differs = Differing::new(Asked::MkfsOption, format!("-N {value}"), effective);
    if is_rounded { Vec::new() } else { vec![differs] }
}

/// The journal's size in MiB.
fn journal(mib: &str, made: &FileSystemFacts) -> Option<Differing> {
    let asked = mib.parse::<u64>().ok()? << 20;
    let told = made.get("Total journal size");
    let bytes = told.and_then(|text| Size::parse(text).ok()).map(|size| size.0);
    let effective = bytes.map(|bytes| format!("-J size={}", Size(bytes)));
    let asked_for = format!("-J size={mib}");
    (bytes != Some(asked)).then(|| Differing::new(Asked::MkfsOption, asked_for, effective))
}

/// `bigalloc` asks for a feature and `^has_journal` for none; the last word on one counts, and
/// `none` takes all words before it back.
fn features(value: &str, made: &FileSystemFacts) -> Vec<Differing> {
    let Some(told) = made.get("Filesystem features") else { return Vec::new() };
    let told: Vec<&str> = told.split_whitespace().collect();
    let own_name =
        |name: &str| if name == "extents" { "extent".to_owned() } else { name.to_owned() };
    let words: Vec<&str> = value.split(',').filter(|word| !word.is_empty()).collect();
    let since = words.iter().rposition(|word| *word == "none").map_or(0, |place| place + 1);
    let differs = |word: &&str| {
        let (is_wanted, name) = match word.strip_prefix('^') {
            Some(name) => (false, own_name(name)),
            None => (true, own_name(word)),
        };
        let is_there = told.contains(&name.as_str());
        let effective = is_there.then(|| format!("-O {name}"));
        (is_wanted != is_there)
            .then(|| Differing::new(Asked::MkfsOption, format!("-O {word}"), effective))
    };
    words[since..].iter().filter_map(differs).collect()
}

/// Names in `xfs_info` of each key of each letter.
const XFS: [(char, &str, &str); 18] = [
    ('b', "size", "data.bsize"),
    ('m', "crc", "meta-data.crc"),
    ('m', "finobt", "meta-data.finobt"),
    ('m', "rmapbt", "meta-data.rmapbt"),
    ('m', "reflink", "meta-data.reflink"),
    ('m', "inobtcount", "meta-data.inobtcount"),
    ('m', "bigtime", "meta-data.bigtime"),
    ('i', "size", "meta-data.isize"),
    ('i', "sparse", "meta-data.sparse"),
    ('i', "nrext64", "meta-data.nrext64"),
    ('i', "maxpct", "data.imaxpct"),
    ('d', "agcount", "meta-data.agcount"),
    ('n', "size", "naming.bsize"),
    ('n', "ftype", "naming.ftype"),
    ('s', "size", "meta-data.sectsz"),
    ('d', "sectsize", "meta-data.sectsz"),
    ('l', "version", "log.version"),
    ('l', "lazy-count", "log.lazy-count"),
];

/// Sizes that `xfs_info` tells in blocks of its section.
const XFS_IN_BLOCKS: [(char, &str, &str); 2] = [('l', "size", "log"), ('d', "su", "data")];

fn of_xfs(letter: char, value: &str, made: &FileSystemFacts) -> Vec<Differing> {
    let of_part = |(key, value): (&str, &str)| {
        // A flag without a value asks for 1.
        let number = Size::parse(if value.is_empty() { "1" } else { value }).ok()?.0;
        let told = told_by_xfs(letter, key, made)?;
        let asked = match value {
            "" => format!("-{letter} {key}"),
            _ => format!("-{letter} {key}={value}"),
        };
        let effective = format!("-{letter} {key}={}", Size(told));
        (number != told).then(|| Differing::new(Asked::MkfsOption, asked, Some(effective)))
    };
    parts(value).filter_map(of_part).collect()
}

fn told_by_xfs(letter: char, key: &str, made: &FileSystemFacts) -> Option<u64> {
    let number = |name: &str| made.get(name)?.parse::<u64>().ok();
    let is_it = |one: &&(char, &str, &str)| (one.0, one.1) == (letter, key);
    if let Some((_, _, name)) = XFS.iter().find(is_it) {
        return number(name);
    }
    let (_, _, section) = XFS_IN_BLOCKS.iter().find(is_it)?;
    let blocks =
        number(&format!("{section}.{}", if *section == "log" { "blocks" } else { "sunit" }))?;
    Some(blocks * number(&format!("{section}.bsize"))?)
}

fn of_btrfs(letter: char, value: &str, made: &FileSystemFacts) -> Vec<Differing> {
    match letter {
        'n' => of_size(made, ("-n ", value), "nodesize"),
        's' => of_size(made, ("-s ", value), "sectorsize"),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(
        kind: FileSystemKind,
        options: &str,
        made: &[(&str, &str)],
    ) -> Vec<(String, Option<String>)> {
        let options: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
        let made = made.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let found = differing(kind, &options, &made);
        found.into_iter().map(|one| (one.asked, one.effective)).collect()
    }

    const EXT4: [(&str, &str); 8] = [
        ("Filesystem features", "has_journal extent 64bit bigalloc metadata_csum"),
        ("Block size", "4096"),
        ("Cluster size", "16384"),
        ("Inode size", "512"),
        ("Inode count", "2048"),
        ("Total journal size", "4096k"),
        ("RAID stride", "4"),
        ("Flex block group size", "16"),
    ];

    #[test]
    fn ext4_is_as_asked_where_its_superblock_says_so() {
        let as_asked = "-q -F -b 4096 -C16k -I 512 -N 2000 -J size=4 -O bigalloc,^quota,extents \
            -O none,64bit \
                        -E nodiscard,stride=4 -G 16 -L name -T largefile -m 0";
        assert_eq!(told(FileSystemKind::Ext4, as_asked, &EXT4), []);
        let one = |asked: &str, effective: Option<&str>| {
            [(asked.to_owned(), effective.map(str::to_owned))]
        };
        let of = |options: &str| told(FileSystemKind::Ext4, options, &EXT4);
        assert_eq!(of("-O quota"), one("-O quota", None));
        assert_eq!(of("-O ^has_journal"), one("-O ^has_journal", Some("-O has_journal")));
        assert_eq!(of("-C 65536"), one("-C 65536", Some("-C 16384")));
        assert_eq!(of("-J size=8"), one("-J size=8", Some("-J size=4M")));
        assert_eq!(of("-N 1000"), one("-N 1000", Some("-N 2048")));
        assert_eq!(of("-E stride=8"), one("-E stride=8", Some("-E stride=4")));
        assert_eq!(told(FileSystemKind::Ext4, "-O quota", &[]), [], "nothing was read back");
    }

    #[test]
    fn xfs_and_btrfs_are_too() {
        let made = [
            ("data.bsize", "4096"),
            ("data.sunit", "4"),
            ("log.blocks", "16384"),
            ("log.bsize", "4096"),
            ("meta-data.reflink", "0"),
            ("meta-data.isize", "512"),
        ];
        let of = |options: &str| told(FileSystemKind::Xfs, options, &made);
        assert_eq!(of("-q -b size=4k -m reflink=0 -i size=512 -l size=64m -d su=16k,sw=2 -K"), []);
        assert_eq!(
            of("-m crc=1,reflink=1 -l size=128m"),
            [
                ("-m reflink=1".to_owned(), Some("-m reflink=0".to_owned())),
                ("-l size=128m".to_owned(), Some("-l size=64M".to_owned()))
            ]
        );
        let made = [("nodesize", "16384")];
        assert_eq!(told(FileSystemKind::Btrfs, "-n 16k", &made), []);
        let differs = [("-n 32k".to_owned(), Some("-n 16384".to_owned()))];
        assert_eq!(told(FileSystemKind::Btrfs, "-n 32k", &made), differs);
    }
}
