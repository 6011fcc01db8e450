//! Stored studies of every format that is promised to stay readable are reported.

use super::*;

/// The report of the golden study of the present format.
pub(super) fn report() -> Report {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../study/golden");
    report_of(&golden.join("format-8.sqlite.zst"))
}

fn report_of(packed: &Path) -> Report {
    let directory = tempfile::tempdir().unwrap();
    let study = zstd::decode_all(fs::read(packed).unwrap().as_slice()).unwrap();
    fs::write(directory.path().join(assay_study::FILE_NAME), study).unwrap();
    let store = Store::open(directory.path()).unwrap();
    let written = write(&store, directory.path()).unwrap();
    Report { _directory: directory, written }
}

#[test]
fn the_golden_study_of_each_format_is_reported() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../study/golden");
    for entry in fs::read_dir(golden).unwrap() {
        let report = report_of(&entry.unwrap().path());
        let page = markup(&report.html());
        assert!(page.contains("2 servers against 1 server is inconclusive"), "its verdict");
        assert!(section(&page, "several").is_some(), "its servers");
        let json = fs::read(&report.written.json).unwrap();
        let json: Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(json["runs"].as_array().unwrap().len(), 4);
    }
}
