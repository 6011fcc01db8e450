//! Parses a line of the kernel's trace (`Documentation/trace/events.rst`; the format of
//! `block_rq_issue` in `include/trace/events/block.h`).

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A write is issued to the device, from one byte offset to another.
    Write { from_bytes: u64, to_bytes: u64 },
    /// This many events were lost.
    Lost(u64),
}

const ISSUE: &str = "block_rq_issue: ";

/// The kernel's sector.
const SECTOR_BYTES: u64 = 512;

/// The event of a line for the device with that number, as `major,minor`; `None` for anything but a
/// write to that device.
pub(super) fn parse(line: &str, device: &str) -> Option<Event> {
    if let Some((_, rest)) = line.split_once("[LOST ") {
        return Some(Event::Lost(rest.split(' ').next()?.parse().ok()?));
    }
    let (_, told) = line.split_once(ISSUE)?;
    let mut words = told.split(' ');
    let (number, kind) = (words.next()?, words.next()?);
    if number != device || !kind.contains('W') {
        return None;
    }
    // The bytes of the command are in brackets; position and length follow.
    let (_, place) = told.split_once(") ")?;
    let mut words = place.split(' ');
    let sector: u64 = words.next()?.parse().ok()?;
    let count: u64 = words.nth(1)?.parse().ok()?;
    let from_bytes = sector.checked_mul(SECTOR_BYTES)?;
    Some(Event::Write { from_bytes, to_bytes: from_bytes.checked_add(count * SECTOR_BYTES)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_of_the_device_are_told_whatever_kernel_tells_them() {
        let new = "             fio-4242    [001] d..2.  100.000001: block_rq_issue: 7,0 WS 16384 \
                   () 2048 + 32 none,0,0 [fio]";
        let old =
            " kworker/0:1H-15  [000] ....  7.1: block_rq_issue: 7,0 W 4096 () 8 + 8 [kworker/0:1H]";
        let write = |from_bytes, to_bytes| Some(Event::Write { from_bytes, to_bytes });
        assert_eq!(parse(new, "7,0"), write(1 << 20, (1 << 20) + (16 << 10)));
        assert_eq!(parse(old, "7,0"), write(4096, 8192));
        assert_eq!(parse(new, "7,1"), None);
        for other in ["R 4096 () 8 + 8", "FF 0 () 0 + 0", "N 512 (12 00 00) 0 + 0"] {
            assert_eq!(
                parse(&format!("x: block_rq_issue: 7,0 {other} [x]"), "7,0"),
                None,
                "{other}"
            );
        }
        let flushed = parse("x: block_rq_issue: 7,0 FWS 4096 () 16 + 8 [x]", "7,0");
        assert_eq!(flushed, write(8192, 12288));
        assert_eq!(parse("CPU:1 [LOST 37 EVENTS]", "7,0"), Some(Event::Lost(37)));
        assert_eq!(parse("# tracer: nop", "7,0"), None);
    }
}
