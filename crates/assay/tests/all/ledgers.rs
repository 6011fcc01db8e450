//! Tests ledgers that somebody else wrote, or that name other users' resources: nothing is removed,
//! ended, loaded or contacted.

use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use assay_ports::child::identity;
use assay_testing::skip;
use serde_json::{Value, json};

use crate::common::World;
use crate::drives::{Drives, has_drives};

/// Ledger of a process that has ended: its id is above the largest possible (`proc(5)`, `pid_max`).
const DEAD: &str = "4194305-1.json";

const NOBODY: u32 = 65_534;

/// Writes a ledger of a dead process with these resources into the world's state.
fn put(world: &World, resources: &Value) {
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let text = json!({
        "pid": 4_194_305, "start_ticks": 1, "boot_id": boot_id.trim(), "resources": resources,
    });
    let ledgers = world.path("state/ledgers");
    std::fs::create_dir_all(&ledgers).unwrap();
    std::fs::write(ledgers.join(DEAD), text.to_string()).unwrap();
}

/// Creates somebody's directory, which a command must leave alone.
fn precious(world: &World, name: &str) -> String {
    let path = world.path(name);
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("ibdata1"), "precious").unwrap();
    path.display().to_string()
}

fn is_whole(path: &str) -> bool {
    std::fs::read(Path::new(path).join("ibdata1")).is_ok_and(|held| held == b"precious")
}

/// Runs the command to its end, within 10 s; returns exit code, standard output and standard error.
fn ran(
    world: &World,
    words: &[&str],
    change: impl Fn(&mut std::process::Command),
) -> (i32, String, String) {
    let mut command = world.command(words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
    change(&mut command);
    let mut child = command.spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > until => {
                child.kill().unwrap();
                panic!("{words:?} goes on after 10 s");
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let (mut out, mut error) = (String::new(), String::new());
    child.stdout.unwrap().read_to_string(&mut out).unwrap();
    child.stderr.unwrap().read_to_string(&mut error).unwrap();
    (status.code().unwrap_or(-1), out, error)
}

#[test]
fn a_directory_that_only_has_the_name_is_left_alone_and_told() {
    let world = World::new();
    let theirs = precious(&world, "assay-server-1");
    let id = json!({ "device": 1, "inode": 1, "born": null });
    put(
        &world,
        &json!([
            { "kind": "directory", "path": theirs },
            { "kind": "directory", "path": { "path": theirs, "id": id } },
            { "kind": "pool", "name": "p", "directory": theirs },
            { "kind": "drive", "media": "/dev/null", "mount_point": theirs, "directory": theirs },
            { "kind": "trace", "instance": theirs },
            { "kind": "mount", "target": "/proc" },
        ]),
    );
    let (code, out, _) = ran(&world, &["clean", "--json"], |_| ());
    let told: Value = serde_json::from_str(&out).unwrap();
    let count = |what: &str| told[what].as_array().unwrap().len();
    assert_eq!((code, count("removed"), count("left_alone")), (2, 0, 1), "{out}");
    // Ledgers of earlier versions lack the ids by which resources are recognised.
    assert_eq!(count("failed"), 5, "{out}");
    assert!(out.contains("remove it by hand") && is_whole(&theirs), "{out}");
    assert!(world.path("state/ledgers").join(DEAD).exists(), "until they are gone");
    std::fs::remove_dir_all(&theirs).unwrap();
    put(&world, &json!([{ "kind": "directory", "path": theirs }]));
    assert_eq!(ran(&world, &["clean"], |_| ()).0, 0);
    assert!(!world.path("state/ledgers").join(DEAD).exists());
}

#[test]
fn a_ledger_that_leads_elsewhere_is_not_obeyed() {
    let world = World::new();
    let theirs = precious(&world, "theirs");
    std::fs::create_dir(world.path("assay-1")).unwrap();
    let around = world.path("assay-1/../theirs").display().to_string();
    let me = identity(std::process::id()).unwrap();
    for path in [around.as_str(), "theirs", "/"] {
        put(
            &world,
            &json!([
                { "kind": "process", "pid": me.pid, "start_ticks": me.start_ticks + 1 },
                { "kind": "directory", "path": path },
            ]),
        );
        let (code, out, _) = ran(&world, &["clean"], |_| ());
        let told = match path {
            "/" => "nothing to clean",
            _ => "cannot be read as a ledger",
        };
        assert!(out.contains(told) && (code == 2) == (path != "/"), "{code}: {out}");
        assert!(is_whole(&theirs));
    }
}

/// A pipe without a writer would block whoever opens it.
#[test]
fn no_library_is_loaded_because_a_ledger_names_it() {
    let world = World::new();
    let library = world.path("evil.so");
    let made = std::process::Command::new("mkfifo").arg(&library).status().unwrap();
    assert!(made.success());
    let libraries =
        json!({ "unpacked": { "librados": library, "librbd": library, "needed": [library] } });
    let image = "rbd:pool/assay-1:conf=/nonexistent";
    put(&world, &json!([{ "kind": "image", "name": image, "libraries": libraries }]));
    std::fs::write(world.path("media"), "").unwrap();
    let (code, out, _) = ran(&world, &["clean", "--dry-run"], |_| ());
    assert_eq!(code, 0);
    assert!(
        out.contains("would remove image rbd:pool/assay-1") && out.contains("if it is still there")
    );
    ran(&world, &["drive", "list"], |_| ());
    ran(&world, &["drive", "attach", "media"], |_| ());
    let (code, out, _) = ran(&world, &["clean"], |_| ());
    assert!(code == 2 && out.contains("cannot remove image"), "{out}");
    assert!(world.path("state/ledgers").join(DEAD).exists(), "what was not asked may be there");
}

#[test]
fn a_state_directory_of_others_is_not_used() {
    if !rustix::process::geteuid().is_root() {
        return skip("root, who gives a directory away");
    }
    let world = World::new();
    let theirs = precious(&world, "assay-theirs");
    put(&world, &json!([{ "kind": "directory", "path": theirs }]));
    let state = world.path("state");
    let commands: [&[&str]; 5] = [
        &["clean"],
        &["clean", "--dry-run"],
        &["drive", "list"],
        &["pool", "status"],
        &["drive", "attach", "x"],
    ];
    let refused = |says: &str| {
        for words in commands {
            let (code, _, error) = ran(&world, words, |_| ());
            let is_one_line = error.trim_end().lines().count() == 1;
            assert!(code == 2 && is_one_line && error.contains(says), "{words:?}: {error}");
        }
        assert!(is_whole(&theirs));
    };
    std::fs::write(world.path("x"), "").unwrap();
    chown(&state, Some(NOBODY), None).unwrap();
    refused(
        "belongs to user 65534, and this is user 0; set ASSAY_STATE to a directory of your own",
    );
    chown(&state, Some(0), None).unwrap();
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o777)).unwrap();
    refused("others can write to");
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::rename(&state, world.path("elsewhere")).unwrap();
    symlink(world.path("elsewhere"), &state).unwrap();
    refused("is a link");
    // Somebody's file in a directory of ours.
    std::fs::remove_file(&state).unwrap();
    std::fs::rename(world.path("elsewhere"), &state).unwrap();
    chown(state.join("ledgers").join(DEAD), Some(NOBODY), None).unwrap();
    let (code, out, _) = ran(&world, &["clean"], |_| ());
    assert!(code == 2 && out.contains("belongs to user 65534"), "{out}");
    assert!(is_whole(&theirs));
}

