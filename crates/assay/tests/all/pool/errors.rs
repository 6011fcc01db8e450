//! Tests that failures of a pool are reported in one line that says what to do, and leave nothing.

use std::path::{Path, PathBuf};

use assay_testing::free_port;

use crate::drives::{Drives, MIB};
use crate::pool::cluster::{Cluster, cluster};

/// Path of the cluster's configuration file.
fn conf(cluster: &Cluster) -> PathBuf {
    let pools = std::fs::read_dir(cluster.path("state/pools")).unwrap();
    pools.map(|pool| pool.unwrap().path()).next().unwrap().join("ceph.conf")
}

/// Writes a changed copy of the configuration file.
fn changed(cluster: &Cluster, name: &str, change: impl Fn(&str) -> Option<String>) -> String {
    let text = std::fs::read_to_string(conf(cluster)).unwrap();
    let line = |line: &str| change(line).unwrap_or_else(|| line.to_owned());
    let text: Vec<String> = text.lines().map(line).collect();
    cluster.write(name, &(text.join("\n") + "\n")).display().to_string()
}

/// Asserts that each of these commands is refused with a line that contains its text.
fn refused_all(world: &Drives, commands: &[(&[&str], &str)]) {
    for (words, says) in commands {
        let line = world.refused(words);
        assert!(line.contains(says), "{words:?}: {line}");
    }
}

#[test]
fn what_no_cluster_is_asked_for_is_refused_without_one() {
    let world = Drives::new();
    let conf = world.write("ceph.conf", "").display().to_string();
    refused_all(
        &world,
        &[
            (&["pool", "image", "rbd:rep", "--size", "16M"], "write rbd:POOL/IMAGE"),
            (
                &["pool", "create", "one", "--protect", "1"],
                "neither a number of copies, 2 or 3, nor k+m",
            ),
            (&["pool", "stop", "--name", "x"], "no private cluster x runs"),
            (
                &["pool", "status", "--ceph-conf", "none"],
                "no private cluster none runs, and there is no file none",
            ),
            (
                &["drive", "create", "vol.img", "--capacity", "64M", "--ceph-conf", &conf],
                "--ceph-conf is for images",
            ),
        ],
    );
    assert_eq!(world.listing(), ["ceph.conf"]);
    world.assert_nothing_left();
}

#[test]
#[ignore = "in --full: takes the shared cluster"]
fn each_error_of_a_pool_is_one_line() {
    let Some(cluster) = cluster() else { return };
    let real = conf(&cluster).display().to_string();
    let stranger = cluster.write(
        "stranger.keyring",
        "[client.admin]\n\tkey = AQDiv0RgAAAAABAAOPW7FyHtWAaT3Fy3ckl9Ng==\n",
    );
    let refusing = changed(&cluster, "refusing.conf", |line| {
        let is_admins = line.ends_with("admin.keyring");
        is_admins.then(|| format!("keyring = {}", stranger.display()))
    });
    let silent = changed(&cluster, "silent.conf", |line| {
        let port = free_port();
        line.starts_with("mon host").then(|| format!("mon host = v2:127.0.0.1:{port}"))
    });
    cluster.done(&["pool", "image", "rbd:rep/there", "--size", "16M"]);
    let commands = [
        (&["pool", "attach", "rbd:none/x"][..], "there is no pool none in this cluster"),
        (&["pool", "attach", "rbd:rep/none"], "there is no image rbd:rep/none; create it with"),
        (&["drive", "attach", "rbd:rep/none"], "there is no image rbd:rep/none; create it with"),
        (&["drive", "attach", "rbd:rep/there"], "this is not an Assay drive"),
        (&["drive", "create", "rbd:rep/there"], "overwrite one with --erase rbd:rep/there"),
        (
            &["drive", "create", "rbd:rep/there", "--capacity", "64M"],
            "rbd:rep/there already exists",
        ),
        (&["pool", "image", "rbd:rep/there", "--size", "16M"], "rbd:rep/there already exists"),
        (&["pool", "image", "rbd:rep/odd", "--size", "4097"], "not a multiple of 4096"),
        (&["pool", "image", "rbd:ec.data/x", "--size", "16M"], "its pool is erasure-coded"),
        (&["pool", "create", "rep", "--protect", "2"], "there is a pool rep already"),
        (&["pool", "create", "six", "--protect", "4+2"], "takes 6 stores, and the cluster has 3"),
        (&["pool", "kill-store", "9"], "store 9 does not run"),
        (&["pool", "return-store", "0"], "store 0 runs already"),
        (&["pool", "start"], "already runs; stop it with `assay pool stop --name pool`"),
        (&["pool", "status", "--ceph-conf", "/none/ceph.conf"], "/none/ceph.conf: No such file"),
        (&["pool", "status", "--ceph-conf", &refusing], "refused client.admin"),
        (
            &["pool", "status", "--ceph-conf", &real, "--ceph-user", "nobody"],
            "refused client.nobody",
        ),
        (&["pool", "status", "--ceph-conf", &silent], "do not answer; check that the cluster runs"),
    ];
    refused_all(&cluster, &commands);
}

