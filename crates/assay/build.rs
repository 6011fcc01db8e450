//! Passes the version and the commit that the program is built from to the compiler as
//! `ASSAY_VERSION`.
//!
//! Without git, or outside a repository, the version says that the commit is unknown.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Sources of the program, relative to the workspace's root.
const SOURCES: [&str; 6] = ["crates", "plans", "models", "claims", "Cargo.toml", "Cargo.lock"];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for source in SOURCES {
        rerun_if_changed(&root.join(source));
    }
    let version = env!("CARGO_PKG_VERSION");
    let version = match commit(&root) {
        Some(commit) => format!("{version} ({commit})"),
        None => format!("{version} (unknown commit)"),
    };
    println!("cargo:rustc-env=ASSAY_VERSION={version}");
}

/// Returns the commit of the working tree at `root`, with ", changed" if sources differ from it.
fn commit(root: &Path) -> Option<String> {
    // Sources copied into another repository do not have that repository's commit.
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    for file in ["HEAD", "logs/HEAD"] {
        rerun_if_changed(&root.join(git(root, &["rev-parse", "--git-path", file])?));
    }
    let commit = git(root, &["rev-parse", "--short=8", "HEAD"])?;
    let changed = git(root, &[&["status", "--porcelain", "--"][..], &SOURCES].concat())?;
    Some(if changed.is_empty() { commit } else { format!("{commit}, changed") })
}

fn git(root: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Has the build script run again when `path` changes.
///
/// A path that does not exist is left out: cargo would run the script at every build.
fn rerun_if_changed(path: &Path) {
    if path.exists() {
        println!("cargo:rerun-if-changed={}", path.display());
    }
}
