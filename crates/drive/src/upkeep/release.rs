//! Giving segments back: those without live records that neither replay nor a reader needs.
//!
//! A segment is given back only when everything that emptied it is on stable media.

use std::sync::Arc;

use crate::core::maintenance::Maintenance;
use crate::rules::{Rule, holds};
use crate::shell::log::SharedLog;
use crate::shell::media::Media;
use crate::shell::parts::Shell;
use crate::shell::pins::Pins;
use crate::shell::segments::Segments;
use assay_disk::Result;

/// Gives emptied segments back.
pub(crate) struct Releaser {
    media: Arc<Media>,
    log: Arc<SharedLog>,
    pins: Arc<Pins>,
    segments: Arc<Segments>,
    /// Discards freed segments on media.
    discards_media: bool,
}

impl Releaser {
    pub(crate) fn new(shell: &Shell, discards_media: bool) -> Releaser {
        Releaser {
            media: Arc::clone(&shell.media),
            log: Arc::clone(&shell.log),
            pins: Arc::clone(&shell.pins),
            segments: Arc::clone(&shell.segments),
            discards_media,
        }
    }

    /// Sealed segments without live records that neither replay nor a reader needs. No new reader
    /// comes to them, because nothing leads there. The segment that is being collected is left out,
    /// because releasing it would invalidate the list of its records.
    pub(crate) fn emptied(&self, maintenance: &Maintenance) -> Result<Vec<u32>> {
        let mut emptied = self.empty_and_old(maintenance)?;
        emptied.retain(|number| !self.pins.is_read(*number));
        Ok(emptied)
    }

    /// Like [`Releaser::emptied`], with those that have readers.
    fn empty_and_old(&self, maintenance: &Maintenance) -> Result<Vec<u32>> {
        let log = self.log.lock()?;
        let is_in_hand = |number: u32| {
            maintenance.collecting.as_ref().is_some_and(|collecting| collecting.victim == number)
        };
        let empty = log.space.empty_segments().filter(|number| {
            log.space.get(*number).is_behind(maintenance.checkpoint_seq) && !is_in_hand(*number)
        });
        Ok(empty.collect())
    }

    /// Waits until no emptied segment has a reader, which takes one read of media. Returns false if
    /// none had one.
    pub(crate) fn wait_for_readers(&self, maintenance: &Maintenance) -> Result<bool> {
        let mut held = self.empty_and_old(maintenance)?;
        held.retain(|number| self.pins.is_read(*number));
        if held.is_empty() {
            return Ok(false);
        }
        self.pins.wait_until_unread(&held).map(|()| true)
    }

    /// Gives back all emptied segments, after a checkpoint or when the drive is opened.
    pub(crate) fn release_empty(&self, maintenance: &Maintenance) -> Result<()> {
        let emptied = self.emptied(maintenance)?;
        if emptied.is_empty() { Ok(()) } else { self.release(&emptied) }
    }

    /// Gives emptied segments back once everything that emptied them is on stable media.
    pub(crate) fn release(&self, emptied: &[u32]) -> Result<()> {
        if holds(Rule::DurableBeforeRelease) {
            self.log.make_durable(true)?;
        }
        // Before another stream may take them: a later discard would reach new data.
        if self.discards_media {
            for &number in emptied {
                let start = self.media.identity.segment_start(number);
                // Media without discard work as well; they only take more space.
                let _ =
                    self.media.disk().discard(start, u64::from(self.media.identity.segment_bytes));
            }
        }
        let mut log = self.log.lock()?;
        for &number in emptied {
            match self.segments.is_unreadable(number) {
                true => log.space.quarantine(number),
                false => log.space.release(number),
            }
        }
        Ok(())
    }
}