#[test]
#[ignore = "in --full: takes the shared cluster"]
fn a_full_pool_and_one_without_overwrites_are_told_apart() {
    use std::os::unix::fs::FileExt;
    let Some(cluster) = cluster() else { return };
    cluster.done(&["pool", "create", "tiny", "--protect", "2", "--quota", "16M"]);
    cluster.done(&["pool", "image", "rbd:tiny/vol", "--size", "256M"]);
    let device = cluster.done(&["pool", "attach", "rbd:tiny/vol"]);
    let file = std::fs::OpenOptions::new().write(true).open(device.trim()).unwrap();
    let piece = vec![7; MIB as usize];
    // The cluster updates its figures some seconds later.
    cluster.wait_until("full", |figures| {
        for place in 0..24 {
            let _ = file.write_all_at(&piece, place * MIB);
        }
        let failed = file.sync_all().is_err();
        failed || figures["problems"].to_string().contains("full")
    });
    let fails = (0..200).any(|place| {
        file.write_all_at(&piece, place * MIB).and_then(|()| file.sync_all()).is_err()
    });
    assert!(fails, "writing to a full pool fails, and does not wait for ever");
    drop(file);
    cluster.done(&["pool", "detach", "rbd:tiny/vol"]);
    let line = cluster.refused(&["pool", "image", "rbd:tiny/more", "--size", "16M"]);
    assert!(line.contains("the pool is full; free some, or raise its quota"), "{line}");
}

#[test]
fn without_ceph_and_without_packages_it_is_said_what_to_install() {
    let test = "without_ceph_and_without_packages_it_is_said_what_to_install";
    if Path::new("/usr/bin/ceph-mon").exists() {
        // Ceph cannot be missing then.
        println!("{test}: Ceph is installed");
        return;
    }
    let world = Drives::new();
    let output = world
        .command(&["pool", "start"])
        .env("ASSAY_CACHE", world.path("cache"))
        .env("PATH", "/nonexistent")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    let line = said.lines().last().unwrap();
    assert!(
        line.contains("no Ceph is installed and none can be downloaded without `apt-get`"),
        "{line}"
    );
    assert!(line.contains("install ceph-mon, ceph-mgr, ceph-osd"), "{line}");
    world.assert_nothing_left();
}

#[test]
#[ignore = "in --full: takes the shared cluster"]
fn a_data_pool_without_overwrites_is_refused() {
    let Some(cluster) = cluster() else { return };
    // Assay makes no such pool; a cluster's own may be one.
    let conf = conf(&cluster).display().to_string();
    let ceph = |words: &[&str]| {
        cluster.done(
            &[&["pool", "run", "--ceph-conf", &conf, "ceph", "osd", "pool"][..], words].concat(),
        )
    };
    ceph(&["create", "whole", "8", "8", "erasure", "assay-2-1"]);
    ceph(&["application", "enable", "whole", "rbd"]);
    let words = ["pool", "image", "rbd:rep/whole", "--size", "16M", "--data-pool", "whole"];
    let line = cluster.refused(&words);
    assert!(line.contains("its data pool takes no overwrites; allow them with"), "{line}");
    // Control.
    ceph(&["set", "whole", "allow_ec_overwrites", "true"]);
    cluster.done(&words);
}

/// Killed stores, returned when dropped, also when the test fails: later tests would wait for them.
struct Lost<'a> {
    cluster: &'a Cluster,
    stores: [&'a str; 3],
}

impl<'a> Lost<'a> {
    fn of(cluster: &'a Cluster, stores: [&'a str; 3]) -> Lost<'a> {
        let lost = Lost { cluster, stores };
        stores.iter().for_each(|store| drop(cluster.done(&["pool", "kill-store", store])));
        lost
    }
}

impl Drop for Lost<'_> {
    fn drop(&mut self) {
        for store in self.stores {
            let _ = self.cluster.run(&["pool", "return-store", store]);
        }
    }
}

#[test]
#[ignore = "in --full: takes a minute of waiting for stores that do not answer"]
fn a_pool_that_lacks_too_many_stores_is_given_up_on() {
    let Some(cluster) = cluster() else { return };
    cluster.done(&["pool", "image", "rbd:ec/waits", "--size", "16M"]);
    // All stores: the objects that name the image may be on the last one.
    let lost = Lost::of(&cluster, ["0", "1", "2"]);
    let line = cluster.refused(&["pool", "attach", "rbd:ec/waits"]);
    assert!(line.contains("did not answer within 30 s; check the cluster's health"), "{line}");
    let making = cluster.run(&["pool", "image", "rbd:ec/never", "--size", "16M"]);
    let said = String::from_utf8(making.stderr).unwrap();
    assert_eq!(making.status.code(), Some(2), "{said}");
    let [waiting, line] = said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
    assert!(waiting.contains("waiting for the cluster: creating rbd:ec/never; "), "{said}");
    assert!(line.contains("creating rbd:ec/never did not answer within 30 s"), "{said}");
    drop(lost);
    cluster.wait_until_well();
    cluster.done(&["pool", "attach", "rbd:ec/waits"]);
    cluster.done(&["pool", "detach", "rbd:ec/waits"]);
}
