//! Tests of other machines over ssh: network namespaces, each with an sshd at an address of its
//! own, which is as close to other hosts as one machine gets. Links are cut, processes killed, keys
//! changed, and nothing may be left on either side.

mod check;
mod clean;
mod database;
mod errors;
mod load;
mod lost;
mod net;
mod relay;
mod study;
