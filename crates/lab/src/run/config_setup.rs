//! A configuration as its runs need it: the server, its settings, its tables and the rig.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_load::Schema;
use assay_plan::{Experiment, Neighbour, PageCompression, PlannedRig, Variant, VariantKey};

use crate::rig::existing::Existing;
use crate::rig::server::{self, Binary, Flavour, WantedServer};

/// Everything that the runs of a configuration need.
#[derive(Debug, Clone)]
pub struct ConfigSetup {
    /// The server; `None` if no workload needs one, or if it is somebody else's.
    pub binary: Option<Binary>,
    pub settings: BTreeMap<String, String>,
    /// The tables, with the configuration's compression.
    pub schema: Schema,
    pub rig: PlannedRig,
    /// The rig as the document has it.
    pub rig_document: serde_json::Value,
    /// Servers that are loaded at once.
    pub servers: u32,
    /// The load of the last of several servers, where it is another one.
    pub neighbour: Option<Neighbour>,
    /// The server, where it is somebody else's.
    pub existing: Option<Arc<Existing>>,
}

impl ConfigSetup {
    fn of(variant: &Variant, binary: Option<Binary>) -> ConfigSetup {
        let is_mariadb = binary.as_ref().is_some_and(|one| one.flavour == Flavour::Mariadb);
        let mut setup = ConfigSetup {
            binary,
            settings: variant.settings.clone(),
            schema: variant.schema.clone(),
            rig: variant.rig.clone(),
            rig_document: variant.rig_document.clone(),
            servers: variant.servers,
            neighbour: variant.neighbour.clone(),
            existing: None,
        };
        if let Some(codec) = variant.compression.filter(|_| is_mariadb) {
            setup.compress_as_mariadb(codec);
        }
        setup
    }

    /// The server, for a workload that needs one.
    ///
    /// # Errors
    /// It has none: no workload of the plan needs one.
    pub fn server(&self) -> Result<&Binary> {
        self.binary.as_ref().context("a workload of a server in a plan without one")
    }

    pub(crate) fn is_built_like(&self, other: &ConfigSetup) -> bool {
        (&self.binary, &self.settings, &self.rig_document)
            == (&other.binary, &other.settings, &other.rig_document)
    }

    /// MariaDB compresses pages too, but asks for it by other words: the codec is the server's, not
    /// the table's (MariaDB documentation, "InnoDB Page Compression").
    fn compress_as_mariadb(&mut self, codec: PageCompression) {
        self.schema.create_table_options =
            self.schema.create_table_options.replace(codec.table_option(), "PAGE_COMPRESSED=1");
        let algorithm = codec.name().to_owned();
        self.settings.entry("innodb_compression_algorithm".into()).or_insert(algorithm);
    }
}

/// The server and the settings of each configuration, on each of its data profiles.
///
/// # Errors
/// A server is not there and cannot be downloaded.
pub fn config_setups(
    experiment: &Experiment,
    say: &dyn Fn(&str),
) -> Result<BTreeMap<VariantKey, ConfigSetup>> {
    let mut configs = BTreeMap::new();
    let mut told = BTreeSet::new();
    for variant in &experiment.variants {
        let wanted = WantedServer::named(variant.server.as_ref());
        let find = || {
            server::find_or_fetch(&wanted, say)
                .with_context(|| format!("configuration `{}`", variant.key.config))
        };
        let is_ours = variant.rig.endpoint().is_none();
        let binary = (experiment.needs_server() && is_ours).then(find).transpose()?;
        if let Some(binary) = binary.as_ref().filter(|binary| told.insert(binary.to_string())) {
            say(&format!("server: {binary} ({})", binary.program.display()));
        }
        configs.insert(variant.key.clone(), ConfigSetup::of(variant, binary));
    }
    Ok(configs)
}
