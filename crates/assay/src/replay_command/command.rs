//! Arguments of `assay replay`, and the run of a replay.

use std::fs::File;
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use assay_models::{ReplayPacing, Time, Trace, replay};
use clap::Args;

use super::device::VirtualDevice;
use super::prepared::{PreparedReplay, ReplayRequest};
use super::result::{ReplayMeter, ReplayResult};
use super::show;
use crate::print::{self, Living};
use assay_base::text::time;
use assay_presets::Scale;
use assay_serve::TraceHead;
use assay_system::interrupt;

/// Replay a recorded I/O trace against a device model in virtual time
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay models p4610-3.2 --capacity-scale 4000 --attach vol.img --trace a.trace
                                     records; `trace = true` in a plan does too
  assay replay a.trace               on the same model, as a check
  assay replay a.trace --model p5600-3.2
  assay replay a.trace --model csd2000-3.2 --ratio 2
                                     as if its data compressed 2:1
  assay replay a.trace --parallel-scale 18 --from 30 --to 40

Closed loop by default: the time between an answer and the next command is kept, so a faster \
device gets its commands sooner. The trace is replayed from its start, because the device state \
depends on it; only commands that arrived between --from and --to are compared.")]
pub(crate) struct ReplayArgs {
    /// The trace
    trace: PathBuf,
    /// A preset, or a TOML file with one [default: the recorded one]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Divide its capacity by this [default: as recorded]
    #[arg(long, value_name = "N", value_parser = Scale::parse_one)]
    capacity_scale: Option<f64>,
    /// Divide its parallelism by this [default: as recorded]
    #[arg(long, value_name = "N", value_parser = Scale::parse_one)]
    parallel_scale: Option<f64>,
    /// Compression ratio, if the device compresses and the recorded one did not
    #[arg(long, value_name = "RATIO", value_parser = assay_presets::parse_ratio)]
    ratio: Option<f64>,
    /// Keep the recorded arrival times (open loop)
    #[arg(long)]
    as_recorded: bool,
    /// Compare I/Os that arrived after this time, in seconds since the recording began [default:
    /// the measuring window, or all]
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    from: Option<f64>,
    /// Compare I/Os that arrived before this time, and end there
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    to: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shortest interval between progress reports.
const PROGRESS: Duration = Duration::from_millis(200);

fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds: Option<f64> = text.parse().ok().filter(|s: &f64| s.is_finite() && *s >= 0.0);
    seconds.ok_or_else(|| format!("`{text}` is not a time; give seconds, such as 30 or 2.5"))
}

/// Replays the trace and prints the result. Ctrl-C ends the process at once.
///
/// # Errors
/// The file is not a trace, or the device does not exist or is too small.
pub(crate) fn run(args: &ReplayArgs) -> Result<ExitCode> {
    // A replay creates nothing on the machine, so the process may end at any point.
    interrupt::on_signal(|| {
        print::note("assay: interrupted");
        std::process::exit(2)
    })?;
    let trace = read(&args.trace)?;
    let head = TraceHead::parse(&trace.text).with_context(|| args.trace.display().to_string())?;
    let request = ReplayRequest {
        model: args.model.as_deref(),
        capacity_scale: args.capacity_scale,
        parallel_scale: args.parallel_scale,
        ratio: args.ratio,
        from_s: args.from,
        to_s: args.to,
    };
    let prepared = PreparedReplay::new(head, trace, &request)?;
    let result = replay_all(&prepared, args.as_recorded)?;
    match args.json {
        true => print::line(serde_json::to_string_pretty(&result)?),
        false => show::print(&result),
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<Trace> {
    let name = || path.display().to_string();
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let trace =
        Trace::read(BufReader::with_capacity(1 << 20, file)).map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => anyhow!(
                "{error}; name a file that was recorded with `assay models NAME --attach FILE \
                 --trace TRACE`"
            ),
            _ => error.into(),
        });
    trace.with_context(name)
}

fn replay_all(prepared: &PreparedReplay, as_recorded: bool) -> Result<ReplayResult> {
    let line = Living::new();
    let mut progress = Progress::new(&line);
    let mut precondition = |share| progress.show("preconditioning it", share);
    let device = VirtualDevice::new(prepared, &mut precondition);
    let device = device.inspect_err(|_| line.end())?;
    let VirtualDevice { mut disk, drive } = device;
    let mut meter = ReplayMeter::new(prepared, drive);
    let mut progress = Progress::new(&line);
    let mut answered = 0;
    let arrivals = match as_recorded {
        true => ReplayPacing::AsRecorded,
        false => ReplayPacing::AfterAnswers { port: Time::from_us(prepared.head.port_us) },
    };
    let all = prepared.events.len() as f64;
    let replayed = replay(&prepared.events, &mut disk, arrivals, |answer| {
        meter.add(answer);
        answered += 1;
        progress.show("replaying", f64::from(answered) / all);
        ControlFlow::Continue(())
    });
    line.end();
    replayed.with_context(|| format!("the model of {}", prepared.preset.name))?;
    Ok(meter.result(prepared, as_recorded))
}

/// A progress line with the estimated time left.
struct Progress<'a> {
    line: &'a Living,
    began: Instant,
    shown: Instant,
    calls: u32,
}

impl<'a> Progress<'a> {
    fn new(line: &'a Living) -> Progress<'a> {
        let now = Instant::now();
        Progress { line, began: now, shown: now, calls: 0 }
    }

    fn show(&mut self, action: &str, share: f64) {
        self.calls += 1;
        // Reading the clock takes as long as some commands do.
        if !self.calls.is_multiple_of(64) || self.shown.elapsed() < PROGRESS || share <= 0.0 {
            return;
        }
        self.shown = Instant::now();
        let left_s = self.began.elapsed().as_secs_f64() * (1.0 - share) / share;
        let percent = 100.0 * share;
        self.line.live(format_args!("{action}: {percent:.0} %, {} left", time(left_s)));
    }
}
