//! One run: a rig and servers are brought up, loaded and monitored, and taken down.

mod aggregate;
mod circumstances;
mod existing_server;
mod files;
mod files_trial;
mod meeting;
mod observe;
mod own_server;
mod own_time;
mod phase_events;
mod schedule;
mod search;
pub(crate) mod seconds;
mod switchback;
mod take_down;
mod target;
mod trace;
mod trial;
