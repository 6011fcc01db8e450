//! The program where it is installed: it says what it was built from, needs little of the machine,
//! and takes a server from its maker's archive where there is no apt.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::common::{World, has_server, program, small_plan};
use crate::drives::{Drives, SMALL, has_drives};

#[test]
fn the_version_carries_the_commit_or_says_that_it_is_unknown() {
    let output = Command::new(program()).arg("--version").env_clear().output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let version = concat!("assay ", env!("CARGO_PKG_VERSION"), " (");
    let built = text.trim_end().strip_prefix(version).and_then(|rest| rest.strip_suffix(')'));
    let built = built.unwrap_or_else(|| panic!("{text}"));
    let commit = built.strip_suffix(", changed").unwrap_or(built);
    let is_commit = commit.len() == 8 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(is_commit || built == "unknown commit", "{text}");
}

#[test]
fn attaching_a_drive_needs_no_program_outside_the_systems_directories() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    // Without coreutils: only /sbin and /usr/sbin, where losetup is, are looked in as well.
    let without = |words: &[&str]| {
        let mut command = drives.command(words);
        let output = command.env("PATH", "/nonexistent").output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    without(&["drive", "attach", "vol.img"]);
    without(&["drive", "status", "vol.img"]);
    without(&["drive", "detach", "vol.img"]);
    drives.assert_nothing_left();
}

/// Packs the directory `name` of the world as `name.tar.gz`.
fn pack(world: &World, name: &str) {
    let archive = format!("{name}.tar.gz");
    let mut tar = Command::new("tar");
    tar.args(["-czf", &archive, name]).current_dir(world.path(""));
    assert!(tar.status().unwrap().success());
}

/// A world with `mysql-9.1.0.tar.gz`, whose program is a script that knows its version and nothing
/// else.
fn with_archive() -> World {
    let world = World::new();
    let bin = world.path("mysql-9.1.0/bin");
    fs::create_dir_all(&bin).unwrap();
    let script = "#!/bin/sh\necho 'mysqld  Ver 9.1.0 for Linux on x86_64'\n";
    fs::write(bin.join("mysqld"), script).unwrap();
    fs::set_permissions(bin.join("mysqld"), fs::Permissions::from_mode(0o755)).unwrap();
    pack(&world, "mysql-9.1.0");
    world
}

/// Runs the program with a cache of its own; returns the exit code and all that it wrote.
fn said(world: &World, words: &[&str]) -> (Option<i32>, String) {
    let mut command = world.command(words);
    let output = command.env("ASSAY_CACHE", world.path("cache")).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn a_makers_archive_is_unpacked_once_and_shown() {
    let world = with_archive();
    world.write("plan.toml", &small_plan("kind = \"directory\""));
    let run = ["server", "run", "--server", "mysql-9.1.0.tar.gz", "--", "true"];
    let check = ["run", "plan.toml", "--server", "mysql-9.1.0.tar.gz", "--dry-run"];
    let (code, text) = said(&world, &check);
    let planned = "server: the one in mysql-9.1.0.tar.gz, which the run unpacks first";
    assert!(code == Some(0) && text.contains(planned), "{text}");
    let (_, first) = said(&world, &run);
    let digest = Command::new("sha256sum").arg(world.path("mysql-9.1.0.tar.gz")).output().unwrap();
    let digest = String::from_utf8(digest.stdout).unwrap();
    let line = format!("unpacking mysql-9.1.0.tar.gz (1 MB, SHA-256 {})", &digest[..64]);
    assert!(first.contains(&line), "{first}");
    // Under another name it is the same.
    fs::rename(world.path("mysql-9.1.0.tar.gz"), world.path("server.tgz")).unwrap();
    let (_, second) = said(&world, &["server", "run", "--server", "server.tgz", "--", "true"]);
    assert!(!second.contains("unpacking"), "{second}");
    let (_, list) = said(&world, &["server", "list"]);
    let unpacked = list.lines().find(|line| line.contains(" unpacked "));
    assert!(unpacked.is_some_and(|line| line.starts_with("MySQL 9.1.0")), "{list}");
    let entries = fs::read_dir(world.path("cache/servers")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
    assert!(names.len() == 1 && names[0].starts_with("archive-"), "{names:?}");
}

#[test]
fn an_archive_of_no_use_is_refused_in_a_line_and_leaves_nothing() {
    let world = with_archive();
    let whole = fs::read(world.path("mysql-9.1.0.tar.gz")).unwrap();
    fs::write(world.path("half.tar.gz"), &whole[..whole.len() / 2]).unwrap();
    fs::write(world.path("page.tar.xz"), "<html>not found</html>").unwrap();
    fs::rename(world.path("mysql-9.1.0/bin/mysqld"), world.path("mysql-9.1.0/mysql")).unwrap();
    pack(&world, "mysql-9.1.0");
    for (archive, says) in [
        ("half.tar.gz", "half.tar.gz cannot be unpacked: "),
        ("page.tar.xz", "page.tar.xz is damaged, or of a kind that is not unpacked here"),
        ("mysql-9.1.0.tar.gz", "there is no mysqld or mariadbd in mysql-9.1.0.tar.gz"),
        ("none.tar.gz", "no server at none.tar.gz"),
    ] {
        let (code, text) = said(&world, &["server", "run", "--server", archive, "--", "true"]);
        let last = text.lines().last().unwrap_or_default();
        assert!(code == Some(2) && last.contains(says), "{text}");
    }
    let servers = world.path("cache/servers");
    let left = fs::read_dir(servers).map_or(0, |entries| {
        entries.filter(|entry| entry.as_ref().unwrap().file_name() != ".lock").count()
    });
    assert_eq!(left, 0);
}

#[test]
#[ignore = "in --full: packs and unpacks a whole server"]
fn a_real_server_runs_from_an_archive() {
    if !has_server() {
        return;
    }
    let world = World::new();
    let output = world.run(&["server", "list", "--json"]);
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let downloaded = list.as_array().unwrap().iter().find(|server| server["origin"] == "cache");
    let Some(program) = downloaded.and_then(|server| server["program"].as_str()) else { return };
    // …/mysql-9.7.4/usr/sbin/mysqld
    let tree = Path::new(program).ancestors().nth(3).unwrap();
    // Not the directory itself: whoever uses the server sets its time, which tar reports.
    let parts = fs::read_dir(tree).unwrap().map(|part| part.unwrap().file_name());
    let mut tar = Command::new("tar");
    tar.arg("-czf").arg(world.path("server.tar.gz")).arg("-C").arg(tree);
    tar.arg("--transform=s,^,server/,S").args(parts);
    assert!(tar.status().unwrap().success());
    let uses = ["--", "sh", "-c", "test -S $ASSAY_SOCKET"];
    let words = [&["server", "run", "--server", "server.tar.gz"][..], &uses].concat();
    let (code, text) = said(&world, &words);
    assert!(code == Some(0) && text.contains("unpacking server.tar.gz"), "{text}");
}
