//! Finds the files of an estimate: the named ones, and all files below the named directories.
//!
//! A file with several names counts once. A symbolic link that leads outside the named paths is
//! reported, and followed only on request: it may lead anywhere. InnoDB's `.isl` files, which name
//! one tablespace each, are followed. Special files and the kernel's own file systems are skipped:
//! they hold no data, and reading them may never end.

use std::collections::{HashMap, HashSet};
use std::fs::{self, FileType, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use assay_ports::file_id::FileId;
use assay_ports::filesystem;

#[derive(Debug, Default)]
pub struct Findings {
    /// Files and block devices, each once, sorted by name.
    pub files: Vec<PathBuf>,
    /// Paths that could not be read, each with the reason.
    pub skipped: Vec<(PathBuf, String)>,
    /// Links out of the named directories that were followed, each with its target.
    pub links: Vec<(PathBuf, PathBuf)>,
}

/// Finds the files below `named`, and behind links out of them if `follows_links`.
///
/// Fails if a name does not exist, or is neither a file, a directory nor a block device.
pub fn find(named: &[PathBuf], follows_links: bool) -> Result<Findings> {
    let mut search = Search { follows_links, ..Search::default() };
    for path in named {
        let real =
            path.canonicalize().with_context(|| format!("cannot read {}", path.display()))?;
        let kind = real.metadata().with_context(|| format!("cannot read {}", path.display()))?;
        if !is_readable_kind(kind.file_type()) {
            bail!("{} is neither a file, a directory nor a block device", path.display());
        }
        search.roots.push(real);
    }
    for path in named {
        search.visit(path);
    }
    Ok(search.findings)
}

fn is_readable_kind(kind: FileType) -> bool {
    kind.is_file() || kind.is_dir() || kind.is_block_device()
}

#[derive(Default)]
struct Search {
    /// The named paths, with links resolved.
    roots: Vec<PathBuf>,
    follows_links: bool,
    seen: HashSet<FileId>,
    /// File systems by device number: the type's name if it holds no data, else `None`.
    without_data: HashMap<u64, Option<&'static str>>,
    findings: Findings,
}

impl Search {
    /// Visits a file, directory or device, or the target of a link.
    fn visit(&mut self, path: &Path) {
        match path.metadata() {
            Ok(metadata) => self.add(path, &metadata),
            Err(error) => self.skip(path, error),
        }
    }

    fn add(&mut self, path: &Path, metadata: &Metadata) {
        let kind = metadata.file_type();
        if !is_readable_kind(kind) || !self.seen.insert(FileId::of(metadata)) {
            return;
        }
        if !kind.is_block_device()
            && let Some(name) = self.without_data(path, metadata)
        {
            return self.skip_for(path, format!("{name} is a kernel file system without data"));
        }
        if kind.is_dir() {
            self.add_directory(path);
            return;
        }
        self.findings.files.push(path.to_owned());
        if path.extension().is_some_and(|extension| extension == "isl") {
            self.follow_isl(path);
        }
    }

    fn add_directory(&mut self, directory: &Path) {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => return self.skip(directory, error),
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            match path.symlink_metadata() {
                Ok(metadata) if metadata.is_symlink() => self.follow_link(&path),
                Ok(metadata) => self.add(&path, &metadata),
                Err(error) => self.skip(&path, error),
            }
        }
    }

    fn without_data(&mut self, path: &Path, metadata: &Metadata) -> Option<&'static str> {
        let look = || filesystem::without_data(path).unwrap_or_default();
        *self.without_data.entry(metadata.dev()).or_insert_with(look)
    }

    fn follow_link(&mut self, link: &Path) {
        match link.canonicalize() {
            Ok(target) if self.follows_links || self.is_inside(&target) => {
                self.follow(link, &target);
            }
            Ok(target) => {
                let target = target.display();
                let what = format!(
                    "it links to {target}, outside the named paths; name that too, or use --follow"
                );
                self.skip_for(link, what);
            }
            Err(error) => self.skip(link, error),
        }
    }

    /// Follows an `.isl` file: its text is the path of a tablespace (`DATA DIRECTORY` in MySQL 5.7
    /// and MariaDB).
    fn follow_isl(&mut self, file: &Path) {
        let target =
            fs::read_to_string(file).and_then(|text| Path::new(text.trim()).canonicalize());
        match target {
            Ok(target) if target.is_file() => self.follow(file, &target),
            Ok(target) => self.skip_for(file, format!("{} is not a file", target.display())),
            Err(error) => self.skip(file, error),
        }
    }

    fn follow(&mut self, link: &Path, target: &Path) {
        if self.is_inside(target) {
            // Found, or to be found, under its own name.
            return;
        }
        self.findings.links.push((link.to_owned(), target.to_owned()));
        self.visit(target);
    }

    fn is_inside(&self, target: &Path) -> bool {
        self.roots.iter().any(|root| target.starts_with(root))
    }

    fn skip_for(&mut self, path: &Path, reason: String) {
        self.findings.skipped.push((path.to_owned(), reason));
    }

    fn skip(&mut self, path: &Path, error: std::io::Error) {
        // Files of a running server come and go.
        if error.kind() != std::io::ErrorKind::NotFound || path.is_symlink() {
            self.skip_for(path, error.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn each_file_is_found_once_and_links_outside_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("data/db")).unwrap();
        fs::create_dir_all(at("elsewhere/sub")).unwrap();
        for name in ["data/ibdata1", "data/db/t.ibd", "elsewhere/u.ibd", "elsewhere/sub/v.ibd"] {
            fs::write(at(name), name).unwrap();
        }
        fs::hard_link(at("data/ibdata1"), at("data/same")).unwrap();
        symlink(at("data/db/t.ibd"), at("data/inside")).unwrap();
        symlink(at("data"), at("data/db/loop")).unwrap();
        symlink(at("elsewhere/sub"), at("data/outside")).unwrap();
        symlink(at("nowhere"), at("data/broken")).unwrap();
        fs::write(at("data/db/u.isl"), format!("{}\n", at("elsewhere/u.ibd").display())).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("data/mysql.sock")).unwrap();

        let found = find(&[at("data"), at("data/db")], true).unwrap();
        let real = |name: &str| at("elsewhere").canonicalize().unwrap().join(name);
        let expected = [
            at("data/db/t.ibd"),
            at("data/db/u.isl"),
            real("u.ibd"),
            at("data/ibdata1"),
            real("sub/v.ibd"),
        ];
        assert_eq!(found.files, expected);
        let links = [(at("data/db/u.isl"), real("u.ibd")), (at("data/outside"), real("sub"))];
        assert_eq!(found.links, links);
        assert_eq!(found.skipped.len(), 1);
        assert_eq!(found.skipped[0].0, at("data/broken"));

        // Unless it is asked for, none but InnoDB's own is followed.
        let found = find(&[at("data"), at("data/db")], false).unwrap();
        assert_eq!(found.files, expected[..4]);
        assert_eq!(found.links, links[..1]);
        assert_eq!(found.skipped[1].0, at("data/outside"));
        let leads = format!("it links to {}, outside the named paths", real("sub").display());
        assert!(found.skipped[1].1.starts_with(&leads), "{}", found.skipped[1].1);
    }

    #[test]
    fn file_systems_without_data_are_passed_over_with_a_word() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("file"), "text").unwrap();
        symlink("/proc/self", directory.path().join("link")).unwrap();
        let named = [directory.path().to_owned(), "/proc/self".into(), "/sys/kernel".into()];
        let found = find(&named, true).unwrap();
        assert_eq!(found.files, [directory.path().join("file")]);
        let reasons: Vec<_> = found.skipped.iter().map(|(_, reason)| reason.as_str()).collect();
        assert_eq!(reasons.len(), 2, "{reasons:?}");
        assert!(reasons[0].starts_with("proc is a kernel file system"), "{reasons:?}");
        assert!(reasons[1].starts_with("sysfs is a kernel file system"), "{reasons:?}");
    }

    #[test]
    fn names_that_lead_nowhere_are_errors() {
        let error = find(&["/nowhere/at/all".into()], false).unwrap_err().to_string();
        assert_eq!(error, "cannot read /nowhere/at/all");
        let error = find(&["/dev/null".into()], false).unwrap_err().to_string();
        assert_eq!(error, "/dev/null is neither a file, a directory nor a block device");
    }
}
