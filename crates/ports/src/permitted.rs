//! Lists the options of `mkfs` and `mount` that a plan may use, by file system (`permitted.toml`).
//!
//! Guarantees: no option on the list names a device or a file, and no value can start another
//! option.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// The values that an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Value {
    #[serde(rename = "flag")]
    Flag,
    #[serde(rename = "number")]
    Number,
    #[serde(rename = "flag or number")]
    FlagOrNumber,
    #[serde(rename = "word")]
    Word,
    #[serde(rename = "flag or word")]
    FlagOrWord,
    #[serde(rename = "words")]
    Words,
    #[serde(rename = "name")]
    Name,
}

type Keys = BTreeMap<String, Value>;

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OfOption {
    One(Value),
    Keys(Keys),
}

#[derive(Debug, Deserialize)]
struct Permitted {
    mkfs: BTreeMap<String, BTreeMap<String, OfOption>>,
    mount: BTreeMap<String, Keys>,
}

/// The list, which a test reads too; if it did not parse, nothing would be permitted.
static PERMITTED: LazyLock<Permitted> = LazyLock::new(|| {
    toml::from_str(include_str!("permitted.toml"))
        .unwrap_or(Permitted { mkfs: BTreeMap::new(), mount: BTreeMap::new() })
});

/// In bytes.
const BYTES_MAX: usize = 1024;

/// Checks options of `mkfs.KIND` in the form of its command line: an option's value is attached or
/// follows.
///
/// # Errors
/// One line: the option that is not permitted, and those that are.
pub fn check_mkfs(kind: &str, options: &[String]) -> Result<(), String> {
    let none = BTreeMap::new();
    let permitted = PERMITTED.mkfs.get(kind).unwrap_or(&none);
    let mut rest = options.iter();
    while let Some(word) = rest.next() {
        let (option, behind) = split_option(word);
        let Some(of_option) = permitted.get(option) else {
            return Err(format!(
                "mkfs.{kind} may not be given {}; a plan may give {}",
                shown(word),
                listed(permitted.keys())
            ));
        };
        let takes_none = matches!(of_option, OfOption::One(Value::Flag));
        let value =
            if takes_none { behind } else { behind.or_else(|| rest.next().map(String::as_str)) };
        check_option(option, of_option, value)
            .map_err(|what| format!("mkfs.{kind} may not be given {}: {what}", shown(word)))?;
    }
    Ok(())
}

/// Checks options of `mount -o`, each of which may contain several, separated by commas.
///
/// # Errors
/// As [`check_mkfs`].
pub fn check_mount(kind: &str, options: &[String]) -> Result<(), String> {
    let of = |name: &str| PERMITTED.mount.get(name).into_iter().flatten();
    for word in options.iter().flat_map(|option| option.split(',')) {
        let (key, value) = key_and_value(word);
        let Some((_, permitted)) = of("any").chain(of(kind)).find(|(name, _)| *name == key) else {
            let all = of("any").chain(of(kind)).map(|(name, _)| name);
            return Err(format!(
                "{kind} may not be mounted with {}; a plan may give {}",
                shown(word),
                listed(all)
            ));
        };
        check_value(*permitted, value)
            .map_err(|what| format!("{kind} may not be mounted with {}: {what}", shown(word)))?;
    }
    Ok(())
}

/// `-Lname` and `-L name` are `-L` with a value; so is `--label=name`.
fn split_option(word: &str) -> (&str, Option<&str>) {
    if word.starts_with("--") {
        return word.split_once('=').map_or((word, None), |(option, value)| (option, Some(value)));
    }
    let end = word.char_indices().nth(2).map_or(word.len(), |(at, _)| at);
    let (option, behind) = word.split_at(end);
    (option, (!behind.is_empty()).then_some(behind))
}

fn key_and_value(word: &str) -> (&str, Option<&str>) {
    word.split_once('=').map_or((word, None), |(key, value)| (key, Some(value)))
}

