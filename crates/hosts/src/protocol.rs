//! What the two ends of a session say to each other, a line of JSON each.
//!
//! The far end says [`Hello`] first. Every few seconds ours asks whether it is there, and it answers; an end that hears nothing for
//! [`PATIENCE`] takes the link for cut. Beside that there is one work at a time, whose own words only its two halves understand.

use std::time::Duration;

use assay_ports::child::Identity;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::facts::Facts;

/// How often it is asked whether the other end is there.
pub(crate) const ASK_EVERY: Duration = Duration::from_secs(2);

/// After how long without a word a link counts as cut.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Which words are understood; raised when they change.
pub(crate) const PROTOCOL: u32 = 3;

/// To the far end. It may hold a password: it is written to the session and nowhere else.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToHost {
    /// Whether it is there, and what its clock shows.
    Ask {
        /// Comes back with the answer.
        number: u64,
    },
    /// Begin a work.
    Begin {
        /// What it is called.
        work: String,
        /// What it is to do.
        task: Value,
    },
    /// Something for the work in hand.
    Tell(Value),
    /// End the work in hand before its time.
    Stop,
    /// End.
    End,
}

/// From the far end.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromHost {
    /// It is ready.
    Hello(Box<Hello>),
    /// It is there.
    Here {
        /// Of the question.
        number: u64,
        /// When that arrived, in ns since 1970.
        received_ns: u64,
        /// When this was written, in ns since 1970.
        answered_ns: u64,
    },
    /// Something of the work in hand.
    Told(Value),
    /// The work has ended, with this.
    Done(Value),
    /// The work has failed, with this.
    Failed(Value),
}

/// What the far end is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// Which words it understands.
    pub(crate) protocol: u32,
    /// The program's version.
    pub(crate) version: String,
    pub(crate) facts: Facts,
    /// Its process there.
    pub(crate) process: Identity,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_whatever_it_holds() {
        let message = ToHost::Begin { work: "a\nb".into(), task: "x\u{2028}\n".into() };
        let line = serde_json::to_string(&message).unwrap();
        assert!(!line.contains('\n'), "{line}");
        let Ok(ToHost::Begin { work, .. }) = serde_json::from_str(&line) else { panic!("{line}") };
        assert_eq!(work, "a\nb");
    }
}
