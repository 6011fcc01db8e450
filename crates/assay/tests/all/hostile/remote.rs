//! A fake remote host that is hostile or broken: a fake `ssh` that runs the given command here, and
//! then lies.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::{Ended, run, wrong};
use crate::common::{World, program};

/// Behaviours of the remote end: name, script, and a part of the error. `$words` is the command
/// line of the program there.
const BEHAVIOURS: [(&str, &str, &str); 10] = [
    ("a line without end", "exec tr '\\000' x </dev/zero", "a line without end"),
    ("garbage", "exec yes 'HTTP/1.1 400 Bad Request'", "none of the program's"),
    ("bytes", "exec cat /dev/urandom", ""),
    (
        "another version",
        "sh -c \"$words\" | sed -u 's/\"version\":\"[^\"]*\"/\"version\":\"9.9.9\\\\u001b[2J\"/'",
        "runs another version of Assay (9.9.9[2J",
    ),
    ("mute after the handshake", "sh -c \"$words\" | { head -n 1; exec sleep 1000; }", "was lost"),
    (
        "a line without end after the handshake",
        "sh -c \"$words\" | { head -n 1; exec tr '\\000' x </dev/zero; }",
        "a line without end",
    ),
    (
        "more than anybody takes",
        "sh -c \"$words\" | { head -n 1; \
         exec yes \"{\\\"told\\\":\\\"$(head -c 60000 /dev/zero | tr '\\000' x)\\\"}\"; }",
        "more than anybody asked for",
    ),
    (
        "gigantic figures",
        "sh -c \"$words\" | sed -u -E \
         's/\"(received|answered)_ns\":[0-9]+/\"\\1_ns\":18446744073709551615/g'",
        "a time that no clock shows",
    ),
    (
        "figures of long ago",
        "sh -c \"$words\" | sed -u -E 's/\"received_ns\":[0-9]+/\"received_ns\":0/; \
         s/\"answered_ns\":[0-9]+/\"answered_ns\":18446744073709551615/'",
        "",
    ),
    ("closed within a line", "printf '{\"hello\":{\"proto'; exit 0", ""),
];

/// Writes the script of the fake `ssh`: a login is a socket, and a process that stays.
fn ssh(directory: &Path, serves: &str) {
    let text = format!(
        "#!/bin/sh\nfor word in \"$@\"; do\n    case $word in ControlPath=*) \
         socket=${{word#ControlPath=}};; -N) login=1;; esac\n    words=$word\ndone\n\
         if [ -n \"$login\" ]; then : >\"$socket\"; exec sleep 1000; fi\n\
         case $words in *\"'host' 'serve'\"*) {serves};; *) exec sh -c \"$words\";; esac\n"
    );
    let path = directory.join("ssh");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A world with the fake `ssh`, and the program at its place on the host.
fn host(serves: &str) -> World {
    let world = World::new();
    for part in ["bin", "run", "there"] {
        std::fs::create_dir(world.path(part)).unwrap();
    }
    ssh(&world.path("bin"), serves);
    let digest = Command::new("sha256sum").arg(program()).output().unwrap().stdout;
    let entry =
        world.path("there/cache/programs").join(std::str::from_utf8(&digest[..16]).unwrap());
    std::fs::create_dir_all(&entry).unwrap();
    std::fs::hard_link(program(), entry.join("assay")).unwrap();
    world
}

fn check(world: &World, directory: &Path) -> Command {
    let directory = format!("--host-directory={}", directory.display());
    let mut command = world.command(&["host", "check", "root@far", &directory]);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", world.path("bin").display()));
    command.env("XDG_RUNTIME_DIR", world.path("run"));
    command
}

#[test]
fn whatever_a_host_says_a_command_ends_in_a_clear_line() {
    let good = host("exec sh -c \"$words\"");
    let ended = run(check(&good, &good.path("there")));
    assert_eq!(ended.code, Some(0), "the fake is a host while it does not lie: {}", ended.said);

    for (what, serves, told) in BEHAVIOURS {
        let world = host(serves);
        let ended = run(check(&world, &world.path("there")));
        let Ended { said, took, memory_kib, .. } = &ended;
        println!("{what}: {:.1} s, {} MiB: {}", took.as_secs_f64(), memory_kib >> 10, said.trim());
        let wrong = wrong(&world, &ended);
        assert_eq!(wrong, None, "{what}: {said}");
        assert!(said.contains(told), "{what}: {said}");
        let left: Vec<_> = std::fs::read_dir(world.path("run")).unwrap().collect();
        assert!(left.is_empty(), "{what}: {left:?}");
    }
}

#[test]
fn what_a_hosts_shell_prints_without_end_is_refused() {
    let world = host("exit 1");
    let script = "#!/bin/sh\nfor word in \"$@\"; do\n    case $word in ControlPath=*) \
        socket=${word#ControlPath=};; -N) login=1;; esac\ndone\n\
                  if [ -n \"$login\" ]; then : >\"$socket\"; exec sleep 1000; fi\nexec yes @assay \
                  place\n";
    std::fs::write(world.path("bin/ssh"), script).unwrap();
    let ended = run(check(&world, &world.path("there")));
    assert_eq!(wrong(&world, &ended), None, "{}", ended.said);
    assert!(ended.said.contains("printed more than was asked for"), "{}", ended.said);
}

#[test]
fn a_directory_of_others_is_no_place_for_the_program() {
    if !rustix::process::geteuid().is_root() {
        return assay_testing::skip("root");
    }
    let world = host("exec sh -c \"$words\"");
    let there = world.path("there");
    let refused = |what: &str, directory: &str| {
        let ended = run(check(&world, &there));
        assert_eq!(wrong(&world, &ended), None, "{what}: {}", ended.said);
        let told = format!("cannot write to {directory}: it belongs to somebody else");
        assert!(ended.said.contains(&told), "{what}: {}", ended.said);
    };
    let mode = |path: &str, mode| {
        std::fs::set_permissions(world.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let shown = |path: &str| world.path(path).display().to_string();
    mode("there/cache/programs", 0o777);
    refused("others write the programs", &shown("there/cache/programs"));
    mode("there/cache/programs", 0o755);
    std::os::unix::fs::chown(world.path("there/cache"), Some(65534), None).unwrap();
    refused("the cache is another's", &shown("there/cache"));
    std::os::unix::fs::chown(world.path("there/cache"), Some(0), None).unwrap();
    mode("there", 0o777);
    refused("others may put another cache there", &shown("there"));
    // With the mode of /tmp, others cannot remove our directory.
    mode("there", 0o1777);
    assert_eq!(run(check(&world, &there)).code, Some(0));
    std::os::unix::fs::symlink(world.path("there/cache"), world.path("there/state")).unwrap();
    refused("the state lies elsewhere", &shown("there/state"));
}
