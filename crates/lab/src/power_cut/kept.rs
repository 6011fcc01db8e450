//! Media of power cuts that lost something, as the cut left them, with the content that was
//! expected.

use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_base::plain_file;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::expected::{Expected, Sent};

/// Name of the directory in a study.
const DIRECTORY: &str = "power-cuts";

/// Media of one cut, as it left them.
const MEDIA: &str = "media.img";

/// Statements sent and content expected at the cut.
const EXPECTED: &str = "expected.json";

/// Facts of a cut, stored next to its media.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeptCut {
    pub(super) config: String,
    pub(super) number: u32,
    pub(super) expected: Expected,
    pub(super) sent: Vec<Sent>,
}

/// The directory of a study for kept cuts, and their most for each configuration.
#[derive(Debug)]
pub(super) struct Keeping {
    study: PathBuf,
    most: u32,
    kept: Mutex<BTreeMap<String, u32>>,
}

impl Keeping {
    /// Up to `most` of each configuration.
    pub(super) fn new(study: &Path, most: u32) -> Keeping {
        Keeping { study: study.to_owned(), most, kept: Mutex::default() }
    }

    /// Keeps a cut, unless enough of its configuration are; tells where, relative to the study.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn keep(&self, image: &Path, cut: &KeptCut) -> Result<Option<String>> {
        let mut kept = self.kept.lock();
        let count = kept.entry(cut.config.clone()).or_default();
        if *count >= self.most {
            return Ok(None);
        }
        let name = format!("{DIRECTORY}/{}-{}", cut.config, cut.number);
        let directory = self.study.join(&name);
        let cannot = || format!("cannot keep the power cut in {}", directory.display());
        std::fs::create_dir_all(&directory).with_context(cannot)?;
        let write =
            |text: Vec<u8>| plain_file::make_anew(&directory.join(EXPECTED))?.write_all(&text);
        write(serde_json::to_vec(cut)?).with_context(cannot)?;
        let target = directory.join(MEDIA);
        if std::fs::rename(image, &target).is_err() {
            // On another file system. What an earlier run has left may be a link.
            plain_file::make_anew(&target).with_context(cannot)?;
            assay_ports::copy::file(image, &target).with_context(cannot)?;
        }
        *count += 1;
        Ok(Some(name))
    }
}

/// A power cut that was kept.
#[derive(Debug)]
pub struct KeptDisk(PathBuf);

impl KeptDisk {
    /// The cut kept in this directory.
    #[must_use]
    pub fn new(directory: &Path) -> KeptDisk {
        KeptDisk(directory.to_owned())
    }

    /// The configuration, and which of its cuts it was.
    ///
    /// # Errors
    /// There is none.
    pub fn name(&self) -> Result<(String, u32)> {
        self.read().map(|(_, cut)| (cut.config, cut.number))
    }

    /// Its media, and what is known of it.
    pub(super) fn read(&self) -> Result<(PathBuf, KeptCut)> {
        let path = self.0.join(EXPECTED);
        let what = || format!("{} holds no power cut that was kept", self.0.display());
        let file = plain_file::open(&path).with_context(what)?;
        let cut = serde_json::from_reader(BufReader::new(file)).with_context(what)?;
        Ok((self.0.join(MEDIA), cut))
    }
}
