//! The storage engine, by the server's own counters.
//!
//! Names are those of the MySQL manual ("Server status variables", "InnoDB INFORMATION_SCHEMA metrics table", "File I/O summary tables")
//! and of MariaDB's knowledge base.

use super::super::entry::{Metric, result, series};
use super::super::layer::Layer::Innodb;
use super::super::shown::{Chart, Group, Shown};
use super::super::unit::Unit;
use super::super::unit::Unit::{
    Bytes, BytesPerSecond, Count, MicrosecondsPerSecond, Milliseconds, MillisecondsPerSecond,
    Pages, PerSecond, PerTransaction, Percent, Ratio,
};

const fn counter(
    name: &'static str,
    unit: Unit,
    label: &'static str,
    sources: &'static [&'static [&'static str]],
) -> Metric {
    series(Innodb, name, unit, label).given(true, sources)
}

const fn gauge(
    name: &'static str,
    unit: Unit,
    label: &'static str,
    sources: &'static [&'static [&'static str]],
) -> Metric {
    series(Innodb, name, unit, label).given(false, sources)
}

pub(super) const ENGINE: &[Metric] = &[
    counter(
        "innodb_rows_read_per_s",
        PerSecond,
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
    )
    .line(Chart::RowsRead, 1, "read"),
    counter(
        "innodb_rows_inserted_per_s",
        PerSecond,
        "rows inserted",
        &[&["Innodb_rows_inserted"], &["Handler_write"]],
    )
    .line(Chart::RowsWritten, 1, "inserted"),
    counter(
        "innodb_rows_updated_per_s",
        PerSecond,
        "rows updated",
        &[&["Innodb_rows_updated"], &["Handler_update"]],
    )
    .line(Chart::RowsWritten, 2, "updated"),
    counter(
        "innodb_rows_deleted_per_s",
        PerSecond,
        "rows deleted",
        &[&["Innodb_rows_deleted"], &["Handler_delete"]],
    )
    .line(Chart::RowsWritten, 3, "deleted"),
    counter("innodb_pages_read_per_s", PerSecond, "pages read", &[&["Innodb_pages_read"]]),
    counter("innodb_pages_written_per_s", PerSecond, "pages written", &[&["Innodb_pages_written"]]),
    counter("innodb_pages_created_per_s", PerSecond, "pages created", &[&["Innodb_pages_created"]]),
    counter(
        "innodb_doublewrite_pages_per_s",
        PerSecond,
        "pages written to the doublewrite buffer",
        &[&["Innodb_dblwr_pages_written"]],
    ),
    counter(
        "innodb_doublewrite_writes_per_s",
        PerSecond,
        "writes to the doublewrite buffer",
        &[&["Innodb_dblwr_writes"]],
    ),
    counter(
        "innodb_redo_bytes_per_s",
        BytesPerSecond,
        "redo log written",
        &[&["Innodb_os_log_written"]],
    ),
    counter("innodb_redo_writes_per_s", PerSecond, "redo log writes", &[&["Innodb_log_writes"]]),
    counter(
        "innodb_redo_write_requests_per_s",
        PerSecond,
        "redo log write requests",
        &[&["Innodb_log_write_requests"]],
    ),
    counter(
        "innodb_redo_waits_per_s",
        PerSecond,
        "waits for the redo log buffer",
        &[&["Innodb_log_waits"]],
    ),
    counter("innodb_fsyncs_per_s", PerSecond, "fsyncs, all files", &[&["Innodb_data_fsyncs"]]),
    counter(
        "innodb_fsyncs_redo_per_s",
        PerSecond,
        "fsyncs, redo log",
        &[&["Innodb_os_log_fsyncs"]],
    ),
    counter(
        "innodb_fsyncs_doublewrite_per_s",
        PerSecond,
        "fsyncs, doublewrite files",
        &[&["files.innodb_dblwr_file.misc"]],
    ),
    counter("innodb_data_reads_per_s", PerSecond, "reads from files", &[&["Innodb_data_reads"]]),
    counter(
        "innodb_data_read_bytes_per_s",
        BytesPerSecond,
        "read from files",
        &[&["Innodb_data_read"]],
    ),
    counter("innodb_data_writes_per_s", PerSecond, "writes to files", &[&["Innodb_data_writes"]]),
    counter(
        "innodb_data_write_bytes_per_s",
        BytesPerSecond,
        "written as Innodb_data_written counts",
        &[&["Innodb_data_written"]],
    ),
    counter(
        "innodb_file_data_read_bytes_per_s",
        BytesPerSecond,
        "read from data files",
        &[&["files.innodb_data_file.read_bytes"]],
    ),
    counter(
        "innodb_file_data_write_bytes_per_s",
        BytesPerSecond,
        "written to data files",
        &[&["files.innodb_data_file.write_bytes"]],
    ),
    counter(
        "innodb_file_redo_write_bytes_per_s",
        BytesPerSecond,
        "written to redo files",
        &[&["files.innodb_log_file.write_bytes"]],
    ),
    counter(
        "innodb_file_doublewrite_write_bytes_per_s",
        BytesPerSecond,
        "written to doublewrite files",
        &[&["files.innodb_dblwr_file.write_bytes"]],
    ),
    counter(
        "innodb_file_temp_write_bytes_per_s",
        BytesPerSecond,
        "written to temporary files",
        &[&["files.innodb_temp_file.write_bytes"]],
    ),
    counter(
        "innodb_file_data_wait_us_per_s",
        MicrosecondsPerSecond,
        "waits for data files",
        &[&["files.innodb_data_file.wait_us"]],
    ),
    counter(
        "innodb_file_redo_wait_us_per_s",
        MicrosecondsPerSecond,
        "waits for redo files",
        &[&["files.innodb_log_file.wait_us"]],
    ),
    counter(
        "innodb_file_doublewrite_wait_us_per_s",
        MicrosecondsPerSecond,
        "waits for doublewrite files",
        &[&["files.innodb_dblwr_file.wait_us"]],
    ),
    counter(
        "innodb_read_requests_per_s",
        PerSecond,
        "logical page reads",
        &[&["Innodb_buffer_pool_read_requests"]],
    ),
    counter(
        "innodb_read_misses_per_s",
        PerSecond,
        "logical reads that missed the buffer pool",
        &[&["Innodb_buffer_pool_reads"]],
    ),
    counter(
        "innodb_read_ahead_pages_per_s",
        PerSecond,
        "pages read ahead",
        &[&["Innodb_buffer_pool_read_ahead"]],
    ),
    counter(
        "innodb_free_page_waits_per_s",
        PerSecond,
        "waits for a free page",
        &[&["Innodb_buffer_pool_wait_free"]],
    ),
    counter(
        "innodb_row_lock_waits_per_s",
        PerSecond,
        "row lock waits",
        &[&["Innodb_row_lock_waits"]],
    ),
    counter(
        "innodb_row_lock_ms_per_s",
        MillisecondsPerSecond,
        "time in row lock waits",
        &[&["Innodb_row_lock_time"]],
    ),
    counter(
        "innodb_deadlocks_per_s",
        PerSecond,
        "deadlocks",
        &[&["Innodb_deadlocks"], &["metrics.lock_deadlocks"]],
    ),
    gauge("innodb_dirty_pages", Pages, "dirty pages", &[&["Innodb_buffer_pool_pages_dirty"]]).line(
        Chart::DirtyPages,
        1,
        "dirty",
    ),
    gauge("innodb_data_pages", Pages, "pages with data", &[&["Innodb_buffer_pool_pages_data"]]),
    gauge("innodb_free_pages", Pages, "free pages", &[&["Innodb_buffer_pool_pages_free"]]),
    gauge(
        "innodb_pool_pages",
        Pages,
        "pages of the buffer pool",
        &[&["Innodb_buffer_pool_pages_total"]],
    ),
    gauge(
        "innodb_checkpoint_age_bytes",
        Bytes,
        "checkpoint age",
        &[
            &["Innodb_checkpoint_age"],
            &["Innodb_redo_log_current_lsn", "-Innodb_redo_log_checkpoint_lsn"],
            &["Innodb_lsn_current", "-Innodb_lsn_last_checkpoint"],
            &["metrics.log_lsn_checkpoint_age"],
        ],
    )
    .line(Chart::CheckpointAge, 1, "age"),
    gauge(
        "innodb_history_list_length",
        Count,
        "history list length",
        &[&["Innodb_history_list_length"], &["metrics.trx_rseg_history_len"]],
    ),
    gauge(
        "innodb_row_lock_current_waits",
        Count,
        "transactions waiting for row locks",
        &[&["Innodb_row_lock_current_waits"]],
    ),
    gauge("innodb_pending_reads", Count, "pending reads", &[&["Innodb_data_pending_reads"]]),
    gauge("innodb_pending_writes", Count, "pending writes", &[&["Innodb_data_pending_writes"]]),
    gauge("innodb_pending_fsyncs", Count, "pending fsyncs", &[&["Innodb_data_pending_fsyncs"]]),
    // Computed from the ones above.
    series(Innodb, "innodb_hit_ratio", Ratio, "buffer pool hit ratio").better_higher().column(
        Group::More,
        11,
        "buffer pool hits",
        Shown::ShareInPercent,
        "page requests served from the buffer pool",
    ),
    series(Innodb, "innodb_dirty_pages_percent", Percent, "dirty pages, of the buffer pool"),
    series(Innodb, "innodb_fsyncs_data_per_s", PerSecond, "fsyncs, data and doublewrite files"),
    series(Innodb, "innodb_row_lock_wait_ms", Milliseconds, "row lock wait, mean"),
    result(Innodb, "fsyncs_per_transaction", PerTransaction, "fsyncs")
        .quotient("innodb_fsyncs_per_s", "tps", 1.0)
        .column(
            Group::More,
            4,
            "fsyncs",
            Shown::PerTransaction,
            "fsync calls of InnoDB per transaction",
        ),
];
