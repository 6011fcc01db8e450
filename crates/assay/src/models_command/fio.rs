//! Runs a fio job on a device and parses its figures.

use std::path::Path;

use anyhow::{Context, Result};
use assay_ports::program::run;
use serde_json::Value;

/// A job of fio.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FioJob<'a> {
    /// fio's `rw`: `randread`, `write`, …
    pub pattern: &'a str,
    /// Block size.
    pub bytes: u64,
    /// Maximum commands in flight.
    pub depth: u32,
    /// Size of the area from the device's first byte.
    pub area_bytes: u64,
    /// Longest run time.
    pub seconds: u32,
    /// Whether the job starts again at the end of the area.
    pub repeats: bool,
    /// Run time before the measurement.
    pub ramp_seconds: u32,
    /// Limit of commands per second, if any.
    pub rate_per_s: Option<u32>,
    /// Percentage of zeroes in written data.
    pub zero_percent: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FioFigures {
    /// Commands per second.
    pub per_s: f64,
    pub bytes_per_s: f64,
    /// Mean time from submission to completion.
    pub latency_us: f64,
}

pub(crate) fn measure(device: &Path, job: FioJob<'_>) -> Result<FioFigures> {
    let output = run("fio", words(device, job))?;
    // fio may print notes before the JSON object.
    let start = output.find('{').context("fio printed no results")?;
    let value: Value = serde_json::from_str(&output[start..]).context("fio's results")?;
    let side = if job.pattern.ends_with("read") { "read" } else { "write" };
    figures(&value["jobs"][0][side]).context("fio's results lack what was measured")
}

fn figures(side: &Value) -> Option<FioFigures> {
    Some(FioFigures {
        per_s: side["iops"].as_f64()?,
        bytes_per_s: side["bw_bytes"].as_f64()?,
        latency_us: side["lat_ns"]["mean"].as_f64()? / 1000.0,
    })
}

fn words(device: &Path, job: FioJob<'_>) -> Vec<String> {
    let mut words = vec![
        "--name=assay".to_owned(),
        format!("--filename={}", device.display()),
        format!("--rw={}", job.pattern),
        format!("--bs={}", job.bytes),
        format!("--iodepth={}", job.depth),
        format!("--size={}", job.area_bytes),
        format!("--runtime={}", job.seconds),
        "--direct=1".to_owned(),
        "--ioengine=libaio".to_owned(),
        "--random_generator=tausworthe64".to_owned(),
        "--norandommap".to_owned(),
        "--output-format=json".to_owned(),
    ];
    if job.repeats {
        words.push("--time_based".into());
    }
    if job.ramp_seconds > 0 {
        words.push(format!("--ramp_time={}", job.ramp_seconds));
    }
    if let Some(rate) = job.rate_per_s {
        words.push(format!("--rate_iops={rate}"));
    }
    if job.pattern.ends_with("write") {
        words.push("--refill_buffers".into());
        if job.zero_percent > 0 {
            words.push(format!("--buffer_compress_percentage={}", job.zero_percent));
            words.push("--buffer_compress_chunk=4096".into());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fio_prints_is_understood() {
        let side = serde_json::json!({
            "iops": 100.5, "bw_bytes": 411_648, "lat_ns": { "mean": 9_900.0 }
        });
        let expected = FioFigures { per_s: 100.5, bytes_per_s: 411_648.0, latency_us: 9.9 };
        assert_eq!(figures(&side), Some(expected));
        assert_eq!(figures(&serde_json::json!({ "iops": 1 })), None);
    }
}
