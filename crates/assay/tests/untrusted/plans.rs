//! Tests plans that are malicious or endless.

use std::fmt::Write;

use crate::answer::{LINE_BYTES_MAX, all_hold, answer, holdings};
use crate::common::World;

/// A plan with these lines before its tables, in its rig, and at its end.
pub fn plan(head: &str, rig: &str, tail: &str) -> String {
    format!(
        "title = \"t\"\nthreads = [1]\nseconds = 1\nnoise_floor = \
         false\n{head}\n[rig]\n{rig}\n[workloads.w]\nrecipe = \
         \"oltp_read_only\"\n[configs.a]\n{tail}\n"
    )
}

const IMAGE: &str = "kind = \"image\"\nsize = \"1G\"\n";

fn many(count: u32, line: impl Fn(u32) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{}", line(number));
        text
    })
}

/// Name, plan, and words of the expected error.
pub fn cases() -> Vec<(&'static str, String, &'static str)> {
    let image = |keys: &str| plan("", &format!("{IMAGE}{keys}"), "");
    let head = |keys: &str| plan(keys, "kind = \"directory\"", "");
    let tail = |text: &str| plan("", "kind = \"directory\"", text);
    vec![
        ("empty", String::new(), "missing"),
        ("not UTF-8 in names", tail("[configs.\"\\u0000\"]"), "not a valid name"),
        ("arrays that nest", format!("a = {}", "[".repeat(500_000)), "plan.toml"),
        ("tables that nest", format!("[{}]", ["a"; 200_000].join(".")), "plan.toml"),
        ("inline tables that nest", format!("a = {}", "{a=".repeat(200_000)), "plan.toml"),
        ("a string without end", format!("title = \"{}", "x".repeat(900_000)), "plan.toml"),
        (
            "a title of a megabyte",
            head("").replace("\"t\"", &format!("\"{}\"", "x".repeat(1 << 20))),
            "at most 1 MiB",
        ),
        ("a key of a megabyte", format!("{} = 1", "k".repeat(1_000_000)), "plan.toml"),
        (
            "2^64 seconds",
            head("").replace("seconds = 1", "seconds = 18446744073709551616"),
            "line 3",
        ),
        ("NaN seconds", head("").replace("seconds = 1", "seconds = nan"), "seconds"),
        ("infinite seconds", head("").replace("seconds = 1", "seconds = inf"), "seconds is inf"),
        ("2^32 threads", head("").replace("[1]", "[4294967295]"), "a count is from 1 to 1000"),
        ("2^32 repeats", head("repeats = 4294967295"), "multiplies to 4294967295 runs"),
        ("negative repeats", head("repeats = -1"), "repeats is a number from 1 to 1000"),
        ("a rate of NaN", head("rate = nan"), "rate"),
        (
            "twenty thousand rates",
            head(&format!("rates = [{}]", many(20_000, |n| format!("{},", n + 1)))),
            "20000 rates",
        ),
        (
            "twenty thousand configurations",
            tail(&many(20_000, |n| format!("[configs.c{n}]"))),
            "20001 configurations",
        ),
        (
            "10^12 runs",
            plan(
                &format!("repeats = 1000\nrates = [{}]", many(400, |n| format!("{},", n + 1))),
                "kind = \"directory\"",
                &many(400, |n| format!("[configs.c{n}]")),
            ),
            "multiplies to",
        ),
        (
            "an image of 2^70 bytes",
            plan("", "kind = \"image\"\nsize = \"1180591620717411303424\"", ""),
            "size",
        ),
        (
            "an image of 16 EiB",
            plan("", "kind = \"image\"\nsize = \"15E\"", ""),
            "too large for a file system",
        ),
        (
            "a device that is mounted",
            plan("", "kind = \"device\"\ndevice = \"/dev/root\"", ""),
            "/dev/root",
        ),
        (
            "a device that is a file",
            plan("", "kind = \"device\"\ndevice = \"/etc/passwd\"", ""),
            "/etc/passwd",
        ),
        (
            "a log on another device",
            image("file_system = \"xfs\"\nmkfs_options = [\"-l\", \"logdev=/dev/loop0\"]"),
            "mkfs.xfs may not be given `-l`: `logdev=/dev/loop0` is not one of",
        ),
        (
            "real-time data on another device",
            image("file_system = \"xfs\"\nmkfs_options = [\"-r\", \"rtdev=/dev/loop0\"]"),
            "mkfs.xfs may not be given `-r`; a plan may give",
        ),
        (
            "a journal on another device",
            image("mkfs_options = [\"-J\", \"device=/dev/loop0\"]"),
            "`device=/dev/loop0` is not one of",
        ),
        (
            "an undo file",
            image("mkfs_options = [\"-z\", \"/etc/undo\"]"),
            "mkfs.ext4 may not be given `-z`",
        ),
        (
            "another device by itself",
            image("mkfs_options = [\"/dev/loop0\"]"),
            "may not be given `/dev/loop0`",
        ),
        (
            "files copied in",
            image("file_system = \"btrfs\"\nmkfs_options = [\"--rootdir=/etc\"]"),
            "may not be given `--rootdir=/etc`",
        ),
        ("a label that is an option", image("mkfs_options = [\"-L\", \"-J\"]"), "takes a name"),
        (
            "a journal that is mounted",
            image("mount_options = [\"journal_path=/dev/loop0\"]"),
            "may not be mounted with `journal_path=/dev/loop0`",
        ),
        (
            "a mount of another place",
            image("mount_options = [\"noatime,bind\"]"),
            "may not be mounted with `bind`",
        ),
        (
            "an option with an escape",
            image("mount_options = [\"\\u001b[2J\"]"),
            "may not be mounted with",
        ),
        ("names that lead elsewhere", tail("[configs.\"../../etc\"]"), "not a valid name"),
        ("a name of two lines", tail("[configs.\"a\\nb\"]"), "not a valid name"),
        ("a name that is an escape", tail("[configs.\"\\u001b[2J\"]"), "not a valid name"),
        (
            "a name of 70 kB",
            tail(&format!("[configs.\"{}\"]", "n".repeat(70_000))),
            "not a valid name",
        ),
        ("a data directory elsewhere", head("[settings]\ndatadir = \"/etc\""), "datadir"),
        (
            "a log elsewhere",
            head("[settings]\nlog_bin = \"/etc/cron.d/x\""),
            "outside the data directory",
        ),
        (
            "a log elsewhere, shortened",
            head("[settings]\ngeneral-log-fil = \"/etc/cron.d/x\""),
            "outside the data directory",
        ),
        ("plugins elsewhere", head("[settings]\nplugin_dir = \"/tmp\""), "plugin_dir"),
        (
            "a setting that is two",
            head("[settings]\n\"a b --datadir\" = \"x\""),
            "is not a server setting",
        ),
        ("a configuration of itself", tail("[configs.b]\naa_of = \"b\""), "b"),
        ("a baseline that is not there", head("baseline = \"nobody\""), "nobody"),
        ("ten thousand CPUs", head("[placement]\nserver_cpus = \"0-4294967295\""), "not a CPU"),
        ("2^32 tables", head("[data]\ntables = 4294967295\ntable_size = 4294967295"), "tables"),
        ("a server that is a device", head("server = \"/dev/zero\""), "/dev/zero"),
        (
            "a host that is an option",
            head("load_hosts = [\"h\"]\n[hosts.h]\nssh = \"-oProxyCommand=touch x\""),
            "no host",
        ),
    ]
}

