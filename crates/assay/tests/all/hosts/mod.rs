//! Other machines over ssh: network namespaces, each with an sshd on an address of its own, as close to
//! other hosts as one machine has. Their links are cut, their processes killed, their keys changed, and
//! nothing may be left on either side.

mod check;
mod clean;
mod database;
mod errors;
mod load;
mod lost;
mod net;
mod relay;
mod study;
