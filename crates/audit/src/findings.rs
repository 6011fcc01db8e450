//! Examines a data directory and everything below it, without reading the user's data.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result, ensure};
use assay_mysql::Endpoint;
use serde::{Deserialize, Serialize};

use crate::files::{self, FileKind, Files};
use crate::ground::Ground;
use crate::kernel::Kernel;
use crate::server::ServerSettings;
use crate::stack::StorageStack;

/// The place to audit.
#[derive(Debug, Clone)]
pub struct AuditRequest {
    /// The data directory, or any directory: then the verdict applies to files placed there.
    pub directory: PathBuf,
    /// A server to ask; its settings take precedence over the two below.
    pub server: Option<Endpoint>,
    /// Page size; `None`: from the files, else 16 KiB.
    pub page_bytes: Option<u64>,
    /// True if data files are written with direct I/O.
    pub is_direct: Option<bool>,
}

/// The findings of an audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditFindings {
    pub kernel: Kernel,
    /// Without links.
    pub directory: PathBuf,
    pub page_bytes: u64,
    /// True if data files are written with direct I/O; `None` if unknown.
    pub is_direct: Option<bool>,
    pub server: Option<ServerSettings>,
    pub files: Files,
    /// One for each file system.
    pub stacks: Vec<StorageStack>,
}

/// Default page size of every server.
const PAGE_BYTES: u64 = 16 << 10;

impl AuditFindings {
    /// Examines a place. Fails only if the directory or the server is inaccessible.
    pub fn collect(request: &AuditRequest) -> Result<AuditFindings> {
        let named = &request.directory;
        let directory = named.canonicalize();
        let directory = directory.with_context(|| format!("cannot look at {}", named.display()))?;
        ensure!(
            directory.is_dir(),
            "{} is not a directory; name a data directory",
            named.display()
        );
        let server = request.server.as_ref().map(ServerSettings::ask).transpose()?;
        if let Some(server) = &server {
            ensure_same(&directory, server)?;
        }
        let page_bytes = match &server {
            Some(server) => server.page_bytes,
            None => request.page_bytes.unwrap_or_else(|| page_bytes_in(&directory)),
        };
        ensure!(
            page_bytes.is_power_of_two() && (4096..=65536).contains(&page_bytes),
            "pages of {page_bytes} bytes are none of InnoDB's; give 4096, 8192, 16384, 32768 or \
             65536"
        );
        let own = StorageStack::of(&directory, page_bytes)
            .with_context(|| format!("cannot look below {}", directory.display()))?;
        let grounds: RefCell<BTreeMap<u64, Rc<Ground>>> = RefCell::default();
        let ground_of = |device| {
            let mut grounds = grounds.borrow_mut();
            grounds.entry(device).or_insert_with(|| Rc::new(Ground::of(device))).clone()
        };
        let mut files = files::look(&directory, page_bytes, &ground_of)
            .with_context(|| format!("cannot list {}", directory.display()))?;
        // Tables can lie outside the data directory (`DATA DIRECTORY`), and so can undo
        // tablespaces.
        let told = server.as_ref().and_then(|server| server.files.as_ref());
        let outside = |path: &&PathBuf| !path.starts_with(&directory);
        let outside: Vec<PathBuf> = told.into_iter().flatten().filter(outside).cloned().collect();
        files.add(&outside, page_bytes, &ground_of);
        let stacks = stacks(&directory, own, &files, page_bytes);
        Ok(AuditFindings {
            kernel: Kernel::here(),
            directory,
            page_bytes,
            is_direct: server.as_ref().map(|server| server.is_direct).or(request.is_direct),
            server,
            files,
            stacks,
        })
    }
}

/// A server's answers apply to its own files only.
fn ensure_same(directory: &Path, server: &ServerSettings) -> Result<()> {
    let its = server.data_directory.canonicalize();
    ensure!(
        its.as_ref().is_ok_and(|its| its == directory),
        "the server's data directory is {}, not {}; audit that, or ask another server",
        server.data_directory.display(),
        directory.display()
    );
    Ok(())
}

fn page_bytes_in(directory: &Path) -> u64 {
    let system = directory.join("ibdata1");
    files::page_bytes_of(&system).unwrap_or(PAGE_BYTES)
}

/// The stacks below the directory, and below each file on another file system.
fn stacks(
    directory: &Path,
    own: StorageStack,
    files: &Files,
    page_bytes: u64,
) -> Vec<StorageStack> {
    let device = |path: &Path| -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt;
        Ok(std::fs::metadata(path)?.dev())
    };
    let mut known: Vec<u64> = device(directory).into_iter().collect();
    let mut stacks = vec![own];
    let others = files.looked.iter().filter(|file| file.kind != FileKind::Redo);
    for file in others {
        if !known.contains(&file.device) {
            known.push(file.device);
            let parent = file.path.parent().unwrap_or(directory);
            stacks.extend(StorageStack::of(parent, page_bytes));
        }
    }
    stacks
}
