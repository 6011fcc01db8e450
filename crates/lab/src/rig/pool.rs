//! Pools below rigs: private clusters of a study, each started once and shared by its runs; in them
//! a new pool for each run, so that every run begins with stores that hold nothing of it; in
//! existing clusters images alone.
//!
//! Guarantees: a private cluster and all that it holds are gone with the study, however that ends;
//! an image in somebody's pool is in the ledger before it exists. A run begins with every store up
//! and nothing degraded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use assay_base::Size;
use assay_pool::control::{self, StoreRequest};
use assay_pool::pools::{self, NewPool};
use assay_pool::{Layout, OwnCluster, Spec, Watched, figures, locate, programs, watch};
use assay_ports::rbd::{self, Cluster, ClusterAccess, ImageName, NewImage, PoolIo};
use assay_ports::waiting::Waiting;

use assay_plan::{Experiment, PlannedCluster, PlannedPool, PoolPlace, PrivatePool};
use assay_system::ledger::{Ledger, LedgerGuard};

/// Store sizes and images are whole blocks.
const BLOCK_BYTES: u64 = 4096;

/// Options of images that limit them (Ceph, "Block Device Configuration Reference").
pub(super) const IOPS_LIMIT: &str = "rbd_qos_iops_limit";
pub(super) const BYTES_LIMIT: &str = "rbd_qos_bps_limit";

/// Time that returning stores may take to be restored before a run.
const SETTLE_PATIENCE: Duration = Duration::from_secs(180);

/// Interval between looks at a cluster.
const ASKED_EVERY: Duration = Duration::from_millis(250);

/// The private clusters of a study.
#[derive(Debug, Default)]
pub struct RunClusters {
    own: Vec<(PlannedCluster, OwnCluster)>,
}

impl RunClusters {
    /// Starts every private cluster of an experiment, each in a new directory of `directory`. `say`
    /// gets a line for each step that takes time.
    ///
    /// # Errors
    /// One line; nothing is left then.
    pub fn start(
        experiment: &Experiment,
        directory: &Path,
        say: &dyn Fn(&str),
    ) -> Result<RunClusters> {
        let mut clusters = RunClusters::default();
        for wanted in private_clusters(experiment) {
            programs::find_or_fetch(say)?;
            let spec = cluster_spec(wanted, clusters.own.len());
            say(&format!("starting a private Ceph cluster of {} stores", wanted.stores));
            let own = OwnCluster::start(&spec, &directory.canonicalize()?, &|_| ())
                .context("the private Ceph cluster cannot be started")?;
            clusters.own.push((wanted, own));
        }
        Ok(clusters)
    }

    /// The pool for a run: a new one called `name`, or the one that is there.
    ///
    /// # Errors
    /// One line; nothing is left then.
    pub fn pool(&self, pool: &PlannedPool, name: &str) -> Result<RunPool> {
        match &pool.place {
            PoolPlace::Private(pool) => {
                let own = self.own.iter().find(|(cluster, _)| *cluster == pool.cluster);
                let (_, own) = own.context("a run on a cluster that was not started")?;
                RunPool::make(own, pool, name)
            }
            PoolPlace::Existing { conf, user, pool } => RunPool::open(conf, user.as_deref(), pool),
        }
    }

    /// Stops them.
    ///
    /// # Errors
    /// The first that left something.
    pub fn stop(self) -> Result<()> {
        self.own.into_iter().try_for_each(|(_, own)| own.stop())
    }
}

fn cluster_spec(wanted: PlannedCluster, number: usize) -> Spec {
    Spec {
        name: format!("study-{}-{number}", std::process::id()),
        stores: wanted.stores,
        store_bytes: wanted.store_size.0 / BLOCK_BYTES * BLOCK_BYTES,
    }
}

/// Each private cluster of an experiment, once.
pub fn private_clusters(experiment: &Experiment) -> Vec<PlannedCluster> {
    let mut all: Vec<PlannedCluster> = Vec::new();
    let pools = experiment.variants.iter().filter_map(|variant| variant.rig.pool());
    for pool in pools.filter_map(PlannedPool::private) {
        if !all.contains(&pool.cluster) {
            all.push(pool.cluster);
        }
    }
    all
}

