//! Checks of a preset's numbers: the error names the number that is wrong.

use anyhow::{Result, bail, ensure};
use assay_base::suggest;
use assay_drive::{BLOCK_BYTES, Codec};

use super::document::{
    CapacitySection, DeviceKind, Engine, Flash, HostSection, Mirror, PresetDocument,
};
use super::fault;

/// Names of figures of worth.
pub const WORTH: &[&str] = &[
    "price_usd",
    "power_active_w",
    "power_idle_w",
    "drive_writes_per_day",
    "warranty_years",
    "endurance_bytes",
    "erase_cycles",
];

/// Names of published figures.
pub const PUBLISHED: &[&str] = &[
    "read_latency_us",
    "write_latency_us",
    "random_read_per_s",
    "random_write_per_s",
    "read_bytes_per_s",
    "write_bytes_per_s",
];

/// Bytes per second of one lane of each generation in one direction, without its line code (PCI
/// Express base specifications 1.0 to 5.0: 2.5 and 5 GT/s by 8b/10b, 8, 16 and 32 GT/s by
/// 128b/130b).
const LANE_BYTES_PER_S: [f64; 5] = [250e6, 500e6, 984.6e6, 1969.2e6, 3938.5e6];

/// The largest write that the drive, which stands in for a device's translation layer, keeps whole.
const ATOMIC_BYTES_MAX: u64 = 256 << 10;

/// Checks a preset.
///
/// # Errors
/// One line: which number cannot be, or what is missing or too much.
pub fn check(document: &PresetDocument) -> Result<()> {
    known("worth", WORTH, document.worth.keys())?;
    known("published", PUBLISHED, document.published.keys())?;
    let worth = document.worth.iter().map(|(name, figure)| ("worth", name, figure.value));
    let published = document.published.iter();
    let published = published.map(|(name, figure)| ("published", name, figure.value));
    for (section, name, value) in worth.chain(published) {
        positive(&format!("{section}.{name}"), value)?;
    }
    capacity(document)?;
    sections(document)?;
    fault::check(document)?;
    match document.kind {
        DeviceKind::Nand => nand(document),
        DeviceKind::Rotating => rotating(document),
        DeviceKind::Volume => volume(document),
        DeviceKind::Network => network(document),
        DeviceKind::Mirror => document.mirror.as_ref().map_or(Ok(()), mirror),
    }
}

/// Every kind has its own sections, and no others.
fn sections(document: &PresetDocument) -> Result<()> {
    use DeviceKind::{Mirror, Nand, Network, Rotating, Volume};
    let kind = document.kind;
    for (name, is_there, needs, may_have) in [
        ("capacity", document.capacity.is_some(), &[Nand, Rotating, Volume][..], &[][..]),
        ("flash", document.flash.is_some(), &[Nand], &[]),
        ("host", document.host.is_some(), &[Nand], &[]),
        ("engine", document.engine.is_some(), &[], &[Nand]),
        ("spindle", document.spindle.is_some(), &[Rotating], &[]),
        ("array", document.array.is_some(), &[Rotating], &[]),
        ("volume", document.volume.is_some(), &[Volume], &[]),
        ("network", document.network.is_some(), &[Network], &[]),
        ("mirror", document.mirror.is_some(), &[Mirror], &[]),
    ] {
        let needed = needs.contains(&kind);
        let kind = kind.name();
        ensure!(is_there || !needed, "a model of kind {kind} needs a section [{name}]");
        ensure!(
            !is_there || needed || may_have.contains(&document.kind),
            "a model of kind {kind} has no section [{name}]; remove it"
        );
    }
    Ok(())
}

fn known<'a>(
    section: &str,
    known: &[&str],
    mut names: impl Iterator<Item = &'a String>,
) -> Result<()> {
    let Some(name) = names.find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
    match suggest::nearest(name, known.iter().copied()) {
        Some(near) => bail!("unknown key `{section}.{name}`; did you mean `{near}`?"),
        None => bail!("unknown key `{section}.{name}`; known are {}", known.join(", ")),
    }
}

fn capacity(document: &PresetDocument) -> Result<()> {
    if let Some(CapacitySection { user_bytes, .. }) = &document.capacity {
        let user = user_bytes.value;
        ensure!(
            user >= BLOCK_BYTES,
            "capacity.user_bytes is {user}; a device has at least one block"
        );
    }
    let atomic = document.guarantees.atomic_write_bytes.as_ref().map(|figure| figure.value);
    if let Some(bytes) = atomic {
        ensure!(
            bytes > 0 && bytes.is_multiple_of(BLOCK_BYTES) && bytes <= ATOMIC_BYTES_MAX,
            "guarantees.atomic_write_bytes is {bytes}; it must be a multiple of {BLOCK_BYTES}, \
            up to {ATOMIC_BYTES_MAX}"
        );
    }
    Ok(())
}

