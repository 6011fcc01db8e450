//! Tests a store of the pool that is killed under MySQL: the server continues, and no acknowledged
//! commit is lost, before or during the kill, even if server and serving process are killed
//! afterwards. The store returns, and the pool is clean again.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use assay_ports::child::Process;
use assay_testing::skip;
use rustix::process::Signal;

use crate::common::has_server;
use crate::drive_killed::mysql::ledger::{self, Committed};
use crate::drive_killed::mysql::server::{Program, Server};
use crate::drives::system;
use crate::pool::cluster::{Cluster, PATIENCE, cluster};

/// Number of transactions before and after the kill.
const BEFORE: usize = 60;
const AFTER: usize = 120;

/// MySQL on a file system on an image, or on a drive on an image.
struct Bench<'a> {
    cluster: &'a Cluster,
    image: String,
    /// Command that attaches it: `pool attach` or `drive attach`.
    kind: &'static str,
    program: Program,
    server: Option<Server>,
    committed: Committed,
}

impl<'a> Bench<'a> {
    fn new(cluster: &'a Cluster, image: &str, kind: &'static str) -> Option<Bench<'a>> {
        let data = empty_data_directory(cluster)?;
        match kind {
            "pool" => cluster.done(&["pool", "image", image, "--size", "1G"]),
            _ => cluster.done(&["drive", "create", image, "--capacity", "1G"]),
        };
        let device = cluster.done(&[kind, "attach", image]);
        let files = cluster.make_files(device.trim());
        system("cp", &["-a", data.to_str().unwrap(), files.join("data").to_str().unwrap()]);
        // Otherwise killing the serving process would lose data that only the kernel has.
        system("sync", &["--file-system", files.to_str().unwrap()]);
        let list = cluster.done(&["server", "list", "--json"]);
        let program = Program::find(&list, &files.join("data"))?;
        let server = program.start().unwrap();
        ledger::make(&mut server.connect());
        let (image, server) = (image.to_owned(), Some(server));
        Some(Bench { cluster, image, kind, program, server, committed: Committed::default() })
    }

    /// Kills the store while transactions are committed, then server and serving process.
    fn load_and_kill(&mut self, store: &str) {
        let server = self.server.take().unwrap();
        let (tell, answers) = channel();
        let writers: Vec<_> = (0..)
            .zip(self.committed)
            .map(|(lane, next)| {
                let (opts, tell) = (server.opts(), tell.clone());
                std::thread::spawn(move || ledger::write(opts, lane, next, &tell))
            })
            .collect();
        drop(tell);
        wait_for(&answers, BEFORE);
        let began = Instant::now();
        self.cluster.done(&["pool", "kill-store", store]);
        wait_for(&answers, AFTER);
        println!("{AFTER} commits within {:.1} s of the kill", began.elapsed().as_secs_f64());
        let serving = self.serving();
        [&serving, &Process::open(server.pid()).unwrap().unwrap()]
            .iter()
            .for_each(|victim| victim.signal(Signal::KILL).unwrap());
        server.wait();
        assert!(serving.wait(Some(PATIENCE)).unwrap());
        // All writers end when their server is gone.
        while answers.recv_timeout(PATIENCE).is_ok() {}
        for (committed, writer) in self.committed.iter_mut().zip(writers) {
            *committed = writer.join().unwrap();
        }
    }

    fn serving(&self) -> Process {
        let health = self.cluster.status_of(&self.image);
        Process::open(u32::try_from(health["pid"].as_u64().unwrap()).unwrap()).unwrap().unwrap()
    }

    /// Attaches and mounts the image and starts the server, with the remaining stores.
    fn bring_back(&mut self) {
        self.cluster.unmount();
        let device = self.cluster.done(&[self.kind, "attach", &self.image]);
        self.cluster.mount(device.trim());
        self.server = Some(self.program.start().unwrap());
    }

    fn check(&mut self) {
        let server = self.server.as_ref().unwrap();
        let there = ledger::check(&mut server.connect(), &self.committed).unwrap();
        let tables = server.check_tables().unwrap();
        println!("{} commits answered and there, {tables} tables clean", there.iter().sum::<u64>());
        self.assert_a_lost_commit_is_noticed(&there);
    }

    /// Negative control of the ledger.
    fn assert_a_lost_commit_is_noticed(&self, there: &Committed) {
        use mysql::prelude::Queryable;
        let server = self.server.as_ref().unwrap();
        let mut conn = server.connect();
        let last = "DELETE FROM ledger.entries WHERE id >> 40 = 0 ORDER BY id DESC LIMIT 2";
        conn.query_drop(last).unwrap();
        conn.query_drop("UPDATE ledger.totals SET entries = entries - 2 WHERE lane = 0").unwrap();
        let problem = ledger::check(&mut conn, there).unwrap_err();
        assert!(problem.contains("were committed"), "{problem}");
    }

    fn end(mut self) {
        self.server.take().unwrap().stop();
        self.cluster.unmount();
        let health = self.cluster.status_of(&self.image);
        system("e2fsck", &["-f", "-n", health["device"].as_str().unwrap()]);
        self.cluster.done(&[self.kind, "detach", &self.image]);
        if self.kind == "drive" {
            self.cluster.done(&["drive", "check", &self.image]);
        }
    }
}

/// A data directory that is initialised once, on this machine's disk, and copied: initialising it
/// takes thousands of flushes.
fn empty_data_directory(cluster: &Cluster) -> Option<PathBuf> {
    static MADE: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let parent = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
        let directory = tempfile::tempdir_in(parent).unwrap();
        let data = directory.path().join("data");
        let list = cluster.done(&["server", "list", "--json"]);
        Program::find(&list, &data)?.initialise();
        Some((directory, data))
    });
    made.as_ref().map(|(_, data)| data.clone())
}

fn wait_for(answers: &Receiver<()>, count: usize) {
    let deadline = Instant::now() + PATIENCE;
    for _ in 0..count {
        let left = deadline.saturating_duration_since(Instant::now());
        answers.recv_timeout(left).expect("MySQL carries on");
    }
}

/// Runs the whole scenario on an image that is attached by `kind`.
fn survives(image: &str, kind: &'static str) {
    let Some(cluster) = cluster() else { return };
    if !has_server() {
        return;
    }
    let Some(mut bench) = Bench::new(&cluster, image, kind) else {
        return skip("MySQL or Percona Server");
    };
    bench.load_and_kill("1");
    cluster.wait_until("degraded", |figures| figures["clean"] == false);
    assert!(!cluster.is_well(), "a pool that lacks a store is not well");
    bench.bring_back();
    bench.check();
    cluster.done(&["pool", "return-store", "1"]);
    cluster.wait_until_well();
    bench.end();
}

#[test]
#[ignore = "in --full: takes the shared cluster"]
fn a_store_of_two_copies_dies_under_mysql_and_no_commit_is_lost() {
    survives("rbd:rep/mysql", "pool");
}

#[test]
#[ignore = "in --full: takes the shared cluster"]
fn a_store_of_an_erasure_coded_pool_dies_under_mysql_and_no_commit_is_lost() {
    survives("rbd:ec/mysql", "pool");
}

#[test]
#[ignore = "in --full: takes the shared cluster"]
fn a_store_dies_below_a_software_drive_and_no_commit_is_lost() {
    survives("rbd:rep/drive", "drive");
}
