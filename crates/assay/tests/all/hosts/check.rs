//! Tests `assay host check`: the host's properties, its clock, and the program that is copied if it
//! differs.

use std::io::Write;
use std::path::PathBuf;

use serde_json::Value;

use crate::drives::system;
use crate::hosts::net::Net;

fn check(net: &Net, program: Option<&PathBuf>) -> Value {
    let words = ["host", "check", &net.hosts[0].name, "--json"];
    let mut command = match program {
        Some(program) => net.command_of(program, &words, "ssh_config"),
        None => net.command(&words, "ssh_config"),
    };
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    all[0].clone()
}

/// A copy of the program like another build: a few bytes longer, and working. A child writes it:
/// a file that this process has open for writing may be inherited by another test's child, and
/// cannot be run meanwhile.
fn other_build(net: &Net, number: u32) -> PathBuf {
    let path = net.world.path(&format!("assay-{number}"));
    let (from, to) = (crate::common::program(), path.to_str().unwrap());
    let script = "cp \"$1\" \"$2\" && echo \"build $3\" >>\"$2\"";
    system("sh", &["-c", script, "sh", from, to, &number.to_string()]);
    path
}

#[test]
#[ignore = "in --full: hosts are shown once, by other tests"]
fn the_program_is_copied_once_and_again_when_it_or_its_copy_changed() {
    let Some(net) = Net::bare(1) else { return };
    let size = std::fs::metadata(crate::common::program()).unwrap().len();
    assert_eq!(check(&net, None)["copied_bytes"], size);
    assert_eq!(check(&net, None)["copied_bytes"], Value::Null, "it is there");
    let other = other_build(&net, 1);
    assert_ne!(check(&net, Some(&other))["copied_bytes"], Value::Null, "another build");
    assert_eq!(check(&net, Some(&other))["copied_bytes"], Value::Null);
    assert_eq!(check(&net, None)["copied_bytes"], Value::Null, "both are kept");

    // A damaged copy is replaced, whatever its name.
    let shelf = net.there().join("cache/programs");
    let copies = || -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&shelf).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir()).collect()
    };
    assert_eq!(copies().len(), 2);
    for copy in copies() {
        let mut file = std::fs::File::options().append(true).open(copy.join("assay")).unwrap();
        file.write_all(b"x").unwrap();
    }
    // The remains of a killed copy are removed by the next one.
    std::fs::create_dir(shelf.join(".staging-4194305")).unwrap();
    assert_eq!(check(&net, None)["copied_bytes"], size);
    assert!(!shelf.join(".staging-4194305").exists());
    for number in 2..5 {
        check(&net, Some(&other_build(&net, number)));
    }
    assert_eq!(copies().len(), 3, "the last, and two before it");
    net.assert_nothing_left();
}

#[test]
#[ignore = "in --full: hosts are shown once, by other tests"]
fn a_host_is_told_with_its_clock() {
    let Some(net) = Net::start(2) else { return };
    let found = check(&net, None);
    assert_eq!((&found["usable"], &found["facts"]["is_root"]), (&true.into(), &true.into()));
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(found["facts"]["kernel"], kernel.trim());
    assert_eq!(found["facts"]["cpus"], std::thread::available_parallelism().unwrap().get());
    assert_eq!(found["address"], net.hosts[0].address.as_str());
    // The host has this machine's clock, so the measured offset is within its uncertainty.
    let number = |name: &str| found["clock"][name].as_f64().unwrap();
    let (offset, uncertainty) = (number("offset_ms"), number("uncertainty_ms"));
    assert!(offset.abs() <= uncertainty && uncertainty < 50.0, "{offset} ± {uncertainty}");
    assert!(number("round_trip_ms") > 0.0);

    // As text, and with a third host that does not answer.
    let names: Vec<&str> = net.hosts.iter().map(|host| host.name.as_str()).collect();
    let gone = format!("ssh://root@{}:2", net.hosts[0].address);
    let output = net.run(&[&["host", "check"], &names[..], &[gone.as_str()]].concat());
    assert_eq!(output.status.code(), Some(2));
    let (told, said) = (String::from_utf8(output.stdout).unwrap(), output.stderr);
    for name in names {
        assert!(told.contains(&format!("{name}: assay ")), "{told}");
    }
    assert!(told.contains(" root\n") && told.contains("round trip "), "{told}");
    assert!(String::from_utf8(said).unwrap().contains("cannot be reached"), "{told}");
    net.assert_nothing_left();
}