fn check_option(option: &str, of_option: &OfOption, value: Option<&str>) -> Result<(), String> {
    // A blank between an option and its value within one word.
    let value = value.map(|value| value.strip_prefix(' ').unwrap_or(value));
    let keys = match of_option {
        OfOption::One(permitted) => return check_value(*permitted, value),
        OfOption::Keys(keys) => keys,
    };
    let Some(value) = value else { return Err(format!("{option} lacks its value")) };
    for word in value.split(',') {
        let (key, value) = key_and_value(word);
        let Some(permitted) = keys.get(key) else {
            return Err(format!("{} is not one of {}", shown(word), listed(keys.keys())));
        };
        check_value(*permitted, value).map_err(|what| format!("{} {what}", shown(key)))?;
    }
    Ok(())
}

fn check_value(permitted: Value, value: Option<&str>) -> Result<(), String> {
    let (is_one, takes) = match (permitted, value) {
        (Value::Flag | Value::FlagOrNumber | Value::FlagOrWord, None) => return Ok(()),
        (Value::Flag, Some(_)) => (false, "takes no value"),
        (Value::Number | Value::FlagOrNumber, value) => {
            (value.is_some_and(is_number), "takes a number")
        }
        (Value::Word | Value::FlagOrWord, value) => {
            (value.is_some_and(is_word), "takes a word of letters and digits")
        }
        (Value::Words, value) => {
            (value.is_some_and(are_words), "takes words of letters and digits, by commas")
        }
        (Value::Name, value) => {
            (value.is_some_and(is_name), "takes a name of up to 64 letters without slashes")
        }
    };
    if is_one { Ok(()) } else { Err(takes.to_owned()) }
}

/// Returns true for digits with at most one point, and a unit of one letter or `%`.
fn is_number(value: &str) -> bool {
    let digits = value.strip_suffix(|unit: char| unit.is_ascii_alphabetic() || unit == '%');
    let digits = digits.unwrap_or(value);
    let is_short = (1..=20).contains(&digits.len());
    is_short
        && digits.starts_with(|sign: char| sign.is_ascii_digit())
        && digits.chars().all(|sign| sign.is_ascii_digit() || sign == '.')
        && digits.matches('.').count() <= 1
}

/// Returns true for a word, also `zstd:3` of btrfs.
fn is_word(value: &str) -> bool {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "_-.:".contains(sign);
    value.len() <= 64
        && value.starts_with(|sign: char| sign.is_ascii_alphanumeric())
        && value.chars().all(is_plain)
        && !value.contains("..")
}

fn are_words(value: &str) -> bool {
    value.len() <= BYTES_MAX
        && value.split(',').all(|word| is_word(word.strip_prefix(['^', '+']).unwrap_or(word)))
}

fn is_name(value: &str) -> bool {
    let is_plain = |sign: char| !sign.is_control() && sign != '/';
    (1..=64).contains(&value.len()) && !value.starts_with('-') && value.chars().all(is_plain)
}

/// A plan's word in an error: shortened, with unprintable characters escaped.
fn shown(word: &str) -> String {
    let short: String = word.chars().take(40).collect();
    let more = if short.len() < word.len() { "…" } else { "" };
    format!("`{}{more}`", short.escape_debug())
}

