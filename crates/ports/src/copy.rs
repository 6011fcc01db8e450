//! Copies files and directories with `cp`: holes stay holes, and blocks are shared if the file
//! system supports that.

use std::ffi::OsStr;
use std::path::Path;

use crate::program::{self, ProgramError};

/// Copies the file `source` to `target`, with the permissions of a new file.
///
/// # Errors
/// The message of `cp`, e.g. no space left; a partial copy stays.
pub fn file(source: &Path, target: &Path) -> Result<(), ProgramError> {
    copy(&[], source, target)
}

/// Copies the directory `source` with its contents to `target`, which must not exist, or into it if
/// `source` ends with `/.`. Keeps owners, permissions and times.
///
/// # Errors
/// The message of `cp`, e.g. no space left; a partial copy stays.
pub fn tree(source: &Path, target: &Path) -> Result<(), ProgramError> {
    copy(&["--archive"], source, target)
}

fn copy(options: &[&str], source: &Path, target: &Path) -> Result<(), ProgramError> {
    let always = ["--reflink=auto", "--sparse=auto", "--"];
    let words = options.iter().chain(&always).map(OsStr::new);
    program::run("cp", words.chain([source.as_os_str(), target.as_os_str()])).map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn holes_stay_holes_and_directories_keep_their_permissions() {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("source");
        fs::create_dir(&source).unwrap();
        let sparse = source.join("sparse");
        let made = File::create(&sparse).unwrap();
        made.set_len(64 << 20).unwrap();
        made.write_all_at(&[7; 4096], 32 << 20).unwrap();
        fs::set_permissions(&sparse, Permissions::from_mode(0o600)).unwrap();
        let target = directory.path().join("target");
        tree(&source, &target).unwrap();
        file(&sparse, &directory.path().join("one")).unwrap();
        for copied in [target.join("sparse"), directory.path().join("one")] {
            let told = fs::metadata(&copied).unwrap();
            assert_eq!(told.len(), 64 << 20);
            assert!(told.blocks() * 512 < 1 << 20, "{} blocks", told.blocks());
            let mut there = [0; 4096];
            File::open(&copied).unwrap().read_exact_at(&mut there, 32 << 20).unwrap();
            assert_eq!(there, [7; 4096]);
        }
        assert_eq!(fs::metadata(target.join("sparse")).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_directory_is_copied_into_one_that_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let [source, target] = ["source", "target"].map(|name| directory.path().join(name));
        for directory in [&source, &target] {
            fs::create_dir(directory).unwrap();
        }
        fs::write(source.join("a"), "1").unwrap();
        tree(&source.join("."), &target).unwrap();
        assert_eq!(fs::read_to_string(target.join("a")).unwrap(), "1");
    }

    #[test]
    fn what_is_not_there_is_told_in_the_words_of_cp() {
        let directory = tempfile::tempdir().unwrap();
        let gone = directory.path().join("gone");
        let told = file(&gone, &directory.path().join("copy")).unwrap_err().to_string();
        assert!(told.contains("No such file or directory"), "{told}");
    }
}
