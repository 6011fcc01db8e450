//! Fills a modelled device up to what the plan says, once file system and server files lie on it.
//!
//! Of the 140 MB that a server's own files take, most are zeroes, and a drive that compresses
//! stores zeroes as nothing: where they are put, what wore the device in is gone. Where a file
//! system zeroes its own tables and journal, the kernel asks any drive to do so, and no data is
//! left there either. On the device that is modelled they are next to nothing, on a model of a few
//! hundred megabytes a tenth. As much data as is missing is put behind the file system, as
//! compressible as what wore it in.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result};
use assay_drive::BLOCK_BYTES;
use assay_load::random::Rng;
use assay_models::fill_block;

use assay_plan::PlannedModel;

/// Bytes of one write.
const WRITE_BYTES: u64 = 128 << 10;

/// Seed of the contents, the same for all.
const SEED: u64 = 20_200_806;

/// Place and amount of the missing data, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TopUp {
    start: u64,
    pub(super) bytes: u64,
}

impl TopUp {
    /// The data missing on a model that holds `held_bytes`; `None` for one that stores blocks where
    /// they are addressed, or that has no room behind the file system.
    pub(super) fn of(model: &PlannedModel, held_bytes: u64) -> Option<TopUp> {
        let start = model.filled_bytes();
        let room = model.logical_bytes().saturating_sub(start);
        let bytes = start.saturating_sub(held_bytes).min(room) / BLOCK_BYTES * BLOCK_BYTES;
        (model.device.nand().is_some() && bytes > 0).then_some(TopUp { start, bytes })
    }

    /// Writes them to the block device, which may be mounted: the file system ends before.
    ///
    /// # Errors
    /// What the device said.
    pub(super) fn write(self, device: &Path, ratio: f64) -> Result<()> {
        let what = || format!("cannot fill {} up", device.display());
        let file = OpenOptions::new().write(true).open(device).with_context(what)?;
        let mut rng = Rng::new(SEED, 0);
        let mut data = vec![0_u8; WRITE_BYTES as usize];
        let mut place = self.start;
        while place < self.start + self.bytes {
            let part = &mut data[..WRITE_BYTES.min(self.start + self.bytes - place) as usize];
            for block in part.chunks_mut(BLOCK_BYTES as usize) {
                let stored_bytes = (block.len() as f64 / ratio) as usize;
                fill_block(block, stored_bytes, || rng.next_u64());
            }
            file.write_all_at(part, place).with_context(what)?;
            place += part.len() as u64;
        }
        file.sync_all().with_context(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::planned_rig;

    fn model(preset: &str, more: &str) -> PlannedModel {
        let rig = format!(
            "kind = \"model\"\nmodel = {{ preset = \"{preset}\", capacity_scale = 3200, fill = \
            0.5{more} }}"
        );
        planned_rig(&rig).model().unwrap().clone()
    }

    #[test]
    fn what_zeroes_took_is_put_behind_the_file_system() {
        let csd = model("csd2000-3.2", "");
        let filled = csd.filled_bytes();
        let missing = 100 * BLOCK_BYTES;
        let top_up = TopUp::of(&csd, filled - missing - 1).unwrap();
        assert_eq!(top_up, TopUp { start: filled, bytes: missing });
        assert_eq!(TopUp::of(&csd, filled), None);
        assert!(TopUp::of(&model("p4610-3.2", ""), 0).is_some());
        assert_eq!(TopUp::of(&model("sas15k-r10x6", ""), 0), None, "all of it is there");
        let full = model("csd2000-3.2", ", logical = \"488288K\"");
        let room = full.logical_bytes() - filled;
        assert_eq!(TopUp::of(&full, 0).map_or(0, |top_up| top_up.bytes), room / 4096 * 4096);
    }

    #[test]
    fn it_is_written_there_and_nowhere_else_and_shrinks_as_asked() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let start = 3 * BLOCK_BYTES;
        let top_up = TopUp { start, bytes: WRITE_BYTES + 5 * BLOCK_BYTES };
        top_up.write(file.path(), 2.0).unwrap();
        let data = std::fs::read(file.path()).unwrap();
        assert_eq!(data.len() as u64, start + top_up.bytes);
        let (before, written) = data.split_at(start as usize);
        assert!(before.iter().all(|byte| *byte == 0));
        for block in written.chunks(BLOCK_BYTES as usize) {
            assert!(block[..64].iter().any(|byte| *byte != 0));
            assert!(block[2048..].iter().all(|byte| *byte == 0), "half of it is stored");
        }
        let blocks: std::collections::BTreeSet<&[u8]> = written.chunks(4096).collect();
        assert_eq!(blocks.len(), 37, "no block is like another");
    }
}
