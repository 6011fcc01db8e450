//! Streams of bytes, against the target over TCP.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use assay_disk::Disk;
use assay_nvme::controller::HostAccess;
use assay_nvme::initiator::RemoteDisk;
use assay_nvme::wire::{
    CommonHeader, Configuration, ConnectCommand, ConnectData, Digests, IoOpcode, PduKind, Property,
    Sgl, Submission,
};
use assay_testing::mutate::{self, Random};
use zerocopy::IntoBytes;

use crate::server::{host, memory, name, remote, serve, subsystem};

fn capsule(command: &Submission, data: &[u8]) -> Vec<u8> {
    let common = CommonHeader::new(PduKind::Command, data.len(), Digests::default(), 4);
    [common.as_bytes(), command.as_bytes(), data].concat()
}

/// The PDUs of a well-behaved host: a handshake, an admin queue that is enabled, and questions.
fn conversation(random: &mut Random) -> Vec<Vec<u8>> {
    let mut hello = vec![0; 128];
    (hello[2], hello[4], hello[11]) = (128, 128, 0);
    let connect = ConnectCommand {
        format: 0,
        queue: 0,
        size_0: 31,
        no_flow_control: random.below(2) == 0,
        keep_alive_ms: 1000,
    };
    let other = 2 + random.below(200) as u8;
    let data = ConnectData::new(host(other).id, &host(other).name, &name("shared"), None);
    let identify = Submission::new(0x06, 1)
        .with_word(10, random.below(4) as u32)
        .with_data(Sgl::transport(4096));
    let write =
        Submission::new(IoOpcode::Write as u8, 1).on_blocks(0, 8).with_data(Sgl::transport(32768));
    let mut said = vec![
        hello,
        capsule(&connect.command(), data.as_bytes()),
        capsule(&Property::Configuration.set(u64::from(Configuration::ENABLED.0)), &[]),
        capsule(&identify, &[]),
        capsule(&write, &[]),
        capsule(&Submission::new(0x0c, 0), &[]),
    ];
    said.truncate(1 + random.below(6));
    said
}

#[test]
fn no_stream_of_bytes_harms_a_target_or_another_connection() {
    let shared = HostAccess { is_shared: true, ..HostAccess::default() };
    let target = serve(vec![
        subsystem("one", HostAccess::default(), vec![memory()]),
        subsystem("shared", shared, vec![memory()]),
    ]);
    let disk = RemoteDisk::connect(remote(&target, "one", 1), 1).unwrap();
    let streams: u64 = assay_testing::count(300, 10_000);
    for seed in 1..=streams {
        let mut random = Random::new(seed);
        let mut said = conversation(&mut random);
        let place = random.below(said.len());
        said[place] = mutate::bytes(&said[place], &mut random);
        let mut stream = TcpStream::connect(target.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let _ = stream.write_all(&said.concat());
        let _ = stream.shutdown(Shutdown::Write);
        // The end of the stream ends the connection on the other side too.
        let _ = stream.read_to_end(&mut Vec::new());
        if seed % 100 == 0 {
            disk.write(0, &[seed as u8; 4096], true).unwrap();
            let mut found = [0; 4096];
            disk.read(0, &mut found).unwrap();
            assert_eq!(found, [seed as u8; 4096], "the other connection goes on");
        }
    }
    target.stop();
}
