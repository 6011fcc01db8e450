//! What was seen of a place, what follows, and what would help.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::remedies::{Remedy, remedies};
use crate::seen::{Request, Seen};
use crate::verdict::{Verdict, judge};

/// What was seen, and what follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// What follows.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What would help.
    pub remedies: Vec<Remedy>,
    /// What was seen.
    #[serde(flatten)]
    pub seen: Seen,
}

impl Audit {
    /// Looks, and judges.
    ///
    /// # Errors
    /// The directory or the server cannot be asked at all. What else cannot be seen is a reason in the verdict.
    pub fn make(request: &Request) -> Result<Audit> {
        let seen = Seen::look(request)?;
        let verdict = judge(&seen);
        Ok(Audit { remedies: remedies(&seen, &verdict), verdict, seen })
    }
}
