//! Tests restricted environments (an ordinary user, a container without devices or capabilities):
//! one line names everything that is missing, and a report is written all the same.

use std::path::Path;
use std::process::{Command, Output};

use assay_testing::skip;

use crate::common::{DIRECTORY, IMAGE, World, mysql, program, small_plan};

/// An environment with fewer rights than root has.
struct Sandbox {
    /// Shell code that enters it.
    enter: &'static str,
    /// Part of the line that names what is missing.
    missing: &'static str,
    remedy: &'static str,
}

const USER: Sandbox = Sandbox {
    // The program and the files of the server stay root's: other tests use them.
    enter: "find . \\( -path ./assay -o -path './cache/servers/*/*' \\) -prune -o \
        -exec chown 65534:65534 {} + && exec setpriv --reuid=65534 --regid=65534 --clear-groups",
    missing: "missing here: root; ",
    remedy: "run as root",
};

const WITHOUT_DEVICES: Sandbox = Sandbox {
    enter: "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/urandom \
        c 1 9 && exec",
    missing: "missing here: /dev/fuse, loop devices; ",
    remedy: "--device /dev/fuse --device /dev/loop-control",
};

const WITHOUT_CAPABILITY: Sandbox = Sandbox {
    enter: "exec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin",
    missing: "missing here: the capability CAP_SYS_ADMIN; ",
    remedy: "--cap-add SYS_ADMIN",
};

/// Unmounts other tests' disks in the new mount namespace, which has copies of their mounts and
/// would keep the disks in use.
const WITHOUT_DISKS_OF_OTHERS: &str = "for mount in $(grep -E '^/dev/loop| fuse.assay ' \
    /proc/self/mounts | cut -d ' ' -f 2); do umount --lazy \"$mount\"; done";

/// Whether the sandboxes can be made: only by root, in a directory that others may enter.
fn can_be_made(world: &World) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    let is_open = world.path("").ancestors().skip(1).all(|parent| {
        let mode = std::fs::metadata(parent).map(|it| std::os::unix::fs::MetadataExt::mode(&it));
        mode.is_ok_and(|mode| mode & 0o001 != 0)
    });
    let can = is_root && is_open && mysql().is_some();
    if !can {
        skip("root, a target directory that every user may enter, and a downloaded MySQL");
    }
    can
}

impl Sandbox {
    /// Runs `assay` in the sandbox, with the program and the downloaded server bound to where
    /// everybody may read them.
    fn run(&self, world: &World, words: &[&str]) -> Output {
        let server = mysql().unwrap();
        let is_of_cache = |path: &&Path| path.parent().is_some_and(|it| it.ends_with("servers"));
        let tree = server.ancestors().find(is_of_cache).unwrap();
        let place = world.path("cache/servers").join(tree.file_name().unwrap());
        std::fs::create_dir_all(&place).unwrap();
        // Only a directory with a lock is a part of the cache.
        std::fs::write(world.path("cache/servers/.lock"), "").unwrap();
        std::fs::create_dir_all(world.path("state")).unwrap();
        std::fs::write(world.path("assay"), "").unwrap();
        let script = format!(
            "{WITHOUT_DISKS_OF_OTHERS}; mount --bind '{}' assay && for part in '{}'/*; do \
             at='{}'/${{part##*/}}; mkdir -p $at && mount --bind $part $at || exit; done && \
             PATH=\"$PATH:/usr/sbin:/sbin\" && {{ {} ./assay \"$@\"; }}",
            program(),
            tree.display(),
            place.display(),
            self.enter
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script, "sh"]).args(words);
        command.current_dir(world.path("")).env_remove("ASSAY_SERVER");
        command.env("ASSAY_STATE", world.path("state")).env("ASSAY_CACHE", world.path("cache"));
        let output = command.output().unwrap();
        eprintln!("assay {words:?}\n{}", String::from_utf8_lossy(&output.stderr));
        output
    }

    /// Asserts that the first line names everything missing, and that no other line does.
    fn assert_says_what_is_missing(&self, said: &str) {
        let lines: Vec<&str> = said.lines().filter(|line| line.contains("missing here")).collect();
        let [line] = lines[..] else { panic!("not one line: {said}") };
        assert_eq!(said.lines().next(), Some(line), "it comes before anything else");
        assert!(line.contains(self.missing) && line.contains(self.remedy), "{line}");
    }

    fn check(&self) {
        let world = World::new();
        if !can_be_made(&world) {
            return;
        }
        let said = |output: &Output| String::from_utf8(output.stderr.clone()).unwrap();

        let demo = self.run(&world, &["demo", "--dry-run"]);
        assert!(demo.status.success(), "{demo:?}");
        self.assert_says_what_is_missing(&said(&demo));
        assert!(said(&demo).contains("\nnot answered without what is missing: "), "{demo:?}");
        assert!(String::from_utf8_lossy(&demo.stdout).contains("doublewrite off / "), "{demo:?}");

        world.write("image.toml", &small_plan(IMAGE));
        let refused = self.run(&world, &["run", "image.toml", "--out", "refused"]);
        assert_eq!((refused.status.code(), said(&refused).lines().count()), (Some(2), 1));
        assert!(
            said(&refused).contains("rig.kind = \"directory\" needs none of it"),
            "{refused:?}"
        );

        world.write(
            "plan.toml",
            &small_plan(DIRECTORY).replace("threads = [1, 2]", "threads = [2]"),
        );
        let run = self.run(&world, &["run", "plan.toml", "--out", "study", "--no-live"]);
        assert!(run.status.success(), "{run:?}");
        assert!(world.path("study/report.html").is_file());
    }
}

