//! Tests the guarantees of an image: one writer, zeroes where it was discarded, less space if its
//! pool compresses.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

use crate::drives::{Drives, MIB, noise, system, unmount};
use crate::pool::cluster::cluster;

#[test]
#[ignore = "in --full: takes the shared cluster"]
fn an_image_has_one_writer_also_where_the_other_knows_nothing_of_it() {
    let Some(cluster) = cluster() else { return };
    let image = "rbd:rep/shared";
    cluster.done(&["pool", "image", image, "--size", "64M"]);
    cluster.done(&["pool", "attach", image]);
    let line = cluster.refused(&["pool", "attach", image]);
    assert!(line.contains("is already attached, as /dev/loop"), "{line}");
    // The other user's ledgers do not list the image, but the cluster knows its writer.
    let other = Drives::new();
    let conf = cluster.done(&["drive", "list", "--json"]);
    let conf = conf.split(":conf=").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let line = other.refused(&["pool", "attach", image, "--ceph-conf", &conf]);
    assert!(line.contains("rbd:rep/shared is in use by the client 127.0.0.1:"), "{line}");
    cluster.done(&["pool", "detach", image]);
    // Control: without the first writer, attaching succeeds.
    let device = other.done(&["pool", "attach", image, "--ceph-conf", &conf]);
    assert!(device.starts_with("/dev/loop"), "{device}");
    other.done(&["pool", "detach", image]);
    other.assert_nothing_left();
}

#[test]
#[ignore = "in --full: takes the shared cluster"]
fn what_was_discarded_is_zero_and_the_rest_stays() {
    let Some(cluster) = cluster() else { return };
    for image in ["rbd:rep/discarded", "rbd:ec/discarded"] {
        cluster.done(&["pool", "image", image, "--size", "64M"]);
        let device = cluster.done(&["pool", "attach", image]);
        let device = device.trim();
        let data = noise(16 * MIB as usize, 7);
        let file = OpenOptions::new().write(true).open(device).unwrap();
        file.write_all_at(&data, 0).unwrap();
        file.sync_all().unwrap();
        drop(file);
        let mut expected = data;
        // Less than an object, across two objects, and a whole one.
        for (offset, length) in [(4096, 4096), (4 * MIB - 8192, 16384), (8 * MIB, 4 * MIB)] {
            let (at, bytes) = (offset.to_string(), length.to_string());
            system("blkdiscard", &["--offset", &at, "--length", &bytes, device]);
            expected[offset as usize..][..length as usize].fill(0);
        }
        system("blockdev", &["--flushbufs", device]);
        let mut found = vec![1; expected.len()];
        File::open(device).unwrap().read_exact_at(&mut found, 0).unwrap();
        let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!(wrong, None, "the first wrong byte of {image}");
        cluster.done(&["pool", "detach", image]);
    }
}

#[test]
#[ignore = "in --full: takes the shared cluster"]
fn an_audit_guarantees_nothing_of_an_image() {
    let Some(cluster) = cluster() else { return };
    let image = "rbd:rep/audited";
    cluster.done(&["pool", "image", image, "--size", "64M"]);
    let device = cluster.done(&["pool", "attach", image]);
    system("mkfs.ext4", &["-q", device.trim()]);
    let target = cluster.path("audited");
    std::fs::create_dir(&target).unwrap();
    let target = target.to_str().unwrap();
    system("mount", &[device.trim(), target]);
    std::fs::write(format!("{target}/t.ibd"), noise(MIB as usize, 3)).unwrap();
    File::open(format!("{target}/t.ibd")).unwrap().sync_all().unwrap();
    let audited = cluster.run(&["audit", target, "--writes", "direct", "--json"]);
    unmount(target.as_ref());
    assert_eq!(audited.status.code(), Some(1), "{audited:?}");
    let audited: serde_json::Value = serde_json::from_slice(&audited.stdout).unwrap();
    assert_eq!(audited["class"], "unknown", "{audited:#}");
    assert_eq!(audited["stacks"][0]["files"][0]["served"]["kind"], "plain", "{audited:#}");
    cluster.done(&["pool", "detach", image]);
}

#[test]
#[ignore = "in --full: takes the shared cluster"]
fn a_pool_that_compresses_takes_less_than_is_stored() {
    let Some(cluster) = cluster() else { return };
    let words = ["--compression", "aggressive", "--compression-algorithm", "zstd"];
    cluster.done(&[&["pool", "create", "small", "--protect", "2"][..], &words].concat());
    cluster.done(&["pool", "image", "rbd:small/vol", "--size", "64M"]);
    let device = cluster.done(&["pool", "attach", "rbd:small/vol"]);
    let file = OpenOptions::new().write(true).open(device.trim()).unwrap();
    file.write_all_at(&b"compress me, ".repeat(2_600_000)[..32 * MIB as usize], 0).unwrap();
    file.sync_all().unwrap();
    drop(file);
    cluster.wait_until("compressed", |figures| {
        let pools = figures["pools"].as_array().unwrap();
        let small = pools.iter().find(|pool| pool["pool"] == "small").unwrap();
        let bytes = |key: &str| small[key].as_u64().unwrap();
        bytes("stored_bytes") >= 32 * MIB
            && bytes("used_bytes") < 2 * 32 * MIB * 3 / 4
            && bytes("compressed_to_bytes") * 2 <= bytes("compressed_from_bytes")
            && small["compression"] == "aggressive, zstd"
    });
    cluster.done(&["pool", "detach", "rbd:small/vol"]);
}
