//! The software drive under a configuration of an invented study: what it would count.

/// Whether a configuration stands on one.
pub(super) fn is_under(config: &str) -> bool {
    ["doublewrite off", "csd"].contains(&config)
}

/// Results of a run on the drive beyond those of others.
pub(super) fn results(tps: f64, write_bytes: f64) -> impl Iterator<Item = (String, f64)> {
    let counted = kinds(tps, write_bytes).map(|(name, value, _)| (name, value));
    let others = [
        ("drive_logical_bytes_used", 0.86e9),
        ("drive_compression_ratio", 2.0),
        ("daemon_cpu_us_per_query", 12.5),
        ("daemon_cpu_percent", 31.0),
    ];
    counted.into_iter().chain(others).map(|(name, value)| (name.into(), value))
}

/// The drive's counters: name, value, and variation.
pub(super) fn kinds(tps: f64, write_bytes: f64) -> [(&'static str, f64, f64); 17] {
    [
        ("drive_write_bytes_host_per_s", tps * write_bytes, 0.2),
        ("drive_write_bytes_media_per_s", tps * write_bytes * 0.72, 0.2),
        ("drive_read_bytes_host_per_s", tps * 18_000.0, 0.1),
        ("drive_read_bytes_media_per_s", tps * 9_000.0, 0.1),
        ("drive_writes_host_per_s", tps * 2.6, 0.2),
        ("drive_writes_media_per_s", tps * 0.9, 0.2),
        ("drive_reads_media_per_s", tps * 1.1, 0.1),
        ("drive_flushes_per_s", tps * 0.8, 0.1),
        ("drive_write_amplification", 0.72, 0.1),
        ("drive_write_amplification_payload", 0.5, 0.05),
        ("drive_write_amplification_table", 0.1, 0.1),
        ("drive_write_amplification_gc", 0.1, 0.9),
        ("drive_write_amplification_checkpoint", 0.02, 0.9),
        ("drive_segments_free_percent", 22.0, 0.05),
        ("drive_free_percent", 41.0, 0.02),
        ("drive_gc_segments_per_s", 3.0, 0.6),
        ("drive_gc_stalls_per_s", 0.0, 0.0),
    ]
}
