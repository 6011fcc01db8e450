//! Another device behind a network, at a scale.

use anyhow::{Context, Result, ensure};
use assay_models::network::{FanOut, Latency, NetworkLink, Redundancy};
use assay_models::{Immediate, Rate, Time};

use super::device::Device;
use super::document::{self, Kind};
use super::preset::{PRESETS, Preset};
use super::scale::{Obtained, Scale};

/// A device behind a network.
#[derive(Debug, Clone)]
pub struct Remote {
    /// What lies behind it.
    pub over: Device,
    /// Its preset.
    pub preset: Preset,
    /// The link to each node.
    pub link: NetworkLink,
    /// How what is written is kept more than once.
    pub redundancy: Redundancy,
    /// What the scale made of each resource.
    pub obtained: Vec<Obtained>,
}

impl Remote {
    /// The device of `preset` at `scale`.
    ///
    /// # Errors
    /// One line: there is no such device behind it, or what is left of it is too small.
    pub fn new(preset: &Preset, scale: Scale) -> Result<Remote> {
        let network = preset.document.network.as_ref();
        let network = network.context("a network needs a section [network]")?;
        let name = &network.over.value;
        ensure!(
            PRESETS.iter().any(|(known, _)| known == name) || !name.contains(['/', '.']),
            "network.over is `{name}`, which is a file; it may only be one of the devices that `assay models` lists"
        );
        let behind = Preset::find(name).context("network.over")?;
        ensure!(behind.document.kind != Kind::Network, "network.over is a network itself");
        let over = Device::new(&behind, scale)?;
        let real = network.bytes_per_s.value;
        let rate = Rate(real / scale.parallel);
        let link = NetworkLink {
            round_trip: Latency::lognormal(
                Time::from_us(network.round_trip_us.value),
                Time::from_us(network.round_trip_p99_us.value),
            ),
            to_node_bytes_per_s: rate,
            from_node_bytes_per_s: rate,
        };
        let mut obtained = over.obtained().to_vec();
        obtained.push(Obtained::new("network_bytes_per_s", real, rate.0));
        Ok(Remote { over, preset: behind, link, redundancy: redundancy(network), obtained })
    }

    /// Its timing, to lie over what is behind it.
    #[must_use]
    pub fn timing(&self, seed: u64) -> FanOut<Immediate> {
        FanOut::new(self.redundancy, self.link, seed, |_| Immediate)
    }
}

fn redundancy(network: &document::Network) -> Redundancy {
    match (&network.copies, &network.data_pieces) {
        (None, Some(data)) => Redundancy::Erasure {
            data: data.value,
            parity: network.parity_pieces.as_ref().map_or(0, |figure| figure.value),
        },
        (copies, _) => Redundancy::Copies(copies.as_ref().map_or(1, |figure| figure.value)),
    }
}
