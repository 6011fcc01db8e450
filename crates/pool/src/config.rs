//! Writes the configuration file of a private cluster: every path in its own directory, every
//! address on loopback.
//!
//! Nothing in `/etc/ceph` is read or written. Names are those of Ceph's configuration reference.

use std::fmt::Write;
use std::net::TcpListener;

use anyhow::{Context, Result, bail};

use super::layout::Layout;
use super::programs::Programs;
use super::spec::Spec;

/// BlueStore's memory target per store, in bytes; a store needs some 450 MiB in addition.
const CACHE_BYTES: u64 = 128 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Ceph's id of the cluster, a UUID.
    pub(crate) fsid: String,
    /// The addresses of the monitor, in Ceph's syntax.
    pub(crate) monitor: String,
}

impl Identity {
    /// Draws a new id, and free ports.
    pub(crate) fn draw() -> Result<Identity> {
        let port = || -> Result<(TcpListener, u16)> {
            let listener = TcpListener::bind(("127.0.0.1", 0)).context("no TCP port is free")?;
            let port = listener.local_addr()?.port();
            Ok((listener, port))
        };
        // Both ports stay bound until both are known.
        let ((_first, v2), (_second, v1)) = (port()?, port()?);
        let monitor = format!("[v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]");
        Ok(Identity { fsid: uuid()?, monitor })
    }
}

/// A random number in the form of RFC 9562, version 4.
pub(crate) fn uuid() -> Result<String> {
    let mut bytes = [0; 16];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .context("cannot draw a number")?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::new();
    for (place, byte) in bytes.iter().enumerate() {
        let dash = if [4, 6, 8, 10].contains(&place) { "-" } else { "" };
        let _ = write!(text, "{dash}{byte:02x}");
    }
    Ok(text)
}

/// The text of the file.
///
/// The monitor would not start on a file system with less than 5 % free (`mon_data_avail_crit`), on
/// 10 TB half a terabyte, and would warn below 30 %. It writes some ten megabytes here; the space
/// for the stores is checked before.
///
/// # Errors
/// Fails if the directory has a name that the file cannot hold.
pub(crate) fn text(
    layout: &Layout,
    identity: &Identity,
    spec: &Spec,
    programs: &Programs,
) -> Result<String> {
    let directory = match layout.directory().to_str() {
        Some(text) if !text.contains(['\n', '#', ';', '$', '"', '\\']) => text,
        _ => bail!(
            "Ceph cannot work in {}; give a plain path with --directory",
            layout.directory().display()
        ),
    };
    let Identity { fsid, monitor } = identity;
    let mut text = format!(
        "\
[global]
fsid = {fsid}
mon host = {monitor}
public network = 127.0.0.0/8
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
auth allow insecure global id reclaim = false
run dir = {directory}/run
crash dir = {directory}/crash
admin socket =
pid file =
log file = {directory}/log/$name.log
mon cluster log file = {directory}/log/cluster.log
mon data = {directory}/mon.$id
mgr data = {directory}/mgr.$id
osd data = {directory}/osd.$id
mon allow pool delete = true
mon data avail crit = 0
mon data avail warn = 0
mon osd min down reporters = 1
osd crush chooseleaf type = 0
osd pool default pg autoscale mode = off
osd objectstore = bluestore
bluestore block create = true
bluestore block size = {block_bytes}
bluestore cache autotune = false
bluestore cache size = {CACHE_BYTES}
",
        block_bytes = spec.store_bytes,
    );
    for (name, place) in programs.directories() {
        let _ = writeln!(text, "{name} = {}", place.display());
    }
    let _ = write!(
        text,
        "
[mgr]
keyring = {directory}/mgr.$id/keyring

[osd]
keyring = {directory}/osd.$id/keyring

[client]
keyring = {directory}/admin.keyring
"
    );
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn numbers_are_uuids_and_no_two_are_alike() {
        let (one, other) = (uuid().unwrap(), uuid().unwrap());
        assert_ne!(one, other);
        let parts: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert_eq!(one.as_bytes()[14], b'4');
    }

    #[test]
    fn a_directory_that_the_file_cannot_hold_is_refused() {
        let spec = Spec { name: "x".into(), stores: 3, store_bytes: 1 << 30 };
        let identity = Identity { fsid: "f".into(), monitor: "m".into() };
        let programs = Programs::nowhere();
        let text_in = |at: &str| text(&Layout::new(Path::new(at)), &identity, &spec, &programs);
        assert!(
            text_in("/var/lib/a$b").unwrap_err().to_string().starts_with("Ceph cannot work in")
        );
        let text = text_in("/var/lib/a b").unwrap();
        assert!(text.contains("\nosd data = /var/lib/a b/osd.$id\n"), "{text}");
        assert!(!text.contains("/etc/ceph"));
    }
}
