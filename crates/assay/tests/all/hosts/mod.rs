//! Other machines over ssh: network namespaces with an sshd of their own on an address of their own, as close to other hosts
//! as one machine has. Their links are cut, their processes killed, their keys changed, and nothing may be left on either
//! side.

mod check;
mod clean;
mod database;
mod errors;
mod load;
mod lost;
mod net;
mod relay;
mod study;
