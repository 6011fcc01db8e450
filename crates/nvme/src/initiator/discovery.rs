//! Discovery: the subsystems that a target has for this host.

use std::net::SocketAddr;

use zerocopy::{FromZeros, IntoBytes};

use super::association::Association;
use super::{ConnectError, Remote};
use crate::admin::Admin;
use crate::wire::{DiscoveryHeader, DiscoveryRecord, LogPage, Nqn, Submission};

/// Most subsystems that are read.
const RECORDS_MAX: u64 = 1024;

/// The subsystems at the target's discovery service, with their addresses. The subsystem of
/// `remote` is ignored.
///
/// # Errors
/// [`ConnectError`].
pub fn discover(remote: &Remote) -> Result<Vec<(Nqn, SocketAddr)>, ConnectError> {
    let service = Remote { subsystem: Nqn::discovery(), ..remote.clone() };
    let association = Association::open(&service)?;
    let mut header = DiscoveryHeader::new_zeroed();
    read(&association, 0, header.as_mut_bytes())?;
    let count = header.records.get().min(RECORDS_MAX);
    let mut records = vec![DiscoveryRecord::new_zeroed(); count as usize];
    for (number, record) in (0..).zip(&mut records) {
        let offset = (size_of::<DiscoveryHeader>() + number * size_of::<DiscoveryRecord>()) as u64;
        read(&association, offset, record.as_mut_bytes())?;
    }
    association.shut_down();
    Ok(records.iter().filter_map(|one| Some((one.subsystem()?, one.address()?))).collect())
}

fn read(association: &Association, offset: u64, data: &mut [u8]) -> Result<(), ConnectError> {
    let command: Submission = LogPage::Discovery.get(0, offset, data.len() as u32);
    association.read(command, data)?;
    Ok(())
}