/// A container that shares the state directory has its own process ids.
#[test]
fn what_a_process_of_another_namespace_uses_stays() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "64M"]);
    drives.attach(&[]);
    let inside = |words: &str| {
        let command = format!("exec {} {words}", crate::common::program());
        let mut unshare = std::process::Command::new("unshare");
        unshare.args(["--pid", "--fork", "--mount-proc", "sh", "-c", &command]);
        unshare.current_dir(drives.path("")).env("ASSAY_STATE", drives.path("state"));
        unshare.env("ASSAY_CACHE", drives.path("cache")).output().unwrap()
    };
    let cleaned = inside("clean");
    let said = String::from_utf8_lossy(&cleaned.stdout).into_owned();
    assert!(said.contains("still in use: drive "), "{cleaned:?}");
    inside("drive detach vol.img");
    assert_eq!(drives.status()["state"], "healthy", "{}", drives.status());
    drives.detach();
    drives.assert_nothing_left();
}

#[test]
fn without_a_home_nothing_is_kept_where_everybody_may_write() {
    let world = World::new();
    let shared = Path::new("/var/tmp/assay");
    let was_there = shared.exists();
    for words in [&["clean"][..], &["drive", "list"], &["pool", "status"]] {
        let (code, _, error) = ran(&world, words, |command| {
            command.env_remove("ASSAY_STATE").env_remove("HOME").env_remove("XDG_STATE_HOME");
        });
        assert!(code == 2 && error.contains("HOME is not set"), "{words:?}: {error}");
    }
    assert_eq!(shared.exists(), was_there);
}
