//! Whether a resource is still where it was made.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    There,
    Gone,
    /// Something else is there.
    Another,
    /// Something is there that may be Assay's: an earlier version made it and recorded no identity,
    /// or the process died while making it.
    Unproven,
    /// Unknown: the server or cluster was not asked, or did not answer.
    Unasked,
}