/// The pool that a run's images are in.
#[derive(Debug)]
pub struct RunPool {
    cluster: Arc<Cluster>,
    access: ClusterAccess,
    pool: String,
    /// The pool of the images' data.
    data_pool: String,
    /// The pool created for the run, which is deleted with this value.
    made: Option<NewPool>,
    /// The private cluster.
    own: Option<Own>,
}

/// A private cluster as a run sees it.
#[derive(Debug, Clone)]
struct Own {
    layout: Layout,
    pid: u32,
}

impl RunPool {
    fn make(own: &OwnCluster, pool: &PrivatePool, name: &str) -> Result<RunPool> {
        let access = locate::access_to(own.layout.conf(), None)?;
        let cluster = Arc::new(Cluster::connect(&access)?);
        let new = NewPool {
            name: name.to_owned(),
            protection: pool.protection,
            compression: pool.compression,
            quota_bytes: None,
        };
        let own = Own { layout: own.layout.clone(), pid: own.pid };
        restore(&cluster, &own.layout, name)?;
        pools::create(&cluster, &new).context("the pool cannot be created")?;
        let made = RunPool {
            cluster,
            access,
            pool: name.to_owned(),
            data_pool: new.data_pool(),
            made: Some(new),
            own: Some(own),
        };
        made.limit(pool)?;
        let clean = "the new pool to become clean";
        wait_until(&made.cluster, &made.data_pool, clean, |pool| pool.is_clean)?;
        Ok(made)
    }

    fn open(conf: &Path, user: Option<&str>, pool: &str) -> Result<RunPool> {
        let access = locate::access_to(conf.to_owned(), user)?;
        let cluster = Arc::new(Cluster::connect(&access)?);
        PoolIo::open(&cluster, pool)?;
        let pool = pool.to_owned();
        Ok(RunPool { cluster, access, data_pool: pool.clone(), pool, made: None, own: None })
    }

    fn limit(&self, pool: &PrivatePool) -> Result<()> {
        let limits = [
            (IOPS_LIMIT, pool.image_iops),
            (BYTES_LIMIT, pool.image_bytes_per_s.map(|size| size.0)),
        ];
        for (key, limit) in limits.into_iter().filter_map(|(key, limit)| Some((key, limit?))) {
            pools::set_image_option(&self.cluster, &self.pool, key, &limit.to_string())?;
        }
        Ok(())
    }

