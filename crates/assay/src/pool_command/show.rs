//! Prints a cluster's figures as text.

use std::path::Path;

use assay_base::text::{counted, size};
use assay_pool::figures::{ClusterFigures, PoolFigures, StoreFigures};

/// Text of all figures.
pub(super) fn whole(conf: &Path, figures: &ClusterFigures) -> String {
    let mut lines = vec![format!("{}: {}", conf.display(), state(figures))];
    lines.extend(figures.problems.iter().map(|problem| format!("  problem: {problem}")));
    lines.push(format!(
        "  {} of {} used",
        size(figures.used_bytes as f64),
        size(figures.total_bytes as f64)
    ));
    lines.push(format!(
        "\n{:<8}{:<12}{:>12}{:>12}{:>12}",
        "store", "state", "used", "size", "commit"
    ));
    lines.extend(figures.stores.iter().map(store));
    if !figures.pools.is_empty() {
        lines.push(format!(
            "\n{:<24}{:<16}{:>11}{:>11}{:>11}  compression",
            "pool", "protection", "stored", "used", "free"
        ));
        lines.extend(figures.pools.iter().map(pool));
    }
    lines.join("\n")
}

fn state(figures: &ClusterFigures) -> String {
    let down = figures.stores.iter().filter(|store| !store.up).count();
    let mut words = vec![if figures.clean { "clean".to_owned() } else { "not clean".to_owned() }];
    if down > 0 {
        words.push(format!("{} of {} down", down, counted(figures.stores.len() as u64, "store")));
    }
    if figures.degraded_objects > 0 {
        let share = 100.0 * figures.degraded_share;
        let copies = counted(figures.degraded_objects, "copy");
        words.push(format!("{} missing ({share:.1} %)", copies));
    }
    if figures.recovery_bytes_per_s > 0 {
        words.push(format!("recovering {}/s", size(figures.recovery_bytes_per_s as f64)));
    }
    words.join(", ")
}

fn store(store: &StoreFigures) -> String {
    let state = match (store.up, store.r#in) {
        (true, true) => "up",
        (true, false) => "up, out",
        (false, true) => "down",
        (false, false) => "down, out",
    };
    let commit = store.commit_latency_ms.map_or_else(|| "-".into(), |ms| format!("{ms:.0} ms"));
    format!(
        "{:<8}{state:<12}{:>12}{:>12}{commit:>12}",
        store.store,
        size(store.used_bytes as f64),
        size(store.total_bytes as f64)
    )
}

fn pool(pool: &PoolFigures) -> String {
    let protection = match pool.kind.as_str() {
        "replicated" => counted(pool.size, "copy"),
        _ => format!("{} parts", pool.size),
    };
    let compression = pool.compression.as_deref().map_or_else(String::new, |how| {
        let (from, to) = (pool.compressed_from_bytes as f64, pool.compressed_to_bytes as f64);
        format!("  {how}, {} in {}", size(from), size(to))
    });
    format!(
        "{:<24}{protection:<16}{:>11}{:>11}{:>11}{compression}",
        pool.pool,
        size(pool.stored_bytes as f64),
        size(pool.used_bytes as f64),
        size(pool.free_bytes as f64)
    )
    .trim_end()
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_degraded_is_said_first() {
        let store = |up| StoreFigures {
            store: 1,
            up,
            r#in: true,
            total_bytes: 10 << 30,
            used_bytes: 1 << 30,
            commit_latency_ms: Some(1.6),
        };
        let mut figures = ClusterFigures {
            health: "HEALTH_WARN".into(),
            problems: vec!["1 osds down".into()],
            clean: false,
            degraded_objects: 34,
            degraded_share: 0.335,
            recovery_bytes_per_s: 0,
            total_bytes: 30 << 30,
            used_bytes: 3 << 30,
            stores: vec![store(true), store(false)],
            pools: vec![PoolFigures {
                pool: "rep".into(),
                kind: "replicated".into(),
                size: 2,
                min_size: 1,
                compression: None,
                objects: 3,
                stored_bytes: 1 << 20,
                used_bytes: 2 << 20,
                compressed_from_bytes: 0,
                compressed_to_bytes: 0,
                quota_bytes: None,
                free_bytes: 1 << 30,
            }],
        };
        let text = whole(Path::new("/c"), &figures);
        let first = "/c: not clean, 1 of 2 stores down, 34 copies missing (33.5 %)\n";
        assert!(text.starts_with(first), "{text}");
        assert!(text.contains("problem: 1 osds down") && text.contains("2 copies"), "{text}");
        (figures.clean, figures.degraded_objects) = (true, 0);
        figures.stores.pop();
        assert!(whole(Path::new("/c"), &figures).starts_with("/c: clean\n"));
    }
}
