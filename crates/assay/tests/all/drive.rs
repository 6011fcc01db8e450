//! Tests the drive on its own: its data survive closing and killing, and its status is right.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::World;
use crate::drives::{Drives, MIB, has_drives, noise, system, unmount};
use rustix::process::{Pid, Signal, kill_process};

fn interrupt(process: &Child) {
    kill_process(Pid::from_child(process), Signal::INT).unwrap();
}

#[test]
fn a_drive_stores_more_than_fits_and_keeps_it() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "256M", "--logical", "1G"]);
    assert_eq!(fs::metadata(drives.path("vol.img")).unwrap().len(), 256 * MIB);
    let device = drives.attach(&[]);
    assert!(device.starts_with("/dev/loop"), "{device}");
    let files = drives.make_files(&device);
    // Half of each block is random, half is zeroes.
    let mut block = noise(4096, 1);
    block[2048..].fill(0);
    let data = block.repeat((320 * MIB / 4096) as usize);
    let mut file = File::create_new(files.join("data")).unwrap();
    file.write_all(&data).unwrap();
    file.sync_all().unwrap();
    drop(file);
    let status = drives.status();
    assert!(status["logical_bytes_used"].as_u64().unwrap() > 320 * MIB, "{status}");
    assert!(status["media_bytes_used"].as_u64().unwrap() < 200 * MIB, "{status}");
    assert!(status["compression_ratio"].as_f64().unwrap() > 1.5, "{status}");

    let line = drives.refused(&["drive", "detach", "vol.img"]);
    assert!(line.contains("is in use: mounted on") && line.contains("unmount"), "{line}");
    drives.unmount();
    drives.done(&["drive", "detach", &device]);
    drives.assert_nothing_left();
    let line = drives.refused(&["drive", "detach", "vol.img"]);
    assert!(line.contains("vol.img is not attached; nothing to do"), "{line}");

    let device = drives.attach(&[]);
    let files = drives.mount(&device);
    assert!(fs::read(files.join("data")).unwrap() == data);
    drives.unmount();
    drives.detach();
    drives.assert_nothing_left();
    let said = drives.done(&["drive", "check", "vol.img"]);
    assert!(said.trim_end().ends_with("no damage"), "{said}");
}

#[test]
fn what_was_flushed_survives_a_killed_server() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "256M"]);
    let device = drives.attach(&[]);
    let files = drives.make_files(&device);
    let data = noise(8 * MIB as usize, 2);
    let mut file = File::create_new(files.join("kept")).unwrap();
    file.write_all(&data).unwrap();
    file.sync_all().unwrap();
    drop(file);
    File::open(&files).unwrap().sync_all().unwrap();
    drives.kill_server();

    // Mounts in use are named and stay.
    let left = drives.leftovers();
    assert_eq!(left.len(), 3, "a mount on a device on a mount: {left:?}");
    let line = drives.refused(&["drive", "attach", "vol.img"]);
    let mount = drives.path("files");
    let named = format!("mounted on {}", mount.display());
    assert!(line.contains("has died") && line.contains(&named), "{line}");
    assert_eq!(drives.leftovers(), left);
    let said = drives.told(&["drive", "status", &device]);
    let told = format!("its server has died; {device} is stale, {named}; unmount it, then attach");
    assert!(said.contains(&told), "{said}");
    let status = drives.status();
    assert_eq!((&status["server_died"], &status["attached"]), (&true.into(), &false.into()));
    assert_eq!(
        (&status["device"], &status["mounted_on"][0]),
        (&device.into(), &mount.to_str().into())
    );

    drives.unmount();
    let (device, said) = drives.attach_saying(&[]);
    assert!(said.contains("not closed cleanly;") && said.contains("chunk"), "{said}");
    let files = drives.mount(&device);
    assert!(fs::read(files.join("kept")).unwrap() == data);
    drives.unmount();
    drives.detach();
    drives.assert_nothing_left();
}

