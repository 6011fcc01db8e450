//! The mark of a file that holds the media of a model: flash under a model is a drive like any
//! other, and would be served as one, as fast as this machine can.
//!
//! In the extended attribute `user.assay.model` (`xattr(7)`), which stays with the file when it is
//! renamed and goes when it is copied; where a file system keeps none, nothing is noted.

use std::path::Path;

use rustix::fs::{XattrFlags, getxattr, setxattr};

use super::scale::Scale;

const NAME: &str = "user.assay.model";

/// Longer than a preset's path and two scales can be.
const BYTES_MAX: usize = 8192;

/// Notes on the media `path` that they are of the model `named`, as it was typed.
pub fn mark(path: &Path, named: &str, scale: Scale) {
    let words =
        format!("{named} --capacity-scale {} --parallel-scale {}", scale.capacity, scale.parallel);
    if let Err(error) = setxattr(path, NAME, words.as_bytes(), XattrFlags::empty()) {
        log::info!("{}: cannot mark it as the media of a model: {error}", path.display());
    }
}

/// The words of `assay models` for the model that `path` is noted to be the media of.
#[must_use]
pub fn marked(path: &Path) -> Option<String> {
    let mut bytes = vec![0; BYTES_MAX];
    let length = getxattr(path, NAME, bytes.as_mut_slice()).ok()?;
    bytes.truncate(length);
    String::from_utf8(bytes).ok()
}
