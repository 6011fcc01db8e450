//! Runs the background work of a served drive, one piece after another, with rests in between.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;
use assay_drive::{Drive, Rest};

use super::opened::Opened;
use assay_base::text::on_one_line;

/// Pause when no work is due.
const REST: Duration = Duration::from_millis(50);

/// The thread for background work.
pub struct Background {
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts the thread. An image, or a device without a drive inside, has no background work.
    pub fn begin(opened: &Opened) -> Result<Background> {
        let (stop, stopped) = channel();
        let background = || std::thread::Builder::new().name("maintain".into());
        let of_drive = |drive: Arc<Drive>, stopped: Receiver<()>| {
            background().spawn(move || maintain(|| drive.maintain(), &stopped))
        };
        let thread = match opened.clone() {
            Opened::Drive { drive, .. } => Some(of_drive(drive, stopped)?),
            Opened::Image(_) => None,
            Opened::Powered(powered) => {
                let drive = powered.drive.clone();
                drive.map(|drive| of_drive(drive, stopped)).transpose()?
            }
            Opened::Model(stack) => {
                let drive = stack.drive.clone();
                let work = drive.map(|drive| {
                    move || maintain(|| stack.clock.in_turn(|| drive.maintain()), &stopped)
                });
                work.map(|work| background().spawn(work)).transpose()?
            }
        };
        Ok(Background { stop, thread })
    }

    /// Stops the thread after the current piece.
    pub fn end(self) {
        drop(self.stop);
        if self.thread.is_some_and(|thread| thread.join().is_err()) {
            log::error!("the drive's background work failed");
        }
    }
}

fn maintain(step: impl Fn() -> assay_drive::Result<Rest>, stopped: &Receiver<()>) {
    let mut said = String::new();
    loop {
        let pause = match step() {
            Ok(Rest::More) => Duration::ZERO,
            Ok(Rest::Idle) => REST,
            Err(error) => {
                let words = on_one_line(&format!("{:#}", anyhow::Error::from(error)));
                if words != said {
                    log::error!("{words}");
                    said = words;
                }
                REST
            }
        };
        match stopped.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
    }
}
