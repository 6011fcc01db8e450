//! Whether something of ours is where it was made.

/// Whether a resource is where it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    There,
    /// Nothing is.
    Gone,
    /// Something is that is not ours.
    Another,
    /// Something is that may be ours: an earlier version made it and noted nothing to know it by, or this one was killed as it
    /// did.
    Unproven,
    /// It may be: whoever has it was not asked, or does not answer.
    Unasked,
}
