//! Compares fileio with sysbench's on a drive with known figures: in turn, several times, mode by
//! mode. Rates agree within their spread, and counts agree exactly.

use std::process::Command;

use crate::drives::{Drives, has_drives};
use assay_testing::{calm, skip};

/// Largest difference of the means, as a share: the machine is not idle.
const MARGIN: f64 = 0.10;
const TRIES: usize = 3;
const REPEATS: usize = 2;

/// The volume's limit in operations per second (`models/gp3.toml`), which both must reach.
const VOLUME_PER_S: f64 = 3000.0;

const FILES: [&str; 3] = ["--file-num=4", "--file-total-size=16M", "--file-extra-flags=direct"];

const MODES: [&str; 6] = ["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"];

/// Reads, writes and fsyncs per second, as both programs print them.
#[derive(Debug, Clone, Copy)]
struct Rates {
    reads: f64,
    writes: f64,
    fsyncs: f64,
}

impl Rates {
    fn all(self) -> f64 {
        self.reads + self.writes
    }
}

fn has_sysbench() -> bool {
    let has = Command::new("sysbench").arg("--version").output().is_ok();
    if !has {
        skip("sysbench");
    }
    has
}

/// A mounted volume with known figures, with the files on it.
struct Volume {
    drives: Drives,
    files: std::path::PathBuf,
}

impl Volume {
    fn new() -> Volume {
        let drives = Drives::new();
        let words = ["models", "gp3", "--capacity-scale", "4096", "--attach", "vol.img"];
        let said = drives.done(&words);
        let files = drives.make_files(said.lines().last().unwrap());
        let volume = Volume { drives, files };
        volume.ours(&FILES, "prepare");
        volume
    }

    fn ours(&self, words: &[&str], command: &str) -> String {
        let words = [&["load", "fileio"], words, &[command]].concat();
        let output = self.drives.command(&words).current_dir(&self.files).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn sysbench(&self, words: &[&str], command: &str) -> String {
        let mut program = Command::new("sysbench");
        program.arg("fileio").args(words).arg(command).current_dir(&self.files);
        let output = program.output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs each program once, in turn.
    fn pair(&self, mode: &str, more: &[&str]) -> [Rates; 2] {
        // Files of the size that sequential writes leave are too short for the other modes.
        self.ours(&FILES, "prepare");
        let mode = format!("--file-test-mode={mode}");
        let words = [&FILES, &[mode.as_str()][..], more].concat();
        [rates(&self.sysbench(&words, "run")), rates(&self.ours(&words, "run"))]
    }

    fn take_down(&self) {
        self.drives.unmount();
        self.drives.detach();
        self.drives.assert_nothing_left();
    }
}

fn rates(text: &str) -> Rates {
    let of = |label: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(label));
        line.and_then(|line| line.split_whitespace().last()?.parse().ok()).unwrap()
    };
    Rates { reads: of("reads/s:"), writes: of("writes/s:"), fsyncs: of("fsyncs/s:") }
}

/// Means of both programs over some repeats.
fn means(volume: &Volume, mode: &str, more: &[&str]) -> [f64; 2] {
    let pairs: Vec<[Rates; 2]> = (0..REPEATS).map(|_| volume.pair(mode, more)).collect();
    [0, 1].map(|side| pairs.iter().map(|pair| pair[side].all()).sum::<f64>() / REPEATS as f64)
}

fn is_near(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() <= MARGIN
}

/// With 16 threads both reach the volume's limit; a program that did not wait for its operations
/// would exceed it, one that wasted time between them would miss it.
#[test]
#[ignore = "in --full: measures"]
fn rates_are_sysbenchs_and_the_volumes_mode_by_mode() {
    calm(|| {
        let _shared = crate::shared();
        if !has_sysbench() || !has_drives() {
            return;
        }
        let volume = Volume::new();
        let more = ["--threads=16", "--time=1", "--file-fsync-freq=0"];
        for mode in MODES {
            let is_right = |_| {
                let [theirs, ours] = means(&volume, mode, &more);
                eprintln!(
                    "{mode}: sysbench {theirs:.0} /s, assay {ours:.0} /s, the volume \
                     {VOLUME_PER_S} /s"
                );
                is_near(ours, theirs)
            };
            assert!((0..TRIES).any(is_right), "{mode}");
        }
        // Negative control: half the rate is not the limit.
        let theirs = volume.pair("rndrd", &more)[0].all();
        let half = ["--threads=16", "--time=1", "--file-fsync-freq=0", "--rate=1500"];
        let ours = volume.pair("rndrd", &half)[1].all();
        assert!(!is_near(ours, theirs), "{ours} is told from {theirs}");
        volume.take_down();
    });
}

/// Checks what does not depend on time: the reads, writes and fsyncs that a number of events
/// consists of.
#[test]
#[ignore = "in --full: measures"]
fn counts_are_sysbenchs_to_the_last() {
    calm(|| {
        let _shared = crate::shared();
        if !has_sysbench() || !has_drives() {
            return;
        }
        let volume = Volume::new();
        let settings: [&[&str]; 5] = [
            &[],
            &["--file-fsync-freq=7"],
            &["--file-fsync-all"],
            &["--file-fsync-end=off", "--file-rw-ratio=3"],
            &["--file-fsync-freq=9", "--threads=3", "--file-fsync-mode=fdatasync"],
        ];
        for mode in MODES {
            // Without writes, fsyncs do not matter.
            let settings = if mode.ends_with("rd") { &settings[..1] } else { &settings[..] };
            for more in settings {
                let events = ["--events=301", "--time=0"];
                let [theirs, ours] = volume.pair(mode, &[*more, &events[..]].concat());
                // Rates differ, but their ratios are equal to the two printed digits.
                let share = |rates: Rates| {
                    let all = rates.reads + rates.writes + rates.fsyncs;
                    [rates.reads / all, rates.writes / all, rates.fsyncs / all]
                };
                let off = share(theirs)
                    .into_iter()
                    .zip(share(ours))
                    .map(|(one, other)| (one - other).abs());
                let off = off.fold(0.0, f64::max);
                // One operation in 301 would be 0.003; with several threads the order of reads and
                // writes depends on timing.
                let is_ordered = mode != "rndrw" || !more.contains(&"--threads=3");
                let most = if is_ordered { 0.0005 } else { 0.02 };
                assert!(off < most, "{mode} {more:?}: {theirs:?} {ours:?}");
            }
        }
        // Negative control: another frequency of fsyncs is noticed.
        let [theirs, _] = volume.pair("rndwr", &["--events=301", "--time=0"]);
        let [_, ours] = volume.pair("rndwr", &["--events=301", "--time=0", "--file-fsync-freq=90"]);
        assert!((theirs.fsyncs / theirs.writes - ours.fsyncs / ours.writes).abs() > 1e-4);
        volume.take_down();
    });
}

/// Each program accepts the other's files.
#[test]
#[ignore = "in --full: measures"]
fn files_are_each_others() {
    calm(|| {
        let _shared = crate::shared();
        if !has_sysbench() || !has_drives() {
            return;
        }
        let volume = Volume::new();
        volume.sysbench(&[&FILES[..], &["--file-test-mode=rndrd", "--events=9"]].concat(), "run");
        volume.ours(&FILES, "cleanup");
        volume.sysbench(&FILES, "prepare");
        volume.ours(&[&FILES[..], &["--file-test-mode=rndrd", "--events=9"]].concat(), "run");
        volume.sysbench(&FILES, "cleanup");
        assert_eq!(std::fs::read_dir(&volume.files).unwrap().count(), 1, "lost+found alone");
        volume.take_down();
    });
}
