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

use super::entry::MetricEntry;

/// Every table. The server's counters are recorded in this order.
pub(super) const TABLES: &[&[MetricEntry]] = &[
    load::TOTALS,
    files::OPERATIONS,
    cpu::CPUS,
    disk::DISK,
    disk::BACKING,
    disk::BY_TRANSACTION,
    process::SERVER,
    process::DAEMON,
    process::LOAD,
    process::SERVER_BY_QUERY,
    process::DAEMON_BY_QUERY,
    process::LOAD_BY_QUERY,
    innodb::ENGINE,
    sql::STATEMENTS,
    space::FILES,
    drive::DRIVE,
    model::MODEL,
    pool::POOL,
    monitor::COST,
];