fn nand(document: &PresetDocument) -> Result<()> {
    let raw = document.capacity.as_ref().and_then(|capacity| capacity.raw_per_user.as_ref());
    let Some(raw) = raw else { bail!("a model of kind nand needs the key capacity.raw_per_user") };
    ensure!(
        raw.value.is_finite() && raw.value >= 1.0,
        "capacity.raw_per_user is {}; it must be at least 1",
        raw.value
    );
    document.flash.as_ref().map_or(Ok(()), geometry)?;
    document.host.as_ref().map_or(Ok(()), link)?;
    document.engine.as_ref().map_or(Ok(()), engine)
}

/// Sides of a mirror: more than a server has slots for such cards would only be slower to write.
const SIDES: std::ops::RangeInclusive<u32> = 2..=8;

fn mirror(mirror: &Mirror) -> Result<()> {
    let sides = mirror.sides.value;
    ensure!(
        SIDES.contains(&sides),
        "mirror.sides is {sides}; give a number from {} to {}",
        SIDES.start(),
        SIDES.end()
    );
    Ok(())
}

fn geometry(flash: &Flash) -> Result<()> {
    for (name, count) in [
        ("channels", &flash.channels),
        ("dies_per_channel", &flash.dies_per_channel),
        ("planes", &flash.planes),
        ("pages_per_block", &flash.pages_per_block),
    ] {
        ensure!(count.value > 0, "flash.{name} is 0; a device has at least one");
    }
    let page = flash.page_bytes.value;
    ensure!(
        page.is_power_of_two() && page >= 512,
        "flash.page_bytes is {page}; a page is a power of two, from 512 bytes on"
    );
    for (name, span) in [
        ("read_us", &flash.read_us),
        ("program_us", &flash.program_us),
        ("erase_us", &flash.erase_us),
        ("bus_bytes_per_s", &flash.bus_bytes_per_s),
    ] {
        positive(&format!("flash.{name}"), span.value)?;
    }
    not_negative("flash.program_suspend_us", flash.program_suspend_us.value)?;
    not_negative("flash.erase_suspend_us", flash.erase_suspend_us.value)?;
    let (buffer, planes) = (flash.buffer_bytes.value, u64::from(flash.planes.value));
    ensure!(
        planes * u64::from(page) <= buffer,
        "flash.buffer_bytes is {buffer}; what one die programs at once, {planes} planes of \
        {page} bytes, must fit"
    );
    Ok(())
}

fn link(host: &HostSection) -> Result<()> {
    not_negative("host.read_firmware_us", host.read_firmware_us.value)?;
    not_negative("host.write_firmware_us", host.write_firmware_us.value)?;
    let speed = host.link_bytes_per_s.value;
    positive("host.link_bytes_per_s", speed)?;
    if let Some(rate) = &host.operations_per_s {
        positive("host.operations_per_s", rate.value)?;
    }
    let (Some(generation), Some(lanes)) = (&host.pcie_generation, &host.pcie_lanes) else {
        return Ok(());
    };
    let (generation, lanes) = (generation.value, lanes.value);
    let Some(lane) = (generation as usize).checked_sub(1).and_then(|at| LANE_BYTES_PER_S.get(at))
    else {
        bail!("host.pcie_generation is {generation}; there are 1 to {}", LANE_BYTES_PER_S.len())
    };
    ensure!((1..=32).contains(&lanes), "host.pcie_lanes is {lanes}; there are 1 to 32");
    let most = lane * f64::from(lanes);
    ensure!(
        speed <= most,
        "host.link_bytes_per_s is {speed:.0}; {lanes} lanes of PCIe {generation} carry {most:.0} \
        at most"
    );
    Ok(())
}

fn engine(engine: &Engine) -> Result<()> {
    ensure!(
        engine.codec.value.0 != Codec::None,
        "engine.codec is none; a device that does not compress has no section [engine]"
    );
    not_negative("engine.latency_us", engine.latency_us.value)?;
    positive("engine.bytes_per_s", engine.bytes_per_s.value)
}

