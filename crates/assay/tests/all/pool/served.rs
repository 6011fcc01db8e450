//! Tests `kill -9` of the process that serves an image, repeatedly, during writes: fio verifies its
//! synchronous writes. `ASSAY_ROUNDS=20` is the long form.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use assay_ports::child::Process;
use rustix::process::Signal;

use crate::drive_killed::fio::job::Job;
use crate::drives::{MIB, has_fio};
use crate::pool::cluster::{Cluster, PATIENCE, cluster};

/// Number of kills in a run of all tests.
const ROUNDS: u64 = 3;

const BYTES: u64 = 96 * MIB;

fn rounds() -> u64 {
    std::env::var("ASSAY_ROUNDS").map_or(ROUNDS, |text| text.parse().expect("a number"))
}

fn job(cluster: &Cluster, device: &str, seed: u64) -> Job {
    let (directory, device) = (cluster.path(""), PathBuf::from(device));
    Job { directory, device, offset: 0, bytes: BYTES, seed }
}

/// Kills the serving process while fio writes.
fn load_and_kill(cluster: &Cluster, image: &str, job: &Job) {
    let pid = cluster.status_of(image)["pid"].as_u64().unwrap();
    let server = Process::open(u32::try_from(pid).unwrap()).unwrap().unwrap();
    let deadline = Instant::now() + PATIENCE;
    let fio = job.start(&format!("kill -9 {pid}"));
    fio.wait_until_it_writes(&job.device, deadline);
    fio.pull_trigger();
    fio.end(deadline);
    // Runs only if fio had written everything before.
    server.signal(Signal::KILL).unwrap();
    assert!(server.wait(Some(PATIENCE)).unwrap(), "the server does not die");
}

fn attach(cluster: &Cluster, image: &str) -> (String, Duration) {
    let began = Instant::now();
    let device = cluster.done(&["pool", "attach", image]);
    (device.trim().to_owned(), began.elapsed())
}

#[test]
#[ignore = "in --full: takes the shared cluster, and kills"]
fn an_image_survives_kills_of_its_server_under_fio() {
    if !has_fio() {
        return;
    }
    let Some(cluster) = cluster() else { return };
    let image = "rbd:rep/fio";
    cluster.done(&["pool", "image", image, "--size", "128M"]);
    let (mut device, _) = attach(&cluster, image);
    for round in 1..=rounds() {
        let job = job(&cluster, &device, round);
        load_and_kill(&cluster, image, &job);
        let took;
        (device, took) = attach(&cluster, image);
        let job = Job { device: PathBuf::from(&device), ..job };
        let verified = job.verify().unwrap_or_else(|said| panic!("round {round}: {said}"));
        println!(
            "round {round}: fio verified {:.1} MiB, attached again after {:.1} s",
            verified as f64 / MIB as f64,
            took.as_secs_f64()
        );
        assert!(verified > 0);
        if round == rounds() {
            assert_a_lost_block_is_noticed(&job);
        }
    }
    cluster.done(&["pool", "detach", image]);
}

/// Negative control: fio notices that data at the beginning were overwritten.
fn assert_a_lost_block_is_noticed(job: &Job) {
    let device = OpenOptions::new().write(true).open(&job.device).unwrap();
    device.write_all_at(&vec![0; BYTES as usize], 0).unwrap();
    device.sync_all().unwrap();
    let said = job.verify().unwrap_err();
    assert!(said.contains("fio found other data"), "{said}");
}
