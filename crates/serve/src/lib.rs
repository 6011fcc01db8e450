//! Serves drives and models, each by a process of its own, which may outlive the process that
//! started it.
//!
//! A server can be killed at any time: flushed data are on the media, and its resources are in its
//! ledger, for the next attach and for `assay clean`. Nothing here prints; servers report through
//! `log`.
//!
//! - [`attach`] and [`attached`] start a server, independent or for a run; [`detach`] ends one
//! - [`process`] is the server, with a [`job`]; [`opened`] is the disk that it serves, and
//!   [`first_answer`] shows that its mount answers
//! - [`registry`] finds the drives served on this machine; [`look`] and [`health`] report their
//!   condition, [`health_text`] in words
//! - [`make`] and [`model_media`] make the media; [`precondition`] brings them into the state of a
//!   used device

mod answer;
mod asked;
mod attach;
pub mod attached;
mod background;
mod changes;
mod detach;
pub mod first_answer;
pub mod health;
pub mod health_text;
pub mod job;
pub mod log;
mod look;
pub mod make;
pub mod media_space;
pub mod model_health;
pub mod model_media;
pub mod open;
mod opened;
pub mod place;
mod port;
mod powered;
mod precondition;
pub mod process;
mod recording;
pub mod registry;
mod source;
mod stack;
mod stall;
mod trace_head;
mod writer;

pub use attach::{attach, check_right, free_media};
pub use attached::Attached;
pub use detach::{detach, ensure_nobody_has};
pub use health::Health;
pub use job::{AttachOptions, Export, ModelJob, PowerJob};
pub use look::{health_of, look_at, look_at_left};
pub use make::{NewDrive, Sizes};
pub use media_space::{MediaSpace, SpaceKind};
pub use model_health::{
    ADDED_SHARE_MAX, KindHealth, MISSED_DEADLINE_SHARE_MAX, ModelHealth, STALLED_MS_MAX,
    added_share, kind_name,
};
pub use model_media::provide;
pub use port::round_trip;
pub use powered::CutOrder;
pub use precondition::precondition;
pub use registry::is_attached;
pub use trace_head::{TraceHead, monotonic_s};
