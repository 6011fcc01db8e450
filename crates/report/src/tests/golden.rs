//! Stored studies of every format that is promised to stay readable are reported.

use super::*;

#[test]
fn the_golden_study_is_reported() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../study/golden");
    for entry in fs::read_dir(golden).unwrap() {
        let packed = fs::read(entry.unwrap().path()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let study = zstd::decode_all(packed.as_slice()).unwrap();
        fs::write(directory.path().join(assay_study::FILE_NAME), study).unwrap();
        let store = Store::open(directory.path()).unwrap();
        let written = write(&store, directory.path()).unwrap();
        let page = markup(&fs::read_to_string(&written.html).unwrap());
        assert!(page.contains("2 servers against 1 server is inconclusive"), "its verdict");
        assert!(section(&page, "several").is_some(), "its servers");
        let json: Value = serde_json::from_slice(&fs::read(&written.json).unwrap()).unwrap();
        assert_eq!(json["runs"].as_array().unwrap().len(), 4);
    }
}
