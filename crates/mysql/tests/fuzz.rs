//! Mutated answers of a server: logging in and asking never panics, never waits for what cannot come, never takes memory without end.
//!
//! Each seed is one case. `ASSAY_SEEDS` sets how many run (50 000 in the full scope), `ASSAY_SEED` the first.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use assay_mysql::{ClientSession, Endpoint, SessionError, Value};

/// Address space that one case may add to the highest that was needed so far, in bytes: a thread may bring 128 MiB for its own heap.
const MEMORY_BYTES: u64 = 256 << 20;

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = (payload.len() as u32).to_le_bytes().to_vec();
    packet[3] = sequence;
    packet.extend_from_slice(payload);
    packet
}

/// All that a server says in a session: greeting, consent, a prepared statement, its rows, and rows of text.
fn answers() -> Vec<Vec<u8>> {
    const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x2d\0\0\x01\0\0\xfd\0\0\0\0\0";
    const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
    let mut greeting = b"\x0a8.0.36\0\x01\0\0\0abcdefgh\0\xff\xf7\x2d\x02\0\xff\xde\x15".to_vec();
    greeting.extend_from_slice(&[0; 10]);
    greeting.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    let rows = |first: &[u8], second: &[u8]| {
        [&[1][..], COLUMN, EOF, first, second, EOF]
            .into_iter()
            .zip(1..)
            .map(|(payload, sequence)| packet(sequence, payload))
            .collect::<Vec<_>>()
    };
    let mut all = vec![packet(0, &greeting), packet(2, &[0, 0, 0, 2, 0, 0, 0])];
    // One column, one place.
    all.push(packet(1, &[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]));
    all.extend([COLUMN, EOF, COLUMN, EOF].into_iter().zip(2..).map(|(one, at)| packet(at, one)));
    all.extend(rows(b"\0\0\x01x", b"\0\0\x02yz"));
    all.extend(rows(b"\x05hello", b"\xfb"));
    all.push(packet(1, b"\xff\x15\x04#28000Access denied"));
    all
}

fn mutate(packets: &mut Vec<Vec<u8>>, random: &mut Random) {
    for _ in 0..random.below(4) {
        let at = random.below(packets.len());
        let packet = &mut packets[at];
        let byte = random.below(packet.len());
        match random.below(7) {
            0 => packet[byte] = random.next() as u8,
            1 => packet[byte] = [0, 0xfb, 0xfc, 0xfd, 0xfe, 0xff][random.below(6)],
            2 => packet.truncate(byte.max(1)),
            3 => {
                let piece: Vec<u8> = (0..random.below(40)).map(|_| random.next() as u8).collect();
                packet.splice(byte..byte, piece);
            }
            // The length follows what is in it: what is broken lies deeper.
            4 if byte >= 4 => {
                packet.truncate(byte);
                let length = (packet.len() - 4) as u32;
                packet[..3].copy_from_slice(&length.to_le_bytes()[..3]);
            }
            5 if byte >= 4 => {
                packet[byte] = 0xfe;
                let length = packet.len().min(byte + 9);
                packet[byte + 1..length].fill(0xff);
            }
            _ => {
                let other = packets[random.below(packets.len())].clone();
                packets.insert(at, other);
            }
        }
    }
}

/// A session with a server that says all that at once, and no more.
fn session(
    listener: &UnixListener,
    path: &std::path::Path,
    said: &[u8],
) -> Result<usize, SessionError> {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut server, _) = listener.accept().unwrap();
            // Who has heard enough goes.
            let _ = server.write_all(said);
            let _ = server.shutdown(Shutdown::Write);
            let mut taken = [0; 4096];
            while server.read(&mut taken).is_ok_and(|count| count > 0) {}
        });
        let mut session = ClientSession::open(&Endpoint::root_over(path, ""))?;
        let statement = session.prepare("SELECT a FROM t WHERE id = ?")?;
        session.execute(statement, &[Value::Int(7)])?;
        let rows = session.rows("SELECT a FROM t")?;
        let _ = session.query(b"DO 0");
        Ok(rows.len())
    })
}

/// The process's largest address space so far, in bytes.
fn address_space_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmPeak:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn any_answer_is_taken_or_refused_and_never_more() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    assert_eq!(
        session(&listener, &path, &answers().concat()),
        Ok(2),
        "nothing is wrong with it yet"
    );
    let first = setting("ASSAY_SEED", 0);
    let seeds = setting("ASSAY_SEEDS", assay_testing::count(3_000, 50_000));
    let (mut taken, mut refused) = (0u64, 0u64);
    for seed in first..first + seeds {
        let mut random = Random(seed);
        let mut packets = answers();
        mutate(&mut packets, &mut random);
        let (before, began) = (address_space_bytes(), Instant::now());
        match session(&listener, &path, &packets.concat()) {
            Ok(_) => taken += 1,
            Err(error) => {
                refused += 1;
                let told = error.to_string();
                assert!(
                    !told.chars().any(char::is_control) && told.len() < 2_000,
                    "seed {seed}: {told:?}"
                );
            }
        }
        assert!(began.elapsed() < Duration::from_secs(10), "seed {seed}: {:?}", began.elapsed());
        let grown = address_space_bytes() - before;
        assert!(grown <= MEMORY_BYTES, "seed {seed}: {} MiB", grown >> 20);
    }
    println!("{taken} taken, {refused} refused");
    assert!(seeds < 100 || (taken > seeds / 20 && refused > seeds / 4), "{taken} {refused}");
}
