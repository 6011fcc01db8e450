//! The storage engine, by the server's own counters.
//!
//! Names are those of the MySQL manual ("Server status variables", "InnoDB INFORMATION_SCHEMA
//! metrics table", "File I/O summary tables") and of MariaDB's knowledge base.

use super::super::entry::{MetricEntry, metrics};

pub(super) const ENGINE: &[MetricEntry] = metrics! { Innodb:
    series "innodb_rows_read_per_s", PerSecond, "rows read",
        counter(["Innodb_rows_read"] ["Handler_read_first" "Handler_read_key" "Handler_read_last"
            "Handler_read_next" "Handler_read_prev" "Handler_read_rnd" "Handler_read_rnd_next"]),
        line(RowsRead 1 "read");
    series "innodb_rows_inserted_per_s", PerSecond, "rows inserted",
        counter(["Innodb_rows_inserted"] ["Handler_write"]), line(RowsWritten 1 "inserted");
    series "innodb_rows_updated_per_s", PerSecond, "rows updated",
        counter(["Innodb_rows_updated"] ["Handler_update"]), line(RowsWritten 2 "updated");
    series "innodb_rows_deleted_per_s", PerSecond, "rows deleted",
        counter(["Innodb_rows_deleted"] ["Handler_delete"]), line(RowsWritten 3 "deleted");
    series "innodb_pages_read_per_s", PerSecond, "pages read", counter(["Innodb_pages_read"]);
    series "innodb_pages_written_per_s", PerSecond, "pages written",
        counter(["Innodb_pages_written"]);
    series "innodb_pages_created_per_s", PerSecond, "pages created",
        counter(["Innodb_pages_created"]);
    series "innodb_doublewrite_pages_per_s", PerSecond, "pages written to the doublewrite buffer",
        counter(["Innodb_dblwr_pages_written"]);
    series "innodb_doublewrite_writes_per_s", PerSecond, "writes to the doublewrite buffer",
        counter(["Innodb_dblwr_writes"]);
    series "innodb_redo_bytes_per_s", BytesPerSecond, "redo log written",
        counter(["Innodb_os_log_written"]);
    series "innodb_redo_writes_per_s", PerSecond, "redo log writes", counter(["Innodb_log_writes"]);
    series "innodb_redo_write_requests_per_s", PerSecond, "redo log write requests",
        counter(["Innodb_log_write_requests"]);
    series "innodb_redo_waits_per_s", PerSecond, "waits for the redo log buffer",
        counter(["Innodb_log_waits"]);
    series "innodb_fsyncs_per_s", PerSecond, "fsyncs, all files", counter(["Innodb_data_fsyncs"]);
    series "innodb_fsyncs_redo_per_s", PerSecond, "fsyncs, redo log",
        counter(["Innodb_os_log_fsyncs"]);
    series "innodb_fsyncs_doublewrite_per_s", PerSecond, "fsyncs, doublewrite files",
        counter(["files.innodb_dblwr_file.misc"]);
    series "innodb_data_reads_per_s", PerSecond, "reads from files", counter(["Innodb_data_reads"]);
    series "innodb_data_read_bytes_per_s", BytesPerSecond, "read from files",
        counter(["Innodb_data_read"]);
    series "innodb_data_writes_per_s", PerSecond, "writes to files",
        counter(["Innodb_data_writes"]);
    series "innodb_data_write_bytes_per_s", BytesPerSecond,
        "written as Innodb_data_written counts", counter(["Innodb_data_written"]);
    series "innodb_file_data_read_bytes_per_s", BytesPerSecond, "read from data files",
        counter(["files.innodb_data_file.read_bytes"]);
    series "innodb_file_data_write_bytes_per_s", BytesPerSecond, "written to data files",
        counter(["files.innodb_data_file.write_bytes"]);
    series "innodb_file_redo_write_bytes_per_s", BytesPerSecond, "written to redo files",
        counter(["files.innodb_log_file.write_bytes"]);
    series "innodb_file_doublewrite_write_bytes_per_s", BytesPerSecond,
        "written to doublewrite files", counter(["files.innodb_dblwr_file.write_bytes"]);
    series "innodb_file_temp_write_bytes_per_s", BytesPerSecond, "written to temporary files",
        counter(["files.innodb_temp_file.write_bytes"]);
    series "innodb_file_data_wait_us_per_s", MicrosecondsPerSecond, "waits for data files",
        counter(["files.innodb_data_file.wait_us"]);
    series "innodb_file_redo_wait_us_per_s", MicrosecondsPerSecond, "waits for redo files",
        counter(["files.innodb_log_file.wait_us"]);
    series "innodb_file_doublewrite_wait_us_per_s", MicrosecondsPerSecond,
        "waits for doublewrite files", counter(["files.innodb_dblwr_file.wait_us"]);
    series "innodb_read_requests_per_s", PerSecond, "logical page reads",
        counter(["Innodb_buffer_pool_read_requests"]);
    series "innodb_read_misses_per_s", PerSecond, "logical reads that missed the buffer pool",
        counter(["Innodb_buffer_pool_reads"]);
    series "innodb_read_ahead_pages_per_s", PerSecond, "pages read ahead",
        counter(["Innodb_buffer_pool_read_ahead"]);
    series "innodb_free_page_waits_per_s", PerSecond, "waits for a free page",
        counter(["Innodb_buffer_pool_wait_free"]);
    series "innodb_row_lock_waits_per_s", PerSecond, "row lock waits",
        counter(["Innodb_row_lock_waits"]);
    series "innodb_row_lock_ms_per_s", MillisecondsPerSecond, "time in row lock waits",
        counter(["Innodb_row_lock_time"]);
    series "innodb_deadlocks_per_s", PerSecond, "deadlocks",
        counter(["Innodb_deadlocks"] ["metrics.lock_deadlocks"]);
    series "innodb_dirty_pages", Pages, "dirty pages", gauge(["Innodb_buffer_pool_pages_dirty"]),
        line(DirtyPages 1 "dirty");
    series "innodb_data_pages", Pages, "pages with data", gauge(["Innodb_buffer_pool_pages_data"]);
    series "innodb_free_pages", Pages, "free pages", gauge(["Innodb_buffer_pool_pages_free"]);
    series "innodb_pool_pages", Pages, "pages of the buffer pool",
        gauge(["Innodb_buffer_pool_pages_total"]);
    series "innodb_checkpoint_age_bytes", Bytes, "checkpoint age",
        gauge(["Innodb_checkpoint_age"] ["Innodb_redo_log_current_lsn"
            "-Innodb_redo_log_checkpoint_lsn"] ["Innodb_lsn_current"
            "-Innodb_lsn_last_checkpoint"] ["metrics.log_lsn_checkpoint_age"]),
        line(CheckpointAge 1 "age");
    series "innodb_history_list_length", Count, "history list length",
        gauge(["Innodb_history_list_length"] ["metrics.trx_rseg_history_len"]);
    series "innodb_row_lock_current_waits", Count, "transactions waiting for row locks",
        gauge(["Innodb_row_lock_current_waits"]);
    series "innodb_pending_reads", Count, "pending reads", gauge(["Innodb_data_pending_reads"]);
    series "innodb_pending_writes", Count, "pending writes", gauge(["Innodb_data_pending_writes"]);
    series "innodb_pending_fsyncs", Count, "pending fsyncs", gauge(["Innodb_data_pending_fsyncs"]);
    // Computed from the ones above.
    series "innodb_hit_ratio", Ratio, "buffer pool hit ratio", better_higher(),
        column(More 11 "buffer pool hits" ShareInPercent
            "page requests served from the buffer pool");
    series "innodb_dirty_pages_percent", Percent, "dirty pages, of the buffer pool";
    series "innodb_fsyncs_data_per_s", PerSecond, "fsyncs, data and doublewrite files";
    series "innodb_row_lock_wait_ms", Milliseconds, "row lock wait, mean";
    result "fsyncs_per_transaction", PerTransaction, "fsyncs",
        quotient("innodb_fsyncs_per_s", "tps", 1.0),
        column(More 4 "fsyncs" PerTransaction "fsync calls of InnoDB per {event}");
};
