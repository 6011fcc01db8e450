//! Tests that disturbances of a run are reported: programs that take its CPUs, a full disk, and
//! other runs.

use assay_testing::calm;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::{DIRECTORY, World, has_loop_devices, has_server, small_plan, trials};
use crate::runs::{server_under_load_below, start_run};

/// A plan with one run of two seconds.
fn one_trial() -> String {
    small_plan(DIRECTORY)
        .replace("threads = [1, 2]", "threads = [1]")
        .replace("[configs.off.settings]\ninnodb_doublewrite = false\n", "")
}

/// Busy processes of one name, two per CPU, so that they take more CPU time than any other program;
/// killed when dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn start(world: &World) -> Busy {
        let program = world.path(BUSY);
        std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
        let cpus = std::thread::available_parallelism().unwrap().get();
        let spawn = |_| Command::new(&program).args(["-c", "while :; do :; done"]).spawn().unwrap();
        Busy((0..2 * cpus).map(spawn).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Name of the processes.
const BUSY: &str = "busy-work";

/// Warnings about other programs in the study's runs.
fn warnings_of_others(world: &World, study: &str) -> Vec<Value> {
    let db = rusqlite::Connection::open(world.path(study).join("study.sqlite")).unwrap();
    let sql = "SELECT facts_json FROM warnings WHERE kind = 'other_programs'";
    let mut statement = db.prepare(sql).unwrap();
    let texts = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    texts.map(|text| serde_json::from_str(&text.unwrap()).unwrap()).collect()
}

fn names_busy_ones(warning: &Value) -> bool {
    let programs = warning["programs"].as_array().unwrap();
    programs.iter().any(|it| it["name"].as_str().unwrap().starts_with(BUSY))
}

#[test]
#[ignore = "in --full: measures"]
fn a_trial_beside_a_busy_program_names_it_and_may_not_be_compared() {
    calm(|| {
        let _alone = crate::alone();
        if !has_server() {
            return;
        }
        let world = World::new();
        world.write("plan.toml", &one_trial());
        let run = |study: &str| {
            let output = world.run(&["run", "plan.toml", "--out", study]);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            warnings_of_others(&world, study)
        };
        let busy = Busy::start(&world);
        let found = run("beside");
        assert!(
            found.len() == 1 && found[0]["is_too_much"] == true && names_busy_ones(&found[0]),
            "{found:?}"
        );
        let report = std::fs::read_to_string(world.path("beside/report.html")).unwrap();
        assert!(report.contains("not comparable: other programs used "), "it stands in the report");
        drop(busy);
        let found = run("alone");
        assert!(!found.iter().any(names_busy_ones), "{found:?}");
    });
}

#[test]
#[ignore = "in --full: measures"]
fn a_trial_that_the_machine_spoilt_is_repeated_and_its_cause_is_kept() {
    calm(|| {
        let _alone = crate::alone();
        if !has_server() {
            return;
        }
        let world = World::new();
        // Enough extra runs for a machine with other guests.
        world.write("plan.toml", &one_trial().replace("extra_runs = 0", "extra_runs = 5"));
        let mut busy = Some(Busy::start(&world));
        let mut run = world.command(&["run", "plan.toml", "--out", "study"]);
        let mut run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(run.stderr.take().unwrap()).lines();
        let mut repeated = Vec::new();
        for line in said.map(Result::unwrap) {
            eprintln!("{line}");
            if line.contains(": repeated later, ") {
                drop(busy.take());
                repeated.push(line);
            }
        }
        assert!(run.wait().unwrap().success());
        assert!(repeated[0].contains("other programs used ") && repeated[0].contains(BUSY));
        let json: Value =
            serde_json::from_slice(&std::fs::read(world.path("study/results.json")).unwrap())
                .unwrap();
        assert_eq!(json["runs"].as_array().unwrap().len(), 1);
        assert_eq!(json["discarded"].as_array().unwrap().len(), repeated.len());
        let left = warnings_of_others(&world, "study");
        assert!(!left.iter().any(names_busy_ones), "of the run that stays: {left:?}");
        let report = std::fs::read_to_string(world.path("study/report.html")).unwrap();
        assert!(report.contains("discarded and run again: other programs used "));
        let summary = world.run(&["report", "study", "--summary"]);
        let summary = String::from_utf8(summary.stdout).unwrap();
        assert!(summary.contains(" repeated after the machine disturbed them"), "{summary}");
        assert_eq!(summary.lines().count(), 1);
    });
}

/// A small file system in memory, unmounted when dropped.
struct Small(PathBuf);

impl Small {
    fn mount(world: &World) -> Small {
        let directory = world.path("small");
        std::fs::create_dir(&directory).unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", "size=1200M", "tmpfs"]).arg(&directory);
        assert!(command.status().unwrap().success());
        Small(directory)
    }

    /// Fills all free space, as another program would.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("somebody-elses");
        let mut file = std::fs::File::create(&path).unwrap();
        let block = vec![0xA5; 1 << 16];
        while let Ok(written) = file.write(&block) {
            assert!(written > 0);
        }
        path
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Waits until the work directory has no rig of this run.
fn wait_for_the_end_of(trial: u32, location: &Path) {
    let rig = format!("rig-{trial}");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
    let stands = || {
        let works = std::fs::read_dir(location).unwrap().flatten();
        works.into_iter().any(|work| work.path().join(&rig).exists())
    };
    while stands() {
        assert!(std::time::Instant::now() < deadline, "run {trial} does not end");
        std::thread::yield_now();
    }
}

#[test]
#[ignore = "in --full: measures"]
fn a_trial_whose_location_is_filled_by_somebody_else_fails_and_the_next_one_does_not() {
    calm(|| {
        let _alone = crate::alone();
        if !has_server() || !has_loop_devices() {
            return;
        }
        let world = World::new();
        let small = Small::mount(&world);
        // Without a binary log: a server waits longer for space for it than the run takes. For
        // table space, it waits or reports that a table is full.
        let plan = one_trial().replace("seconds = 2", "seconds = 5\nrepeats = 2");
        world.write("plan.toml", &plan);
        let location = small.0.to_str().unwrap();
        let mut run =
            world.command(&["run", "plan.toml", "--out", "study", "--location", location]);
        let mut run = run.stderr(Stdio::inherit()).stdout(Stdio::null()).spawn().unwrap();
        server_under_load_below(&small.0, 1);
        let filler = small.fill();
        wait_for_the_end_of(1, &small.0);
        std::fs::remove_file(filler).unwrap();
        assert_eq!(run.wait().unwrap().code(), Some(2));
        let trials = trials(&world.path("study"));
        let states: Vec<&str> = trials.iter().map(|trial| trial.1.as_str()).collect();
        assert_eq!(states, ["failed", "done"], "{trials:?}");
        let reason = trials[0].2.as_deref().unwrap();
        let is_full = "is full; free some of it or name another --location";
        assert!(reason.contains(location) && reason.contains(is_full), "{reason}");
    });
}

/// Waits until a run has written its ledger.
fn wait_for_a_ledger(world: &World) {
    let directory = world.path("state/ledgers");
    let is_ledger = |path: PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let has_one = || {
        let files = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        files.into_iter().any(|file| is_ledger(file.path()))
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !has_one() {
        assert!(std::time::Instant::now() < deadline, "the run has no ledger");
        std::thread::yield_now();
    }
}

#[test]
#[ignore = "in --full: measures"]
fn a_run_beside_another_says_so_and_one_after_it_does_not() {
    calm(|| {
        let _alone = crate::alone();
        if !has_server() {
            return;
        }
        let world = World::new();
        world.write("plan.toml", &small_plan(DIRECTORY));
        world.write("one.toml", &one_trial());
        let said = |study: &str| {
            let output = world.run(&["run", "one.toml", "--out", study]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{said}");
            said
        };
        let mut first = start_run(&world);
        wait_for_a_ledger(&world);
        let study = world.path("study").canonicalize().unwrap();
        let line =
            format!("(process {}, {}): they disturb each other", first.id(), study.display());
        let beside = said("beside");
        assert!(beside.contains("another run is measuring on this machine"), "{beside}");
        assert!(beside.contains(&line), "{beside}");
        // Killed, so that its ledger stays.
        first.kill().unwrap();
        first.wait().unwrap();
        let after = said("after");
        assert!(!after.contains("another run"), "{after}");
        assert!(world.run(&["clean"]).status.success());
    });
}
