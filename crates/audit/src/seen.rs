//! A data directory and all that lies below it, looked at without a word of the user's data.

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
use crate::server::Server;
use crate::stack::Stack;

/// What is to be audited.
#[derive(Debug, Clone)]
pub struct Request {
    /// The data directory, or any directory: then what is said holds for files that are put there.
    pub directory: PathBuf,
    /// A server to ask, whose settings go before the two below.
    pub server: Option<Endpoint>,
    /// Bytes of a page; absent: what the files say, else 16 KiB.
    pub page_bytes: Option<u64>,
    /// Whether data files are written past the page cache.
    pub is_direct: Option<bool>,
}

/// All that was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The kernel.
    pub kernel: Kernel,
    /// The directory, without links.
    pub directory: PathBuf,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Whether data files are written past the page cache, where that is known.
    pub is_direct: Option<bool>,
    /// What the server says.
    pub server: Option<Server>,
    /// The files.
    pub files: Files,
    /// What lies below them: one for each file system.
    pub stacks: Vec<Stack>,
}

/// Pages of every server whose settings say nothing else.
const PAGE_BYTES: u64 = 16 << 10;

impl Seen {
    /// Looks.
    ///
    /// # Errors
    /// The directory or the server cannot be asked at all. What else cannot be seen is told as such.
    pub fn look(request: &Request) -> Result<Seen> {
        let named = &request.directory;
        let directory = named.canonicalize();
        let directory = directory.with_context(|| format!("cannot look at {}", named.display()))?;
        ensure!(
            directory.is_dir(),
            "{} is not a directory; name a data directory",
            named.display()
        );
        let server = request.server.as_ref().map(Server::ask).transpose()?;
        if let Some(server) = &server {
            ensure_same(&directory, server)?;
        }
        let page_bytes = match &server {
            Some(server) => server.page_bytes,
            None => request.page_bytes.unwrap_or_else(|| page_bytes_in(&directory)),
        };
        ensure!(
            page_bytes.is_power_of_two() && (4096..=65536).contains(&page_bytes),
            "pages of {page_bytes} bytes are none of InnoDB's; give 4096, 8192, 16384, 32768 or 65536"
        );
        let own = Stack::of(&directory, page_bytes)
            .with_context(|| format!("cannot look below {}", directory.display()))?;
        let grounds: RefCell<BTreeMap<u64, Rc<Ground>>> = RefCell::default();
        let ground_of = |device| {
            let mut grounds = grounds.borrow_mut();
            grounds.entry(device).or_insert_with(|| Rc::new(Ground::of(device))).clone()
        };
        let mut files = files::look(&directory, page_bytes, &ground_of)
            .with_context(|| format!("cannot list {}", directory.display()))?;
        // A table may lie elsewhere (`DATA DIRECTORY`), and so may undo tablespaces.
        let told = server.as_ref().and_then(|server| server.files.as_ref());
        let outside = |path: &&PathBuf| !path.starts_with(&directory);
        let outside: Vec<PathBuf> = told.into_iter().flatten().filter(outside).cloned().collect();
        files.add(&outside, page_bytes, &ground_of);
        let stacks = stacks(&directory, own, &files, page_bytes);
        Ok(Seen {
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

/// A server's words hold for its own files alone.
fn ensure_same(directory: &Path, server: &Server) -> Result<()> {
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

/// What lies below the directory, and below each file that lies on another file system.
fn stacks(directory: &Path, own: Stack, files: &Files, page_bytes: u64) -> Vec<Stack> {
    let device = |path: &Path| -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt;
        Ok(std::fs::metadata(path)?.dev())
    };
    let mut known: Vec<u64> = device(directory).into_iter().collect();
    let mut stacks = vec![own];
    let others = files.looked.iter().filter(|one| one.kind != FileKind::Redo);
    for file in others {
        if !known.contains(&file.device) {
            known.push(file.device);
            let parent = file.path.parent().unwrap_or(directory);
            stacks.extend(Stack::of(parent, page_bytes));
        }
    }
    stacks
}
