//! Records a model's commands into a trace, from the start of its clock until it is unmounted.
//!
//! A server that is killed leaves the records written so far; readers ignore an incomplete last
//! record.

use parking_lot::Mutex;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, anyhow};
use assay_models::{Command, CommandObserver, Due, Recorder, Time};

use crate::TraceHead;

/// Bytes written at once, by the thread that answers: few enough to be copied within microseconds.
const BUFFER_BYTES: usize = 64 << 10;

/// A trace being recorded. A recording that was never started leaves no file.
pub struct Recording {
    path: PathBuf,
    file: Mutex<Option<File>>,
    recorder: OnceLock<Recorder<BufWriter<File>>>,
}

impl Recording {
    /// Creates the new file `path`.
    pub fn create(path: &Path) -> Result<Arc<Recording>> {
        let file = File::create_new(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                anyhow!("{} already exists; give a new file for the trace", path.display())
            }
            _ => anyhow!(error).context(format!("cannot write a trace to {}", path.display())),
        })?;
        let file = Mutex::new(Some(file));
        Ok(Arc::new(Recording { path: path.to_owned(), file, recorder: OnceLock::new() }))
    }

    /// Starts recording the answers.
    pub fn begin(&self, head: &TraceHead) -> Result<()> {
        let Some(file) = self.file.lock().take() else { return Ok(()) };
        let out = BufWriter::with_capacity(BUFFER_BYTES, file);
        let recorder = Recorder::new(out, &serde_json::to_string(head)?);
        let recorder = recorder.with_context(|| self.path.display().to_string())?;
        self.recorder.get_or_init(|| recorder);
        Ok(())
    }

    /// Stops recording; later answers are not recorded. Fails if the trace is incomplete.
    pub fn finish(&self) -> Result<()> {
        let finished = self.recorder.get().map_or(Ok(()), Recorder::finish);
        finished.map_err(|error| anyhow!(self.too_short(&error.to_string())))
    }

    /// The first error in writing the trace, if any.
    pub fn problem(&self) -> Option<String> {
        let failure = self.recorder.get().and_then(Recorder::failure);
        failure.map(|failure| self.too_short(&failure))
    }

    fn too_short(&self, why: &str) -> String {
        let path = self.path.display();
        format!(
            "the trace {path} is cut short, it could not be written: {why}; record it again where \
             there is space"
        )
    }
}

impl CommandObserver for Recording {
    fn answered(&self, command: &Command, due: Due, answered: Time, stored_bytes: &[u16]) {
        if let Some(recorder) = self.recorder.get() {
            recorder.answered(command, due, answered, stored_bytes);
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.recorder.get().is_none() {
            // The file is empty, and this process made it.
            let _ = fs::remove_file(&self.path);
        }
    }
}
