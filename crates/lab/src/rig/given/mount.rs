//! Mount options as they were asked for, against those that the kernel tells.
//!
//! Guarantees: two spellings of one option are no difference, and an option that the kernel never
//! tells is not called missing.

use assay_base::Size;
use assay_plan::FileSystemKind;
use assay_study::{Asked, Differing};

/// Words that `mount(8)` keeps to itself, and flags that the kernel tells by not telling them
/// (`mount(8)`, "Filesystem-independent mount options").
const NEVER_TOLD: [&str; 24] = [
    "defaults",
    "auto",
    "noauto",
    "user",
    "nouser",
    "users",
    "group",
    "owner",
    "nofail",
    "_netdev",
    "async",
    "exec",
    "suid",
    "dev",
    "diratime",
    "atime",
    "strictatime",
    "nolazytime",
    "loud",
    "silent",
    "mand",
    "nomand",
    "iversion",
    "rw",
];

/// Flags of file systems that are told by no word, or work once and are gone (`ext4(5)`, `xfs(5)`,
/// `btrfs(5)`).
const NEVER_TOLD_OF: [(FileSystemKind, &[&str]); 3] = [
    (FileSystemKind::Ext4, &["noload", "norecovery", "no_prefetch_block_bitmaps"]),
    (FileSystemKind::Xfs, &["attr2"]),
    (
        FileSystemKind::Btrfs,
        &["barrier", "datacow", "datasum", "clear_cache", "skip_balance", "usebackuproot", "acl"],
    ),
];

/// Options with a value that are told whenever they are in effect.
const ALWAYS_TOLD: [&str; 4] = ["data", "dax", "compress", "compress-force"];

/// Other words for the same (`ext4(5)`).
const SAME: [(&str, &str); 4] = [
    ("barrier=0", "nobarrier"),
    ("barrier=1", "barrier"),
    ("dioread_lock", "nodioread_nolock"),
    ("extents", "extent"),
];

/// Mount options as the kernel reports them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told<'a> {
    pub(super) kind: FileSystemKind,
    pub(super) options: &'a [String],
    /// Whether defaults are reported too.
    pub(super) has_defaults: bool,
}

/// Every option that is not in effect as it was asked for.
pub(super) fn differing(asked: &[String], told: &Told<'_>) -> Vec<Differing> {
    let options = asked.iter().flat_map(|option| option.split(',')).map(str::trim);
    options.filter_map(|option| told.differing(option)).collect()
}

impl Told<'_> {
    fn differing(&self, option: &str) -> Option<Differing> {
        let same = SAME.iter().find(|(one, _)| *one == option).map_or(option, |(_, same)| same);
        if same.is_empty() || same.starts_with("x-") || self.has(same) {
            return None;
        }
        let effective = match same.split_once('=') {
            Some((key, value)) => self.instead_of_value(key, value)?,
            None => self.instead_of_flag(same)?,
        };
        Some(Differing::new(Asked::MountOption, option, effective))
    }

    /// The value in effect instead of an asked one, if it is known; the outer `None` means "as
    /// asked, or not known".
    fn instead_of_value(&self, key: &str, value: &str) -> Option<Option<String>> {
        match self.value(key) {
            Some(other) if is_same(value, other) => None,
            Some(other) => Some(Some(format!("{key}={other}"))),
            None => match self.one_of(&[&format!("no{key}")]) {
                Some(off) => Some(Some(off)),
                None => ALWAYS_TOLD.contains(&key).then_some(None),
            },
        }
    }

    /// The same for a flag.
    fn instead_of_flag(&self, flag: &str) -> Option<Option<String>> {
        let against = match (flag, flag.strip_prefix("no")) {
            ("strictatime", _) => vec!["relatime".to_owned(), "noatime".to_owned()],
            (_, Some(positive)) => vec![positive.to_owned(), format!("no{flag}")],
            (_, None) => vec![format!("no{flag}")],
        };
        let against: Vec<&str> = against.iter().map(String::as_str).collect();
        if let Some(opposite) = self.one_of(&against) {
            return Some(Some(opposite));
        }
        match self.value(flag) {
            Some("never") => return Some(Some(format!("{flag}=never"))),
            Some(_) => return None,
            None => {}
        }
        let of_kind = NEVER_TOLD_OF.iter().filter(|(kind, _)| *kind == self.kind);
        let mut never_told = NEVER_TOLD.iter().chain(of_kind.flat_map(|(_, flags)| *flags));
        let is_told_by_nothing = flag.starts_with("no") && !self.has_defaults;
        (!is_told_by_nothing && !never_told.any(|one| *one == flag)).then_some(None)
    }

    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|one| one == option)
    }

    fn one_of(&self, options: &[&str]) -> Option<String> {
        options.iter().find(|option| self.has(option)).map(|option| (*option).to_owned())
    }

    fn value(&self, key: &str) -> Option<&str> {
        let pairs = self.options.iter().filter_map(|option| option.split_once('='));
        pairs.filter(|(one, _)| *one == key).map(|(_, value)| value).next_back()
    }
}

