//! Dictionaries on media: stored in the map's stream by checkpoints, and moved out of segments that
//! are given back.

use std::collections::HashSet;

use crate::codec::Dictionary;
use crate::core::group::Group;
use crate::core::maintenance::Maintenance;
use crate::core::tables::SegmentRecord;
use crate::format::{Location, Op};
use crate::upkeep::checkpoint::Checkpointer;
use assay_disk::Result;

impl Checkpointer {
    /// Appends the newly trained dictionary to the map's stream.
    pub(super) fn write_new_dictionary(&self, maintenance: &mut Maintenance) -> Result<()> {
        let Some(dictionary) = maintenance.training.next.take() else { return Ok(()) };
        let place = self.append_dictionary(&dictionary)?;
        maintenance.training.stored = Some((place, dictionary));
        Ok(())
    }

    /// Makes new records use the dictionary that the checkpoint has stored.
    pub(super) fn use_new_dictionary(&self, maintenance: &mut Maintenance) {
        if let Some((place, dictionary)) = maintenance.training.stored.take() {
            self.records.dictionaries.insert(place, dictionary);
        }
    }

    fn append_dictionary(&self, dictionary: &Dictionary) -> Result<Location> {
        let mut group = Group::default();
        group.push(Op::Dictionary, u64::from(dictionary.version()), |out| {
            out.extend_from_slice(dictionary.bytes());
            0
        });
        let mut places = Vec::new();
        self.log.append_to_map_stream(&group, &mut Vec::new(), &mut places)?;
        Ok(places.first().copied().unwrap_or_default())
    }

    /// Moves a dictionary out of a segment of the map's stream that is given back; returns its
    /// former place if it lay there.
    pub(super) fn move_dictionary(&self, record: &SegmentRecord) -> Result<Option<Location>> {
        let version = record.entry.key as u8;
        let lives = self.records.dictionaries.places().contains(&(version, record.place));
        if lives { self.store_again(version, record.place) } else { Ok(None) }
    }

    /// Moves all dictionaries out of these segments; returns their former places.
    pub(super) fn move_dictionaries_out_of(
        &self,
        segments: &HashSet<u32>,
    ) -> Result<Vec<Location>> {
        let mut superseded = Vec::new();
        for (version, place) in self.records.dictionaries.places() {
            if segments.contains(&place.segment()) {
                superseded.extend(self.store_again(version, place)?);
            }
        }
        Ok(superseded)
    }

    /// Stores a dictionary at a new place; returns the former one.
    fn store_again(&self, version: u8, former: Location) -> Result<Option<Location>> {
        let Some(dictionary) = self.records.dictionaries.get(version) else { return Ok(None) };
        let place = self.append_dictionary(&dictionary)?;
        self.records.dictionaries.relocate(version, place);
        Ok(Some(former))
    }
}
