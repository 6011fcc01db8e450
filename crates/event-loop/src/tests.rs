use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use super::*;

/// Both ends of a nonblocking connection.
fn pair() -> (UnixStream, UnixStream) {
    let (a, b) = UnixStream::pair().unwrap();
    a.set_nonblocking(true).unwrap();
    b.set_nonblocking(true).unwrap();
    (a, b)
}

async fn read(watch: &Watch, mut socket: &UnixStream, bytes: &mut [u8]) -> usize {
    poll_fn(|_| {
        if !watch.take_ready() {
            return Poll::Pending;
        }
        match socket.read(bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Poll::Pending,
            read => {
                // A read that filled the buffer may have left more.
                if matches!(read, Ok(count) if count == bytes.len()) {
                    watch.set_ready();
                }
                Poll::Ready(read.unwrap())
            }
        }
    })
    .await
}

async fn write(watch: &Watch, mut socket: &UnixStream, bytes: &[u8]) -> usize {
    let written = poll_fn(|_| match socket.write(bytes) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            watch.want_room(socket, true).unwrap();
            Poll::Pending
        }
        written => Poll::Ready(written.unwrap()),
    });
    let written = written.await;
    watch.want_room(socket, false).unwrap();
    written
}

/// The order in which `tasks` tasks receive answers that are always ready; `greed` answers are
/// taken without waiting.
fn answered(tasks: usize, greed: usize) -> Vec<usize> {
    let event_loop = EventLoop::new(&Bell::new().unwrap(), tasks).unwrap();
    let log = RefCell::new(Vec::new());
    let task = |number: usize| {
        let (handle, log) = (event_loop.handle(), &log);
        async move {
            let (near, far) = pair();
            let watch = handle.watch(&near).unwrap();
            for answer in 0..40 {
                (&far).write_all(&[1]).unwrap();
                if answer % greed == 0 {
                    read(&watch, &near, &mut [0; 8]).await;
                } else {
                    (&near).read_exact(&mut [0]).unwrap();
                }
                log.borrow_mut().push(number);
            }
        }
    };
    event_loop.run((0..tasks).map(task), || false).unwrap();
    log.into_inner()
}

/// Returns true if no task had a second turn before all had their first, and so on.
fn is_fair(log: &[usize], tasks: usize) -> bool {
    log.chunks(tasks).all(|turn| (0..tasks).all(|number| turn.contains(&number)))
}

#[test]
fn tasks_take_turns_however_soon_each_is_answered() {
    for tasks in [2, 7, 100] {
        let log = answered(tasks, 1);
        assert!(log.len() == 40 * tasks && is_fair(&log, tasks), "{log:?}");
        assert!(!is_fair(&answered(tasks, 2), tasks), "who takes two answers a turn is caught");
    }
}

#[test]
fn waits_below_a_millisecond_are_not_rounded_up_to_one() {
    let asked = Duration::from_micros(200);
    let took = |handle: Handle| async move {
        let began = Instant::now();
        handle.sleep(asked).await;
        began.elapsed()
    };
    // Other processes may take the CPU: the fastest of many waits shows the timer's precision.
    let soonest = (0..200).map(|_| block_on(took).unwrap()).min().unwrap();
    assert!(soonest >= asked && soonest < Duration::from_micros(900), "{soonest:?}");
}

#[test]
fn deadlines_are_met_in_their_order_whoever_set_them_first() {
    let event_loop = EventLoop::new(&Bell::new().unwrap(), 3).unwrap();
    let log = RefCell::new(Vec::new());
    let task = |number: u64| {
        let (handle, log) = (event_loop.handle(), &log);
        async move {
            handle.sleep(Duration::from_millis(30 - 10 * number)).await;
            log.borrow_mut().push(number);
        }
    };
    event_loop.run((0..3).map(task), || false).unwrap();
    assert_eq!(log.into_inner(), [2, 1, 0]);
}

#[test]
fn the_bell_has_everybody_look_again_and_drops_who_is_left_when_it_is_over() {
    struct Dropped<'a>(&'a Cell<u32>);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let (bell, dropped) = (Bell::new().unwrap(), Cell::new(0));
    let event_loop = EventLoop::new(&bell, 10).unwrap();
    let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let ended = Cell::new(0);
    let task = |number: u32| {
        let (handle, ended, dropped, stop, over, bell) =
            (event_loop.handle(), &ended, &dropped, &stop, &over, &bell);
        async move {
            let _dropped = Dropped(dropped);
            // The last two tasks never end by themselves.
            handle.wait_until(None, || number < 8 && stop.load(Ordering::Relaxed)).await;
            ended.set(ended.get() + 1);
            if ended.get() == 8 {
                over.store(true, Ordering::Relaxed);
                bell.ring();
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            stop.store(true, Ordering::Relaxed);
            bell.ring();
        });
        event_loop.run((0..10).map(task), || over.load(Ordering::Relaxed)).unwrap();
    });
    assert_eq!((ended.get(), dropped.get()), (8, 10));
}

#[test]
fn what_does_not_fit_is_written_when_there_is_room() {
    const BYTES: usize = 4 << 20;
    let event_loop = EventLoop::new(&Bell::new().unwrap(), 2).unwrap();
    let (near, far) = pair();
    let received = Cell::new(0);
    let task = |is_writer: bool| {
        let (handle, near, far, received) = (event_loop.handle(), &near, &far, &received);
        async move {
            let watch = handle.watch(if is_writer { near } else { far }).unwrap();
            let mut bytes = vec![7; 1 << 20];
            let mut done = 0;
            while done < BYTES {
                done += match is_writer {
                    true => write(&watch, near, &bytes[..bytes.len().min(BYTES - done)]).await,
                    false => read(&watch, far, &mut bytes).await,
                };
            }
            received.set(received.get() + done);
        }
    };
    event_loop.run([true, false].map(task), || false).unwrap();
    assert_eq!(received.get(), 2 * BYTES);
}

#[test]
fn work_that_takes_too_long_is_left_and_work_that_does_not_is_done() {
    let done = |long: Duration, limit: Duration| {
        block_on(|handle| async move {
            let work = async {
                handle.sleep(long).await;
                5
            };
            handle.until(Some(Instant::now() + limit), || false, work).await
        })
    };
    let (short, long) = (Duration::from_millis(1), Duration::from_secs(3600));
    assert_eq!(done(long, short).unwrap(), None);
    assert_eq!(done(short, long).unwrap(), Some(5));
}

#[test]
fn a_thread_blocks_in_the_same_waits_until_it_is_rung() {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let handle = Handle::of_thread();
            poll_ready(handle.sleep(Duration::from_millis(1)));
            poll_ready(handle.wait_until(None, || is_over.load(Ordering::Relaxed)));
            poll_ready(handle.look(|| is_over.load(Ordering::Relaxed).then_some(3)))
        });
        is_over.store(true, Ordering::Relaxed);
        Bell::of_thread(waiting.thread().clone()).ring();
        assert_eq!(waiting.join().unwrap(), 3);
    });
}

#[test]
fn more_tasks_than_were_said_are_refused() {
    let event_loop = EventLoop::new(&Bell::new().unwrap(), 1).unwrap();
    assert!(event_loop.run([(); 2].map(|()| async {}), || false).is_err());
    assert!(EventLoop::new(&Bell::of_thread(thread::current()), 1).is_err());
}
