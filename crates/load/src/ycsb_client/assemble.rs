//! The configuration of a run from its properties.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use super::export::Exporter;
use super::jdbc_url;
use super::line::{MeasurementInterval, MeasurementType, YcsbCommand, YcsbLine, YcsbReporting};
use super::properties::Properties;
use crate::error::{Error, Result};
use crate::generator::Generator;
use crate::mode::Mode;
use crate::option_value::{OptionValue, YCSB};
use crate::recipe::Recipe;
use crate::schedule::{Arrivals, Pace, Schedule, Warmup};
use crate::schema::{InsertOrder, Schema};
use crate::spec::LoadSpec;
use crate::workload::{AllWord, IgnoreErrors, Workload};
use crate::ycsb::{Mix, RequestDistribution, ScanLengths, YcsbOptions};
use assay_mysql::{Address, Endpoint, Tls};

/// Seconds between status lines, and the percentiles that 0.17.0 prints.
const STATUS_INTERVAL_S: u64 = 10;
const PERCENTILES: &str = "95,99";
/// The default of `db.url`.
const URL: &str = "jdbc:mysql://127.0.0.1:3306/ycsb";
/// The names of YCSB's one workload class, today and before 2018.
const CORE_WORKLOADS: [&str; 2] =
    ["site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload"];

fn refuse<T>(message: String) -> Result<T> {
    Err(Error::Config(message))
}

/// Builds the configuration; properties not given are as in YCSB.
pub(super) fn assemble(
    command: YcsbCommand,
    properties: &Properties,
    has_status: bool,
) -> Result<YcsbLine> {
    let given = Read(properties);
    let class = given.0.text("workload").unwrap_or(CORE_WORKLOADS[0]);
    if !CORE_WORKLOADS.contains(&class) {
        return refuse(format!("`workload={class}` is not built; there is {}", CORE_WORKLOADS[0]));
    }
    check_binding(&given)?;
    check_phase(command, &given)?;
    let needs_records = matches!(command, YcsbCommand::Load | YcsbCommand::Run);
    if needs_records && given.number("recordcount", 0_u64)? == 0 {
        return refuse("`recordcount` is missing; give -P workloada or -p recordcount=1000".into());
    }
    let mut line = YcsbLine {
        command,
        load: LoadSpec {
            endpoint: endpoint(&given)?,
            schema: schema(&given)?,
            workload: workload(command, &given)?,
            schedule: schedule(command, &given)?,
        },
        reporting: reporting(&given, has_status)?,
        preflight: given.switch("assay.preflight", true)?,
        notes: Vec::new(),
    };
    line.notes.extend(read_fields(&given)?);
    if needs_records {
        line.load.check()?;
    }
    Ok(line)
}

/// YCSB's classes for MySQL, today's and that before 2018.
const JDBC_CLIENTS: [&str; 2] = ["site.ycsb.db.JdbcDBClient", "com.yahoo.ycsb.db.JdbcDBClient"];

fn check_binding(given: &Read<'_>) -> Result<()> {
    match given.0.text("db") {
        Some(class) if !JDBC_CLIENTS.contains(&class) => {
            refuse(format!("`db={class}` is not built; there is {}", JDBC_CLIENTS[0]))
        }
        _ => Ok(()),
    }
}

/// Refuses properties that would change the command's phase, or restrict it to part of the records.
fn check_phase(command: YcsbCommand, given: &Read<'_>) -> Result<()> {
    let is_run = command == YcsbCommand::Run;
    if matches!(command, YcsbCommand::Load | YcsbCommand::Run)
        && given.switch("dotransactions", is_run)? != is_run
    {
        return refuse(format!(
            "`dotransactions={}` is the other phase; give the command {}",
            !is_run,
            if is_run { "load" } else { "run" }
        ));
    }
    let records: u64 = given.number("recordcount", 0)?;
    if is_run && given.number("insertcount", records)? != records {
        return refuse(
            "`insertcount` other than `recordcount` is not supported in a run; leave it out".into(),
        );
    }
    Ok(())
}

/// The endpoint. A socket overrides the URL's host, as no JDBC URL can name one.
fn endpoint(given: &Read<'_>) -> Result<Endpoint> {
    let found = jdbc_url::endpoint(
        given.0.text("db.url").unwrap_or(URL),
        given.0.text("db.user").unwrap_or("root"),
        given.0.text("db.passwd").unwrap_or(""),
    )?;
    Ok(match given.0.text("assay.socket") {
        Some(path) => Endpoint { address: Address::Socket(path.into()), tls: Tls::Off, ..found },
        None => found,
    })
}

/// A note on `readallfields`: YCSB's JDBC binding always reads all fields.
fn read_fields(given: &Read<'_>) -> Result<Option<String>> {
    let all = given.switch("readallfields", true)?;
    Ok((!all).then(|| "readallfields=false changes nothing: YCSB's JDBC binding reads all".into()))
}