#[test]
fn a_killed_server_under_load_leaves_nothing_after_clean() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "64M"]);
    let device = drives.attach(&[]);
    let file = File::options().write(true).open(&device).unwrap();
    let (tell, wrote) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        let data = noise(MIB as usize, 3);
        for offset in (0..32 * MIB).step_by(MIB as usize).cycle() {
            if file.write_all_at(&data, offset).and_then(|()| file.sync_data()).is_err() {
                return;
            }
            let _ = tell.send(());
        }
    });
    wrote.recv().unwrap();
    drives.kill_server();
    writer.join().unwrap();
    // Negative control: without `assay clean`, resources are left.
    assert_eq!(drives.leftovers().len(), 2, "a mount and a device stay");
    let said = drives.done(&["clean"]);
    let media = drives.path("vol.img").canonicalize().unwrap();
    assert!(said.contains(&format!("detached {}; the file is kept", media.display())), "{said}");
    drives.assert_nothing_left();
    assert_eq!(drives.done(&["clean"]), "nothing to clean\n");

    // Detaching removes the leftovers too.
    drives.attach(&[]);
    drives.kill_server();
    let said = drives.done(&["drive", "detach", "vol.img"]);
    assert!(said.contains("its server had died"), "{said}");
    drives.assert_nothing_left();

    // The ledger is left without its resources, as after a server that was killed before it made
    // any.
    let device = drives.attach(&[]);
    drives.kill_server();
    system("losetup", &["--detach", &device]);
    let directory =
        fs::read_dir(drives.path("state/drives")).unwrap().next().unwrap().unwrap().path();
    system("umount", &["--lazy", directory.join("mount").to_str().unwrap()]);
    fs::remove_dir_all(directory).unwrap();
    assert_eq!(fs::read_dir(drives.path("state/ledgers")).unwrap().count(), 1);
    drives.attach(&[]);
    drives.detach();
    drives.assert_nothing_left();
}

#[test]
fn the_list_has_what_is_attached_and_what_is_left() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "64M"]);
    assert_eq!(drives.done(&["drive", "list"]), "no drive is attached\n");
    assert_eq!(drives.done(&["drive", "list", "--json"]), "[]\n");
    let device = drives.attach(&[]);
    let files = drives.make_files(&device);
    let list = || -> serde_json::Value {
        let listed = drives.done(&["drive", "list", "--json"]);
        serde_json::from_str::<serde_json::Value>(&listed).unwrap()[0].take()
    };
    let one = list();
    let media = drives.path("vol.img").canonicalize().unwrap();
    assert_eq!((&one["device"], &one["state"]), (&device.as_str().into(), &"healthy".into()));
    assert_eq!((&one["media"], &one["server_died"]), (&media.to_str().into(), &false.into()));
    assert_eq!(
        (&one["pid"], &one["mounted_on"][0]),
        (&drives.status()["pid"], &files.to_str().into())
    );
    drives.kill_server();
    let one = list();
    assert_eq!((&one["device"], &one["server_died"]), (&device.as_str().into(), &true.into()));
    assert_eq!(one["pid"], serde_json::Value::Null);
    let said = drives.done(&["drive", "list"]);
    let told =
        format!("its server has died, stale device as {device}, mounted on {}", files.display());
    assert!(said.contains(&told) && said.lines().count() == 1, "{said}");
    drives.unmount();
    drives.detach();
    drives.assert_nothing_left();
}

#[test]
fn the_status_has_every_word() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "64M", "--logical", "128M"]);
    let at_rest = drives.status();
    assert_eq!((&at_rest["attached"], &at_rest["state"]), (&false.into(), &"healthy".into()));
    let device = drives.attach(&[]);
    let file = File::options().write(true).open(&device).unwrap();
    file.write_all_at(&noise(MIB as usize, 4), 0).unwrap();
    file.sync_data().unwrap();
    drop(file);
    let status = drives.status();
    for (word, value) in [
        ("capacity_bytes", 64 * MIB),
        ("logical_bytes", 128 * MIB),
        ("logical_bytes_used", MIB),
        ("write_bytes_host", MIB),
    ] {
        assert_eq!(status[word].as_u64(), Some(value), "{word}: {status}");
    }
    for word in ["media_bytes_used", "write_bytes_media", "flushes", "pid"] {
        assert!(status[word].as_u64().unwrap() > 0, "{word}: {status}");
    }
    for word in ["compression_ratio", "write_amplification", "media_cycles"] {
        assert!(status[word].as_f64().unwrap() > 0.0, "{word}: {status}");
    }
    assert_eq!(status["state"], "healthy");
    assert_eq!(status["device"], device);
    assert_eq!((&status["threads"], &status["cache"]), (&16.into(), &"volatile".into()));
    let text = drives.told(&["drive", "status", &device]);
    assert!(text.contains(&format!("healthy, attached as {device}")), "{text}");
    assert!(text.contains("write amplification"), "{text}");
    monitor(&drives, &device);
    drives.detach();
}

