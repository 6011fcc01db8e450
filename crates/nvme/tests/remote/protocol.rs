//! Connections that break the protocol end alone.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use assay_disk::Disk;
use assay_nvme::controller::HostAccess;
use assay_nvme::initiator::RemoteDisk;

use crate::server::{memory, remote, serve, subsystem};

/// ICReq without digests.
fn hello() -> Vec<u8> {
    let mut hello = vec![0; 128];
    hello[2] = 128;
    hello[4] = 128;
    hello
}

/// Everything that the target answers until it closes the connection.
fn answer(address: std::net::SocketAddr, said: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(said).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn a_connection_that_breaks_the_protocol_is_told_why_and_ends_alone() {
    let target = serve(vec![subsystem("one", HostAccess::default(), vec![memory()])]);
    let disk = RemoteDisk::connect(remote(&target, "one", 1), 1).unwrap();
    // The wrong beginning, and the reason that the answer gives.
    let mut short = hello();
    short[4] = 64;
    let mut version = hello();
    version[8] = 1;
    let mut command_first = hello();
    (command_first[0], command_first[2], command_first[4]) = (4, 72, 72);
    command_first.truncate(72);
    let twice = [hello(), hello()].concat();
    let cases = [
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), 0, 1),
        (short, 0, 1),
        (version, 0, 1),
        (command_first, 0, 2),
        (twice, 128, 2),
    ];
    for (said, skipped, reason) in cases {
        let answer = answer(target.address(), &said);
        let ended = &answer[skipped..];
        assert_eq!(ended[0], 3, "a request to end the connection: {ended:?}");
        assert_eq!(ended[8], reason, "{ended:?}");
    }
    disk.write(0, &[1; 4096], false).unwrap();
    disk.read(0, &mut [0; 4096]).unwrap();
}
