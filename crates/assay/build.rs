//! Determines the commit that the program is built from. Outside git, or without git, the version
//! says that it is unknown.

use std::path::{Path, PathBuf};
use std::process::Command;

/// All sources of the program, relative to the root of the workspace.
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

/// The commit of the working tree at `root`, with a mark if its sources differ.
fn commit(root: &Path) -> Option<String> {
    // A copy of the sources within another repository does not belong to that repository.
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

/// A missing path would make cargo run the script at every build.
fn rerun_if_changed(path: &Path) {
    if path.exists() {
        println!("cargo:rerun-if-changed={}", path.display());
    }
}
