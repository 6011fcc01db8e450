//! One run: a rig and servers are brought up, loaded and monitored, and taken down.

mod crowd;
mod existing_server;
mod files;
mod files_trial;
mod happenings;
mod measure;
pub(crate) mod measure_together;
mod own_server;
mod schedule;
pub(crate) mod search;
pub(crate) mod seconds;
mod stand;
mod take_down;
mod trace;
mod trial;