fn schema(given: &Read<'_>) -> Result<Schema> {
    let orders = [("hashed", InsertOrder::Hashed), ("ordered", InsertOrder::Ordered)];
    let default = Schema::default();
    Ok(Schema {
        generator: Generator::Ycsb,
        table_name: given.0.text("table").filter(|name| !name.is_empty()).map(str::to_owned),
        table_size: given.number("recordcount", 1)?,
        field_count: given.number("fieldcount", default.field_count)?,
        field_length: given.number("fieldlength", default.field_length)?,
        insert_order: given.choice("insertorder", &orders)?.unwrap_or_default(),
        zero_padding: given.number("zeropadding", default.zero_padding)?,
        ..default
    })
}

fn workload(command: YcsbCommand, given: &Read<'_>) -> Result<Workload> {
    let modes = [("compat", Mode::Compat), ("strict", Mode::Strict)];
    let default = Mix::CORE_DEFAULT;
    let mix = Mix {
        read: given.number("readproportion", default.read)?,
        update: given.number("updateproportion", default.update)?,
        insert: given.number("insertproportion", default.insert)?,
        scan: given.number("scanproportion", default.scan)?,
        read_modify_write: given.number("readmodifywriteproportion", default.read_modify_write)?,
    };
    let distributions = [
        ("uniform", RequestDistribution::Uniform),
        ("zipfian", RequestDistribution::Zipfian),
        ("latest", RequestDistribution::Latest),
        ("hotspot", RequestDistribution::Hotspot),
        ("exponential", RequestDistribution::Exponential),
    ];
    let lengths = [("uniform", ScanLengths::Uniform), ("zipfian", ScanLengths::Zipfian)];
    let is_load = command == YcsbCommand::Load;
    let recipe = if is_load { Recipe::YcsbLoad } else { Recipe::Ycsb };
    let (default, options) = (Workload::default(), YcsbOptions::default());
    let max_scan_length = options.max_scan_length(recipe);
    Ok(Workload {
        recipe,
        mode: given.choice("assay.mode", &modes)?.unwrap_or(Mode::Compat),
        rand_hot_fraction: given.number("hotspotdatafraction", default.rand_hot_fraction)?,
        rand_hot_share: given.number("hotspotopnfraction", default.rand_hot_share)?,
        // YCSB counts any failure, and continues.
        mysql_ignore_errors: IgnoreErrors::Every(AllWord::All),
        ycsb: YcsbOptions {
            mix: (!is_load).then_some(mix),
            request_distribution: given.choice("requestdistribution", &distributions)?,
            max_scan_length: Some(given.number("maxscanlength", max_scan_length)?),
            scan_length_distribution: given
                .choice("scanlengthdistribution", &lengths)?
                .unwrap_or_default(),
            write_all_fields: given.switch("writeallfields", options.write_all_fields)?,
            operation_count: given.number("operationcount", options.operation_count)?,
            insertion_retry_limit: given
                .number("core_workload_insertion_retry_limit", options.insertion_retry_limit)?,
            insertion_retry_interval: given.number(
                "core_workload_insertion_retry_interval",
                options.insertion_retry_interval,
            )?,
            ..options
        },
        ..default
    })
}

fn schedule(command: YcsbCommand, given: &Read<'_>) -> Result<Schedule> {
    let target: f64 = given.number("target", 0.0)?;
    let arrivals = [("poisson", Arrivals::Poisson), ("even", Arrivals::Even)];
    let arrivals = given.choice("assay.arrivals", &arrivals)?;
    let pace = match (target, arrivals) {
        (target, None) if target <= 0.0 => Pace::Closed,
        (target, Some(_)) if target <= 0.0 => {
            return refuse("assay.arrivals needs a rate; give -target too".into());
        }
        (per_second, None) => Pace::Throttled { per_second },
        (per_second, Some(arrivals)) => Pace::Rate { per_second, arrivals },
    };
    let records: u64 = given.number("recordcount", 0)?;
    let events = match command {
        YcsbCommand::Load => given.number("insertcount", records)?,
        _ => given.number("operationcount", 0)?,
    };
    let seconds = given.number("maxexecutiontime", 0.0)?;
    if command == YcsbCommand::Run && events == 0 && seconds == 0.0 {
        return refuse(
            "the run has no end; give -p operationcount=N or -p maxexecutiontime=SECONDS".into(),
        );
    }
    if command == YcsbCommand::Load && events > records {
        return refuse(format!("`insertcount` is {events}, above `recordcount` {records}"));
    }
    let time_of_day =
        || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs());
    let default = Schedule::default();
    Ok(Schedule {
        threads: given.number("threadcount", default.threads)?,
        warmup: Warmup::Seconds(given.number("assay.warmup", 0.0)?),
        seconds,
        events,
        pace,
        seed: given.optional("assay.seed")?.unwrap_or_else(time_of_day),
        ..default
    })
}

