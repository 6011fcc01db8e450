//! Estimate of a server's memory, checked before it is started.

use super::settings::{Settings, canonical};
use assay_base::Size;

/// Memory of a server besides its buffers: code, dictionary, performance schema, background
/// threads. Measured on MySQL 9.7 with a 32 MB buffer pool: 534 MB resident when idle, and 0.9 MB
/// more a connection.
const BASE_BYTES: u64 = 480 << 20;

/// Counted once: the name of the variable and its default in bytes (MySQL 8.4 reference manual).
const GLOBAL: [(&str, u64); 4] = [
    ("innodb_buffer_pool_size", 128 << 20),
    ("innodb_log_buffer_size", 64 << 20),
    ("key_buffer_size", 8 << 20),
    ("innodb_sort_buffer_size", 1 << 20),
];

/// Counted once a connection; sort and join buffers are only taken while a statement needs them, so
/// this is the bound for statements that need one of each.
const PER_CONNECTION: [(&str, u64); 5] = [
    ("thread_stack", 1 << 20),
    ("sort_buffer_size", 256 << 10),
    ("join_buffer_size", 256 << 10),
    ("read_buffer_size", 128 << 10),
    ("read_rnd_buffer_size", 256 << 10),
];

/// Upper estimate in bytes of the memory of a server with those settings under that many
/// connections. A value that is not a size counts as the default: the server itself will refuse it.
pub fn memory_needed_bytes(settings: &Settings, connections: u64) -> u64 {
    let size = |&(name, default): &(&str, u64)| {
        let given = settings.iter().find(|(given, _)| canonical(given) == name);
        given.and_then(|(_, value)| Size::parse(value).ok()).map_or(default, |size| size.0)
    };
    let global = GLOBAL.iter().map(size).fold(BASE_BYTES, u64::saturating_add);
    let each = PER_CONNECTION.iter().map(size).fold(0, u64::saturating_add);
    global.saturating_add(each.saturating_mul(connections))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffer_pool_and_connections_count() {
        let none = memory_needed_bytes(&Settings::new(), 0);
        let pool = Settings::from([("innodb-buffer-pool-size".into(), "2G".into())]);
        assert_eq!(memory_needed_bytes(&pool, 0) - none, (2 << 30) - (128 << 20));
        assert!(memory_needed_bytes(&pool, 100) > memory_needed_bytes(&pool, 1));
        let absurd = Settings::from([("innodb_buffer_pool_size".into(), "16383P".into())]);
        assert_eq!(memory_needed_bytes(&absurd, u64::MAX), u64::MAX);
    }
}
