use std::time::{Duration, Instant};

use super::super::sheet::Moment;
use super::*;

/// MySQL 9.7 before and after six seconds of a write load, shortened, with what `INNODB_METRICS`
/// and the file summary answered. Reads, rows, locks and statements are made up, to be easy to
/// check.
const MYSQL_9_7: [(&str, f64, f64); 22] = [
    ("Innodb_buffer_pool_pages_dirty", 308.0, 886.0),
    ("Innodb_buffer_pool_pages_total", 8192.0, 8192.0),
    ("Innodb_buffer_pool_read_requests", 29205.0, 29305.0),
    ("Innodb_buffer_pool_reads", 869.0, 879.0),
    ("Innodb_data_fsyncs", 253.0, 3546.0),
    ("Innodb_os_log_fsyncs", 77.0, 3298.0),
    ("Innodb_data_written", 27_550_208.0, 88_230_912.0),
    ("Innodb_os_log_written", 13_482_496.0, 30_101_504.0),
    ("Innodb_dblwr_pages_written", 666.0, 3024.0),
    ("Innodb_dblwr_writes", 10.0, 32.0),
    ("Innodb_pages_written", 850.0, 3208.0),
    ("Innodb_redo_log_checkpoint_lsn", 26_272_566.0, 40_132_027.0),
    ("Innodb_redo_log_current_lsn", 32_520_883.0, 47_805_231.0),
    ("Innodb_rows_read", 0.0, 12_000.0),
    ("Innodb_row_lock_time", 0.0, 30.0),
    ("Innodb_row_lock_waits", 0.0, 10.0),
    ("Com_select", 4.0, 7.0),
    ("metrics.trx_rseg_history_len", 24.0, 305.0),
    ("files.innodb_data_file.write_bytes", 46_284_800.0, 88_064_000.0),
    ("files.innodb_dblwr_file.write_bytes", 11_616_256.0, 50_249_728.0),
    ("files.innodb_dblwr_file.misc", 6.0, 6.0),
    ("files.innodb_log_file.wait_us", 1000.0, 901_000.0),
];

/// Names as documented, figures made up here and below. A MySQL 8.0 without status variables for
/// the log's position (they came with 8.0.30); the metric stands in.
const MYSQL_8_0_OLD: [(&str, f64, f64); 3] = [
    ("Innodb_rows_read", 10.0, 20.0),
    ("metrics.log_lsn_checkpoint_age", 5000.0, 6000.0),
    ("metrics.trx_rseg_history_len", 7.0, 8.0),
];

const MARIADB_10_6: [(&str, f64, f64); 5] = [
    ("Innodb_checkpoint_age", 100.0, 200.0),
    ("Innodb_lsn_current", 1100.0, 1300.0),
    ("Innodb_lsn_last_checkpoint", 1000.0, 1050.0),
    ("Innodb_history_list_length", 3.0, 4.0),
    ("Innodb_rows_read", 10.0, 20.0),
];

/// A newer MariaDB that keeps no rows of InnoDB alone.
const MARIADB_NEW: [(&str, f64, f64); 10] = [
    ("Innodb_data_fsyncs", 10.0, 20.0),
    ("Handler_read_first", 1.0, 2.0),
    ("Handler_read_key", 10.0, 20.0),
    ("Handler_read_last", 0.0, 0.0),
    ("Handler_read_next", 100.0, 300.0),
    ("Handler_read_prev", 0.0, 0.0),
    ("Handler_read_rnd", 0.0, 0.0),
    ("Handler_read_rnd_next", 5.0, 6.0),
    ("Handler_write", 5.0, 9.0),
    ("Innodb_deadlocks", 0.0, 1.0),
];

fn computed(status: &[(&str, f64, f64)]) -> (Columns, HashMap<String, f64>) {
    let mut values = Values::default();
    for (name, before, _) in status {
        values.put(["", name, ""], *before);
    }
    let columns = Columns::declare(&values);
    let start = Instant::now();
    let mut moment = |at: Instant, second: bool| {
        values.forget();
        for (name, before, after) in status {
            values.put(["", name, ""], if second { *after } else { *before });
        }
        let mut reading = columns.sheet.blank();
        columns.fill(&values, &mut reading);
        Moment { at, reading }
    };
    let (before, after) = (moment(start, false), moment(start + Duration::from_secs(1), true));
    let names: Vec<_> = columns.sheet.infos().map(|info| info.name.clone()).collect();
    let mut computed = HashMap::new();
    columns.sheet.compute(&before, &after, |place, value| {
        computed.insert(names[place].clone(), value);
    });
    (columns, computed)
}

