//! Tests that a user's errors are reported in one line with exit code 2, and change nothing.

use std::process::Command;

use crate::common::{DIRECTORY, IMAGE, World, has_loop_devices, has_server, small_plan, trials};

/// Asserts that the plan is refused with a line that contains each of `says`, and creates no file.
fn refused(plan: &str, says: &[&str]) {
    let world = World::new();
    world.write("plan.toml", plan);
    let line = world.refused(&["run", "plan.toml", "--out", "study"]);
    assert!(line.starts_with("assay: "), "{line}");
    for part in says {
        assert!(line.contains(part), "`{part}` is not in: {line}");
    }
    assert_eq!(world.listing(), ["plan.toml"]);
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

#[test]
fn an_unknown_key() {
    let plan = small_plan(DIRECTORY).replace("seconds = 2", "secnods = 2");
    refused(&plan, &["plan.toml", "unknown key `secnods`; did you mean `seconds`?"]);
}

#[test]
fn a_load_that_fails_leaves_the_file_of_its_results_as_it_was() {
    let world = World::new();
    let old = world.write("old.json", "what was measured before");
    for file in ["old.json", "new.json"] {
        let json = format!("--json={file}");
        let words = ["load", "oltp_read_only", "--mysql-socket=/nonexistent/sock", &json, "run"];
        let line = world.refused(&words);
        assert!(line.contains("cannot connect to"), "{line}");
    }
    assert_eq!(std::fs::read_to_string(old).unwrap(), "what was measured before");
    assert_eq!(world.listing(), ["old.json"]);
    // Refused before a connection is made.
    for nowhere in ["missing/new.json", "."] {
        let json = format!("--json={nowhere}");
        let words = ["load", "oltp_read_only", "--mysql-socket=/nonexistent/sock", &json, "run"];
        let line = world.refused(&words);
        assert!(line.contains(&format!("cannot write {nowhere}; give another file")), "{line}");
    }
}

#[test]
fn a_workload_of_another_sysbench_than_its_tables() {
    let plan = small_plan(DIRECTORY).replace("[data]", "[data]\ngenerator = \"sysbench-0.4\"");
    refused(&plan, &["workload `write_only`: `oltp_write_only` is a recipe"]);
}

#[test]
fn a_plan_that_is_not_there() {
    let line = World::new().refused(&["run", "nowhere.toml"]);
    assert!(line.contains("cannot read the plan nowhere.toml"), "{line}");
}

#[test]
fn no_space() {
    refused(&small_plan(&IMAGE.replace("600M", "900T")), &["no space", "lower data.table_size"]);
}

#[test]
fn data_larger_than_the_image() {
    let plan = small_plan(IMAGE).replace("table_size = 2000", "table_size = 20000000");
    refused(&plan, &["do not fit on a disk of 600M"]);
}

#[test]
fn more_memory_than_there_is() {
    let plan = small_plan(DIRECTORY).replace("\"16M\"", "\"64T\"");
    refused(&plan, &["of memory", "lower innodb_buffer_pool_size"]);
}

#[test]
fn processors_that_are_not_there() {
    let plan = small_plan(DIRECTORY).replace("[data]", "[placement]\nload_cpus = \"900\"\n[data]");
    refused(&plan, &["placement.load_cpus contains CPU 900"]);
}

#[test]
fn a_setting_that_the_server_refuses() {
    if !has_server() {
        return;
    }
    let plan = small_plan(DIRECTORY).replace("skip_log_bin = true", "innodb_dubblewrite = true");
    refused(&plan, &["configuration `", "innodb_dubblewrite"]);
}

#[test]
fn a_mount_option_that_is_none() {
    if !has_server() || !has_loop_devices() {
        return;
    }
    let plan = small_plan(&IMAGE.replace("noatime", "nonexistent"));
    refused(&plan, &["configuration `", "ext4 may not be mounted with `nonexistent`"]);
}

#[test]
fn a_file_system_that_fills_up() {
    if !has_server() || !has_loop_devices() {
        return;
    }
    // The largest possible number of inodes takes two thirds of the space, which no estimate
    // accounts for.
    let rig = format!("{IMAGE}\nmkfs_options = [\"-i\", \"1500\", \"-I\", \"1024\"]");
    let says =
        ["configuration `", "the rig's file system of", "is full; give the rig a larger size"];
    refused(&small_plan(&rig), &says);
}

#[test]
fn a_server_that_dies_at_start() {
    if !has_server() {
        return;
    }
    let plan = small_plan(DIRECTORY).replace("skip_log_bin = true", "init_file = \"/nonexistent\"");
    refused(&plan, &["configuration `", "ended at start", "its log ends:"]);
}

#[test]
fn a_program_that_is_no_server() {
    let world = World::new();
    world.write("plan.toml", &small_plan(DIRECTORY));
    let line = world.refused(&["run", "plan.toml", "--out", "study", "--server", "/bin/true"]);
    assert!(line.contains("/bin/true"), "{line}");
    assert_eq!(world.listing(), ["plan.toml"]);
}

#[test]
fn a_device_that_is_none() {
    refused(
        &small_plan("kind = \"device\"\ndevice = \"/dev/null\""),
        &["/dev/null is not a block device"],
    );
    refused(&small_plan("kind = \"device\"\ndevice = \"/dev/nowhere\""), &["/dev/nowhere"]);
}

/// A loop device over a file, detached when dropped.
struct Loop(String);

impl Loop {
    fn over(world: &World) -> Loop {
        let image = world.path("disk.img");
        std::fs::File::create(&image).unwrap().set_len(700 << 20).unwrap();
        let output =
            Command::new("losetup").args(["--find", "--show"]).arg(image).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        Loop(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }

    fn plan(&self) -> String {
        small_plan(&format!("kind = \"device\"\ndevice = \"{}\"\nfile_system = \"xfs\"", self.0))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn a_device_that_is_mounted() {
    if !has_loop_devices() {
        return;
    }
    let world = World::new();
    let device = Loop::over(&world);
    let target = world.path("somewhere");
    std::fs::create_dir(&target).unwrap();
    assert!(Command::new("mkfs.ext4").args(["-q", &device.0]).status().unwrap().success());
    assert!(Command::new("mount").arg(&device.0).arg(&target).status().unwrap().success());
    world.write("plan.toml", &device.plan());
    let line = world.refused(&["run", "plan.toml", "--out", "study", "--erase", &device.0]);
    assert!(line.contains("is mounted on") && line.contains("unmount it"), "{line}");
    assert!(!world.path("study").exists());
}

#[test]
fn a_device_is_overwritten_only_when_the_command_says_so() {
    if !has_loop_devices() || !has_server() {
        return;
    }
    let world = World::new();
    let device = Loop::over(&world);
    let plan = device.plan().replace("threads = [1, 2]", "threads = [2]");
    world.write("plan.toml", &plan);
    let line = world.refused(&["run", "plan.toml", "--out", "study"]);
    assert!(line.contains(&format!("allow it with --erase {}", device.0)), "{line}");
    let first_block = std::fs::read(&device.0).unwrap();
    assert!(first_block[..4096].iter().all(|&byte| byte == 0), "nothing was written to it");
    let output = world.run(&["run", "plan.toml", "--out", "study", "--erase", &device.0]);
    assert!(output.status.success(), "{output:?}");
    assert!(trials(&world.path("study")).iter().all(|trial| trial.1 == "done"));
}

#[test]
fn a_study_that_is_none() {
    let line = World::new().refused(&["report", "nowhere"]);
    assert!(line.contains("nowhere holds no study"), "{line}");
}

#[test]
fn a_port_that_is_in_use() {
    if !has_server() {
        return;
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let world = World::new();
    let line = world.refused(&["server", "run", "--port", &port, "--", "true"]);
    assert!(line.contains(&format!("TCP port {port} cannot be used; name another")), "{line}");
    assert_eq!(world.listing(), Vec::<String>::new());
}

#[test]
fn a_wrong_password() {
    if !has_server() {
        return;
    }
    let world = World::new();
    let free = assay_testing::free_port();
    let load = format!(
        "{} load oltp_read_write --mysql-host=127.0.0.1 --mysql-port=$ASSAY_PORT \
         --mysql-user=$ASSAY_USER \
         --mysql-db=test --mysql-ssl=on",
        crate::common::program()
    );
    let script = format!(
        "{load} --mysql-password=$ASSAY_PASSWORD prepare && {load} --mysql-password=wrong run"
    );
    let line =
        world.refused(&["server", "run", "--port", &free.to_string(), "--", "sh", "-c", &script]);
    assert!(line.contains("may not log in") && line.contains("check user, password"), "{line}");
}

#[test]
fn nobody_listens() {
    let line =
        World::new().refused(&["load", "oltp_read_write", "--mysql-socket=/nowhere.sock", "run"]);
    assert!(line.contains("/nowhere.sock"), "{line}");
}

#[test]
fn a_dry_run_says_what_would_be_run_and_what_this_machine_lacks() {
    let world = World::new();
    let dry_run = |rig: &str| {
        world.write("plan.toml", &small_plan(rig));
        let output = world.run(&["run", "plan.toml", "--out", "study", "--dry-run"]);
        let said = |bytes| String::from_utf8(bytes).unwrap();
        assert_eq!(world.listing(), ["plan.toml"], "nothing is made");
        (output.status.code(), said(output.stdout), said(output.stderr))
    };
    let (code, would_run, said) = dry_run(DIRECTORY);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert!(would_run.contains("4 runs"), "{would_run}");
    let disk = would_run.lines().find(|line| line.starts_with("files lie in "));
    assert!(disk.is_some_and(|line| line.contains(" on ")), "which disk: {would_run}");
    let (code, would_run, said) = dry_run("kind = \"device\"\ndevice = \"/dev/nothing\"");
    assert_eq!(code, Some(2), "{said}");
    assert!(would_run.contains("4 runs"), "{would_run}");
    assert!(said.starts_with("assay: this plan cannot be run: configuration `"), "{said}");
}

#[test]
fn a_dry_run_refuses_a_server_that_is_none() {
    let world = World::new();
    for server in ["/nonexist", "/bin/ls"] {
        world.write("plan.toml", &format!("server = \"{server}\"\n{}", small_plan(DIRECTORY)));
        for words in [&["--dry-run"][..], &[]] {
            let line = world.refused(&[&["run", "plan.toml", "--out", "study"], words].concat());
            assert!(line.contains("configuration `on`: ") && line.contains(server), "{line}");
            assert_eq!(world.listing(), ["plan.toml"], "nothing is made");
        }
    }
}

#[test]
fn a_place_that_a_server_cannot_take() {
    let world = World::new();
    world.write("plan.toml", &small_plan(DIRECTORY));
    for name in ["x:y", "x;y"] {
        let out = format!("{name}/study");
        for words in [
            &["server", "run", "--location", name, "--", "true"][..],
            &["run", "plan.toml", "--out", "study", "--location", name],
            &["run", "plan.toml", "--out", "study", "--location", name, "--dry-run"],
            &["run", "plan.toml", "--out", &out],
            &["run", "plan.toml", "--out", &out, "--dry-run"],
        ] {
            std::fs::create_dir_all(world.path(name)).unwrap();
            let line = world.refused(words);
            assert!(line.contains(name) && line.contains("take another directory"), "{line}");
            assert!(world.path(name).read_dir().unwrap().next().is_none(), "nothing is made");
            std::fs::remove_dir(world.path(name)).unwrap();
            assert_eq!(world.listing(), ["plan.toml"]);
        }
    }
    let mut cached = world.command(&["run", "plan.toml", "--out", "study", "--dry-run"]);
    let output = cached.env("ASSAY_CACHE", world.path("a:b")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("a:b") && said.contains("set ASSAY_CACHE"), "{said}");
    // Negative control: a path with a colon is fine if no server gets it.
    let dry = ["run", "plan.toml", "--out", "x:y", "--location", ".", "--dry-run"];
    assert!(world.run(&dry).status.success());
}

/// Runs `server run` with a command that, once the server is up, ends with code 3 at the end of its
/// input.
fn server_beside_a_command(world: &World) -> (std::process::Child, u32) {
    let mut command = world.command(&["server", "run", "--", "sh", "-c", "echo up; cat; exit 3"]);
    let (input, output) = (std::process::Stdio::piped(), std::process::Stdio::piped());
    let run = command.stdin(input).stdout(output).stderr(std::process::Stdio::piped());
    let mut run = run.spawn().unwrap();
    let mut line = String::new();
    let mut said = std::io::BufReader::new(run.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert_eq!(line, "up\n");
    (run, world.servers()[0].0)
}

#[test]
fn a_server_that_ends_beside_its_command() {
    if !has_server() {
        return;
    }
    let world = World::new();
    let (run, pid) = server_beside_a_command(&world);
    let server = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(server, rustix::process::Signal::KILL).unwrap();
    // The command's input stays open; the command is stopped all the same.
    let mut run = run;
    let input = run.stdin.take();
    run.wait().unwrap();
    // Closing the input ends what the shell has started.
    drop(input);
    let output = run.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(last.contains("the server ended with signal 9"), "{said}");
    assert!(last.contains("while the command ran; its log ends: "), "{said}");
    // Negative control: otherwise the exit code is the command's.
    let (run, _) = server_beside_a_command(&world);
    assert_eq!(run.wait_with_output().unwrap().status.code(), Some(3));
}

#[test]
fn a_server_whose_command_we_are_asked_to_end() {
    if !has_server() {
        return;
    }
    let world = World::new();
    let (mut run, _) = server_beside_a_command(&world);
    let input = run.stdin.take();
    let ours = rustix::process::Pid::from_raw(run.id().cast_signed()).unwrap();
    rustix::process::kill_process(ours, rustix::process::Signal::TERM).unwrap();
    run.wait().unwrap();
    // Closing the input ends what the shell has started.
    drop(input);
    let output = run.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    assert!(world.servers().is_empty(), "the server has ended too");
    assert!(world.listing().is_empty(), "nothing is left: {:?}", world.listing());
}

/// Each of these once passed the dry run, or ended in an internal error.
#[test]
fn what_a_dry_run_refuses_as_the_run_would() {
    let world = World::new();
    world.write("plan.toml", &small_plan(DIRECTORY));
    use std::os::unix::ffi::OsStrExt;
    let bad = std::ffi::OsStr::from_bytes(b"bad\xff");
    let dry = ["run", "plan.toml", "--dry-run", "--location"];
    std::fs::create_dir(world.path(".").join(bad)).unwrap();
    let output = world.command(&dry).arg(bad).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("is not UTF-8") && said.contains("take another directory"), "{said}");
    let long = format!("{0}/{0}", "l".repeat(240));
    std::fs::create_dir_all(world.path(&long)).unwrap();
    let line = world.refused(&[&dry[..], &[&long]].concat());
    assert!(line.contains("a server takes 380 at most"), "{line}");
    let line = world.refused(&["server", "run", "--cpus", "900", "--", "true"]);
    assert!(line.contains("--cpus contains CPU 900; this machine has [0"), "{line}");
    if has_server() {
        let misspelt = small_plan(DIRECTORY).replace("innodb_buffer_pool", "innodb_bufer_pool");
        world.write("misspelt.toml", &misspelt);
        let line = world.refused(&["run", "misspelt.toml", "--dry-run"]);
        assert!(line.contains("unknown variable 'innodb_bufer_pool_size=16M'"), "{line}");
    }
}

#[test]
fn output_that_cannot_be_written_ends_in_an_error() {
    let world = World::new();
    world.write("data", &"some text, ".repeat(10_000));
    for words in [&["drive", "list"][..], &["claims"], &["estimate", "data"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = world.command(words).stdout(full).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains("cannot write to standard output: No space left"), "{said}");
    }
}

#[test]
fn a_cache_that_is_no_directory() {
    let world = World::new();
    world.write("plain", "");
    let mut list = world.command(&["server", "list"]);
    let output = list.env("ASSAY_CACHE", world.path("plain")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("plain is not a directory; set ASSAY_CACHE to one"), "{said}");
    let mut list = world.command(&["server", "list"]);
    let output = list.env("ASSAY_CACHE", world.path("none")).output().unwrap();
    assert_eq!(output.stderr, b"", "one that is not there yet is empty");
}

#[test]
fn a_directory_called_like_a_shipped_plan_hides_none_but_a_file_does() {
    let world = World::new();
    for directory in ["demo", "disk"] {
        std::fs::create_dir(world.path(directory)).unwrap();
    }
    let would_run = |words: &[&str]| {
        let output = world.run(words);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!said.contains("is not a plan"), "{words:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    };
    for words in [&["demo", "--out", "demo", "--dry-run"][..], &["run", "disk", "--dry-run"]] {
        assert!(would_run(words).contains(" runs, "), "{words:?}");
    }
    std::fs::remove_dir(world.path("disk")).unwrap();
    std::fs::remove_dir(world.path("demo")).unwrap();
    for file in ["demo", "disk"] {
        world.write(file, "colour = \"red\"");
    }
    assert!(world.refused(&["run", "disk", "--dry-run"]).contains("unknown key `colour`"));
    assert!(would_run(&["demo", "--out", "study", "--dry-run"]).contains(" runs, "));
}
