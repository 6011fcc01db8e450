//! The rules that the drive's safety rests on, by name, so that a test can break one and see that it is noticed.
//!
//! In a drive for use they cannot be broken: the question is answered when it is compiled.

/// A rule of order or of room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(interleaved), allow(dead_code))]
pub enum Rule {
    /// What emptied a segment is on stable media before the segment is given back.
    DurableBeforeRelease,
    /// A segment that replay would need is not given back before a checkpoint.
    CheckpointBeforeRelease,
    /// A reader keeps its segments from being used again.
    PinBeforeRead,
    /// Media are flushed between the two superblocks.
    FlushBetweenSuperblocks,
    /// Of the two superblocks, the one that the drive was opened with is written last.
    WorseSuperblockFirst,
    /// The root, and all before it, is on stable media before a superblock names it.
    DurableBeforeNamed,
    /// What a checkpoint replaces is dead only when both superblocks name it.
    NamedBeforeDead,
    /// Each opening that writes takes sequence numbers that were never used.
    IncarnationJumps,
    /// Nobody takes a segment that a checkpoint may need.
    BudgetBeforeSegment,
    /// A new leaf is admitted only if a checkpoint of it fits.
    BudgetBeforeLeaf,
    /// A leaf that is being stored stays in memory.
    StoredBeforeEvicted,
    /// A chunk that nothing proves to have been durable counts only if all of it is there.
    WholeOrTorn,
    /// A moved record takes effect only where the host has not written meanwhile.
    MoveGivesWay,
    /// A flush syncs only when what it is for was written.
    WrittenBeforeSync,
    /// A drive is called closed only when nothing was written behind its last checkpoint.
    CloseLooksBack,
    /// What is empty is given back before the first checkpoint after opening.
    FreedAtOpening,
    /// A group is placed in one chunk.
    GroupInOneChunk,
    /// A checkpoint cleans as many segments of the map's stream as it must.
    CleanEnough,
}

/// Whether a rule holds: always, but where a test breaks it.
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

/// Lets the drives of this thread break a rule.
#[cfg(interleaved)]
pub fn break_rule(rule: Option<Rule>) {
    BROKEN.set(rule);
}

/// Every rule.
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
