//! Tests `assay clean --host`: it runs on the host, and its output is printed here.

use serde_json::Value;

use crate::hosts::net::Net;

#[test]
fn a_host_is_cleaned_as_this_machine_is() {
    let Some(net) = Net::start(2) else { return };
    let host = net.hosts[0].name.as_str();
    let shelf = net.there().join("cache/programs");
    assert_eq!(net.told(&["clean", "--host", host]), "nothing to clean\n");
    // The ledger of a process that is long dead, with its resource.
    let left = net.there().join("assay-left");
    std::fs::create_dir(&left).unwrap();
    let ledgers = net.there().join("state/ledgers");
    std::fs::create_dir_all(&ledgers).unwrap();
    let ledger = format!(
        "{{\"pid\": 4194305, \"start_ticks\": 1, \"boot_id\": \"x\", \"resources\": \
         [{{\"kind\": \"directory\", \"path\": {:?}}}]}}",
        left.display()
    );
    std::fs::write(ledgers.join("4194305-1.json"), ledger).unwrap();
    let told = net.told(&["clean", "--host", host, "--dry-run", "--json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["removed"][0], format!("directory {}", left.display()));
    assert!(left.exists(), "a dry run leaves all");
    let told = net.told(&["clean", "--host", host]);
    assert_eq!(told, format!("removed directory {}\n", left.display()));
    assert!(!left.exists());

    let (first, second) = (host, net.hosts[1].name.as_str());
    let told = net.told(&["clean", "--cache", "--host", first, "--host", second]);
    assert!(told.contains(&format!("{second}:\n")), "{told}");
    assert!(told.contains("copies of Assay from other machines: "), "{told}");
    let left = std::fs::read_dir(&shelf).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.filter(|name| name != ".lock").count(), 0);
    net.assert_nothing_left();

    // A failure on the host sets the exit code here.
    let error = net.refused(
        &["clean", "--host", &format!("ssh://root@{}:2", net.hosts[0].address)],
        "ssh_config",
    );
    assert!(error.contains("cannot be reached"), "{error}");
    let output = net.world.run(&["clean", "--host-directory", "/x"]);
    assert_eq!(output.status.code(), Some(2));
}