    /// Options by Ceph's names as the cluster reports them; none for an existing pool.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub fn options(&self) -> Result<BTreeMap<String, String>> {
        let Some(new) = &self.made else { return Ok(BTreeMap::new()) };
        let mut options = pools::options(&self.cluster, new)?;
        for key in [IOPS_LIMIT, BYTES_LIMIT] {
            let told = pools::image_option(&self.cluster, &self.pool, key)?;
            options.extend(told.map(|told| (key.to_owned(), told)));
        }
        Ok(options)
    }

    /// Creates the image called `name` of so many bytes; the second part removes it, where deleting
    /// the pool does not.
    ///
    /// # Errors
    /// One line, and there is no such image.
    pub fn image(
        &self,
        name: &str,
        size: Size,
        ledger: &Arc<Ledger>,
    ) -> Result<(PathBuf, Option<LedgerGuard>)> {
        let image = ImageName {
            pool: self.pool.clone(),
            image: name.to_owned(),
            user: self.access.user.strip_prefix("client.").map(str::to_owned),
            conf: Some(self.access.conf.clone()),
        };
        let io = PoolIo::open(&self.cluster, &self.pool)?;
        let new = NewImage { bytes: size.0 / BLOCK_BYTES * BLOCK_BYTES, data_pool: None };
        if self.own.is_some() {
            rbd::create(&io, &image, &new)?;
            return Ok((image.path(), None));
        }
        let made = ledger.make_image(&self.access, &io, &image, &new)?;
        Ok((image.path(), Some(made)))
    }

    /// State of the pool.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub fn watch(&self) -> Result<Watched> {
        watch(&self.cluster, &self.data_pool)
    }

    /// The pool as the monitor reaches it, over a connection of its own.
    #[must_use]
    pub fn target(&self) -> PoolTarget {
        PoolTarget {
            access: self.access.clone(),
            data_pool: self.data_pool.clone(),
            own_pid: self.own.as_ref().map(|own| own.pid),
            directory: self.own.as_ref().map(|own| own.layout.directory().to_owned()),
        }
    }

    /// Kills a store of the private cluster, as a crash would.
    ///
    /// # Errors
    /// There is none, or no private cluster.
    pub fn kill_store(&self, store: u16) -> Result<()> {
        control::ask(self.layout()?, StoreRequest::KillStore(store))
    }

    /// Starts a store again.
    ///
    /// # Errors
    /// It runs, there is none, or no private cluster.
    pub fn return_store(&self, store: u16) -> Result<()> {
        control::ask(self.layout()?, StoreRequest::ReturnStore(store))
    }

    fn layout(&self) -> Result<&Layout> {
        let own = self.own.as_ref().context("the stores of this pool are somebody else's")?;
        Ok(&own.layout)
    }

    /// Deletes it, if it was made for the run.
    ///
    /// # Errors
    /// What the cluster refuses.
    pub fn remove(mut self) -> Result<()> {
        self.delete()
    }

    fn delete(&mut self) -> Result<()> {
        let Some(new) = self.made.take() else { return Ok(()) };
        pools::delete(&self.cluster, &new).with_context(|| format!("the pool {}", new.name))
    }
}

impl Drop for RunPool {
    fn drop(&mut self) {
        if let Err(error) = self.delete() {
            log::warn!("{error:#}");
        }
    }
}

/// Starts again the stores that a run before has left down, and waits until they are up.
fn restore(cluster: &Cluster, layout: &Layout, data_pool: &str) -> Result<()> {
    let stores = figures::ask(cluster)?.stores;
    for store in stores.iter().filter(|store| !store.up) {
        let number = u16::try_from(store.store).context("a store with a number beyond all")?;
        // One that was killed a moment ago may be counted as up, one that was started as down.
        if let Err(error) = control::ask(layout, StoreRequest::ReturnStore(number)) {
            log::debug!("store {number}: {error:#}");
        }
    }
    let up = "the stores of the private cluster to return";
    wait_until(cluster, data_pool, up, |pool| pool.stores_up >= stores.len() as u64)
}

/// Waits until a pool's figures are so, which is `what` it waits for.
fn wait_until(
    cluster: &Cluster,
    data_pool: &str,
    what: &'static str,
    are_so: impl Fn(&Watched) -> bool,
) -> Result<()> {
    let deadline = Instant::now() + SETTLE_PATIENCE;
    let _waiting = Waiting::on(|| what.to_owned());
    while !are_so(&watch(cluster, data_pool)?) {
        let patience = SETTLE_PATIENCE.as_secs();
        ensure!(Instant::now() < deadline, "waited {patience} s for {what}, in vain");
        std::thread::sleep(ASKED_EVERY);
    }
    Ok(())
}

/// Checks that an existing cluster answers and has the pool, and that there can be such a private
/// one.
///
/// # Errors
/// One line: what is missing, or cannot be.
pub fn check(pool: &PlannedPool) -> Result<()> {
    match &pool.place {
        PoolPlace::Private(pool) => cluster_spec(pool.cluster, 0).check(),
        PoolPlace::Existing { conf, user, pool } => {
            RunPool::open(conf, user.as_deref(), pool).map(drop)
        }
    }
}

/// A pool to monitor.
#[derive(Debug, Clone)]
pub struct PoolTarget {
    /// Access to its cluster.
    pub access: ClusterAccess,
    /// The pool that keeps the data.
    pub data_pool: String,
    /// The process of a private cluster, whose children are its stores.
    pub own_pid: Option<u32>,
    /// Directory of the stores of a private cluster.
    pub directory: Option<PathBuf>,
}
