//! The catalogue's entries, a table for each layer.

mod cpu;
mod disk;
mod drive;
mod files;
mod innodb;
mod load;
mod model;
mod monitor;
mod pool;
mod process;
mod space;
mod sql;

use super::entry::Metric;

/// Every table. What the server gives is recorded in the order in which it stands here.
pub(super) const TABLES: &[&[Metric]] = &[
    load::TOTALS,
    files::OPERATIONS,
    cpu::CPUS,
    disk::DISK,
    disk::BACKING,
    disk::TAKEN,
    process::SERVER,
    process::DAEMON,
    process::LOAD,
    process::TAKEN,
    innodb::ENGINE,
    sql::STATEMENTS,
    space::FILES,
    drive::DRIVE,
    model::MODEL,
    pool::POOL,
    monitor::COST,
];
