//! Tests cut links and killed processes during a load: a line that says so, and nothing left at
//! either end.

use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::hosts::database::Database;
use crate::hosts::load::{begin, load};
use crate::hosts::net::{Net, error_of, kill, wait_until};

/// Time within which both ends must notice: 10 s of patience, 5 s for events in progress, and the
/// delays of a busy machine.
const NOTICED_WITHIN: Duration = Duration::from_secs(25);

/// English text for the text columns, so that the load has a file there.
const BOOK: &str = "It was the best of times, it was the worst of times, it was the age of wisdom, \
    it was the age of foolishness. \
                    It was the epoch of belief, it was the epoch of incredulity, it was the season \
                    of Light.\n";

struct Bench {
    database: Database,
    net: Net,
    book: String,
}

impl Bench {
    fn start(hosts: u32) -> Option<Bench> {
        let net = Net::start(hosts)?;
        let database = Database::start(&net)?;
        let book = net.world.write("book.txt", &BOOK.repeat(1200));
        let book = format!("--text={}", book.display());
        database.fill(&net, &["--schema=text", &book]);
        Some(Bench { database, net, book })
    }

    /// A running load without an end.
    fn load(&self) -> Child {
        let words =
            ["--threads=4", "--time=600", "--report-interval=1", "--schema=text", &self.book];
        begin(load(&self.net, "oltp_read_write", &words))
    }

    /// Directories of sessions on the host.
    fn sessions(&self) -> Vec<PathBuf> {
        let sessions = self.net.there().join("state/sessions");
        let entries = std::fs::read_dir(sessions).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }
}

#[test]
fn a_cut_link_ends_both_ends_and_the_other_hosts_and_leaves_nothing() {
    let Some(bench) = Bench::start(2) else { return };
    let [cut, other] = [&bench.net.hosts[0], &bench.net.hosts[1]];
    let child = bench.load();
    assert_eq!(bench.sessions().len(), 2, "each host has the book");
    let (began, programs) = (Instant::now(), cut.programs());
    assert!(!programs.is_empty() && !cut.connections().is_empty());
    cut.cut();
    let error = error_of(&child.wait_with_output().unwrap());
    assert!(error.contains(&format!("the connection to {} was lost", cut.name)), "{error}");
    assert!(began.elapsed() < NOTICED_WITHIN, "{:?}", began.elapsed());
    wait_until("the other host has ended", || other.programs().is_empty());
    wait_until("the cut host has ended", || cut.programs().is_empty());
    assert!(began.elapsed() < NOTICED_WITHIN, "{:?}", began.elapsed());
    wait_until("its sshd has let go", || cut.connections().is_empty());
    assert_eq!(bench.sessions(), Vec::<PathBuf>::new());
    bench.net.assert_nothing_left();
}

#[test]
#[ignore = "in --full: a cut link is shown once, by another test"]
fn whoever_is_killed_the_rest_ends_and_a_clean_takes_away_what_the_killed_had() {
    let Some(bench) = Bench::start(1) else { return };
    let host = &bench.net.hosts[0];
    let noticed = |began: Instant| assert!(began.elapsed() < NOTICED_WITHIN, "{began:?}");

    // Kills the program on the host.
    let child = bench.load();
    let began = Instant::now();
    let [(program, _)] = host.programs()[..] else { panic!("{:?}", host.programs()) };
    kill(program);
    let error = error_of(&child.wait_with_output().unwrap());
    assert!(error.contains(&format!("the connection to {} was lost", host.name)), "{error}");
    noticed(began);
    assert_eq!(bench.sessions().len(), 1, "nobody was there to remove it");
    let cleaned = bench.net.told(&["clean", "--host", &host.name]);
    assert!(
        cleaned.contains("removed directory ") && cleaned.contains("assay-session-"),
        "{cleaned}"
    );
    bench.net.assert_nothing_left();

    // Kills the sshd of the connection.
    let child = bench.load();
    let began = Instant::now();
    host.connections().into_iter().for_each(kill);
    let error = error_of(&child.wait_with_output().unwrap());
    assert!(error.contains("was lost"), "{error}");
    wait_until("the program there has ended", || host.programs().is_empty());
    noticed(began);
    bench.net.assert_nothing_left();

    // Kills the program here.
    let mut child = bench.load();
    let began = Instant::now();
    kill(child.id());
    child.wait().unwrap();
    wait_until("the program there has ended", || host.programs().is_empty());
    wait_until("no connection is left", || bench.database.connections() == 0);
    noticed(began);
    assert_eq!(bench.sessions(), Vec::<PathBuf>::new());
    let output = bench.net.world.run(&["clean"]);
    let cleaned = String::from_utf8(output.stdout).unwrap();
    assert!(cleaned.contains("assay-ssh-"), "{cleaned}");
    bench.net.assert_nothing_left();
}

#[test]
#[ignore = "in --full: a cut link is shown once, by another test"]
fn a_link_that_is_cut_while_the_program_is_copied_leaves_no_part_of_it() {
    let Some(net) = Net::bare(1) else { return };
    let host = &net.hosts[0];
    let mut command = net.command(&["host", "check", &host.name], "ssh_config");
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    let shelf = net.there().join("cache/programs");
    let entries = || {
        let entries = std::fs::read_dir(&shelf).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    wait_until("it is copied", || entries().iter().any(|name| name.starts_with(".staging-")));
    host.cut();
    let error = error_of(&child.wait_with_output().unwrap());
    assert!(error.contains(&format!("the connection to {} was lost", host.name)), "{error}");
    // The process that receives the file there gives up by itself: it cannot be signalled.
    wait_until("no part is left", || entries().iter().all(|name| name == ".lock"));
    wait_until("its sshd has let go", || host.programs().is_empty());
    host.mend();
    assert!(net.told(&["host", "check", &host.name]).contains(&host.name));
    net.assert_nothing_left();
}
