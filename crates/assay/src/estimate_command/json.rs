//! Prints an estimate as JSON.

use serde_json::{Map, Value, json};

use assay_estimate::{Estimate, EstimateRow, SCHEMES};

/// The whole table, without folded rows, and the files that it leaves out.
#[must_use]
pub(crate) fn document(estimate: &Estimate) -> Value {
    let Estimate { findings, rows, total, sample, encrypting } = estimate;
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
            "places": sample.clusters,
            "seed": sample.seed,
        },
        "skipped": skipped.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
        "encrypting_devices": encrypting,
    })
}

fn row(row: &EstimateRow) -> Value {
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
fn configs(row: &EstimateRow) -> Map<String, Value> {
    let found = SCHEMES.iter().zip(row.shrinkages());
    let some = found.filter_map(|(scheme, found)| found.map(|found| (scheme.key, found)));
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