#[test]
fn mysql_gives_rates_ratios_and_the_log_position() {
    let (columns, values) = computed(&MYSQL_9_7);
    for (name, expected) in [
        ("innodb_rows_read_per_s", 12_000.0),
        ("innodb_pages_written_per_s", 2358.0),
        ("innodb_doublewrite_pages_per_s", 2358.0),
        ("innodb_redo_bytes_per_s", 16_619_008.0),
        ("innodb_fsyncs_per_s", 3293.0),
        ("innodb_fsyncs_redo_per_s", 3221.0),
        ("innodb_fsyncs_data_per_s", 72.0),
        ("innodb_fsyncs_doublewrite_per_s", 0.0),
        ("innodb_file_doublewrite_write_bytes_per_s", 38_633_472.0),
        ("innodb_file_redo_wait_us_per_s", 900_000.0),
        ("innodb_checkpoint_age_bytes", 7_673_204.0),
        ("innodb_history_list_length", 305.0),
        ("innodb_hit_ratio", 0.9),
        ("innodb_dirty_pages", 886.0),
        ("innodb_row_lock_wait_ms", 3.0),
        ("sql_select_per_s", 3.0),
    ] {
        assert_eq!(values.get(name), Some(&expected), "{name}");
    }
    assert!((values["innodb_dirty_pages_percent"] - 10.815).abs() < 0.001);
    assert!(!columns.rows_from_handlers);
}

#[test]
fn series_belong_to_the_layer_of_their_name() {
    let (columns, _) = computed(&MYSQL_9_7);
    for info in columns.sheet.infos() {
        let layer = info.metric.layer;
        assert!(info.name.starts_with(layer.word()), "{} in {layer:?}", info.name);
    }
}

#[test]
fn older_mysql_and_mariadb_have_their_own_sources() {
    let (_, values) = computed(&MYSQL_8_0_OLD);
    assert_eq!(values["innodb_checkpoint_age_bytes"], 6000.0);
    let (_, values) = computed(&MARIADB_10_6);
    assert_eq!(values["innodb_checkpoint_age_bytes"], 200.0);
    assert_eq!(values["innodb_history_list_length"], 4.0);
}

#[test]
fn rows_come_from_handlers_where_innodb_has_none() {
    let (columns, values) = computed(&MARIADB_NEW);
    assert!(columns.rows_from_handlers);
    assert_eq!(values["innodb_rows_read_per_s"], 212.0);
    assert_eq!(values["innodb_rows_inserted_per_s"], 4.0);
    assert_eq!(values["innodb_deadlocks_per_s"], 1.0);
    assert!(!values.contains_key("innodb_fsyncs_data_per_s"));
}

#[test]
fn whose_rows_are_counted_is_a_fact_and_nothing_wrong() {
    let told = |status: &[(&str, f64, f64)]| {
        let mut notes = Notes::default();
        computed(status).0.tell(&mut notes);
        (notes.take_facts().into_keys().collect::<Vec<_>>(), notes.take_new())
    };
    assert_eq!(told(&MARIADB_NEW), (vec![ROWS_FACT.to_owned()], vec![]));
    assert_eq!(told(&MYSQL_9_7), (vec![], vec![]), "it counts InnoDB's own");
}

#[test]
fn a_server_that_forgot_a_name_leaves_a_gap() {
    let mut values = Values::default();
    values.put(["", "Innodb_rows_read", ""], 5.0);
    let columns = Columns::declare(&values);
    values.forget();
    let mut reading = columns.sheet.blank();
    columns.fill(&values, &mut reading);
    assert!(reading.iter().all(|value| value.is_nan()));
}

#[test]
fn metrics_are_asked_for_only_where_the_status_lacks_them() {
    let mut mysql = Values::default();
    mysql.put(["", "Innodb_redo_log_current_lsn", ""], 1.0);
    mysql.put(["", "Innodb_redo_log_checkpoint_lsn", ""], 1.0);
    assert_eq!(metrics_missing_from(&mysql), ["lock_deadlocks", "trx_rseg_history_len"]);
    let mut mariadb = Values::default();
    for name in ["Innodb_checkpoint_age", "Innodb_history_list_length", "Innodb_deadlocks"] {
        mariadb.put(["", name, ""], 1.0);
    }
    assert!(metrics_missing_from(&mariadb).is_empty());
}
