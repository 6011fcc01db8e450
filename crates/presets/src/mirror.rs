//! A mirror of several flash devices of one preset, at a scale.

use anyhow::{Context, Result, ensure};

use super::document::{self, DeviceKind};
use super::nand::Nand;
use super::preset::{PRESETS, Preset};
use super::scale::Scale;

/// Several flash devices that hold the same data.
#[derive(Debug, Clone)]
pub struct Mirrored {
    pub side: Nand,
    pub preset: Preset,
    pub sides: u32,
}

impl Mirrored {
    /// The mirror of `preset` at `scale`, which divides each side.
    ///
    /// # Errors
    /// One line: there is no such device, it is not flash, or what is left of it is too small.
    pub fn new(preset: &Preset, scale: Scale) -> Result<Mirrored> {
        let said = preset.document.mirror.as_ref();
        let said = said.context("a mirror needs a section [mirror]")?;
        let side = side(said)?;
        Ok(Mirrored { side: Nand::new(&side, scale)?, preset: side, sides: said.sides.value })
    }
}

/// The preset of each side.
///
/// # Errors
/// One line: it is none of ours, or not flash.
fn side(said: &document::Mirror) -> Result<Preset> {
    let name = &said.over.value;
    ensure!(
        PRESETS.iter().any(|(known, _)| known == name) || !name.contains(['/', '.']),
        "mirror.over is `{name}`, which is a file; it must be one of the devices that `assay \
        models` lists"
    );
    let side = Preset::find(name).context("mirror.over")?;
    ensure!(
        side.document.kind == DeviceKind::Nand,
        "mirror.over is `{name}`, of kind {}; mirrors of flash alone are modelled",
        side.document.kind.name()
    );
    Ok(side)
}
