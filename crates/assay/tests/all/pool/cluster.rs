//! The cluster that the tests share: started by the first of them, stopped by the last.

use std::ops::Deref;
use std::process::Command;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use assay_testing::skip;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use crate::drives::{Drives, has_drives};

/// Time after which a step counts as stuck.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Polling interval.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A private cluster with the pools `rep`, of two copies, and `ec`, erasure-coded 2+1.
pub struct Cluster {
    drives: Drives,
}

/// The cluster while one test uses it alone.
pub struct Turn {
    // Released before the cluster may be stopped.
    _turn: MutexGuard<'static, ()>,
    cluster: Arc<Cluster>,
}

/// Waits until no other test uses a cluster, and keeps others waiting.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock()
}

/// Waits for the cluster; `None`, with a SKIPPED line, if there can be none.
pub fn cluster() -> Option<Turn> {
    static SHARED: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
    if !has_drives() || !has_ceph() {
        return None;
    }
    let cluster = {
        let mut shared = SHARED.lock();
        shared.upgrade().unwrap_or_else(|| {
            let cluster = Arc::new(Cluster::start());
            *shared = Arc::downgrade(&cluster);
            cluster
        })
    };
    Some(Turn { _turn: turn(), cluster })
}

/// Whether Ceph is installed or can be downloaded.
pub fn has_ceph() -> bool {
    let fetched = Command::new(crate::common::program()).args(["pool", "fetch"]).status();
    let has = fetched.is_ok_and(|status| status.success());
    if !has {
        skip("Ceph, installed or to be fetched");
    }
    has
}

impl Cluster {
    fn start() -> Cluster {
        let drives = Drives::new();
        let cluster = Cluster { drives };
        let started: Value =
            serde_json::from_str(&cluster.done(&["pool", "start", "--json"])).unwrap();
        println!("the cluster took {:.1} s", started["seconds"].as_f64().unwrap());
        cluster.done(&["pool", "create", "rep", "--protect", "2"]);
        cluster.done(&["pool", "create", "ec", "--protect", "2+1"]);
        cluster
    }

    /// The cluster's figures.
    pub fn figures(&self) -> Value {
        serde_json::from_str(&self.told(&["pool", "status", "--json"])).unwrap()
    }

    /// Whether `assay pool status` exits with 0.
    pub fn is_well(&self) -> bool {
        self.run(&["pool", "status"]).status.success()
    }

    /// Waits until its figures satisfy `is_so`.
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&Value) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(&self.figures()) {
            assert!(Instant::now() < deadline, "not {what}: {}", self.figures());
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until each object has all its copies and each store is up.
    pub fn wait_until_well(&self) {
        self.wait_until("clean", |figures| {
            let stores = figures["stores"].as_array().unwrap();
            figures["clean"] == true && stores.iter().all(|store| store["up"] == true)
        });
        // Slow operations are reported as a problem for some seconds longer.
        self.wait_until("well", |_| self.is_well());
    }
}

impl Deref for Cluster {
    type Target = Drives;

    fn deref(&self) -> &Drives {
        &self.drives
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Stopping fails if a failed test left an image attached; dropping `drives` cleans up then.
        let _ = self.command(&["pool", "stop"]).output();
    }
}

impl Deref for Turn {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}
