//! Prepares a replay: chooses the device, fits the recorded commands to it, and determines the
//! compared window.

use anyhow::{Context, Result, bail, ensure};
use assay_drive::BLOCK_BYTES;
use assay_models::{Event, Kind, Time, Trace};

use assay_base::text::size;
use assay_presets::{Device, Preset, Scale};
use assay_serve::TraceHead;

/// Options of a replay; `None` stands for the recorded value.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReplayRequest<'a> {
    /// Name of the preset.
    pub model: Option<&'a str>,
    pub capacity_scale: Option<f64>,
    pub parallel_scale: Option<f64>,
    /// Compression ratio of the data, if the recording has none.
    pub ratio: Option<f64>,
    /// Beginning of the compared window, in seconds since recording began.
    pub from_s: Option<f64>,
    /// End of the compared window, in seconds since recording began.
    pub to_s: Option<f64>,
}

/// The commands of a replay and its device.
#[derive(Debug)]
pub(crate) struct PreparedReplay {
    pub head: TraceHead,
    pub preset: Preset,
    pub scale: Scale,
    /// The preset at this scale.
    pub device: Device,
    /// Size that the host sees.
    pub logical_bytes: u64,
    /// Compression ratio of the data, where it is not recorded.
    pub assumed_ratio: Option<f64>,
    /// Commands by arrival, up to the end of the window.
    pub events: Vec<Event>,
    /// Compared window, on the clock of the trace.
    pub window: (Time, Time),
}

impl PreparedReplay {
    /// Prepares the commands of `trace` for the requested device.
    ///
    /// # Errors
    /// The device does not exist or is too small, or no command arrived in the window.
    pub fn new(
        head: TraceHead,
        trace: Trace,
        request: &ReplayRequest<'_>,
    ) -> Result<PreparedReplay> {
        let of_trace = || head.model.preset().context("the device in the trace's head");
        let preset = request.model.map_or_else(of_trace, Preset::find)?;
        let recorded = head.model.scale;
        let scale = Scale {
            capacity: request.capacity_scale.unwrap_or(recorded.capacity),
            parallel: request.parallel_scale.unwrap_or(recorded.parallel),
        };
        let device = Device::new(&preset, scale)?;
        let window = window(&head, &trace, request)?;
        let mut events = trace.events;
        let last_s = events.last().map_or(0.0, |last| seconds_since(&head, last.command.arrival));
        let needed_bytes = reach(&events).max(head.used_bytes);
        check_room(&preset, scale, &device, needed_bytes)?;
        check_fill(&head, &device, request)?;
        let assumed_ratio = assumed_ratio(&head, &preset, &device, request.ratio)?;
        let logical_bytes = match device.compresses() {
            true => needed_bytes.max(head.logical_bytes).max(device.user_bytes()),
            false => device.user_bytes(),
        };
        // Kernels look for signatures at a device's end, which is elsewhere on another device.
        events.retain(|event| event.command.arrival < window.1 && end(event) <= logical_bytes);
        if let Some(ratio) = assumed_ratio {
            events.iter_mut().for_each(|event| shrink(event, ratio));
        }
        ensure!(
            events.iter().any(|event| event.command.arrival >= window.0),
            "no command arrived after {:.1} s{}; the trace covers 0 s to {last_s:.1} s",
            seconds_since(&head, window.0),
            request.to_s.map_or_else(String::new, |to_s| format!(" to {to_s:.1} s")),
        );
        Ok(PreparedReplay {
            head,
            preset,
            scale,
            device,
            logical_bytes,
            assumed_ratio,
            events,
            window,
        })
    }

    /// Whether a command that arrived then is compared.
    #[must_use]
    pub fn counts(&self, arrival: Time) -> bool {
        (self.window.0..self.window.1).contains(&arrival)
    }

    /// Window in seconds since recording began; it ends with the last command if no end was given.
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

fn window(head: &TraceHead, trace: &Trace, request: &ReplayRequest<'_>) -> Result<(Time, Time)> {
    let began = Time::from_s(head.began_s);
    let window = match (request.from_s, request.to_s) {
        (None, None) => trace.window.unwrap_or((began, Time::MAX)),
        (from, to) => (
            began + Time::from_s(from.unwrap_or_default()),
            to.map_or(Time::MAX, |to| began + Time::from_s(to)),
        ),
    };
    ensure!(window.0 < window.1, "--from must come before --to");
    Ok(window)
}

fn end(event: &Event) -> u64 {
    event.command.offset.saturating_add(event.command.length)
}

/// End of the last byte that is written; reads and discards beyond it concern no data.
fn reach(events: &[Event]) -> u64 {
    let writes = events.iter().filter(|event| event.command.kind == Kind::Write);
    writes.map(end).max().unwrap_or_default()
}

/// Largest amount of data with which a device is filled only because the trace says so: filling
/// takes minutes for as much.
const FILL_BYTES_MAX: u64 = 64 << 30;

/// Refuses to fill flash with an unusually large amount of data, which costs time and memory,
/// unless the user has given a capacity scale.
fn check_fill(head: &TraceHead, device: &Device, request: &ReplayRequest<'_>) -> Result<()> {
    let is_asked = device.nand().is_none() || request.capacity_scale.is_some();
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
    // Three significant digits, rounded down so that the data still fit.
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

/// Compression ratio to assume if the device compresses and the recorded one did not.
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
