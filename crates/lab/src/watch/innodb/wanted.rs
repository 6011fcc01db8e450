//! Which of the server's counters we want, and under which names servers keep them.
//!
//! Names are those of the MySQL manual ("Server status variables", "InnoDB INFORMATION_SCHEMA metrics table",
//! "File I/O summary tables") and of MariaDB's knowledge base. A counter may have several sources, the first that
//! a server has is taken. A source is a sum: of status variables (`Name`), of InnoDB metrics (`metrics.name`), of
//! sums over files of one kind (`files.kind.column`); a leading `-` subtracts.

/// One counter or gauge.
pub(super) struct Wanted {
    /// The gauge's series; of a counter, the series without its `_per_s`.
    pub(super) name: &'static str,
    /// Unit of the series.
    pub(super) unit: &'static str,
    pub(super) label: &'static str,
    /// Where to find it, best first.
    pub(super) sources: &'static [&'static [&'static str]],
}

const fn wanted(
    name: &'static str,
    unit: &'static str,
    label: &'static str,
    sources: &'static [&'static [&'static str]],
) -> Wanted {
    Wanted { name, unit, label, sources }
}

/// Counters: each gives a rate.
pub(super) const COUNTERS: &[Wanted] = &[
    wanted(
        "innodb_rows_read",
        "1/s",
        "rows read",
        &[
            &["Innodb_rows_read"],
            &[
                "Handler_read_first",
                "Handler_read_key",
                "Handler_read_last",
                "Handler_read_next",
                "Handler_read_prev",
                "Handler_read_rnd",
                "Handler_read_rnd_next",
            ],
        ],
    ),
    wanted(
        "innodb_rows_inserted",
        "1/s",
        "rows inserted",
        &[&["Innodb_rows_inserted"], &["Handler_write"]],
    ),
    wanted(
        "innodb_rows_updated",
        "1/s",
        "rows updated",
        &[&["Innodb_rows_updated"], &["Handler_update"]],
    ),
    wanted(
        "innodb_rows_deleted",
        "1/s",
        "rows deleted",
        &[&["Innodb_rows_deleted"], &["Handler_delete"]],
    ),
    wanted("innodb_pages_read", "1/s", "pages read", &[&["Innodb_pages_read"]]),
    wanted("innodb_pages_written", "1/s", "pages written", &[&["Innodb_pages_written"]]),
    wanted("innodb_pages_created", "1/s", "pages created", &[&["Innodb_pages_created"]]),
    wanted(
        "innodb_doublewrite_pages",
        "1/s",
        "pages written to the doublewrite buffer",
        &[&["Innodb_dblwr_pages_written"]],
    ),
    wanted(
        "innodb_doublewrite_writes",
        "1/s",
        "writes to the doublewrite buffer",
        &[&["Innodb_dblwr_writes"]],
    ),
    wanted("innodb_redo_bytes", "bytes/s", "redo log written", &[&["Innodb_os_log_written"]]),
    wanted("innodb_redo_writes", "1/s", "redo log writes", &[&["Innodb_log_writes"]]),
    wanted(
        "innodb_redo_write_requests",
        "1/s",
        "redo log write requests",
        &[&["Innodb_log_write_requests"]],
    ),
    wanted("innodb_redo_waits", "1/s", "waits for the redo log buffer", &[&["Innodb_log_waits"]]),
    wanted("innodb_fsyncs", "1/s", "fsyncs, all files", &[&["Innodb_data_fsyncs"]]),
    wanted("innodb_fsyncs_redo", "1/s", "fsyncs, redo log", &[&["Innodb_os_log_fsyncs"]]),
    wanted(
        "innodb_fsyncs_doublewrite",
        "1/s",
        "fsyncs, doublewrite files",
        &[&["files.innodb_dblwr_file.misc"]],
    ),
    wanted("innodb_data_reads", "1/s", "reads from files", &[&["Innodb_data_reads"]]),
    wanted("innodb_data_read_bytes", "bytes/s", "read from files", &[&["Innodb_data_read"]]),
    wanted("innodb_data_writes", "1/s", "writes to files", &[&["Innodb_data_writes"]]),
    wanted(
        "innodb_data_write_bytes",
        "bytes/s",
        "written as Innodb_data_written counts",
        &[&["Innodb_data_written"]],
    ),
    wanted(
        "innodb_file_data_read_bytes",
        "bytes/s",
        "read from data files",
        &[&["files.innodb_data_file.read_bytes"]],
    ),
    wanted(
        "innodb_file_data_write_bytes",
        "bytes/s",
        "written to data files",
        &[&["files.innodb_data_file.write_bytes"]],
    ),
    wanted(
        "innodb_file_redo_write_bytes",
        "bytes/s",
        "written to redo files",
        &[&["files.innodb_log_file.write_bytes"]],
    ),
    wanted(
        "innodb_file_doublewrite_write_bytes",
        "bytes/s",
        "written to doublewrite files",
        &[&["files.innodb_dblwr_file.write_bytes"]],
    ),
    wanted(
        "innodb_file_temp_write_bytes",
        "bytes/s",
        "written to temporary files",
        &[&["files.innodb_temp_file.write_bytes"]],
    ),
    wanted(
        "innodb_file_data_wait_us",
        "us/s",
        "waits for data files",
        &[&["files.innodb_data_file.wait_us"]],
    ),
    wanted(
        "innodb_file_redo_wait_us",
        "us/s",
        "waits for redo files",
        &[&["files.innodb_log_file.wait_us"]],
    ),
    wanted(
        "innodb_file_doublewrite_wait_us",
        "us/s",
        "waits for doublewrite files",
        &[&["files.innodb_dblwr_file.wait_us"]],
    ),
    wanted(
        "innodb_read_requests",
        "1/s",
        "logical page reads",
        &[&["Innodb_buffer_pool_read_requests"]],
    ),
    wanted(
        "innodb_read_misses",
        "1/s",
        "logical reads that went to disk",
        &[&["Innodb_buffer_pool_reads"]],
    ),
    wanted(
        "innodb_read_ahead_pages",
        "1/s",
        "pages read ahead",
        &[&["Innodb_buffer_pool_read_ahead"]],
    ),
    wanted(
        "innodb_free_page_waits",
        "1/s",
        "waits for a free page",
        &[&["Innodb_buffer_pool_wait_free"]],
    ),
    wanted("innodb_row_lock_waits", "1/s", "row lock waits", &[&["Innodb_row_lock_waits"]]),
    wanted("innodb_row_lock_ms", "ms/s", "time in row lock waits", &[&["Innodb_row_lock_time"]]),
    wanted(
        "innodb_deadlocks",
        "1/s",
        "deadlocks",
        &[&["Innodb_deadlocks"], &["metrics.lock_deadlocks"]],
    ),
    wanted("sql_questions", "1/s", "statements from clients", &[&["Questions"]]),
    wanted("sql_select", "1/s", "SELECT", &[&["Com_select"]]),
    wanted("sql_insert", "1/s", "INSERT", &[&["Com_insert"]]),
    wanted("sql_update", "1/s", "UPDATE", &[&["Com_update"]]),
    wanted("sql_delete", "1/s", "DELETE", &[&["Com_delete"]]),
    wanted("sql_begin", "1/s", "BEGIN", &[&["Com_begin"]]),
    wanted("sql_commit", "1/s", "COMMIT", &[&["Com_commit"]]),
    wanted("sql_rollback", "1/s", "ROLLBACK", &[&["Com_rollback"]]),
    wanted("sql_stmt_prepare", "1/s", "prepares", &[&["Com_stmt_prepare"]]),
    wanted(
        "sql_stmt_execute",
        "1/s",
        "executions of prepared statements",
        &[&["Com_stmt_execute"]],
    ),
    wanted("sql_sent_bytes", "bytes/s", "sent to clients", &[&["Bytes_sent"]]),
    wanted("sql_received_bytes", "bytes/s", "received from clients", &[&["Bytes_received"]]),
    wanted(
        "sql_tmp_disk_tables",
        "1/s",
        "temporary tables on disk",
        &[&["Created_tmp_disk_tables"]],
    ),
    wanted(
        "sql_binlog_write_bytes",
        "bytes/s",
        "written to the binary log",
        &[&["files.binlog.write_bytes"]],
    ),
    wanted("sql_binlog_fsyncs", "1/s", "fsyncs, binary log", &[&["files.binlog.misc"]]),
    wanted("sql_binlog_wait_us", "us/s", "waits for the binary log", &[&["files.binlog.wait_us"]]),
];

/// Values as they are at the moment of reading.
pub(super) const GAUGES: &[Wanted] = &[
    wanted("innodb_dirty_pages", "pages", "dirty pages", &[&["Innodb_buffer_pool_pages_dirty"]]),
    wanted("innodb_data_pages", "pages", "pages with data", &[&["Innodb_buffer_pool_pages_data"]]),
    wanted("innodb_free_pages", "pages", "free pages", &[&["Innodb_buffer_pool_pages_free"]]),
    wanted(
        "innodb_pool_pages",
        "pages",
        "pages of the buffer pool",
        &[&["Innodb_buffer_pool_pages_total"]],
    ),
    wanted(
        "innodb_checkpoint_age_bytes",
        "bytes",
        "checkpoint age",
        &[
            &["Innodb_checkpoint_age"],
            &["Innodb_redo_log_current_lsn", "-Innodb_redo_log_checkpoint_lsn"],
            &["Innodb_lsn_current", "-Innodb_lsn_last_checkpoint"],
            &["metrics.log_lsn_checkpoint_age"],
        ],
    ),
    wanted(
        "innodb_history_list_length",
        "count",
        "history list length",
        &[&["Innodb_history_list_length"], &["metrics.trx_rseg_history_len"]],
    ),
    wanted(
        "innodb_row_lock_current_waits",
        "count",
        "transactions waiting for row locks",
        &[&["Innodb_row_lock_current_waits"]],
    ),
    wanted("innodb_pending_reads", "count", "pending reads", &[&["Innodb_data_pending_reads"]]),
    wanted("innodb_pending_writes", "count", "pending writes", &[&["Innodb_data_pending_writes"]]),
    wanted("innodb_pending_fsyncs", "count", "pending fsyncs", &[&["Innodb_data_pending_fsyncs"]]),
    wanted(
        "sql_threads_running",
        "count",
        "threads running, the watch's own among them",
        &[&["Threads_running"]],
    ),
    wanted(
        "sql_threads_connected",
        "count",
        "connections, the watch's own among them",
        &[&["Threads_connected"]],
    ),
];

/// Every counter and gauge.
pub(super) fn all() -> impl Iterator<Item = &'static Wanted> {
    COUNTERS.iter().chain(GAUGES)
}

/// A term without its sign.
pub(super) fn bare(term: &'static str) -> &'static str {
    term.trim_start_matches('-')
}

/// Every name that some source uses and that begins with `prefix`, without the prefix.
pub(super) fn names(prefix: &'static str) -> Vec<&'static str> {
    let terms = all().flat_map(|wanted| wanted.sources.iter().copied().flatten());
    let mut names: Vec<_> = terms.filter_map(|term| bare(term).strip_prefix(prefix)).collect();
    names.sort_unstable();
    names.dedup();
    names
}
