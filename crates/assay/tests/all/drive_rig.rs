//! Tests the software drive as a rig: its configurations run like others, impossible ones are
//! refused, and nothing is left however a run ends.

use std::process::Command;

use crate::common::{IMAGE, World, has_server, small_plan, trials};
use crate::drives::{Drives, has_drives};
use crate::runs::{server_under_load, start_run};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const DRIVE: &str = "kind = \"drive\"\ncapacity = \"300M\"\nlogical = \"600M\"";

/// Asserts that the plan is refused with a line that contains `says`, and creates no file.
fn refused(rig: &str, says: &str) {
    let world = World::new();
    world.write("plan.toml", &small_plan(rig));
    let line = world.refused(&["run", "plan.toml", "--out", "study"]);
    assert!(line.starts_with("assay: ") && line.contains(says), "`{says}` is not in: {line}");
    assert_eq!(world.listing(), ["plan.toml"]);
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

/// A plan with two configurations on drives and one thread count, with runs of `seconds`.
fn drive_plan(seconds: u32) -> String {
    let plan = small_plan(DRIVE).replace("threads = [1, 2]", "threads = [2]");
    plan.replace("seconds = 2", &format!("seconds = {seconds}"))
}

#[test]
fn a_drive_that_this_machine_cannot_have_is_refused() {
    if !has_drives() {
        return;
    }
    refused(&DRIVE.replace("300M", "31T"), "no space: the run needs about");
    refused(&DRIVE.replace("300M", "900T"), "the capacity may be 32.0 TiB");
    refused(
        &DRIVE.replace("600M", "512M").replace("300M", "300M\"\ncodec = \"none"),
        "do not fit on a disk of 300M",
    );
    let device = "kind = \"drive\"\ndevice = \"/dev/null\"";
    refused(device, "/dev/null is not a block device");
}

#[test]
fn without_fuse_there_is_no_drive() {
    if !has_drives() {
        return;
    }
    let world = World::new();
    world.write("plan.toml", &small_plan(DRIVE));
    // A mount namespace of its own, whose /dev has almost no devices.
    let script = "mount -t tmpfs none /dev && mknod /dev/null c 1 3 && exec \"$0\" run plan.toml";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, crate::common::program()])
        .current_dir(world.path(""))
        .env("ASSAY_STATE", world.path("state"))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.starts_with(
            "assay: its disks cannot be attached and mounted; missing here: \
        /dev/fuse, loop devices; "
        ),
        "{said}"
    );
    assert_eq!(world.listing(), ["plan.toml"]);
}

/// Runs one configuration on an image and one on a drive; returns the results of their runs.
fn image_and_drive(world: &World) -> [Value; 2] {
    let plan = small_plan(IMAGE).replace("threads = [1, 2]", "threads = [2]");
    let plan = plan.replace("seconds = 2", "seconds = 4\n[placement]\ndrive_cpus = \"0\"");
    world.write("plan.toml", &format!("{plan}[configs.off.rig]\n{DRIVE}\n"));
    let output = world.run(&["run", "plan.toml", "--out", "study"]);
    assert!(output.status.success(), "{output:?}");
    let results = std::fs::read_to_string(world.path("study/results.json")).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    let trial = |config: &str| {
        let trials = results["runs"].as_array().unwrap();
        trials.iter().find(|trial| trial["config"] == config).unwrap().clone()
    };
    ["on", "off"].map(trial)
}

#[test]
fn a_config_on_the_drive_is_seen_in_every_layer_and_set_beside_one_on_a_disk() {
    if !has_server() || !has_drives() {
        return;
    }
    let world = Drives::new();
    let [image, drive] = image_and_drive(&world);
    let warnings = drive["warnings"].as_array().unwrap();
    let is_of_drive = |warning: &Value| warning["kind"].as_str().unwrap().starts_with("drive_");
    assert!(!warnings.iter().any(is_of_drive), "{warnings:?}");
    let figure = |trial: &Value, name: &str| trial["results"][name].as_f64();
    let of_drive = |name: &str| figure(&drive, name).unwrap_or_else(|| panic!("no {name}"));
    for name in ["tps", "daemon_cpu_percent", "backing_write_bytes_per_s", "drive_flushes_per_s"] {
        assert!(of_drive(name) > 0.0, "{name}");
    }
    let told = of_drive("drive_write_bytes_host_per_s") / of_drive("disk_write_bytes_per_s");
    assert!((0.8..1.25).contains(&told), "{told} of what the kernel says");
    let parts = ["payload", "table", "gc", "checkpoint"];
    let sum: f64 =
        parts.iter().map(|part| of_drive(&format!("drive_write_amplification_{part}"))).sum();
    assert!((sum / of_drive("drive_write_amplification") - 1.0).abs() < 0.01);
    // Zeroes and compressible text: a disk stores all of it, the drive less than half.
    let allocated = of_drive("space_allocated_bytes");
    assert!(of_drive("space_physical_bytes") < allocated / 2.0);
    assert_eq!(figure(&image, "space_physical_bytes"), figure(&image, "space_allocated_bytes"));
    assert_eq!(figure(&image, "drive_compression_ratio"), None);
    assert_eq!(drive["facts"]["drive_cpus"], "0");
    let described = drive["facts"]["rig: disk"].as_str().unwrap();
    assert!(described.starts_with("software drive of 600M, zstd"), "{described}");
    world.assert_nothing_left();
}

