//! A method call leads to the module with the method's `impl` block, wherever the type is defined.

use assay_architecture::workspace::{Text, graph_of};

/// The arrows between the top modules of a crate with these files.
fn arrows(files: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<Text> = files
        .iter()
        .map(|(place, text)| Text { place: (*place).into(), text: (*text).into() })
        .collect();
    let graph = graph_of("some", &files).unwrap();
    let drawing = graph.drawing();
    drawing.lines().map(|line| line.trim_start_matches([' ', '?', '1', '2', '3']).into()).collect()
}

const DRIVE: &str = "pub struct Drive { pub log: Arc<Log> } pub struct Log;";
const WRITING: &str =
    "use crate::shell::Drive; impl Drive { pub fn write(&self) { self.collect() } }";

#[test]
fn a_call_of_a_method_in_another_module_is_an_arrow() {
    let upkeep = "use crate::shell::Drive; impl Drive { pub fn collect(&self) {} }";
    let all = arrows(&[("shell.rs", DRIVE), ("writing/mod.rs", WRITING), ("upkeep.rs", upkeep)]);
    assert_eq!(all, ["shell", "upkeep -> shell", "writing -> shell, upkeep"]);
}

/// The control: the circle is found although no `use` leads from either module to the other.
#[test]
fn modules_that_call_each_others_methods_are_a_circle() {
    let upkeep = "use crate::shell::Drive; impl Drive { pub fn collect(&self) { self.write() } }";
    let files = [("shell.rs", DRIVE), ("writing/mod.rs", WRITING), ("upkeep.rs", upkeep)];
    let files = files.map(|(place, text)| Text { place: place.into(), text: text.into() });
    let circles = graph_of("some", &files).unwrap().circles();
    assert_eq!(
        circles,
        ["  upkeep -> writing  (upkeep.rs: Drive::write)\n  \
             writing -> upkeep  (writing/mod.rs: Drive::collect)\n"]
    );
}

/// Whether a file with this `body` depends on the module `log`, which defines `Log::seal`; the type
/// is from `shell`.
fn calls_seal(body: &str) -> bool {
    let log = "use crate::shell::{Drive, Log}; impl Log { pub fn seal(&self) {} } \
         impl Drive { pub fn guard(&self) -> Result<MutexGuard<'_, Log>> { todo() } }";
    let shell = format!("{DRIVE} pub fn open() -> Option<Drive> {{ None }}");
    let user = format!("use crate::shell::{{self, Drive}}; {body}");
    let all = arrows(&[("shell.rs", &shell), ("log.rs", log), ("user.rs", &user)]);
    all.iter().any(|line| line.starts_with("user") && line.contains("log"))
}

#[test]
fn the_receivers_type_is_followed() {
    for body in [
        "fn f(drive: &Drive) { drive.log.seal() }",
        "struct User { drive: Box<Drive> } impl User { fn f(&self) { self.drive.log.seal() } }",
        "fn f(drive: &Drive) -> Result<()> { let log = drive.guard()?; log.seal(); Ok(()) }",
        "fn f(drive: &Drive) { if let Ok(log) = drive.guard() { log.seal() } }",
        "fn f(drive: &Drive) { let log = Arc::clone(&drive.log); { let all = || log.seal(); } }",
        "fn f() { let Some(drive) = shell::open() else { return }; \
         match drive.log { log => log.seal() } }",
        "fn f(Drive { log }: &Drive) { log.seal() }",
        "fn f(log: &shell::Log) { shell::Log::seal(log) }",
    ] {
        assert!(calls_seal(body), "{body}");
    }
}

#[test]
fn what_is_not_that_type_is_no_arrow() {
    for body in [
        "struct Log; impl Log { fn seal(&self) {} } fn f(log: &Log) { log.seal() }",
        "fn f(drive: &Drive) { let log = other(drive); log.seal() }",
        "fn f(drive: &Drive, all: Vec<u8>) { let log = &drive.log; let log = all; log.seal() }",
        "fn f(drive: &Drive) { let log = &drive.log; let all = |log| log.seal(); }",
        "trait Seal { fn seal(&self); } fn f(log: &dyn Seal) { log.seal() }",
    ] {
        assert!(!calls_seal(body), "{body}");
    }
}
