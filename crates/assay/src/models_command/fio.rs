//! Runs fio on a device and reads its results.

use std::path::Path;

use anyhow::{Context, Result};
use assay_ports::program::run;
use serde_json::Value;

#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// fio's name: `randread`, `write`, …
    pub pattern: &'a str,
    /// Size of a command.
    pub bytes: u64,
    /// Commands in flight.
    pub depth: u32,
    /// Size of the area used, from the device's beginning.
    pub area_bytes: u64,
    /// Maximum duration.
    pub seconds: u32,
    /// True if the job starts again after covering the area.
    pub repeats: bool,
    /// Unmeasured time before the job.
    pub ramp_seconds: u32,
    /// Commands per second; `None`: as fast as possible.
    pub rate_per_s: Option<u32>,
    /// Share of zeroes in written data.
    pub zero_percent: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// Commands per second.
    pub per_s: f64,
    pub bytes_per_s: f64,
    /// Mean time from submission to completion.
    pub latency_us: f64,
}

/// Runs the job on `device`.
pub fn measure(device: &Path, job: Job<'_>) -> Result<Found> {
    let output = run("fio", words(device, job))?;
    // Notes may precede the object.
    let start = output.find('{').context("fio printed no results")?;
    let value: Value = serde_json::from_str(&output[start..]).context("fio's results")?;
    let side = if job.pattern.ends_with("read") { "read" } else { "write" };
    found(&value["jobs"][0][side]).context("fio's results lack what was measured")
}

fn found(side: &Value) -> Option<Found> {
    Some(Found {
        per_s: side["iops"].as_f64()?,
        bytes_per_s: side["bw_bytes"].as_f64()?,
        latency_us: side["lat_ns"]["mean"].as_f64()? / 1000.0,
    })
}

fn words(device: &Path, job: Job<'_>) -> Vec<String> {
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
        let latency = serde_json::json!({ "mean": 9_900.0 });
        let side = serde_json::json!({ "iops": 100.5, "bw_bytes": 411_648, "lat_ns": latency });
        let expected = Found { per_s: 100.5, bytes_per_s: 411_648.0, latency_us: 9.9 };
        assert_eq!(found(&side), Some(expected));
        assert_eq!(found(&serde_json::json!({ "iops": 1 })), None);
    }
}