fn rotating(document: &PresetDocument) -> Result<()> {
    let (Some(spindle), Some(array)) = (&document.spindle, &document.array) else { return Ok(()) };
    for (name, figure) in [
        ("spindle.rotation_us", &spindle.rotation_us),
        ("spindle.track_to_track_us", &spindle.track_to_track_us),
        ("spindle.read_seek_us", &spindle.read_seek_us),
        ("spindle.write_seek_us", &spindle.write_seek_us),
        ("spindle.media_bytes_per_s", &spindle.media_bytes_per_s),
        ("array.link_bytes_per_s", &array.link_bytes_per_s),
        ("array.patience_us", &array.patience_us),
    ] {
        positive(name, figure.value)?;
    }
    not_negative("array.command_us", array.command_us.value)?;
    for (name, seek) in
        [("read_seek_us", &spindle.read_seek_us), ("write_seek_us", &spindle.write_seek_us)]
    {
        let (near, mean) = (spindle.track_to_track_us.value, seek.value);
        ensure!(
            mean >= near,
            "spindle.{name} is {mean}; a seek takes no less than to the next track, {near}"
        );
    }
    let spindles = array.spindles.value;
    ensure!(spindles > 0, "array.spindles is 0; a device has at least one");
    ensure!(
        !array.mirrored.value || spindles.is_multiple_of(2),
        "array.spindles is {spindles}; pairs of mirrors take an even number"
    );
    let chunk = array.chunk_bytes.value;
    ensure!(
        chunk > 0 && chunk.is_multiple_of(BLOCK_BYTES),
        "array.chunk_bytes is {chunk}; chunks are made of blocks of {BLOCK_BYTES}"
    );
    Ok(())
}

fn volume(document: &PresetDocument) -> Result<()> {
    let Some(volume) = &document.volume else { return Ok(()) };
    for (name, figure) in [
        ("operations_per_s", Some(&volume.operations_per_s)),
        ("bytes_per_s", Some(&volume.bytes_per_s)),
        ("read_us", Some(&volume.read_us)),
        ("write_us", Some(&volume.write_us)),
        ("operations_credit", volume.operations_credit.as_ref()),
        ("bytes_credit", volume.bytes_credit.as_ref()),
    ] {
        figure.map_or(Ok(()), |figure| positive(&format!("volume.{name}"), figure.value))?;
    }
    not_negative("volume.rest_us", volume.rest_us.value)?;
    not_negative("volume.flush_us", volume.flush_us.value)?;
    for (name, median, p99) in [
        ("read_p99_us", &volume.read_us, &volume.read_p99_us),
        ("write_p99_us", &volume.write_us, &volume.write_p99_us),
    ] {
        at_least(&format!("volume.{name}"), p99.value, "what half of all take", median.value)?;
    }
    for (name, peak, rate) in [
        ("operations_peak_per_s", &volume.operations_peak_per_s, &volume.operations_per_s),
        ("bytes_peak_per_s", &volume.bytes_peak_per_s, &volume.bytes_per_s),
    ] {
        if let Some(peak) = peak {
            at_least(&format!("volume.{name}"), peak.value, "the long run's rate", rate.value)?;
        }
    }
    let bytes = volume.bytes_per_operation.value;
    ensure!(
        bytes >= BLOCK_BYTES,
        "volume.bytes_per_operation is {bytes}; an operation carries at least a block of \
        {BLOCK_BYTES}"
    );
    Ok(())
}

fn network(document: &PresetDocument) -> Result<()> {
    let Some(network) = &document.network else { return Ok(()) };
    positive("network.round_trip_us", network.round_trip_us.value)?;
    positive("network.bytes_per_s", network.bytes_per_s.value)?;
    let (trip, p99) = (network.round_trip_us.value, network.round_trip_p99_us.value);
    at_least("network.round_trip_p99_us", p99, "what half of all take", trip)?;
    let pieces = [&network.copies, &network.data_pieces]
        .map(|count| count.as_ref().map(|figure| figure.value));
    match pieces {
        [Some(copies), None] => {
            ensure!((1..=16).contains(&copies), "network.copies is {copies}; there are 1 to 16");
        }
        [None, Some(data)] => {
            let parity = network.parity_pieces.as_ref().map_or(0, |figure| figure.value);
            let all = data.saturating_add(parity);
            ensure!(
                data > 0 && all <= 64,
                "network.data_pieces is {data} and parity_pieces {parity}; there is at least \
                one, and 64 in all"
            );
        }
        _ => bail!("a network needs either network.copies or network.data_pieces"),
    }
    Ok(())
}

fn at_least(name: &str, value: f64, what: &str, least: f64) -> Result<()> {
    ensure!(
        value.is_finite() && value >= least,
        "{name} is {value}; it cannot be below {what}, {least}"
    );
    Ok(())
}

fn positive(name: &str, value: f64) -> Result<()> {
    ensure!(value.is_finite() && value > 0.0, "{name} is {value}; it must be above 0");
    Ok(())
}

fn not_negative(name: &str, value: f64) -> Result<()> {
    ensure!(value.is_finite() && value >= 0.0, "{name} is {value}; give 0 or more");
    Ok(())
}