/// Checks that `--watch` prints a line each second until Ctrl-C.
fn monitor(drives: &Drives, device: &str) {
    let mut command = drives.command(&["drive", "status", device, "--watch", "--json"]);
    let mut monitoring = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(monitoring.stdout.take().unwrap()).lines().take(2);
    let states =
        lines.map(|line| -> serde_json::Value { serde_json::from_str(&line.unwrap()).unwrap() });
    assert!(states.into_iter().all(|status| status["state"] == "healthy"));
    interrupt(&monitoring);
    assert!(monitoring.wait().unwrap().success());

    let mut command = drives.command(&["drive", "status", device, "--watch"]);
    let mut monitoring = command.stdout(Stdio::piped()).spawn().unwrap();
    let line = BufReader::new(monitoring.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    let (time, rest) = line.split_once(' ').unwrap();
    assert!(time.len() == 20 && time.ends_with('Z') && rest.starts_with("healthy, "), "{line}");
    assert!(rest.ends_with("0 writes/s refused"), "{line}");
    interrupt(&monitoring);
    monitoring.wait().unwrap();
}

#[test]
fn damage_is_found_and_told_by_address() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "64M", "--codec", "none"]);
    let device = drives.attach(&[]);
    let data = noise(4096, 5);
    let file = File::options().write(true).open(&device).unwrap();
    file.write_all_at(&noise(4 * MIB as usize, 6), 8 * MIB).unwrap();
    file.write_all_at(&data, 5 * MIB).unwrap();
    drop(file);
    drives.detach();
    let said = drives.done(&["drive", "check", "vol.img", "--json"]);
    let check: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&check["blocks"], &check["damages"]), (&1025.into(), &serde_json::json!([])));

    let bytes = drives.bytes();
    let place = bytes.windows(64).position(|window| window == &data[100..164]).unwrap() as u64;
    drives.change(place / 4096 * 4096, |block| block[(place % 4096) as usize] ^= 1);
    let damaged = drives.bytes();
    let output = drives.run(&["drive", "check", "vol.img"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("damaged at byte {}: ", 5 * MIB)), "{said}");
    assert!(said.trim_end().ends_with("damage in 1 place, 4.0 KiB"), "{said}");
    let output = drives.run(&["drive", "check", "vol.img", "--json"]);
    let check: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (check["blocks"].as_u64(), check["damages"][0]["offset"].as_u64()),
        (Some(1024), Some(5 * MIB))
    );
    assert!(drives.bytes() == damaged, "a check writes nothing");

    // A damaged range is one line, not one per block.
    let noise = noise(4 * MIB as usize, 6);
    // Segments begin after the first MiB, and little is written.
    let log = &bytes[MIB as usize..12 * MIB as usize];
    for piece in noise[MIB as usize..2 * MIB as usize].chunks(4096) {
        let is_it = |window: &[u8]| window == &piece[100..164];
        let place = MIB + log.windows(64).position(is_it).expect("it is stored as it came") as u64;
        drives.change(place / 4096 * 4096, |block| block[(place % 4096) as usize] ^= 1);
    }
    let said = String::from_utf8(drives.run(&["drive", "check", "vol.img"]).stdout).unwrap();
    let line = format!("damaged from byte {} to {}, 1.0 MiB: ", 9 * MIB, 10 * MIB - 1);
    assert!(said.contains(&line) && said.lines().count() == 3, "{said}");
    assert!(said.trim_end().ends_with("damage in 2 places, 1.0 MiB"), "{said}");
    let output = drives.run(&["drive", "check", "vol.img", "--json"]);
    let check: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(check["damaged_bytes"], MIB + 4096);
    let media = drives.path("vol.img").canonicalize().unwrap();
    assert_eq!(check["media"], media.to_str().unwrap());
}

#[test]
fn a_large_clean_drive_is_attached_at_once() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "200G", "--sparse"]);
    let taken = fs::metadata(drives.path("vol.img")).unwrap();
    assert!(std::os::unix::fs::MetadataExt::blocks(&taken) * 512 < 100 * MIB, "it is sparse");
    let began = Instant::now();
    let device = drives.attach(&[]);
    let took = began.elapsed();
    eprintln!("a drive of 200 GiB was attached in {:.0} ms", took.as_secs_f64() * 1e3);
    assert!(took < Duration::from_secs(2), "{took:?}");
    let size = system("blockdev", &["--getsize64", &device]).stdout;
    assert_eq!(String::from_utf8(size).unwrap().trim(), (200_u64 << 30).to_string());
    drives.detach();
    drives.assert_nothing_left();
}