fn reporting(given: &Read<'_>, has_status: bool) -> Result<YcsbReporting> {
    let intervals = [
        ("op", MeasurementInterval::Op),
        ("intended", MeasurementInterval::Intended),
        ("both", MeasurementInterval::Both),
    ];
    let percentiles = given.0.text("hdrhistogram.percentiles").unwrap_or(PERCENTILES);
    let bad = || {
        Error::Config(format!(
            "`hdrhistogram.percentiles={percentiles}` is not a list of numbers up to 100, such as \
             50,95,99.9"
        ))
    };
    let percentiles: Vec<f64> = percentiles
        .split(',')
        .map(|percentile| {
            percentile.trim().parse().ok().filter(|p| (0.0..=100.0).contains(p)).ok_or_else(bad)
        })
        .collect::<Result<_>>()?;
    Ok(YcsbReporting {
        status_interval: if has_status || given.switch("status", false)? {
            given.number("status.interval", STATUS_INTERVAL_S)?.max(1)
        } else {
            0
        },
        interval: given
            .choice("measurement.interval", &intervals)?
            .unwrap_or(MeasurementInterval::Op),
        percentiles,
        measurement: given.choice("measurementtype", &TYPES)?.unwrap_or_default(),
        histogram_buckets: given.number("histogram.buckets", 1000)?,
        granularity_ms: granularity(given)?,
        raw_file: given
            .0
            .text("measurement.raw.output_file")
            .filter(|file| !file.is_empty())
            .map(PathBuf::from),
        has_no_summary: given.switch("measurement.raw.no_summary", false)?,
        is_verbose: given.switch("measurement.histogram.verbose", false)?,
        each_error: given.switch("reportlatencyforeacherror", false)?,
        tracked_errors: list(given.0.text("latencytrackederrors")),
        exporter: exporter(given)?,
        export_file: given.0.text("exportfile").map(PathBuf::from),
        json: given.0.text("assay.json").map(PathBuf::from),
    })
}

fn list(text: Option<&str>) -> Vec<String> {
    text.into_iter().flat_map(|text| text.split(',')).map(str::to_owned).collect()
}

fn granularity(given: &Read<'_>) -> Result<u64> {
    match given.number("timeseries.granularity", 1000)? {
        0 => refuse("`timeseries.granularity=0` is no length; give milliseconds".into()),
        ms => Ok(ms),
    }
}

/// Values of `measurementtype`.
const TYPES: [(&str, MeasurementType); 6] = [
    ("hdrhistogram", MeasurementType::Hdr),
    ("histogram", MeasurementType::Histogram),
    ("hdrhistogram+histogram", MeasurementType::HdrAndHistogram),
    ("timeseries", MeasurementType::TimeSeries),
    ("raw", MeasurementType::Raw),
    ("hdrhistogram+raw", MeasurementType::HdrAndRaw),
];

/// A class by its whole name, today's or that before 2018.
fn exporter(given: &Read<'_>) -> Result<Exporter> {
    let Some(text) = given.0.text("exporter") else { return Ok(Exporter::default()) };
    let packages = ["site.ycsb.measurements.exporter.", "com.yahoo.ycsb.measurements.exporter."];
    let class = packages.iter().find_map(|package| text.strip_prefix(package));
    let found = Exporter::NAMES.iter().find(|(name, _)| class == Some(*name));
    found.map(|(_, exporter)| *exporter).ok_or_else(|| {
        let names: Vec<String> =
            Exporter::NAMES.iter().map(|(name, _)| format!("{}{name}", packages[0])).collect();
        Error::Config(format!("`exporter={text}` is none of {}", names.join(", ")))
    })
}

/// Properties read by type.
struct Read<'a>(&'a Properties);

impl Read<'_> {
    fn value(&self, key: &str) -> Option<OptionValue<'_>> {
        let text = self.0.text(key)?.trim();
        Some(OptionValue { name: key.to_owned(), text, dialect: &YCSB })
    }

    fn optional<T: FromStr>(&self, key: &str) -> Result<Option<T>> {
        self.value(key).map(|value| value.number()).transpose()
    }

    fn number<T: FromStr>(&self, key: &str, default: T) -> Result<T> {
        Ok(self.optional(key)?.unwrap_or(default))
    }

    fn switch(&self, key: &str, default: bool) -> Result<bool> {
        self.value(key).map_or(Ok(default), |value| value.switch())
    }

    fn choice<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<T>> {
        self.value(key).map(|value| value.choice(words)).transpose()
    }
}
