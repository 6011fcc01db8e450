//! A device at a scale, of whatever kind: how large it is, what it is built from, what follows from its numbers.

use std::path::Path;

use anyhow::Result;
use assay_drive::model::{Preconditioning, Progress};

use super::closed::{self, Closed, Conditions};
use super::nand::Nand;
use super::preset::{Kind, Preset};
use super::scale::{Obtained, Scale};
use crate::drive;

/// A device at a scale.
#[derive(Debug, Clone)]
pub enum Device {
    /// Flash behind the drive.
    Nand(Box<Nand>),
}

impl Device {
    /// The device of `preset` at `scale`.
    ///
    /// # Errors
    /// One line: the scale is no number, or what is left is too small.
    pub fn new(preset: &Preset, scale: Scale) -> Result<Device> {
        scale.check()?;
        match preset.document.kind {
            Kind::Nand => Ok(Device::Nand(Box::new(Nand::new(preset, scale)?))),
        }
    }

    /// Bytes that the media file of its model has.
    #[must_use]
    pub fn media_bytes(&self) -> u64 {
        match self {
            Device::Nand(nand) => nand.raw_bytes,
        }
    }

    /// Bytes that the host may store as they are.
    #[must_use]
    pub fn user_bytes(&self) -> u64 {
        match self {
            Device::Nand(nand) => nand.user_bytes,
        }
    }

    /// Whether what the host writes is made smaller.
    #[must_use]
    pub fn compresses(&self) -> bool {
        match self {
            Device::Nand(nand) => nand.compresses(),
        }
    }

    /// What the scale made of each resource.
    #[must_use]
    pub fn obtained(&self) -> &[Obtained] {
        match self {
            Device::Nand(nand) => &nand.obtained,
        }
    }

    /// Brings its media to where long use would have brought them; gives the write amplification that came of it, one of
    /// what is written where it is addressed.
    ///
    /// # Errors
    /// One line: not there, in use, no room.
    pub fn precondition(
        &self,
        media: &Path,
        plan: &Preconditioning,
        progress: Progress<'_>,
    ) -> Result<f64> {
        match self {
            Device::Nand(nand) => {
                Ok(drive::precondition(media, nand, plan, progress)?.write_amplification)
            }
        }
    }

    /// What follows from its numbers.
    ///
    /// # Errors
    /// None of a device that could be made.
    pub fn closed(&self, preset: &Preset, conditions: Conditions) -> Result<Vec<Closed>> {
        match self {
            Device::Nand(nand) => closed::nand(preset, nand, conditions),
        }
    }
}
