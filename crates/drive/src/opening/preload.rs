//! Loads the map's leaves that a segment of the log is about to change, in long reads. A log of
//! random writes needs nearly all leaves, which lie side by side since a checkpoint wrote them;
//! reading them one by one took longer than all the rest of a replay.
//!
//! Fails only if the drive has stopped: the replay loads a missing leaf when it needs it, and
//! handles one that cannot be read.

use crate::core::apply::blocks_of;
use crate::core::map::Missing;
use crate::core::nodes::{NODE_ENTRIES, blocks_of as blocks_of_node, leaf_of};
use crate::format::{Location, NodeId, Op, Words};
use crate::shell::parts::Shell;
use crate::shell::span::{Reach, part_of, span, together};
use crate::shell::worker::Worker;
use assay_disk::{BLOCK_BYTES, Result};

/// Limits of one read. Wanted leaves are sparse after random writes, so a read continues over
/// unwanted ones.
const REACH: Reach = Reach { gap_bytes: 64 << 10, bytes_max: 1 << 20 };

/// The place of a leaf that is not in memory.
type Stored = (Location, NodeId);

/// Loads the leaves that the entries of these tables change.
///
/// # Errors
/// Only [`DiskError::Stopped`](assay_disk::DiskError::Stopped).
pub(crate) fn preload<'words>(
    shell: &Shell,
    tables: impl Iterator<Item = &'words [u64]>,
) -> Result<()> {
    let leaves = leaves_of(shell, tables);
    preload_directories(shell, &leaves)?;
    let mut stored = stored_leaves(shell, &leaves)?;
    stored.sort_unstable_by_key(|(place, _)| (place.segment(), place.offset()));
    let mut rest = &stored[..];
    while !rest.is_empty() {
        let (run, behind) = rest.split_at(together(rest.iter().map(|(place, _)| *place), REACH));
        shell.workers.with(|worker| load_run(shell, run, worker))?;
        rest = behind;
    }
    Ok(())
}

/// The leaves that entries change, each once, in order.
fn leaves_of<'words>(shell: &Shell, tables: impl Iterator<Item = &'words [u64]>) -> Vec<u64> {
    let last_block = shell.map.blocks().saturating_sub(1);
    let entries = tables.flat_map(Words::new);
    let blocks = entries.filter(|entry| !matches!(entry.op, Op::Node { .. } | Op::Dictionary));
    let mut leaves: Vec<u64> = Vec::new();
    for blocks in blocks.map(|entry| blocks_of(&entry)) {
        let end = blocks.end.saturating_sub(1).min(last_block);
        let (first, last) = (leaf_of(blocks.start), leaf_of(end));
        // Consecutive entries mostly change the same leaf; without this there would be too many to
        // sort.
        if leaves.last() != Some(&last) || first != last {
            leaves.extend(first..=last);
        }
    }
    leaves.sort_unstable();
    leaves.dedup();
    leaves
}

fn preload_directories(shell: &Shell, leaves: &[u64]) -> Result<()> {
    let mut directories: Vec<u64> = leaves.iter().map(|leaf| leaf / NODE_ENTRIES).collect();
    directories.dedup();
    for directory in directories {
        let node = NodeId::Directory(directory);
        let is_missing = shell.map.read()?.missing(blocks_of_node(node)) == Some(Missing(node));
        if is_missing {
            // The replay reports a failure when it needs the directory.
            let _ = shell.map.load_node(node);
        }
    }
    Ok(())
}

fn stored_leaves(shell: &Shell, leaves: &[u64]) -> Result<Vec<Stored>> {
    let map = shell.map.read()?;
    let is_missing = |node: &NodeId| map.missing(blocks_of_node(*node)) == Some(Missing(*node));
    let missing = leaves.iter().map(|leaf| NodeId::Leaf(*leaf)).filter(is_missing);
    let stored = missing.filter_map(|node| map.stored(node).ok().map(|place| (place, node)));
    Ok(stored.filter(|(place, _)| shell.media.identity.can_hold(*place)).collect())
}

/// Loads leaves that lie close together.
fn load_run(shell: &Shell, run: &[Stored], worker: &mut Worker) -> Result<()> {
    let (Some((front, _)), Some((back, _))) = (run.first(), run.last()) else { return Ok(()) };
    let place = span(*front, *back);
    let Worker { coder, media, .. } = worker;
    let Ok(bytes) = shell.media.read_span(front.segment(), &place, media) else { return Ok(()) };
    let mut plain = vec![0; BLOCK_BYTES as usize];
    for (at, node) in run {
        let key = Op::Node { complete_seq: 0 }.context_key(node.word());
        let record = part_of(bytes, place.start, *at);
        if shell.records.decode(record, *at, key, &mut plain, coder).is_ok()
            && let Some(words) = shell.map.node_of(*node, &plain)
        {
            shell.map.write()?.load(*node, *at, words);
        }
    }
    Ok(())
}