#[test]
fn an_ordinary_user_gets_a_report() {
    USER.check();
}

#[test]
fn a_container_without_devices_gets_a_report() {
    // An image needs no FUSE, so its line names less than the demo's.
    WITHOUT_DEVICES.check();
}

#[test]
fn root_without_the_capability_gets_a_report() {
    WITHOUT_CAPABILITY.check();
}

/// Negative control: without restrictions there is no fallback.
#[test]
fn where_nothing_is_missing_the_demo_is_the_demo() {
    if !crate::common::has_loop_devices() || !Path::new("/dev/fuse").exists() {
        return;
    }
    let demo = World::new().run(&["demo", "--dry-run"]);
    assert!(!String::from_utf8_lossy(&demo.stderr).contains("missing here"), "{demo:?}");
    assert!(String::from_utf8_lossy(&demo.stdout).contains("CSD, doublewrite off / "), "{demo:?}");
}

/// Mounts a file system in memory, unmounted when dropped.
fn in_memory(world: &World, size: &str) -> Option<Mounted> {
    let place = world.path("memory");
    std::fs::create_dir(&place).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"]).arg(&place);
    match mount.status() {
        Ok(status) if status.success() => Some(Mounted(place)),
        _ => {
            skip("the right to mount a tmpfs");
            None
        }
    }
}

struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_location_in_memory_is_called_memory() {
    let world = World::new();
    let Some(_memory) = in_memory(&world, "2G") else { return };
    world.write("plan.toml", &small_plan(DIRECTORY));
    let words = ["run", "plan.toml", "--out", "study", "--dry-run", "--location"];
    let warned = |place: &str| {
        let said = world.run(&[&words[..], &[place]].concat());
        assert!(said.status.success(), "{said:?}");
        String::from_utf8(said.stderr).unwrap().contains("memory is memory (tmpfs): what is")
    };
    assert!(warned("memory"));
    assert!(!warned("."));
}

#[test]
fn a_study_on_a_full_disk_is_refused_before_it_begins() {
    let world = World::new();
    let Some(_memory) = in_memory(&world, "4M") else { return };
    world.write("plan.toml", &small_plan(DIRECTORY));
    for more in [&["--dry-run"][..], &[]] {
        let words = ["run", "plan.toml", "--location", ".", "--out", "memory/study"];
        let line = world.refused(&[&words[..], more].concat());
        assert!(line.contains("no space: a study takes at least 16 MB"), "{line}");
        assert!(!world.path("memory/study").exists());
    }
}

#[test]
#[ignore = "in --full: three minutes"]
fn the_demo_ends_with_a_report_without_any_right() {
    let world = World::new();
    if !can_be_made(&world) {
        return;
    }
    let demo = USER.run(&world, &["demo", "--no-live"]);
    assert!(demo.status.success(), "{demo:?}");
    assert!(world.path("assay-demo-directory/report.html").is_file());
    let last = String::from_utf8(demo.stdout).unwrap();
    assert!(last.trim_end().lines().last().unwrap().starts_with("next: "), "{last}");
}
