//! What no device can be, said with the number that is wrong.

use anyhow::{Result, bail, ensure};
use assay_drive::{BLOCK_BYTES, Codec};
use assay_load::suggest;

use super::preset::{Document, Engine, Flash, Host, Kind};

/// What a preset may say of worth.
pub const WORTH: &[&str] = &[
    "price_usd",
    "power_active_w",
    "power_idle_w",
    "drive_writes_per_day",
    "warranty_years",
    "endurance_bytes",
    "erase_cycles",
];

/// What a preset may quote.
pub const PUBLISHED: &[&str] = &[
    "read_latency_us",
    "write_latency_us",
    "random_read_per_s",
    "random_write_per_s",
    "read_bytes_per_s",
    "write_bytes_per_s",
];

/// What one lane of each generation carries one way, in bytes a second, less its line code (PCI Express base
/// specifications 1.0 to 5.0: 2.5 and 5 GT/s by 8b/10b, 8, 16 and 32 GT/s by 128b/130b).
const LANE_BYTES_PER_S: [f64; 5] = [250e6, 500e6, 984.6e6, 1969.2e6, 3938.5e6];

/// The largest write that the drive, which stands in for a device's translation layer, keeps whole.
const ATOMIC_BYTES_MAX: u64 = 256 << 10;

/// Checks a preset.
///
/// # Errors
/// One line: which number cannot be, or what is missing or too much.
pub fn check(document: &Document) -> Result<()> {
    known("worth", WORTH, document.worth.keys())?;
    known("published", PUBLISHED, document.published.keys())?;
    let worth = document.worth.iter().map(|(name, figure)| ("worth", name, figure.value));
    let published = document.published.iter();
    let published = published.map(|(name, figure)| ("published", name, figure.value));
    for (section, name, value) in worth.chain(published) {
        positive(&format!("{section}.{name}"), value)?;
    }
    capacity(document)?;
    match document.kind {
        Kind::Nand => nand(document),
    }
}

fn known<'a>(section: &str, known: &[&str], names: impl Iterator<Item = &'a String>) -> Result<()> {
    for name in names.filter(|name| !known.contains(&name.as_str())) {
        let known_names = known.join(", ");
        match suggest::nearest(name, known.iter().copied()) {
            Some(near) => bail!("unknown key `{section}.{name}`; did you mean `{near}`?"),
            None => bail!("unknown key `{section}.{name}`; known are {known_names}"),
        }
    }
    Ok(())
}

fn capacity(document: &Document) -> Result<()> {
    let user = document.capacity.user_bytes.value;
    ensure!(user >= BLOCK_BYTES, "capacity.user_bytes is {user}; a device has at least one block");
    let atomic = document.promise.atomic_write_bytes.as_ref().map(|figure| figure.value);
    if let Some(bytes) = atomic {
        ensure!(
            bytes > 0 && bytes.is_multiple_of(BLOCK_BYTES) && bytes <= ATOMIC_BYTES_MAX,
            "promise.atomic_write_bytes is {bytes}; what can be kept is whole blocks of {BLOCK_BYTES}, up to \
             {ATOMIC_BYTES_MAX}"
        );
    }
    Ok(())
}

fn nand(document: &Document) -> Result<()> {
    let Some(flash) = &document.flash else {
        bail!("a model of kind nand needs a section [flash]")
    };
    let Some(host) = &document.host else { bail!("a model of kind nand needs a section [host]") };
    let Some(raw) = &document.capacity.raw_per_user else {
        bail!("a model of kind nand needs the key capacity.raw_per_user")
    };
    ensure!(
        raw.value.is_finite() && raw.value >= 1.0,
        "capacity.raw_per_user is {}; the host cannot be given more than there is",
        raw.value
    );
    geometry(flash)?;
    link(host)?;
    document.engine.as_ref().map_or(Ok(()), engine)
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
        "flash.buffer_bytes is {buffer}; what one die programs at once, {planes} planes of {page} bytes, must fit"
    );
    Ok(())
}

fn link(host: &Host) -> Result<()> {
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
        "host.link_bytes_per_s is {speed:.0}; {lanes} lanes of PCIe {generation} carry {most:.0} at most"
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

fn positive(name: &str, value: f64) -> Result<()> {
    ensure!(value.is_finite() && value > 0.0, "{name} is {value}; it must be more than nothing");
    Ok(())
}

fn not_negative(name: &str, value: f64) -> Result<()> {
    ensure!(value.is_finite() && value >= 0.0, "{name} is {value}; it cannot be less than nothing");
    Ok(())
}
