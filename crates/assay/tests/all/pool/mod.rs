//! Tests of Ceph pools: a private cluster of real monitors, managers and stores, of which the tests
//! kill parts; MySQL and fio verify the data afterwards.
//!
//! The tests share one cluster and take turns at it. `ASSAY_ROUNDS` sets the number of kills of a
//! serving process.

pub mod cluster;
mod errors;
mod images;
mod left;
mod served;
mod stores;
mod studies;
