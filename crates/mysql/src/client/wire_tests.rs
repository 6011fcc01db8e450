//! Packets over a real socket that transfers them in pieces, blocking and on an event loop.

use std::os::unix::net::UnixStream;
use std::thread;

use assay_event_loop::{Handle, block_on, poll_ready};

use super::super::ready::Blocks;
use super::super::socket::Socket;
use super::*;

/// The answer to `packets` packets, numbered after them.
fn answer(packets: u8) -> Vec<u8> {
    [&[5, 0, 0, packets][..], b"hello"].concat()
}

fn wire<R: Ready>(socket: UnixStream, ready: R) -> Wire<R> {
    Wire::new(Stream::Plain(Socket::from(socket)), ready)
}

/// Sends a payload of `payload` bytes, and returns the answer's.
async fn exchange<R: Ready>(mut wire: Wire<R>, payload: usize) -> Vec<u8> {
    wire.begin(7);
    wire.put_zeroes(payload - 1);
    wire.send().await.unwrap();
    wire.packet().await.unwrap().to_vec()
}

/// Reads `count` bytes, then answers byte by byte. Returns the bytes read.
fn peer(mut socket: UnixStream, count: usize) -> Vec<u8> {
    let mut taken = vec![0; count];
    socket.read_exact(&mut taken).unwrap();
    let packets = 1 + count / (PAYLOAD_MAX + HEADER);
    for byte in answer(packets as u8) {
        socket.write_all(&[byte]).unwrap();
        thread::yield_now();
    }
    taken
}

/// The bytes that the peer receives of a payload of `payload` bytes, which takes `on_wire` bytes.
fn taken(payload: usize, on_wire: usize) -> Vec<u8> {
    thread::scope(|scope| {
        let (near, far) = UnixStream::pair().unwrap();
        let blocking = scope.spawn(move || peer(far, on_wire));
        assert_eq!(poll_ready(exchange(wire(near, Blocks), payload)), b"hello");
        let (near, far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let looped = scope.spawn(move || peer(far, on_wire));
        let on_loop = |events: Handle| async move {
            let watch = events.watch(&near).unwrap();
            exchange(wire(near, watch), payload).await
        };
        assert_eq!(block_on(on_loop).unwrap(), b"hello");
        let taken = blocking.join().unwrap();
        assert!(taken == looped.join().unwrap(), "both send the same");
        taken
    })
}

#[test]
fn packets_are_sent_and_put_together_in_pieces_whether_waiting_blocks_or_not() {
    assert_eq!(taken(3, 7), [3, 0, 0, 0, 7, 0, 0]);
    let large = taken(5 << 20, HEADER + (5 << 20));
    assert_eq!(large[..HEADER + 1], [0, 0, 0x50, 0, 7]);
}

#[test]
fn what_is_longer_than_a_packet_goes_as_several_the_last_of_which_is_shorter() {
    let on_wire = taken(PAYLOAD_MAX, PAYLOAD_MAX + 2 * HEADER);
    assert_eq!(on_wire[..HEADER], [0xff, 0xff, 0xff, 0]);
    assert_eq!(on_wire[PAYLOAD_MAX + HEADER..], [0, 0, 0, 1]);
    let on_wire = taken(PAYLOAD_MAX + 2, PAYLOAD_MAX + 2 + 2 * HEADER);
    assert_eq!(on_wire[PAYLOAD_MAX + HEADER..], [2, 0, 0, 1, 0, 0]);
}

#[test]
fn a_peer_that_goes_is_a_lost_connection_on_a_loop_too() {
    let lost = block_on(|events: Handle| async move {
        let (near, far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let watch = events.watch(&near).unwrap();
        let mut wire = wire(near, watch);
        drop(far);
        let closed = wire.packet().await.map(<[u8]>::len);
        wire.begin(1);
        (closed, wire.send().await)
    });
    let (closed, sent) = lost.unwrap();
    assert!(matches!(closed, Err(SessionError::Lost { .. })), "{closed:?}");
    assert!(matches!(sent, Err(SessionError::Lost { .. })), "it says so on every further call");
}

#[test]
fn a_packet_out_of_order_ends_the_connection_unless_it_is_an_error() {
    let answered = |packet: Vec<u8>| {
        let (near, mut far) = UnixStream::pair().unwrap();
        far.write_all(&packet).unwrap();
        let mut wire = wire(near, Blocks);
        wire.begin(1);
        poll_ready(wire.send()).unwrap();
        let first = poll_ready(wire.packet()).map(<[u8]>::len);
        (first, poll_ready(wire.send()))
    };
    assert_eq!(answered(answer(1)), (Ok(5), Ok(())));
    for wrong in [0, 2, 255] {
        let (Err(error), Err(_)) = answered(answer(wrong)) else { panic!("{wrong} was taken") };
        assert!(error.to_string().contains("out of order"), "{error}");
    }
    // The server may report why it closes before it has seen the statement.
    assert_eq!(answered(b"\x03\0\0\0\xff\x05\x04".to_vec()).0, Ok(3));
}

#[test]
fn what_a_packet_declares_is_not_allocated_before_it_has_come() {
    let (near, mut far) = UnixStream::pair().unwrap();
    let mut wire = wire(near, Blocks);
    wire.be_logged_in(true).unwrap();
    far.write_all(&[0xfe, 0xff, 0xff, 0]).unwrap();
    far.write_all(&[7; 1000]).unwrap();
    drop(far);
    assert!(poll_ready(wire.packet()).is_err());
    assert!(wire.arrived.len() <= 2 * BUFFER_BYTES, "{} bytes", wire.arrived.len());
}

#[test]
fn a_peer_that_sends_a_byte_now_and_then_is_not_waited_for_longer() {
    let (near, mut far) = UnixStream::pair().unwrap();
    let mut wire = wire(near, Blocks);
    wire.be_logged_in(true).unwrap();
    let until = Instant::now() + std::time::Duration::from_millis(300);
    wire.limit(Some(until)).unwrap();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let drip = thread::spawn(move || {
        let tick = std::time::Duration::from_millis(50);
        while far.write_all(&[1]).is_ok() && stopped.recv_timeout(tick).is_err() {}
    });
    let error = poll_ready(wire.packet()).unwrap_err();
    stop.send(()).unwrap();
    drip.join().unwrap();
    assert!(error.to_string().contains("did not answer in time"), "{error}");
    assert!(until.elapsed() < std::time::Duration::from_secs(5));
}
