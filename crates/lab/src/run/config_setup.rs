//! A configuration as its runs need it: the server, its settings, its tables and the rig.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_load::Schema;
use assay_plan::{PageCompression, Plan, RigKind, RigSpec, Variant, VariantKey};

use crate::rig::existing::Existing;
use crate::rig::server::{self, Binary, Flavour, Wanted};

/// What a configuration's runs need.
#[derive(Debug, Clone)]
pub struct ConfigSetup {
    /// The server; none where no workload needs one.
    pub binary: Option<Binary>,
    /// Its variables.
    pub settings: BTreeMap<String, String>,
    /// The tables, with the configuration's compression.
    pub schema: Schema,
    /// What the data lies on.
    pub rig: RigSpec,
    /// The server, where it is somebody else's.
    pub existing: Option<Arc<Existing>>,
}

impl ConfigSetup {
    /// The server, for a workload that needs one.
    ///
    /// # Errors
    /// It has none: no workload of the plan needs one.
    pub fn server(&self) -> Result<&Binary> {
        self.binary.as_ref().context("a workload of a server in a plan without one")
    }

    pub(crate) fn is_built_like(&self, other: &ConfigSetup) -> bool {
        (&self.binary, &self.settings, &self.rig) == (&other.binary, &other.settings, &other.rig)
    }

    /// MariaDB compresses pages too, but asks for it by other words: the codec is the server's, not the table's
    /// (MariaDB documentation, "InnoDB Page Compression").
    fn compress_as_mariadb(&mut self, codec: PageCompression) {
        self.schema.create_table_options =
            self.schema.create_table_options.replace(codec.table_option(), "PAGE_COMPRESSED=1");
        let algorithm = codec.name().to_owned();
        self.settings.entry("innodb_compression_algorithm".into()).or_insert(algorithm);
    }
}

/// Server and settings of each configuration, on each of its data profiles.
///
/// # Errors
/// A server is not there and cannot be downloaded.
pub fn config_setups(plan: &Plan, say: &dyn Fn(&str)) -> Result<BTreeMap<VariantKey, ConfigSetup>> {
    let mut configs = BTreeMap::new();
    let mut told = BTreeSet::new();
    for Variant { key, schema, rig } in plan.variants() {
        let Some(config) = plan.configs.get(&key.config) else { continue };
        let path = config.server.as_ref().or(plan.server.as_ref());
        let wanted = Wanted::named(path);
        let find = || {
            server::find_or_fetch(&wanted, say)
                .with_context(|| format!("configuration `{}`", key.config))
        };
        let is_ours = rig.kind != RigKind::Endpoint;
        let binary = (plan.needs_server() && is_ours).then(find).transpose()?;
        if let Some(binary) = binary.as_ref().filter(|binary| told.insert(binary.to_string())) {
            say(&format!("server: {binary} ({})", binary.program.display()));
        }
        let settings = plan.settings_of(config);
        let mut setup = ConfigSetup { binary, settings, schema, rig, existing: None };
        let is_mariadb =
            setup.binary.as_ref().is_some_and(|binary| binary.flavour == Flavour::Mariadb);
        if let Some(codec) = config.compression.filter(|_| is_mariadb) {
            setup.compress_as_mariadb(codec);
        }
        configs.insert(key, setup);
    }
    Ok(configs)
}
