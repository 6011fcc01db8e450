//! Finds the cluster of an image: the named one, else the running private one, else the machine's
//! own.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use assay_ports::rbd::{ClusterAccess, ImageName};
use assay_system::ledger::FoundLedger;
use assay_system::resource::Resource;

use super::{programs, registry};

/// Configuration file of a machine's own cluster (Ceph's default).
const MACHINES_OWN: &str = "/etc/ceph/ceph.conf";

/// Default user (Ceph's default).
const ADMIN: &str = "admin";

/// The configuration file of the cluster `named`, by its path or by the name of a private cluster.
/// Fails if there is no such cluster, or several candidates.
pub fn conf(named: Option<&Path>) -> Result<PathBuf> {
    let Some(named) = named else { return usual() };
    let running = registry::running()?;
    if let Some(private) = running.iter().find(|cluster| Path::new(&cluster.name) == named) {
        return Ok(private.conf());
    }
    match named.canonicalize() {
        Ok(path) => Ok(path),
        Err(error) if named.components().count() == 1 => {
            bail!(
                "no private cluster {0} runs, and there is no file {0} ({error})",
                named.display()
            )
        }
        Err(error) => bail!("{}: {error}", named.display()),
    }
}

fn usual() -> Result<PathBuf> {
    let running = registry::running()?;
    match &*running {
        [] if Path::new(MACHINES_OWN).exists() => Ok(MACHINES_OWN.into()),
        [] => bail!(
            "no Ceph cluster is known here; start a private one with `assay pool start`, or name \
             one with --ceph-conf FILE"
        ),
        [only] => Ok(only.conf()),
        many => {
            let names: Vec<&str> = many.iter().map(|cluster| cluster.name.as_str()).collect();
            bail!(
                "several private clusters run: {}; name one with --ceph-conf NAME",
                names.join(", ")
            )
        }
    }
}

/// The image in `path`, with its cluster; `None` if `path` names no image. A cluster in the name
/// itself takes precedence over `named`.
pub fn image(path: &Path, named: Option<&Path>) -> Result<Option<ImageName>> {
    if !ImageName::is_meant(path) {
        ensure!(
            named.is_none(),
            "--ceph-conf is for images, as rbd:POOL/IMAGE, and {} is none",
            path.display()
        );
        return Ok(None);
    }
    let Some(name) = ImageName::parse(path) else {
        bail!("{} names no image; write rbd:POOL/IMAGE, e.g. rbd:rep/vol", path.display());
    };
    let said = name.conf.clone();
    let conf = conf(said.as_deref().or(named))?;
    Ok(Some(ImageName { conf: Some(conf), ..name }))
}

/// Connection parameters for the cluster of `name`.
pub fn access(name: &ImageName) -> Result<ClusterAccess> {
    let conf = conf(name.conf.as_deref())?;
    access_to(conf, name.user.as_deref())
}

/// A ledger whose images can be looked up, with the client library of this machine: no library is
/// loaded because a ledger names it. Without a library, removing an image reports that.
#[must_use]
pub fn with_client_library(found: FoundLedger) -> FoundLedger {
    let has_image = found.resources().iter().any(|resource| matches!(resource, Resource::Image(_)));
    let Some(libraries) = has_image.then(programs::client_library).and_then(Result::ok) else {
        return found;
    };
    found.with(|resource| {
        if let Resource::Image(image) = resource {
            *image = image.clone().with_libraries(libraries.clone());
        }
    })
}

/// Connection parameters for the cluster with that configuration file.
pub fn access_to(conf: PathBuf, user: Option<&str>) -> Result<ClusterAccess> {
    let user = format!("client.{}", user.unwrap_or(ADMIN));
    Ok(ClusterAccess { conf, user, libraries: programs::client_library()? })
}
