//! The network between a host and a device, at a scale, and the device behind it.

use anyhow::{Context, Result, ensure};
use assay_models::network::{FanOut, LatencyModel, NetworkLink, Redundancy};
use assay_models::{Immediate, Rate, Time};

use super::document::{self, DeviceKind};
use super::preset::{PRESETS, Preset};
use super::scale::{Obtained, Scale};

/// A network in numbers.
#[derive(Debug, Clone)]
pub struct Network {
    /// The link to each node.
    pub link: NetworkLink,
    /// Redundancy of writes.
    pub redundancy: Redundancy,
    /// Bandwidth as the scale leaves it.
    pub obtained: Obtained,
}

impl Network {
    /// The network of a preset's section, at `scale`.
    #[must_use]
    pub fn new(said: &document::NetworkSection, scale: Scale) -> Network {
        let real = said.bytes_per_s.value;
        let rate = Rate(real / scale.parallel);
        let link = NetworkLink {
            round_trip: LatencyModel::lognormal(
                Time::from_us(said.round_trip_us.value),
                Time::from_us(said.round_trip_p99_us.value),
            ),
            to_node_bytes_per_s: rate,
            from_node_bytes_per_s: rate,
        };
        let obtained = Obtained::new("network_bytes_per_s", real, rate.0);
        Network { link, redundancy: redundancy(said), obtained }
    }

    /// Its timing, to lie over what is behind it.
    #[must_use]
    pub fn timing(&self, seed: u64) -> FanOut<Immediate> {
        FanOut::new(self.redundancy, self.link, seed, |_| Immediate)
    }
}

/// The preset of what lies behind it.
///
/// # Errors
/// One line: it is none of ours, or a network itself.
pub fn behind(said: &document::NetworkSection) -> Result<Preset> {
    let name = &said.over.value;
    ensure!(
        PRESETS.iter().any(|(known, _)| known == name) || !name.contains(['/', '.']),
        "network.over is `{name}`, which is a file; it must be one of the devices that `assay \
        models` lists"
    );
    let behind = Preset::find(name).context("network.over")?;
    ensure!(behind.document.kind != DeviceKind::Network, "network.over is a network itself");
    Ok(behind)
}

fn redundancy(network: &document::NetworkSection) -> Redundancy {
    match (&network.copies, &network.data_pieces) {
        (None, Some(data)) => Redundancy::Erasure {
            data: data.value,
            parity: network.parity_pieces.as_ref().map_or(0, |figure| figure.value),
        },
        (copies, _) => Redundancy::Copies(copies.as_ref().map_or(1, |figure| figure.value)),
    }
}
