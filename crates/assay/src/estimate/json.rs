//! The estimate for programs.

use serde_json::{Map, Value, json};

use super::configs::CONFIGS;
use super::find::Findings;
use super::text::Drawn;
use super::view::Row;

/// Everything of the table, not folded, and what the table leaves out.
#[must_use]
pub fn document(rows: &[Row], total: &Row, findings: &Findings, drawn: Drawn) -> Value {
    let skipped =
        findings.skipped.iter().map(|(path, reason)| json!({ "path": path, "reason": reason }));
    let links =
        findings.links.iter().map(|(link, target)| json!({ "link": link, "target": target }));
    json!({
        "total": row(total),
        "files": rows.iter().map(row).collect::<Vec<_>>(),
        "sample": {
            "is_exact": total.tally.is_exact(),
            "read_bytes": total.tally.read_bytes,
            "places": drawn.clusters,
            "seed": drawn.seed,
        },
        "skipped": skipped.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
    })
}

fn row(row: &Row) -> Value {
    let found = &row.tally.total;
    json!({
        "label": row.label,
        "files": row.files,
        "size_bytes": row.size_bytes,
        "allocated_bytes": row.allocated_bytes,
        "data_bytes": row.data_bytes,
        "read_bytes": row.tally.read_bytes,
        "zero_share": row.part(found.zero_bytes),
        "incompressible_share": row.part(found.incompressible_bytes),
        "notes": row.notes.iter().map(|note| note.text()).collect::<Vec<_>>(),
        "configs": configs(row),
    })
}

/// `stored_share` is stored bytes per byte of data: a ratio of all zeroes would be infinite.
fn configs(row: &Row) -> Map<String, Value> {
    let found = CONFIGS.iter().zip(row.shrinkages());
    let some = found.filter_map(|(config, found)| found.map(|found| (config.key, found)));
    some.map(|(key, found)| {
        let figures = json!({
            "stored_bytes": found.share * row.data_bytes,
            "stored_share": found.share,
            "stored_share_plus_minus": found.share_plus_minus,
            "ratio": found.ratio(),
            "ratio_plus_minus": found.ratio_plus_minus(),
        });
        (key.to_owned(), figures)
    })
    .collect()
}
