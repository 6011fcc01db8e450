//! The server's statements, threads and network bytes, and its binary log.
//!
//! Names are those of the MySQL manual ("Server status variables", "InnoDB INFORMATION_SCHEMA metrics table", "File I/O summary tables")
//! and of MariaDB's knowledge base.

use super::super::entry::{Metric, series};
use super::super::layer::Layer::Sql;
use super::super::unit::Unit;
use super::super::unit::Unit::{BytesPerSecond, Count, MicrosecondsPerSecond, PerSecond};

const fn counter(
    name: &'static str,
    unit: Unit,
    label: &'static str,
    sources: &'static [&'static [&'static str]],
) -> Metric {
    series(Sql, name, unit, label).given(true, sources)
}

const fn gauge(
    name: &'static str,
    unit: Unit,
    label: &'static str,
    sources: &'static [&'static [&'static str]],
) -> Metric {
    series(Sql, name, unit, label).given(false, sources)
}

pub(super) const STATEMENTS: &[Metric] = &[
    counter("sql_questions_per_s", PerSecond, "statements from clients", &[&["Questions"]]),
    counter("sql_select_per_s", PerSecond, "SELECT", &[&["Com_select"]]),
    counter("sql_insert_per_s", PerSecond, "INSERT", &[&["Com_insert"]]),
    counter("sql_update_per_s", PerSecond, "UPDATE", &[&["Com_update"]]),
    counter("sql_delete_per_s", PerSecond, "DELETE", &[&["Com_delete"]]),
    counter("sql_begin_per_s", PerSecond, "BEGIN", &[&["Com_begin"]]),
    counter("sql_commit_per_s", PerSecond, "COMMIT", &[&["Com_commit"]]),
    counter("sql_rollback_per_s", PerSecond, "ROLLBACK", &[&["Com_rollback"]]),
    counter("sql_stmt_prepare_per_s", PerSecond, "prepares", &[&["Com_stmt_prepare"]]),
    counter(
        "sql_stmt_execute_per_s",
        PerSecond,
        "executions of prepared statements",
        &[&["Com_stmt_execute"]],
    ),
    counter("sql_sent_bytes_per_s", BytesPerSecond, "sent to clients", &[&["Bytes_sent"]]),
    counter(
        "sql_received_bytes_per_s",
        BytesPerSecond,
        "received from clients",
        &[&["Bytes_received"]],
    ),
    counter(
        "sql_tmp_disk_tables_per_s",
        PerSecond,
        "temporary tables on disk",
        &[&["Created_tmp_disk_tables"]],
    ),
    counter(
        "sql_binlog_write_bytes_per_s",
        BytesPerSecond,
        "written to the binary log",
        &[&["files.binlog.write_bytes"]],
    ),
    counter("sql_binlog_fsyncs_per_s", PerSecond, "fsyncs, binary log", &[&["files.binlog.misc"]]),
    counter(
        "sql_binlog_wait_us_per_s",
        MicrosecondsPerSecond,
        "waits for the binary log",
        &[&["files.binlog.wait_us"]],
    ),
    gauge(
        "sql_threads_running",
        Count,
        "threads running, the monitor's included",
        &[&["Threads_running"]],
    ),
    gauge(
        "sql_threads_connected",
        Count,
        "connections, the monitor's included",
        &[&["Threads_connected"]],
    ),
];