#[test]
#[ignore = "in --full: another rig of the same run"]
fn a_drive_on_a_device_is_made_when_the_command_says_so_and_a_full_one_says_that_it_is() {
    if !has_server() || !has_drives() {
        return;
    }
    // A block device of the test: another drive.
    let world = Drives::with(&["--capacity", "500M", "--logical", "300M", "--codec", "none"]);
    let device = world.attach(&[]);
    // Large enough for the server's own files, not for incompressible rows.
    let rig =
        format!("kind = \"drive\"\ndevice = \"{device}\"\nlogical = \"900M\"\ncodec = \"none\"");
    let plan = small_plan(&rig).replace("threads = [1, 2]", "threads = [2]");
    let plan = plan.replace(
        "[configs.off.settings]",
        "[configs.off.rig]\nkind = \"directory\"\n[configs.off.settings]",
    );
    world.write("plan.toml", &plan.replace("table_size = 2000", "table_size = 1200000"));
    let line = world.refused(&["run", "plan.toml", "--out", "study"]);
    assert!(line.contains(&format!("allow it with --erase {device}")), "{line}");
    let line = world.refused(&["run", "plan.toml", "--out", "study", "--erase", &device]);
    assert!(line.contains("1 of 2 runs failed"), "{line}");
    let trials = trials(&world.path("study"));
    let failed = trials.iter().find(|trial| trial.1 == "failed").unwrap();
    let reason = failed.2.clone().unwrap();
    assert!(
        failed.0.starts_with("on/") && reason.starts_with("the drive was full; give it"),
        "{reason}"
    );
    world.detach();
    world.assert_nothing_left();
}

#[test]
#[ignore = "in --full: another end of the same run"]
fn a_run_that_is_killed_on_a_drive_leaves_nothing_once_it_is_cleaned_up() {
    if !has_server() || !has_drives() {
        return;
    }
    let world = Drives::new();
    world.write("plan.toml", &drive_plan(4));
    let mut run = start_run(&world);
    server_under_load(&world, 1);
    run.kill().unwrap();
    run.wait().unwrap();
    // Negative control: without `assay clean`, resources are left.
    assert!(!world.leftovers().is_empty(), "a killed run leaves its mount");
    let cleaned = world.done(&["clean"]);
    assert!(cleaned.contains("detached ") && cleaned.contains("removed mount on"), "{cleaned}");
    world.assert_nothing_left();
    let work = std::fs::read_dir(world.path("study/work"));
    assert!(work.is_err() || work.unwrap().next().is_none(), "no data is left on the disk");
    world.done(&["run", "plan.toml", "--out", "study"]);
    assert!(trials(&world.path("study")).iter().all(|trial| trial.1 == "done"));
    world.assert_nothing_left();
}

#[test]
#[ignore = "in --full: another end of the same run"]
fn ctrl_c_takes_the_drive_down_with_its_rig() {
    if !has_server() || !has_drives() {
        return;
    }
    let world = Drives::new();
    world.write("plan.toml", &drive_plan(30));
    let mut run = start_run(&world);
    server_under_load(&world, 1);
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(2));
    assert!(trials(&world.path("study")).iter().all(|trial| trial.1 == "pending"));
    world.assert_nothing_left();
}

#[test]
#[ignore = "in --full: another end of the same run"]
fn a_drive_whose_server_is_killed_costs_its_trial_and_no_other() {
    if !has_server() || !has_drives() {
        return;
    }
    let world = Drives::new();
    world.write("plan.toml", &drive_plan(4));
    let run = start_run(&world);
    server_under_load(&world, 1);
    let (serving, _) = world
        .servers()
        .into_iter()
        .find(|(_, command)| command.contains("drive serve") && command.contains("/rig-1/"))
        .unwrap();
    kill_process(Pid::from_raw(serving.cast_signed()).unwrap(), Signal::KILL).unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let trials = trials(&world.path("study"));
    let states: Vec<&str> = trials.iter().map(|trial| trial.1.as_str()).collect();
    assert_eq!(states, ["failed", "done"], "{trials:?}");
    let reason = trials[0].2.clone().unwrap();
    assert!(
        reason.starts_with("the process that served the drive ended with signal 9"),
        "{reason}"
    );
    world.assert_nothing_left();
}