fn listed<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.map(String::as_str).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &[&str]) -> Vec<String> {
        text.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn what_people_use_is_permitted_in_every_spelling() {
        for (kind, options) in [
            ("ext4", &["-O", "bigalloc", "-C", "16384"][..]),
            ("ext4", &["-i", "262144", "-J", "size=64"]),
            ("ext4", &["-Obigalloc,^has_journal", "-E lazy_itable_init=0,nodiscard", "-m0.5"]),
            ("ext4", &["-L", "my disk", "-F", "-b", "4k", "-T", "largefile4"]),
            ("xfs", &["-m", "reflink=0,crc=1", "-d", "agcount=4,su=64k,sw=2", "-l", "size=64m"]),
            ("btrfs", &["--csum", "xxhash", "-O", "^no-holes", "--label=a", "-n", "16k"]),
        ] {
            assert_eq!(check_mkfs(kind, &words(options)), Ok(()), "{options:?}");
        }
        for (kind, options) in [
            ("ext4", &["noatime", "data=writeback", "nobarrier", "commit=30"][..]),
            ("xfs", &["noatime,allocsize=64k", "logbsize=256k", "inode64"]),
            ("btrfs", &["compress=zstd:3", "nodatacow", "discard=async"]),
            ("ext4", &[]),
        ] {
            assert_eq!(check_mount(kind, &words(options)), Ok(()), "{options:?}");
        }
    }

    /// Options of `mke2fs(8)`, `mkfs.xfs(8)`, `mkfs.btrfs(8)`, `mount(8)`, `ext4(5)`, `xfs(5)` and
    /// `btrfs(5)` that name a device or a file, and values that would be options.
    #[test]
    fn what_names_a_device_or_a_file_is_refused_with_what_is_permitted() {
        for (kind, options) in [
            ("xfs", &["-l", "logdev=/dev/loop0"][..]),
            ("xfs", &["-llogdev=/dev/loop0"]),
            ("xfs", &["-l", "size=64m,logdev=/dev/loop0"]),
            ("xfs", &["-l", "name=/dev/loop0"]),
            ("xfs", &["-r", "rtdev=/dev/loop0"]),
            ("xfs", &["-d", "name=/dev/loop0"]),
            ("xfs", &["-d", "file=1"]),
            ("xfs", &["-p", "/etc/passwd"]),
            ("xfs", &["-c", "options=/etc/passwd"]),
            ("xfs", &["/dev/loop0"]),
            ("xfs", &["-qf"]),
            ("ext4", &["-J", "device=/dev/loop0"]),
            ("ext4", &["-J", "size=4,device=UUID=1"]),
            ("ext4", &["-d", "/etc"]),
            ("ext4", &["-z", "/etc/undo"]),
            ("ext4", &["-l", "/etc/passwd"]),
            ("ext4", &["-E", "offset=4096"]),
            ("ext4", &["-L", "-J"]),
            ("ext4", &["-L", "a/b"]),
            ("ext4", &["-b", "-J"]),
            ("ext4", &["-b", "4096\n-J"]),
            ("ext4", &["-U", "/dev/loop0"]),
            ("ext4", &["-O", "journal_dev,../x"]),
            ("ext4", &["-J"]),
            ("ext4", &["--", "/dev/loop0"]),
            ("ext4", &[""]),
            ("ext4", &["é"]),
            ("btrfs", &["--rootdir", "/etc"]),
            ("btrfs", &["--rootdir=/etc"]),
            ("btrfs", &["-r", "/etc"]),
            ("btrfs", &["/dev/loop0"]),
            ("btrfs", &["-d", "/dev/loop0"]),
            ("vfat", &["-F"]),
        ] {
            let told = check_mkfs(kind, &words(options)).unwrap_err();
            assert!(told.starts_with(&format!("mkfs.{kind} may not be given ")), "{told}");
            assert!(!told.contains('\n') && told.len() < 600, "{told}");
        }
        for (kind, option) in [
            ("ext4", "journal_dev=0x0700"),
            ("ext4", "journal_path=/dev/loop0"),
            ("ext4", "usrjquota=../x"),
            ("ext4", "noatime,bind"),
            ("ext4", "loop=/dev/loop0"),
            ("ext4", "data=../../x"),
            ("ext4", "X-mount.mkdir"),
            ("ext4", "x-systemd.automount"),
            ("ext4", "helper=x"),
            ("ext4", "noatime=1"),
            ("ext4", ""),
            ("xfs", "logdev=/dev/loop0"),
            ("xfs", "rtdev=/dev/loop0"),
            ("btrfs", "device=/dev/loop0"),
            ("btrfs", "subvol=/"),
            ("ext4", "upperdir=/etc"),
            ("ext4", "remount"),
            ("ext4", "suid"),
            ("ext4", "dev"),
        ] {
            let told = check_mount(kind, &words(&[option])).unwrap_err();
            assert!(told.starts_with(&format!("{kind} may not be mounted with ")), "{told}");
        }
        let told = check_mkfs("xfs", &words(&["-r", "rtdev=/dev/loop0"])).unwrap_err();
        assert!(told.ends_with("a plan may give -K -L -b -d -f -i -l -m -n -q -s"), "{told}");
    }
}