/// `64k` is 65536; `zstd` is `zstd:3`, which the kernel tells with its level.
fn is_same(asked: &str, told: &str) -> bool {
    let size = |text: &str| Size::parse(text).ok();
    let is_with_level = told.strip_prefix(asked).is_some_and(|rest| rest.starts_with(':'));
    asked.eq_ignore_ascii_case(told)
        || is_with_level
        || size(asked).is_some_and(|asked| size(told) == Some(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Options as Linux 6.18 reports them for ext4 mounted with `options` and its defaults.
    fn ext4(asked: &str, told: &str) -> Vec<(String, Option<String>)> {
        let defaults = "rw,relatime,bsddf,nogrpid,block_validity,dioread_nolock,nodiscard,\
            delalloc,journal_checksum,barrier,\
             auto_da_alloc,user_xattr,acl,noquota,resuid=0,errors=continue,commit=5,stripe=0,\
             data=ordered";
        let told: Vec<&str> = told.split(',').filter(|one| !one.is_empty()).collect();
        let is_replaced = |one: &&str| {
            let key = |text: &str| text.split('=').next().unwrap_or_default().to_owned();
            let bare = |text: &str| key(text).trim_start_matches("no").to_owned();
            let is_atime = |text: &str| text.ends_with("atime");
            told.iter().any(|told| {
                key(told) == key(one)
                    || bare(told) == bare(one)
                    || (is_atime(told) && is_atime(one))
            })
        };
        let kept = defaults.split(',').filter(|one| !is_replaced(one));
        pairs(FileSystemKind::Ext4, asked, kept.chain(told.iter().copied()), true)
    }

    fn pairs<'a>(
        kind: FileSystemKind,
        asked: &str,
        told: impl Iterator<Item = &'a str>,
        has_defaults: bool,
    ) -> Vec<(String, Option<String>)> {
        let options: Vec<String> = told.map(str::to_owned).collect();
        let asked: Vec<String> = asked.split(' ').map(str::to_owned).collect();
        let found = differing(&asked, &Told { kind, options: &options, has_defaults });
        found.into_iter().map(|one| (one.asked, one.effective)).collect()
    }

    fn xfs(asked: &str, told: &str) -> Vec<(String, Option<String>)> {
        pairs(FileSystemKind::Xfs, asked, told.split(','), false)
    }

    #[test]
    fn what_the_kernel_took_is_no_difference_however_it_is_spelled() {
        for (asked, told) in [
            ("defaults nofail x-systemd.automount _netdev", ""),
            ("noatime data=writeback nobarrier", "noatime,data=writeback,nobarrier"),
            ("noatime,barrier=0", "noatime,nobarrier"),
            ("barrier=1 data=ordered commit=5 errors=continue", ""),
            ("nodelalloc discard", "nodelalloc,discard"),
            ("strictatime", "rw,lazytime,strictatime"),
            ("relatime acl async exec suid dev", ""),
            ("journal_ioprio=3 dioread_lock", "nodioread_nolock"),
        ] {
            assert_eq!(ext4(asked, told), [], "{asked}");
        }
        let told = "rw,noatime,inode64,allocsize=64k,logbufs=8,logbsize=256k,noquota";
        assert_eq!(xfs("noatime allocsize=65536 logbsize=262144 nolargeio attr2", told), []);
        let told = ["rw", "relatime", "compress-force=zstd:3", "space_cache=v2"].into_iter();
        assert_eq!(pairs(FileSystemKind::Btrfs, "compress-force=zstd barrier", told, false), []);
    }

    #[test]
    fn what_the_kernel_dropped_or_took_otherwise_is_told() {
        let one = |asked: &str, effective: Option<&str>| {
            [(asked.to_owned(), effective.map(str::to_owned))]
        };
        assert_eq!(ext4("nobh", ""), one("nobh", None));
        assert_eq!(ext4("noatime orlov", "noatime"), one("orlov", None));
        assert_eq!(ext4("norelatime", ""), one("norelatime", Some("relatime")));
        assert_eq!(ext4("strictatime", ""), one("strictatime", Some("relatime")));
        assert_eq!(ext4("barrier=0", ""), one("barrier=0", Some("barrier")));
        assert_eq!(ext4("data=writeback", ""), one("data=writeback", Some("data=ordered")));
        assert_eq!(ext4("delalloc", "nodelalloc"), one("delalloc", Some("nodelalloc")));
        let told = "rw,relatime,dax=never,inode64,logbufs=8,logbsize=32k,noquota";
        assert_eq!(xfs("dax=always", told), one("dax=always", Some("dax=never")));
        assert_eq!(xfs("dax", told), one("dax", Some("dax=never")));
        assert_eq!(xfs("logbsize=256k", told), one("logbsize=256k", Some("logbsize=32k")));
        assert_eq!(xfs("largeio", told), one("largeio", None));
        let told = ["rw", "nodatacow"].into_iter();
        let found = pairs(FileSystemKind::Btrfs, "compress-force=zstd nodatacow", told, false);
        assert_eq!(found, one("compress-force=zstd", None));
    }
}
