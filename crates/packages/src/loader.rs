//! Runs a program of an unpacked tree with the tree's own loader and libraries (`ld.so(8)`,
//! "--library-path"), so that it needs nothing of the host's.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use assay_system::tool;
use serde::Serialize;

const LIST_PATIENCE: Duration = Duration::from_secs(30);

/// The dynamic loader of a tree, with its library directories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loader {
    /// Path of the loader, e.g. `…/ld-linux-x86-64.so.2`.
    pub program: PathBuf,
    /// Directories, separated by colons.
    pub library_path: OsString,
}

impl Loader {
    /// The loader inside the tree `root`; `None` for the host's own tree. Libraries are also taken
    /// from the directories `more`, relative to the library directories.
    #[must_use]
    pub fn of_tree(root: &Path, more: &[&str]) -> Option<Loader> {
        if root == Path::new("/") {
            return None;
        }
        let directories = library_directories(root);
        let program = directories.iter().find_map(|directory| loader_in(directory))?;
        let below = directories.iter().flat_map(|at| more.iter().map(move |name| at.join(name)));
        let below: Vec<PathBuf> = below.filter(|directory| directory.is_dir()).collect();
        let library_path = std::env::join_paths(directories.iter().chain(&below)).ok()?;
        Some(Loader { program, library_path })
    }

    /// The libraries of the tree that `library` needs, directly or indirectly, by the loader's own
    /// list.
    pub fn needed_by(&self, library: &Path) -> Result<Vec<PathBuf>> {
        let mut command = Command::new(&self.program);
        command.arg("--library-path").arg(&self.library_path).arg("--list").arg(library);
        let said = tool::run(command, LIST_PATIENCE)
            .with_context(|| format!("{} cannot be loaded", library.display()))?;
        Ok(said.stdout.lines().filter_map(listed).collect())
    }
}

/// A command that runs `program`, through the loader of its tree if there is one.
#[must_use]
pub fn command(program: &Path, loader: Option<&Loader>) -> Command {
    let Some(loader) = loader else { return Command::new(program) };
    let mut command = Command::new(&loader.program);
    command.arg("--library-path").arg(&loader.library_path).arg(program);
    command
}

/// The path in a line of the loader's list, `libz.so.1 => /tree/libz.so.1 (0x00007f…)`; libraries
/// of the kernel have none.
fn listed(line: &str) -> Option<PathBuf> {
    let (_, found) = line.split_once(" => ")?;
    let (path, _address) = found.rsplit_once(" (")?;
    Some(path.into())
}

/// Before the merge of `/lib` into `/usr/lib`, the C library was in `/lib` and everything else in
/// `/usr/lib`.
fn library_directories(root: &Path) -> Vec<PathBuf> {
    ["usr/lib", "lib"].iter().flat_map(|lib| directories_in(&root.join(lib))).collect()
}

/// Subdirectories named after a machine, as in Debian's multiarch, e.g. `x86_64-linux-gnu`.
fn directories_in(lib: &Path) -> Vec<PathBuf> {
    let machine = format!("{}-linux-gnu", std::env::consts::ARCH);
    Some(lib.join(machine)).into_iter().filter(|directory| directory.is_dir()).collect()
}

/// A loader that is a regular file: an absolute symbolic link would lead to the host's.
fn loader_in(directory: &Path) -> Option<PathBuf> {
    let is_loader = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.starts_with("ld-linux") && name.contains(".so."))
            && path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
    };
    std::fs::read_dir(directory).ok()?.filter_map(|entry| Some(entry.ok()?.path())).find(is_loader)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_with_a_c_library_is_run_through_its_own_loader() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        assert_eq!(Loader::of_tree(root, &[]), None);
        let machine = format!("{}-linux-gnu", std::env::consts::ARCH);
        for lib in ["lib", "usr/lib", "usr/lib/more"] {
            std::fs::create_dir_all(root.join(lib.replace("more", "")).join(&machine).join("more"))
                .unwrap();
        }
        let lib = root.join("lib").join(&machine);
        std::os::unix::fs::symlink("/lib64/ld.so", lib.join("ld-linux-x86-32.so.2")).unwrap();
        assert_eq!(Loader::of_tree(root, &[]), None, "a link would lead to the host's loader");
        std::fs::write(lib.join("ld-linux-x86-64.so.2"), "").unwrap();
        let loader = Loader::of_tree(root, &["more", "none"]).unwrap();
        assert_eq!(loader.program, lib.join("ld-linux-x86-64.so.2"));
        let path = loader.library_path.to_string_lossy().into_owned();
        assert!(path.contains("/usr/lib/") && path.contains(lib.to_str().unwrap()), "{path}");
        assert!(path.contains("/more") && !path.contains("/none"), "{path}");
    }

    #[test]
    fn the_loaders_list_is_read() {
        let line = "\tlibz.so.1 => /a (b)/libz.so.1 (0x00007f1234)";
        assert_eq!(listed(line), Some("/a (b)/libz.so.1".into()));
        assert_eq!(listed("\tlinux-vdso.so.1 (0x00007ffd)"), None);
        assert_eq!(listed("\tstatically linked"), None);
    }

    #[test]
    fn the_hosts_loader_tells_what_a_program_needs() {
        let libraries = std::path::absolute("/").unwrap();
        let machine = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
        let directory = libraries.join(machine);
        // The host's layout is not Debian's.
        let Some(program) = loader_in(&directory) else { return };
        let loader = Loader { program, library_path: directory.into() };
        let needed = loader.needed_by(&std::env::current_exe().unwrap()).unwrap();
        assert!(needed.iter().any(|path| path.ends_with("libc.so.6")), "{needed:?}");
    }
}