#[test]
fn a_drive_in_a_directory_is_a_file() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "64M"]);
    fs::create_dir(drives.path("shown")).unwrap();
    let file = drives.attach(&["--directory", "shown"]);
    assert_eq!(Path::new(&file), drives.path("shown/disk").canonicalize().unwrap());
    assert_eq!(drives.status()["device"], serde_json::Value::Null);
    let data = noise(65536, 7);
    let open = File::options().read(true).write(true).open(&file).unwrap();
    open.write_all_at(&data, MIB).unwrap();
    // By each name that `status` accepts.
    for name in ["shown", "shown/disk", &file] {
        let said = drives.told(&["drive", "status", name]);
        assert!(said.contains(&format!("vol.img: healthy, attached as {file}")), "{name}: {said}");
    }
    // A user whose ledgers do not list the drive is told which name to use.
    let elsewhere = World::new();
    let line = elsewhere.refused(&["drive", "status", &file]);
    assert!(
        line.contains("this is the device of the drive on") && !line.contains("create"),
        "{line}"
    );
    // This test itself has the device open.
    let line = drives.refused(&["drive", "detach", "vol.img"]);
    assert!(line.contains(&format!("(process {})", std::process::id())), "{line}");
    drop(open);
    drives.done(&["drive", "detach", "shown"]);
    drives.assert_nothing_left();
    assert!(drives.path("shown").is_dir(), "the user's directory stays");
    // Also when its server is dead and does not answer.
    drives.attach(&["--directory", "shown"]);
    drives.kill_server();
    let said = drives.told(&["drive", "status", "shown/disk"]);
    assert!(said.contains(&format!("its server has died; {file} is stale")), "{said}");
    drives.done(&["drive", "detach", "shown/disk"]);
    drives.assert_nothing_left();
    fs::write(drives.path("shown/mine"), "").unwrap();
    let line = drives.refused(&["drive", "attach", "vol.img", "--directory", "shown"]);
    assert!(line.contains("shown is not empty"), "{line}");
    fs::remove_file(drives.path("shown/mine")).unwrap();

    // A mount that another program removed is closed as well.
    let file = drives.attach(&["--directory", "shown"]);
    let server = drives.server();
    let mut back = vec![0; data.len()];
    File::open(&file).unwrap().read_exact_at(&mut back, MIB).unwrap();
    assert!(back == data);
    unmount(&drives.path("shown"));
    assert!(server.wait(Some(Duration::from_secs(60))).unwrap());
    drives.assert_nothing_left();
    assert_eq!(drives.status()["recovery_clean"], true);
}

#[test]
fn a_signal_ends_a_server_that_nobody_needs() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "64M"]);
    let files = drives.make_files(&drives.attach(&[]));
    let server = drives.server();
    server.signal(Signal::TERM).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !drives.server_log().contains("mounted on") {
        assert!(Instant::now() < deadline, "it says nothing: {}", drives.server_log());
        std::thread::yield_now();
    }
    assert!(drives.server_log().contains("serving on"), "{}", drives.server_log());
    fs::write(files.join("file"), "text").unwrap();
    assert!(!server.wait(Some(Duration::from_millis(700))).unwrap(), "it waits for its users");
    drives.unmount();
    assert!(server.wait(Some(Duration::from_secs(60))).unwrap());
    drives.assert_nothing_left();
    assert_eq!(drives.status()["recovery_clean"], true);
}

#[test]
fn in_the_foreground_it_serves_until_ctrl_c() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "64M"]);
    let serve = || {
        let mut command = drives.command(&["drive", "attach", "vol.img", "--foreground"]);
        let mut serving = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut device = String::new();
        BufReader::new(serving.stdout.take().unwrap()).read_line(&mut device).unwrap();
        assert!(device.starts_with("/dev/loop"), "{device}");
        (serving, device.trim().to_owned())
    };
    let (mut serving, device) = serve();
    File::options().write(true).open(&device).unwrap().write_all_at(&[1; 4096], 0).unwrap();
    interrupt(&serving);
    assert!(serving.wait().unwrap().success());
    drives.assert_nothing_left();
    assert_eq!(drives.status()["recovery_clean"], true);

    let (mut serving, _) = serve();
    drives.detach();
    assert!(serving.wait().unwrap().success());
    drives.assert_nothing_left();

    // The attachment ends with the serving command, however that ends.
    let (mut serving, device) = serve();
    let server = drives.server();
    File::options().write(true).open(&device).unwrap().write_all_at(&[2; 4096], 0).unwrap();
    serving.kill().unwrap();
    serving.wait().unwrap();
    assert!(server.wait(Some(Duration::from_secs(60))).unwrap());
    drives.attach(&[]);
    drives.detach();
    drives.assert_nothing_left();
}

