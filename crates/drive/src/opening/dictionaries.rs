//! Dictionaries when a drive is opened: the choice between copies, their accounting, and their
//! contents.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::core::space::{Space, State};
use crate::format::{Location, Root};
use crate::shell::parts::Shell;
use crate::shell::worker::Worker;
use assay_disk::Result;

/// Place of each dictionary, by version.
pub(crate) type Places = HashMap<u64, Location>;

/// All copies of each dictionary in the tables, with the numbers of their chunks.
pub(crate) type Copies = HashMap<u64, Vec<(u64, Location)>>;

/// Chooses a readable copy of each dictionary: the one in the root, or the newest, because the last
/// copy that a checkpoint made may be torn. If none can be read, takes the first choice; loading it
/// reports the damage.
pub(crate) fn choose(shell: &Shell, root: Option<&Root>, mut copies: Copies) -> Result<Places> {
    copies.values_mut().for_each(|places| places.sort_unstable_by_key(|(seq, _)| Reverse(*seq)));
    for (version, place) in root.map_or(&[][..], |root| &root.body.dictionaries) {
        if shell.media.identity.can_hold(*place) && place.is_record() {
            copies.entry(u64::from(*version)).or_default().insert(0, (0, *place));
        }
    }
    let mut chosen = Places::new();
    for (version, places) in copies {
        for (_, place) in places {
            let is_whole = |worker: &mut Worker| {
                shell
                    .records
                    .read_dictionary(version as u8, place, worker)
                    .map(|read| read.is_some())
            };
            chosen.entry(version).or_insert(place);
            if shell.workers.with(is_whole)? {
                chosen.insert(version, place);
                break;
            }
        }
    }
    Ok(chosen)
}

/// Counts dictionaries as live before any segment is given back.
pub(crate) fn keep(shell: &Shell, root: Option<&Root>, dictionaries: &Places, space: &mut Space) {
    for place in dictionaries.values() {
        if space.get(place.segment()).state == State::Free {
            space.quarantine(place.segment());
        }
        space.add(*place);
    }
    let version = root.map_or(1, |root| root.body.next_dictionary);
    shell.records.dictionaries.set_next_version(version);
}

/// Reads a dictionary into memory; reports one that is damaged.
pub(crate) fn load(shell: &Shell, version: u8, place: Location) -> Result<()> {
    let read =
        shell.workers.with(|worker| shell.records.read_dictionary(version, place, worker))?;
    let Some(dictionary) = read else {
        shell
            .media
            .health
            .report(format!("dictionary {version} is damaged; records that need it are lost"));
        return Ok(());
    };
    shell.records.dictionaries.insert(place, dictionary);
    Ok(())
}
