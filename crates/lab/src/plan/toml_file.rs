//! TOML that a user names: read only if it is what may be one.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Beyond this a file is something else that was named by mistake.
const TOML_BYTES_MAX: u64 = 1 << 20;

/// The text of the TOML file `path`, which is to be `what` ("a plan").
///
/// # Errors
/// One line: it is not there, no regular file, too large, not text.
pub(crate) fn read_toml(path: &Path, what: &str) -> Result<String> {
    let cannot = || format!("cannot read {}", path.display());
    let is_one = path.metadata().with_context(cannot)?.is_file();
    let mut bytes = Vec::new();
    if is_one {
        // It may have grown since, or tell no length.
        let file = File::open(path).with_context(cannot)?;
        file.take(TOML_BYTES_MAX + 1).read_to_end(&mut bytes).with_context(cannot)?;
    }
    ensure!(
        is_one && bytes.len() as u64 <= TOML_BYTES_MAX,
        "{} is not {what}; name a TOML file of at most 1 MiB",
        path.display()
    );
    String::from_utf8(bytes)
        .ok()
        .with_context(|| format!("{} is not {what}: it is not text", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_text_are_read_and_no_large_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one.toml");
        let read = |path: &Path| read_toml(path, "a preset").map_err(|error| error.to_string());
        std::fs::write(&path, vec![b' '; 1 << 20]).unwrap();
        assert_eq!(read(&path).unwrap().len(), 1 << 20);
        std::fs::write(&path, vec![b' '; (1 << 20) + 1]).unwrap();
        for path in [&path, folder.path(), Path::new("/dev/zero")] {
            assert!(
                read(path).unwrap_err().contains("is not a preset; name a TOML file"),
                "{path:?}"
            );
        }
        std::fs::write(&path, [0xff]).unwrap();
        assert!(read(&path).unwrap_err().contains("it is not text"));
        assert!(read(Path::new("/nonexistent")).unwrap_err().contains("cannot read"));
    }
}
