//! Messages between the two ends of a session, each a line of JSON.
//!
//! The far end sends [`Hello`] first. Every few seconds our end sends [`ToHost::Ask`], and the far
//! end answers; an end that receives nothing for [`PATIENCE`] treats the link as cut. In addition
//! there is at most one job at a time, whose messages only its two halves understand.

use std::time::Duration;

use assay_ports::child::Identity;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::facts::HostFacts;

/// Interval of the keep-alive messages.
pub(crate) const ASK_EVERY: Duration = Duration::from_secs(2);

/// Silence after which a link counts as cut.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Version of the messages; raised with every change of them.
pub(crate) const PROTOCOL: u32 = 3;

/// A message to the far end. It may hold a password: it is written to the session and nowhere else.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToHost {
    /// Asks for a sign of life and the time.
    Ask {
        /// Returned with the answer.
        number: u64,
    },
    /// Starts a job.
    Begin { work: String, task: Value },
    /// A message for the current job.
    Tell(Value),
    /// Ends the current job early.
    Stop,
    /// Ends the session.
    End,
}

/// A message from the far end.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromHost {
    Hello(Box<Hello>),
    /// The answer to [`ToHost::Ask`].
    Here {
        /// The number of the request.
        number: u64,
        /// When the request arrived, in ns since 1970.
        received_ns: u64,
        /// When the answer was written, in ns since 1970.
        answered_ns: u64,
    },
    /// A message of the current job.
    Told(Value),
    /// The result of the job.
    Done(Value),
    /// The error of the job.
    Failed(Value),
}

/// The far end's program and system.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// The version of the messages, [`PROTOCOL`].
    pub(crate) protocol: u32,
    pub(crate) version: String,
    pub(crate) facts: HostFacts,
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
