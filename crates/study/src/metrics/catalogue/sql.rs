//! The server's statements, threads and network bytes, and its binary log.
//!
//! Names are those of the MySQL manual ("Server status variables", "InnoDB INFORMATION_SCHEMA
//! metrics table", "File I/O summary tables") and of MariaDB's knowledge base.

use super::super::entry::{MetricEntry, metrics};

pub(super) const STATEMENTS: &[MetricEntry] = metrics! { Sql:
    series "sql_questions_per_s", PerSecond, "statements from clients", counter(["Questions"]);
    series "sql_select_per_s", PerSecond, "SELECT", counter(["Com_select"]);
    series "sql_insert_per_s", PerSecond, "INSERT", counter(["Com_insert"]);
    series "sql_update_per_s", PerSecond, "UPDATE", counter(["Com_update"]);
    series "sql_delete_per_s", PerSecond, "DELETE", counter(["Com_delete"]);
    series "sql_begin_per_s", PerSecond, "BEGIN", counter(["Com_begin"]);
    series "sql_commit_per_s", PerSecond, "COMMIT", counter(["Com_commit"]);
    series "sql_rollback_per_s", PerSecond, "ROLLBACK", counter(["Com_rollback"]);
    series "sql_stmt_prepare_per_s", PerSecond, "prepares", counter(["Com_stmt_prepare"]);
    series "sql_stmt_execute_per_s", PerSecond, "executions of prepared statements",
        counter(["Com_stmt_execute"]);
    series "sql_sent_bytes_per_s", BytesPerSecond, "sent to clients", counter(["Bytes_sent"]);
    series "sql_received_bytes_per_s", BytesPerSecond, "received from clients",
        counter(["Bytes_received"]);
    series "sql_tmp_disk_tables_per_s", PerSecond, "temporary tables on disk",
        counter(["Created_tmp_disk_tables"]);
    series "sql_binlog_write_bytes_per_s", BytesPerSecond, "written to the binary log",
        counter(["files.binlog.write_bytes"]);
    series "sql_binlog_fsyncs_per_s", PerSecond, "fsyncs, binary log",
        counter(["files.binlog.misc"]);
    series "sql_binlog_wait_us_per_s", MicrosecondsPerSecond, "waits for the binary log",
        counter(["files.binlog.wait_us"]);
    series "sql_threads_running", Count, "threads running, the monitor's included",
        gauge(["Threads_running"]);
    series "sql_threads_connected", Count, "connections, the monitor's included",
        gauge(["Threads_connected"]);
};
