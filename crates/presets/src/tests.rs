//! Every preset is a device, and does what is published of it or gives the reason; impossible
//! devices are refused.

use super::closed::ClosedConditions;
use super::device::Device;
use super::figure::Mark;
use super::preset::{PRESETS, Preset};
use super::scale::Scale;

/// Largest distance of a closed form from a published figure, unless the preset gives a reason.
const MARGIN: f64 = 0.15;

fn presets() -> Vec<Preset> {
    PRESETS.iter().map(|(name, text)| Preset::parse(name, text).unwrap()).collect()
}

#[test]
fn every_preset_does_what_is_published_or_says_why_not() {
    let mut compared = 0;
    for preset in presets() {
        let device = Device::new(&preset, Scale::default()).unwrap();
        for (name, published) in &preset.document.published {
            let conditions = ClosedConditions {
                fill: published.fill.unwrap_or(1.0),
                bytes: published.bytes.unwrap_or(4096),
                ratio: None,
            };
            let closed = device.closed(&preset, conditions).unwrap();
            let value = closed.iter().find(|one| one.name == name).unwrap().value;
            let ratio = value / published.value;
            println!("{} {name}: {value:.1} for {}: {ratio:.3}", preset.name, published.value);
            let is_near = (ratio - 1.0).abs() <= MARGIN;
            assert!(is_near || published.differs.is_some(), "{} {name}: {ratio}", preset.name);
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared}");
}

#[test]
fn the_margin_notices_a_number_that_is_not_the_devices() {
    let (name, text) = PRESETS[0];
    let slower = text.replace("read_us = { value = 54,", "read_us = { value = 90,");
    assert_ne!(slower, text);
    let preset = Preset::parse(name, &slower).unwrap();
    let device = Device::new(&preset, Scale::default()).unwrap();
    let closed = device.closed(&preset, ClosedConditions::default()).unwrap();
    let published = preset.document.published["read_latency_us"].value;
    let read = closed.iter().find(|one| one.name == "read_latency_us").unwrap().value;
    assert!((read / published - 1.0).abs() > MARGIN, "{read}");
}

#[test]
fn every_number_has_its_source_and_a_mark() {
    for preset in presets() {
        let rows = preset.rows().unwrap();
        assert!(rows.len() >= 5, "{}", preset.name);
        for row in rows {
            assert!(row.source.len() > 5, "{} {}", preset.name, row.key);
            let unit_is_last = !row.key.contains("_us_") && !row.key.contains("_bytes_of");
            assert!(unit_is_last, "{}", row.key);
        }
    }
}

#[test]
fn what_rests_on_a_fitted_number_says_so() {
    for preset in presets() {
        let device = Device::new(&preset, Scale::default()).unwrap();
        for closed in device.closed(&preset, ClosedConditions::default()).unwrap() {
            assert!(closed.mark >= Mark::Computed, "{} {}", preset.name, closed.name);
            // The limits of a volume are published, and nothing else.
            let is_paid = preset.name == "gp3" && closed.name.ends_with("per_s");
            let expected = if is_paid { Mark::Computed } else { Mark::Fitted };
            assert_eq!(closed.mark, expected, "{} {}", preset.name, closed.name);
        }
    }
}

/// The first preset with one number changed, and how it is refused.
fn refused(kind: &str, from: &str, to: &str) -> String {
    let (name, text) = PRESETS.iter().find(|(name, _)| *name == kind).unwrap();
    let changed = text.replacen(from, to, 1);
    assert_ne!(&changed, text, "`{from}` is not in {name}");
    let error = format!("{:#}", Preset::parse(name, &changed).unwrap_err());
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

#[test]
fn what_no_device_can_be_is_said_with_its_number() {
    for (kind, from, to, says) in [
        ("p4610-3.2", "channels = { value = 12,", "channels = { value = 0,", "flash.channels is 0"),
        (
            "p4610-3.2",
            "dies_per_channel = { value = 6,",
            "dies_per_channel = { value = 0,",
            "flash.dies_per_channel is 0",
        ),
        (
            "p4610-3.2",
            "page_bytes = { value = 16_384,",
            "page_bytes = { value = 10_000,",
            "flash.page_bytes is 10000; a page is a power of two",
        ),
        (
            "p4610-3.2",
            "program_us = { value = 1500,",
            "program_us = { value = 0,",
            "flash.program_us is 0; it must be above 0",
        ),
        ("p4610-3.2", "read_us = { value = 54,", "read_us = { value = -1,", "flash.read_us is -1"),
        (
            "p4610-3.2",
            "raw_per_user = { value = 1.22,",
            "raw_per_user = { value = 0.9,",
            "capacity.raw_per_user is 0.9; it must be at least 1",
        ),
        (
            "p4610-3.2",
            "link_bytes_per_s = { value = 3_200_000_000,",
            "link_bytes_per_s = { value = 7_000_000_000,",
            "4 lanes of PCIe 3 carry 3938400000 at most",
        ),
        (
            "p4610-3.2",
            "dies_per_channel = { value = 6,",
            "dies_per_channel = { value = 0,",
            "flash.dies_per_channel is 0; a device has at least one",
        ),
        (
            "p4610-3.2",
            "[guarantees]",
            "[fault]\nslower = { value = 2, mark = \"fitted\", source = \"put \\u001b[2J there\" \
            }\n[guarantees]",
            "fault.slower.source has a control character",
        ),
        (
            "p4610-3.2",
            "pcie_generation = { value = 3,",
            "pcie_generation = { value = 9,",
            "host.pcie_generation is 9",
        ),
        (
            "p4610-3.2",
            "buffer_bytes = { value = 67_108_864,",
            "buffer_bytes = { value = 4096,",
            "flash.buffer_bytes is 4096",
        ),
        (
            "p4610-3.2",
            "atomic_write_bytes = { value = 4096,",
            "atomic_write_bytes = { value = 1_000_000,",
            "guarantees.atomic_write_bytes is 1000000",
        ),
        (
            "csd2000-3.2",
            "codec = { value = \"deflate\",",
            "codec = { value = \"none\",",
            "engine.codec is none",
        ),
        (
            "csd2000-3.2",
            "codec = { value = \"deflate\",",
            "codec = { value = \"gzip\",",
            "no codec is called `gzip`",
        ),
        (
            "sas15k-r10x6",
            "spindles = { value = 6,",
            "spindles = { value = 5,",
            "array.spindles is 5; pairs of mirrors",
        ),
        (
            "sas15k-r10x6",
            "read_seek_us = { value = 3300,",
            "read_seek_us = { value = 100,",
            "spindle.read_seek_us is 100",
        ),
        (
            "gp3",
            "operations_per_s = { value = 3000,",
            "operations_per_s = { value = 0,",
            "volume.operations_per_s is 0",
        ),
        (
            "gp3",
            "read_p99_us = { value = 1400,",
            "read_p99_us = { value = 10,",
            "volume.read_p99_us is 10; it cannot be below",
        ),
        ("nvme-tcp-rf2", "copies = { value = 2,", "copies = { value = 0,", "network.copies is 0"),
    ] {
        let error = refused(kind, from, to);
        assert!(error.contains(says), "`{says}` is not in: {error}");
    }
}

#[test]
fn what_is_typed_wrong_is_said_with_its_line_and_what_would_be_right() {
    for (from, to, says) in [
        ("\nchannels =", "\nchanels =", "unknown key `chanels`; did you mean `channels`?"),
        ("mark = \"fitted\"", "mark = \"guessed\"", "unknown value `guessed`"),
        (
            "channels = { value = 12,",
            "channels = { valu = 12,",
            "unknown key `valu`; did you mean `value`?",
        ),
        ("channels = { value = 12,", "channels = { value = \"many\",", "line "),
        ("kind = \"nand\"", "kind = \"nandd\"", "unknown value `nandd`; did you mean `nand`?"),
        ("\nplanes =", "\n# planes =", "the key `planes` is missing; add it"),
        (
            "\nread_latency_us =",
            "\nread_latensy_us =",
            "unknown key `published.read_latensy_us`; did you mean `read_latency_us`?",
        ),
        ("\npower_idle_w =", "\npower_sleep_w =", "unknown key `worth.power_sleep_w`"),
        ("[host]", "[hosts]", "unknown key `hosts`"),
        ("kind = \"nand\"", "kind = \"volume\"", "a model of kind volume"),
    ] {
        let error = refused("p4610-3.2", from, to);
        assert!(error.contains(says), "`{says}` is not in: {error}");
    }
}

#[test]
fn an_unknown_device_is_answered_with_the_nearest() {
    let says = |name: &str| format!("{:#}", Preset::find(name).unwrap_err());
    assert_eq!(says("p4610-32"), "there is no model `p4610-32`; did you mean `p4610-3.2`?");
    assert!(
        says("zip-drive-100").starts_with("there is no model `zip-drive-100`; there are p4610")
    );
    assert!(says("./none.toml").starts_with("cannot read ./none.toml: No such file"));
}

#[test]
fn a_scale_divides_and_tells_what_came_of_it() {
    let preset = Preset::find("p4610-3.2").unwrap();
    let scale = Scale { capacity: 3200.0, parallel: 10.0 };
    let device = Device::new(&preset, scale).unwrap();
    let obtained = |name: &str| {
        let one = device.obtained().iter().find(|one| one.resource == name).unwrap();
        (one.modelled, one.factor)
    };
    assert_eq!(obtained("dies").0, 7.0);
    assert!((obtained("dies").1 - 72.0 / 7.0).abs() < 1e-9);
    assert_eq!(obtained("operations_per_s"), (64_000.0, 10.0));
    assert_eq!(device.user_bytes(), 1_000_000_000 / 4096 * 4096);
    // Latencies stay.
    let latency =
        |device: &Device| device.closed(&preset, ClosedConditions::default()).unwrap()[0].value;
    assert_eq!(latency(&device), latency(&Device::new(&preset, Scale::default()).unwrap()));
}

#[test]
fn less_than_a_drive_can_be_is_refused_with_what_would_do() {
    let mut refused = 0;
    for preset in presets() {
        let scale = Scale { capacity: 1e6, parallel: 1.0 };
        // Some are large enough to leave something at any divisor.
        let Err(error) = Device::new(&preset, scale) else { continue };
        let error = format!("{error:#}");
        refused += 1;
        let least = error.rsplit(' ').next().unwrap().parse::<f64>();
        let least = least.unwrap_or_else(|_| panic!("{}: {error}", preset.name));
        let works = |capacity| Device::new(&preset, Scale { capacity, parallel: 1.0 }).is_ok();
        assert!(works(least) && !works((least * 1.3).min(1e6)), "{}: {error}", preset.name);
    }
    assert!(refused >= 5, "{refused}");
}

#[test]
fn a_mirrored_pair_reads_twice_as_much_as_a_card_and_writes_as_much() {
    let closed = |name: &str| {
        let preset = Preset::find(name).unwrap();
        let device = Device::new(&preset, Scale { capacity: 100.0, parallel: 4.0 }).unwrap();
        (device.user_bytes(), device.closed(&preset, ClosedConditions::default()).unwrap())
    };
    let ((bytes, card), (pair_bytes, pair)) = (closed("s1120-800"), closed("s1120-800x2-r1"));
    assert_eq!(bytes, pair_bytes, "both sides hold the same");
    let times: Vec<_> =
        card.iter().zip(&pair).map(|(card, pair)| (card.name, pair.value / card.value)).collect();
    assert_eq!(
        times,
        [
            ("read_latency_us", 1.0),
            ("write_latency_us", 1.0),
            ("random_read_per_s", 2.0),
            ("random_write_per_s", 1.0),
            ("read_bytes_per_s", 2.0),
            ("write_bytes_per_s", 1.0),
        ]
    );
}

#[test]
fn a_mirror_of_what_is_no_flash_or_of_one_side_is_refused() {
    let pair = "s1120-800x2-r1";
    let one = refused(pair, "sides = { value = 2", "sides = { value = 1");
    assert_eq!(one, "mirror.sides is 1; give a number from 2 to 8");
    let over = |named: &str| {
        let text = PRESETS.iter().find(|(name, _)| *name == pair).unwrap().1;
        let text = text.replacen("value = \"s1120-800\"", &format!("value = \"{named}\""), 1);
        let preset = Preset::parse(pair, &text).unwrap();
        format!("{:#}", Device::new(&preset, Scale::default()).unwrap_err())
    };
    assert!(over("sas15k-r10x6").contains("of kind rotating; mirrors of flash alone"));
    assert!(over("./s1120.toml").contains("which is a file"));
    assert!(
        over("s1120").starts_with("mirror.over: there is no model `s1120`"),
        "{}",
        over("s1120")
    );
}
