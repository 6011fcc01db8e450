//! A device at a scale, of whatever kind: how large it is, what it is built from, what follows from
//! its numbers.

use anyhow::{Context, Result};
use assay_models::WriteCache;

use super::closed::{self, Closed, ClosedConditions};
use super::document::DeviceKind;
use super::mirror::Mirrored;
use super::nand::Nand;
use super::network::{self, Network};
use super::preset::Preset;
use super::rotating::Disks;
use super::scale::{Obtained, Scale};
use super::volume::Paid;

/// A device at a scale.
#[derive(Debug, Clone)]
pub enum Device {
    /// Flash behind the drive.
    Nand(Box<Nand>),
    /// Disks that turn.
    Rotating(Box<Disks>),
    /// A cloud volume.
    Volume(Box<Paid>),
    /// Another device behind a network.
    Network(Box<RemoteDevice>),
    /// Several flash devices that hold the same data.
    Mirror(Box<Mirrored>),
}

/// A device behind a network.
#[derive(Debug, Clone)]
pub struct RemoteDevice {
    pub over: Device,
    pub preset: Preset,
    pub network: Network,
    /// Resources as the scale leaves them.
    pub obtained: Vec<Obtained>,
}

impl RemoteDevice {
    /// The device of `preset` at `scale`.
    ///
    /// # Errors
    /// One line: there is no such device behind it, or what is left of it is too small.
    pub fn new(preset: &Preset, scale: Scale) -> Result<RemoteDevice> {
        let said = preset.document.network.as_ref();
        let said = said.context("a network needs a section [network]")?;
        let behind = network::behind(said)?;
        let over = Device::new(&behind, scale)?;
        let network = Network::new(said, scale);
        let mut obtained = over.obtained().to_vec();
        obtained.push(network.obtained.clone());
        Ok(RemoteDevice { over, preset: behind, network, obtained })
    }
}

impl Device {
    /// The device of `preset` at `scale`.
    ///
    /// # Errors
    /// One line: the scale is no number, or what is left is too small.
    pub fn new(preset: &Preset, scale: Scale) -> Result<Device> {
        scale.check()?;
        Ok(match preset.document.kind {
            DeviceKind::Nand => Device::Nand(Box::new(Nand::new(preset, scale)?)),
            DeviceKind::Rotating => Device::Rotating(Box::new(Disks::new(preset, scale)?)),
            DeviceKind::Volume => Device::Volume(Box::new(Paid::new(preset, scale)?)),
            DeviceKind::Network => Device::Network(Box::new(RemoteDevice::new(preset, scale)?)),
            DeviceKind::Mirror => Device::Mirror(Box::new(Mirrored::new(preset, scale)?)),
        })
    }

    /// The flash that holds the data, where it is flash.
    #[must_use]
    pub fn nand(&self) -> Option<&Nand> {
        match self {
            Device::Nand(nand) => Some(nand),
            Device::Network(remote) => remote.over.nand(),
            Device::Mirror(mirror) => Some(&mirror.side),
            Device::Rotating(_) | Device::Volume(_) => None,
        }
    }

    /// Bytes that the host may store as they are.
    #[must_use]
    pub fn user_bytes(&self) -> u64 {
        match self {
            Device::Nand(nand) => nand.user_bytes,
            Device::Rotating(disks) => disks.geometry.capacity_bytes(),
            Device::Volume(paid) => paid.user_bytes,
            Device::Network(remote) => remote.over.user_bytes(),
            Device::Mirror(mirror) => mirror.side.user_bytes,
        }
    }

    /// Bytes of the file that its model lies on.
    #[must_use]
    pub fn media_bytes(&self) -> u64 {
        self.nand().map_or(self.user_bytes(), |nand| nand.raw_bytes)
    }

    /// Durability of a completed write by the preset. A volume is sold with nothing else.
    #[must_use]
    pub fn cache(&self) -> WriteCache {
        match self {
            Device::Nand(nand) => nand.cache,
            Device::Rotating(disks) => disks.geometry.cache,
            Device::Volume(_) => WriteCache::Writethrough,
            Device::Network(remote) => remote.over.cache(),
            Device::Mirror(mirror) => mirror.side.cache,
        }
    }

    /// Returns true if the device compresses.
    #[must_use]
    pub fn compresses(&self) -> bool {
        self.nand().is_some_and(Nand::compresses)
    }

    /// Resources as the scale leaves them.
    #[must_use]
    pub fn obtained(&self) -> &[Obtained] {
        match self {
            Device::Nand(nand) => &nand.obtained,
            Device::Rotating(disks) => &disks.obtained,
            Device::Volume(paid) => &paid.obtained,
            Device::Network(remote) => &remote.obtained,
            Device::Mirror(mirror) => &mirror.side.obtained,
        }
    }

    /// The figures in closed form.
    ///
    /// # Errors
    /// None of a device that could be made.
    pub fn closed(&self, preset: &Preset, conditions: ClosedConditions) -> Result<Vec<Closed>> {
        let sound = self.closed_when_sound(preset, conditions)?;
        Ok(match preset.fault().times_as_long() {
            Some(times) => sound.into_iter().map(|closed| closed.slowed(times)).collect(),
            None => sound,
        })
    }

    fn closed_when_sound(
        &self,
        preset: &Preset,
        conditions: ClosedConditions,
    ) -> Result<Vec<Closed>> {
        match self {
            Device::Nand(nand) => closed::nand(preset, nand, conditions),
            Device::Rotating(disks) => closed::rotating(preset, &disks.geometry, conditions),
            Device::Volume(paid) => Ok(closed::volume(preset, &paid.limits, conditions)),
            Device::Network(remote) => {
                let behind = remote.over.closed(&remote.preset, conditions)?;
                Ok(closed::network(preset, &remote.network.link, behind, conditions))
            }
            Device::Mirror(mirror) => {
                let side = closed::nand(&mirror.preset, &mirror.side, conditions)?;
                Ok(closed::mirror(mirror.sides, side))
            }
        }
    }
}