#[test]
fn a_hostile_plan_is_refused_in_a_line_and_touches_nothing() {
    let cases = cases().into_iter().map(|(name, text, says)| {
        (name, move || {
            let world = World::new();
            world.write("plan.toml", &text);
            for words in [
                &["run", "plan.toml", "--out", "study", "--dry-run"][..],
                &["run", "plan.toml", "--out", "study", "--quick", "--dry-run"],
                &["powercut", "plan.toml", "--out", "study", "--cuts", "1"],
                &["run", "plan.toml", "--out", "study"],
            ] {
                let told = answer(&world, name, words);
                assert_eq!(told.code, Some(2), "{name}: {words:?}: {told:?}");
                let line = told.stderr.lines().last().unwrap_or_default();
                assert!(
                    line.starts_with("assay: ") && line.len() < LINE_BYTES_MAX,
                    "{name}: {line}"
                );
                let is_plain = words.len() == 4 && words[0] == "run";
                assert!(!is_plain || line.contains(says), "{name}: {line}");
            }
            let left = holdings(&world.path("."), &[]);
            assert_eq!(left.keys().collect::<Vec<_>>(), ["plan.toml"], "{name}: left behind");
            assert_eq!(world.leftovers(), Vec::<String>::new(), "{name}");
        })
    });
    all_hold(cases);
}

/// A plan that others can write runs nothing before its user agrees.
#[test]
fn a_plan_of_others_runs_nothing_before_its_user_agrees() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let program = world.write("mysqld", "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\n");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let text = plan(&format!("server = {program:?}"), "kind = \"directory\"", "");
    let file = world.write("plan.toml", &text);
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).unwrap();
    let run = ["run", "plan.toml", "--out", "study"];
    let told = answer(&world, "without a terminal", &run);
    assert!(told.stderr.contains("other users can write to "), "{}", told.stderr);
    assert!(
        told.stderr.contains(&format!("the plan runs the server `{}`", program.display())),
        "{}",
        told.stderr
    );
    assert!(told.refusal("without a terminal").contains("add --yes"), "{}", told.stderr);
    let told = answer(&world, "a dry run", &[&run[..], &["--dry-run"]].concat());
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let told = answer(&world, "powercut", &["powercut", "plan.toml", "--out", "study"]);
    assert_eq!(told.code, Some(2), "{}", told.stderr);
    assert_eq!(world.listing(), ["mysqld", "plan.toml"], "nothing ran");
    // Control: with the user's consent it runs; it is no server.
    answer(&world, "with the user's word", &[&run[..], &["--yes"]].concat());
    assert!(world.path("ran").exists());
}