#[test]
fn a_drive_grows_and_shrinks_as_far_as_it_is_free() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "64M"]);
    let device = drives.attach(&[]);
    let files = drives.make_files(&device);
    let size = || system("blockdev", &["--getsize64", &device]).stdout;
    drives.done(&["drive", "resize", "vol.img", "--logical", "256M"]);
    assert_eq!(size(), b"268435456\n");
    let line = drives.refused(&["drive", "resize", &device, "--logical", "64M"]);
    assert!(line.contains("is in use: mounted on"), "{line}");
    fs::write(files.join("file"), "text").unwrap();
    drives.unmount();
    system("e2fsck", &["-f", "-p", &device]);
    system("resize2fs", &[&device]);
    drives.mount(&device);
    assert!(rustix::fs::statvfs(&files).unwrap().f_blocks * 4096 > 200 * MIB);
    assert_eq!(fs::read_to_string(files.join("file")).unwrap(), "text");
    drives.unmount();
    let line = drives.refused(&["drive", "resize", &device, "--logical", "64M"]);
    assert!(line.contains("cannot shrink to 64M: there are data beyond"), "{line}");
    assert_eq!(size(), b"268435456\n");
    system("blkdiscard", &[&device]);
    drives.done(&["drive", "resize", &device, "--logical", "64M"]);
    assert_eq!(size(), b"67108864\n");
    let line = drives.refused(&["drive", "resize", &device, "--logical", "1E"]);
    assert!(
        line.contains("cannot grow to 1E: the logical size is at most 65536 times the capacity"),
        "{line}"
    );
    drives.detach();

    drives.done(&["drive", "resize", "vol.img", "--logical", "128M"]);
    assert_eq!(drives.status()["logical_bytes"], 128 * MIB);
    assert_eq!(drives.status()["recovery_clean"], true);
    let line = drives.refused(&["drive", "resize", "vol.img", "--logical", "1000"]);
    assert!(line.contains("1000 is not a whole number of blocks"), "{line}");
}

#[test]
fn a_read_only_drive_writes_nothing() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "64M"]);
    let files = drives.make_files(&drives.attach(&[]));
    fs::write(files.join("file"), "text").unwrap();
    drives.unmount();
    drives.detach();
    let before = drives.bytes();
    let (device, said) = drives.attach_saying(&["--read-only"]);
    assert!(said.contains("is read-only"), "{said}");
    assert_eq!(system("blockdev", &["--getro", &device]).stdout, b"1\n");
    let target = drives.path("files");
    system("mount", &["-o", "ro", &device, target.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(target.join("file")).unwrap(), "text");
    drives.unmount();
    drives.detach();
    assert!(drives.bytes() == before);
}

#[test]
fn a_block_device_is_media_when_the_command_names_it_twice() {
    if !has_drives() {
        return;
    }
    let drives = Drives::new();
    let file = drives.path("media.img");
    File::create_new(&file).unwrap().set_len(64 * MIB).unwrap();
    let media = system("losetup", &["--find", "--show", file.to_str().unwrap()]).stdout;
    let media = String::from_utf8(media).unwrap().trim().to_owned();
    let result = std::panic::catch_unwind(|| {
        let line = drives.refused(&["drive", "create", &media]);
        assert!(line.contains(&format!("allow it with --erase {media}")), "{line}");
        let untouched = fs::read(&file).unwrap().iter().all(|&byte| byte == 0);
        assert!(untouched, "nothing was written to it");
        drives.done(&["drive", "create", &media, "--erase", &media, "--logical", "128M"]);
        let said = drives.done(&["drive", "attach", &media]);
        let device = said.lines().last().unwrap().to_owned();
        assert_ne!(device, media);
        let line = drives.refused(&["drive", "create", &media, "--erase", &media]);
        assert!(line.contains("in use"), "{line}");
        drives.make_files(&device);
        drives.unmount();
        drives.done(&["drive", "detach", &media]);
    });
    drop(std::process::Command::new("losetup").args(["--detach", &media]).status());
    result.unwrap();
    drives.assert_nothing_left();
}
