//! What else runs on the machine beside a run is told: programs that take its processors, and other runs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use std::process::{Child, Command};

use common::{FOLDER, World, has_server, small_plan};

/// One cell of two seconds.
fn one_cell() -> String {
    small_plan(FOLDER)
        .replace("threads = [1, 2]", "threads = [1]")
        .replace("[arms.off.settings]\ninnodb_doublewrite = false\n", "")
}

/// A program of that name that does nothing but take time, killed when dropped.
struct Busy(Child);

impl Busy {
    fn start(world: &World, name: &str) -> Busy {
        let program = world.path(name);
        std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
        Busy(Command::new(program).args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Marks of the study's cells that speak of other programs.
fn marks_of_others(world: &World, study: &str) -> Vec<String> {
    let db = rusqlite::Connection::open(world.path(study).join("study.sqlite")).unwrap();
    let sql = "SELECT text FROM marks WHERE text LIKE '%other programs took%'";
    let mut statement = db.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_cell_beside_a_busy_program_names_it_and_may_not_be_compared() {
    if !has_server("a_cell_beside_a_busy_program_names_it_and_may_not_be_compared") {
        return;
    }
    let world = World::new();
    world.write("plan.toml", &one_cell());
    let run = |study: &str| {
        let output = world.run(&["run", "plan.toml", "--out", study]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        marks_of_others(&world, study)
    };
    // One for each processor: however many there are, it is more than a tenth of them.
    let processors = std::thread::available_parallelism().unwrap().get();
    let busy: Vec<Busy> =
        (0..processors).map(|n| Busy::start(&world, &format!("busy-{n}"))).collect();
    let marks = run("beside");
    assert!(
        marks.len() == 1
            && marks[0].starts_with("not comparable: other programs took ")
            && marks[0].contains("busy-"),
        "{marks:?}"
    );
    drop(busy);
    let marks = run("alone");
    assert!(marks.iter().all(|mark| !mark.contains("busy-")), "{marks:?}");
}
