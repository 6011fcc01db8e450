//! Tests every reason why a host cannot be used: one line that says what to do, and nothing left
//! anywhere.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use crate::hosts::net::{Net, error_of, wait_until};
use crate::hosts::relay::relay;

#[test]
#[ignore = "in --full: hosts are shown once, by other tests"]
fn whatever_keeps_us_from_logging_in_is_told_in_a_line_of_its_own() {
    let Some(net) = Net::bare(1) else { return };
    let host = net.hosts[0].name.as_str();
    let check = |host: &str, ssh_config: &str| net.refused(&["host", "check", host], ssh_config);
    let says = |error: String, words: &[&str]| {
        for one in words {
            assert!(error.contains(one), "{one}: {error}");
        }
    };

    let refused = format!("ssh://root@{}:2", net.hosts[0].address);
    says(
        check(&refused, "ssh_config"),
        &["cannot be reached", "Connection refused", "that sshd runs"],
    );
    says(
        check("root@no-such-host.invalid", "ssh_config"),
        &["cannot be reached", "check its name"],
    );

    net.world.write("nobody_known", "");
    net.ssh_config("unknown", "nobody_known", "user_key", "");
    says(check(host, "unknown"), &["the host key of", "is unknown", &format!("`ssh {host}`")]);
    assert_eq!(
        std::fs::read_to_string(net.world.path("nobody_known")).unwrap(),
        "",
        "nobody is added"
    );

    let other = std::fs::read_to_string(net.world.path("other_key.pub")).unwrap();
    net.world.write("others_known", &format!("{} {other}", net.hosts[0].address));
    net.ssh_config("changed", "others_known", "user_key", "");
    let known = net.world.path("others_known");
    let at = format!("{}:1", known.display());
    says(check(host, "changed"), &["is not the known one", &at, "ssh-keygen -R"]);

    net.ssh_config("other", "known_hosts", "other_key", "");
    says(check(host, "other"), &["refuses the login (publickey)", "asks for nothing"]);
    let nobody = format!("no-such-user@{}", net.hosts[0].address);
    says(check(&nobody, "ssh_config"), &[&nobody, "refuses the login", "check the user's name"]);

    net.world.write("wrong", "NoSuchOption yes\n");
    says(check(host, "wrong"), &["`ssh` to", "failed", "nosuchoption"]);

    let mut command = net.command(&["host", "check", host], "ssh_config");
    let error = error_of(&command.env("PATH", "/nonexistent").output().unwrap());
    says(error, &["there is no `ssh` on this machine; install openssh-client"]);
    says(check("-oProxyCommand=x", "ssh_config"), &["see --help"]);

    assert!(!net.there().exists(), "nobody was let in");
    net.assert_nothing_left();
}

