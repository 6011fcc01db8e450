//! The rules on which the drive's safety rests, by name. A test breaks one and checks that another
//! test notices.
//!
//! In a drive for use, the rules are constants and cannot be broken.

/// A rule of order or of room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(interleaved), allow(dead_code))]
pub enum Rule {
    /// A segment is given back only when the writes that emptied it are on stable media.
    DurableBeforeRelease,
    /// A segment that replay would need is not given back before a checkpoint.
    CheckpointBeforeRelease,
    /// A segment with a reader is not filled again.
    PinBeforeRead,
    /// Media are flushed between the two superblocks.
    FlushBetweenSuperblocks,
    /// The superblock with which the drive was opened is written last.
    WorseSuperblockFirst,
    /// A superblock names a root only when the root and everything before it is on stable media.
    DurableBeforeNamed,
    /// Nodes and roots that a checkpoint replaces die only when both superblocks name the new root.
    NamedBeforeDead,
    /// Each opening that writes takes sequence numbers that were never used.
    IncarnationJumps,
    /// A segment that a checkpoint may need is used for nothing else.
    BudgetBeforeSegment,
    /// A new leaf is admitted only if a checkpoint of it fits.
    BudgetBeforeLeaf,
    /// A leaf that is being stored stays in memory.
    StoredBeforeEvicted,
    /// A chunk that is not proved to have been durable counts only if all of it is there.
    WholeOrTorn,
    /// A moved record takes effect only if the host has not written in between.
    MoveGivesWay,
    /// A flush syncs the media only when its chunks are written.
    WrittenBeforeSync,
    /// A drive is marked as closed only if nothing was written behind its last checkpoint.
    CloseLooksBack,
    /// Empty segments are given back before the first checkpoint after opening.
    FreedAtOpening,
    /// A group is placed in one chunk.
    GroupInOneChunk,
    /// A checkpoint cleans as many segments of the map's stream as the next one needs.
    CleanEnough,
}

/// Whether a rule holds; always true in a drive for use.
#[cfg(not(interleaved))]
pub(crate) const fn holds(_rule: Rule) -> bool {
    true
}

#[cfg(interleaved)]
thread_local! {
    static BROKEN: std::cell::Cell<Option<Rule>> = const { std::cell::Cell::new(None) };
}

/// Whether a rule holds.
#[cfg(interleaved)]
pub(crate) fn holds(rule: Rule) -> bool {
    BROKEN.get() != Some(rule)
}

/// Breaks a rule for the drives of this thread, or none.
#[cfg(interleaved)]
pub fn break_rule(rule: Option<Rule>) {
    BROKEN.set(rule);
}

/// All rules.
#[cfg(interleaved)]
pub const RULES: [Rule; 18] = [
    Rule::DurableBeforeRelease,
    Rule::CheckpointBeforeRelease,
    Rule::PinBeforeRead,
    Rule::FlushBetweenSuperblocks,
    Rule::WorseSuperblockFirst,
    Rule::DurableBeforeNamed,
    Rule::NamedBeforeDead,
    Rule::IncarnationJumps,
    Rule::BudgetBeforeSegment,
    Rule::BudgetBeforeLeaf,
    Rule::StoredBeforeEvicted,
    Rule::WholeOrTorn,
    Rule::MoveGivesWay,
    Rule::WrittenBeforeSync,
    Rule::CloseLooksBack,
    Rule::FreedAtOpening,
    Rule::GroupInOneChunk,
    Rule::CleanEnough,
];
