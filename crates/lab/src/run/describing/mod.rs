//! The head of a study and the circumstances of its runs: configurations, the machine, and where
//! the machine gave something else than the plan asks for.

pub(crate) mod configs;
pub(crate) mod effective;
pub(crate) mod guarantee;
pub(crate) mod head;
pub(crate) mod machine;
pub(crate) mod placed;