#[test]
#[ignore = "in --full: hosts are shown once, by other tests"]
fn a_host_on_which_the_program_cannot_be_or_run_is_told_and_left_as_it_was() {
    let Some(mut net) = Net::bare(1) else { return };
    let small = net.mount("small", "size=1m");
    let silent = net.mount("silent", "size=600m,noexec");
    // An sshd sees the mounts that existed when it started.
    let _sshd = net.sshd(0, 2023, "");
    let host = format!("ssh://root@{}:2023", net.hosts[0].address);
    let check_at = |net: &Net, directory: &Path, host: &str| {
        let program = Path::new(crate::common::program());
        let words = ["host", "check", host];
        error_of(&net.command_at(program, &words, "ssh_config", directory).output().unwrap())
    };
    let check = |net: &Net, directory: &Path| check_at(net, directory, &host);
    let is_empty = |directory: &Path| {
        let programs = directory.join("cache/programs");
        std::fs::read_dir(programs).unwrap().all(|entry| entry.unwrap().file_name() == ".lock")
    };

    let error = check(&net, &small);
    assert!(error.contains(" free in ") && error.contains("and the program takes"), "{error}");
    assert!(is_empty(&small), "no half of a program");
    let error = check(&net, Path::new("/proc/nowhere"));
    assert!(error.contains("cannot write to /proc/nowhere/cache/programs"), "{error}");
    let error = check(&net, &silent);
    assert!(error.contains("the program does not run on") && error.contains("denied"), "{error}");
    assert!(is_empty(&silent), "what does not run does not stay");
    let error = check(&net, Path::new("relative"));
    assert!(error.contains("is not absolute"), "{error}");

    // Fakes of the two programs that describe a host.
    let bin = net.world.path("bin");
    std::fs::create_dir(&bin).unwrap();
    let fake = |name: &str, says: &str| {
        let path = bin.join(name);
        std::fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let path = format!("SetEnv PATH={}:/usr/bin:/bin", bin.display());
    let _other_sshd = net.sshd(0, 2022, &path);
    let elsewhere = format!("ssh://root@{}:2022", net.hosts[0].address);
    fake("getconf", "glibc 2.17");
    let error = check_at(&net, &net.there(), &elsewhere);
    assert!(error.contains("has glibc 2.17, and this program needs glibc 2."), "{error}");
    fake("uname", "Linux riscv64");
    let error = check_at(&net, &net.there(), &elsewhere);
    assert!(error.contains("is Linux riscv64"), "{error}");
    assert!(!net.there().exists(), "nothing was copied");
    net.assert_nothing_left();
}

#[test]
#[ignore = "in --full: hosts are shown once, by other tests"]
fn a_clock_that_cannot_be_compared_closely_is_of_no_use() {
    let Some(net) = Net::start(1) else {
        return;
    };
    let host = &net.hosts[0];
    net.told(&["host", "check", &host.name]);
    // 60 ms each way: a clock is known to ±60 ms at best.
    let port = relay((host.address.clone(), 22), Duration::from_millis(60));
    let far = format!("Host far\n  HostName 127.0.0.1\n  Port {port}\n  User root");
    net.ssh_config("far", "known_hosts", "user_key", &far);
    let error = net.refused(&["host", "check", "far"], "far");
    assert!(error.contains("the clock of far can be compared to ±6"), "{error}");
    assert!(error.contains("needs ±50 ms"), "{error}");
    net.assert_nothing_left();
}

#[test]
#[ignore = "in --full: hosts are shown once, by other tests"]
fn who_waits_for_a_login_may_interrupt_it() {
    let Some(net) = Net::start(1) else { return };
    let host = &net.hosts[0];
    // Its packets are dropped: the client waits.
    host.lose_all();
    let mut command = net.command(&["host", "check", &host.name], "ssh_config");
    let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_until("the client has begun", || net.is_connecting());
    let pid = rustix::process::Pid::from_child(&child);
    let began = std::time::Instant::now();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(error_of(&child.wait_with_output().unwrap()), "assay: interrupted");
    assert!(began.elapsed() < Duration::from_secs(8), "the client waits for ten");
    net.assert_nothing_left();
}

#[test]
#[ignore = "in --full: hosts are shown once, by other tests"]
fn another_version_at_the_other_end_is_refused() {
    let Some(net) = Net::start(1) else { return };
    // Shell commands run; the program's answers have another version.
    let between = "#!/bin/sh\ncase $SSH_ORIGINAL_COMMAND in\n*serve*) sh -c \
        \"$SSH_ORIGINAL_COMMAND\" | \
                   sed -u 's/\"version\":\"[^\"]*\"/\"version\":\"0.0.1\"/' ;;\n*) exec sh -c \
                   \"$SSH_ORIGINAL_COMMAND\" ;;\nesac\n";
    let script = net.world.write("between.sh", between);
    let mut mode = std::fs::metadata(&script).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let forced = format!("ForceCommand {}", script.display());
    let _sshd = net.sshd(0, 2224, &forced);
    let host = format!("ssh://root@{}:2224", net.hosts[0].address);
    let error = net.refused(&["host", "check", &host], "ssh_config");
    assert!(error.contains("runs another version of Assay (0.0.1, here "), "{error}");
    assert!(error.contains(&format!("assay clean --cache --host {host}")), "{error}");
    net.assert_nothing_left();
}
