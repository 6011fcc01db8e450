//! The request of a replay: the recorded commands, adapted to a device, and the compared window.

use anyhow::{Context, Result, bail, ensure};
use assay_drive::BLOCK_BYTES;
use assay_models::{Event, Kind, Time, Trace};

use assay_base::text::size;
use assay_presets::{Device, Preset, Scale};
use assay_serve::TraceHead;

/// The user's options; `None`: as recorded.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// Another device.
    pub model: Option<&'a str>,
    /// Another divisor of the capacity.
    pub capacity_scale: Option<f64>,
    /// Another divisor of the parallelism.
    pub parallel_scale: Option<f64>,
    /// Compression ratio, if it was not recorded.
    pub ratio: Option<f64>,
    /// Start of the compared window, in seconds since recording began.
    pub from_s: Option<f64>,
    /// End of the window.
    pub to_s: Option<f64>,
}

/// The commands and the device of a replay.
#[derive(Debug)]
pub struct Question {
    /// The trace's own description.
    pub head: TraceHead,
    pub preset: Preset,
    pub scale: Scale,
    /// The device at that scale.
    pub device: Device,
    /// Size for the host.
    pub logical_bytes: u64,
    /// Compression ratio, if it is assumed and not recorded.
    pub assumed_ratio: Option<f64>,
    /// The commands, by arrival, up to the end of the window.
    pub events: Vec<Event>,
    /// The compared window, on the clock of the trace.
    pub window: (Time, Time),
}

impl Question {
    /// Combines the commands of `trace` with the options.
    pub fn new(head: TraceHead, trace: Trace, wanted: &Wanted<'_>) -> Result<Question> {
        let of_trace = || head.model.preset().context("the device in the trace's head");
        let preset = wanted.model.map_or_else(of_trace, Preset::find)?;
        let recorded = head.model.scale;
        let scale = Scale {
            capacity: wanted.capacity_scale.unwrap_or(recorded.capacity),
            parallel: wanted.parallel_scale.unwrap_or(recorded.parallel),
        };
        let device = Device::new(&preset, scale)?;
        let window = window(&head, &trace, wanted)?;
        let mut events = trace.events;
        let last_s = events.last().map_or(0.0, |last| seconds_since(&head, last.command.arrival));
        let needed_bytes = reach(&events).max(head.used_bytes);
        check_room(&preset, scale, &device, needed_bytes)?;
        check_fill(&head, &device, wanted)?;
        let assumed_ratio = assumed_ratio(&head, &preset, &device, wanted.ratio)?;
        let logical_bytes = match device.compresses() {
            true => needed_bytes.max(head.logical_bytes).max(device.user_bytes()),
            false => device.user_bytes(),
        };
        // Programs that probe for other systems' marks read the very end of a device, which is
        // elsewhere on another device.
        events.retain(|event| event.command.arrival < window.1 && end(event) <= logical_bytes);
        if let Some(ratio) = assumed_ratio {
            events.iter_mut().for_each(|event| shrink(event, ratio));
        }
        ensure!(
            events.iter().any(|event| event.command.arrival >= window.0),
            "no command arrived after {:.1} s{}; the trace covers 0 s to {last_s:.1} s",
            seconds_since(&head, window.0),
            wanted.to_s.map_or_else(String::new, |to_s| format!(" to {to_s:.1} s")),
        );
        Ok(Question { head, preset, scale, device, logical_bytes, assumed_ratio, events, window })
    }

    /// Returns true for an arrival in the window.
    #[must_use]
    pub fn counts(&self, arrival: Time) -> bool {
        (self.window.0..self.window.1).contains(&arrival)
    }

    /// The window, in seconds since recording began; by default it ends with the trace.
    #[must_use]
    pub fn window_s(&self) -> (f64, f64) {
        let last = self.events.last().map_or(self.window.0, |event| event.command.arrival);
        let (from, to) = (self.window.0, self.window.1.min(last));
        (seconds_since(&self.head, from), seconds_since(&self.head, to))
    }
}

fn seconds_since(head: &TraceHead, at: Time) -> f64 {
    (at - Time::from_s(head.began_s)).as_s()
}

fn window(head: &TraceHead, trace: &Trace, wanted: &Wanted<'_>) -> Result<(Time, Time)> {
    let began = Time::from_s(head.began_s);
    let told = match (wanted.from_s, wanted.to_s) {
        (None, None) => trace.window.unwrap_or((began, Time::MAX)),
        (from, to) => (
            began + Time::from_s(from.unwrap_or_default()),
            to.map_or(Time::MAX, |to| began + Time::from_s(to)),
        ),
    };
    ensure!(told.0 < told.1, "--from must come before --to");
    Ok(told)
}

fn end(event: &Event) -> u64 {
    event.command.offset.saturating_add(event.command.length)
}

/// The end of the last written byte. Reads and discards beyond it touch no data.
fn reach(events: &[Event]) -> u64 {
    let writes = events.iter().filter(|event| event.command.kind == Kind::Write);
    writes.map(end).max().unwrap_or_default()
}

/// Limit for filling a device on a trace's request; filling takes minutes for as much.
const FILL_BYTES_MAX: u64 = 64 << 30;

/// Filling flash takes time and memory by its size, which is stored in the trace: beyond a common
/// size the user must ask for it.
fn check_fill(head: &TraceHead, device: &Device, wanted: &Wanted<'_>) -> Result<()> {
    let is_asked = device.nand().is_none() || wanted.capacity_scale.is_some();
    ensure!(
        is_asked || head.used_bytes <= FILL_BYTES_MAX,
        "the trace has the device filled with {}, which takes long; give --capacity-scale {} to do \
         that, or more to fill less",
        size(head.used_bytes as f64),
        head.model.scale.capacity
    );
    Ok(())
}

fn check_room(preset: &Preset, scale: Scale, device: &Device, needed_bytes: u64) -> Result<()> {
    let has_bytes = device.user_bytes();
    if needed_bytes <= has_bytes || device.compresses() {
        return Ok(());
    }
    let fits = scale.capacity * has_bytes as f64 / needed_bytes as f64;
    // Rounded down to a number that is easy to type and still fits.
    let step = 10_f64.powf(fits.log10().floor() - 2.0);
    bail!(
        "the trace writes to {} of address space, and {} at a capacity scale of {} has {}; use \
         --capacity-scale {}",
        size(needed_bytes as f64),
        preset.name,
        scale.capacity,
        size(has_bytes as f64),
        ((fits / step).floor() * step * 1e6).round() / 1e6,
    )
}

/// The assumed compression ratio, if the device compresses and the recorded one did not.
fn assumed_ratio(
    head: &TraceHead,
    preset: &Preset,
    device: &Device,
    wanted: Option<f64>,
) -> Result<Option<f64>> {
    let recorded = head.model.preset().context("the recorded device")?;
    let was_recorded = Device::new(&recorded, head.model.scale)?.compresses();
    match (device.compresses(), was_recorded, wanted) {
        (true, false, ratio) => Ok(Some(ratio.unwrap_or(1.0))),
        (_, _, None) => Ok(None),
        (false, ..) => bail!("{} does not compress; omit --ratio", preset.name),
        (true, true, Some(_)) => {
            bail!("the trace contains the compressed size of each block; omit --ratio")
        }
    }
}

fn shrink(event: &mut Event, ratio: f64) {
    if event.command.kind == Kind::Write {
        let stored = (BLOCK_BYTES as f64 / ratio) as u16;
        event.stored_bytes = vec![stored; (event.command.length / BLOCK_BYTES) as usize];
    }
}
