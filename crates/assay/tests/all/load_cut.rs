//! Tests a load that loses its server: results up to then are printed and written, and the error
//! ends the command.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use crate::common::{TestServer, World, root_at};
use mysql::prelude::Queryable;

struct Bench {
    world: World,
    control: mysql::Conn,
    server: TestServer,
}

impl Bench {
    fn open() -> Option<Bench> {
        let server = TestServer::start(&[])?;
        let control = root_at(&server.socket);
        Some(Bench { world: World::new(), control, server })
    }

    fn done(&self, words: &[&str]) {
        let output = self.world.run(words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn start(&self, words: &[&str]) -> Child {
        let mut command = self.world.command(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Kills all connections but its own, like a server that shuts down.
    fn cut(&mut self) {
        let sql = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND \
            user = 'root'";
        let ids: Vec<u64> = self.control.query(sql).unwrap();
        assert!(!ids.is_empty(), "nothing is connected");
        for id in ids {
            // A connection that has ended meanwhile is no error.
            let _ = self.control.query_drop(format!("KILL {id}"));
        }
    }
}

fn until(reader: &mut impl BufRead, text: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(text) {
        assert!(reader.read_line(&mut seen).unwrap() > 0, "no `{text}` in {seen}");
    }
    seen
}

fn rest(mut reader: impl Read) -> String {
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn results_until_the_server_went_away_are_kept() {
    let Some(mut bench) = Bench::open() else { return };
    let socket = format!("--mysql-socket={}", bench.server.socket.display());
    let common = ["load", "oltp_read_write", "--table-size=1000", "--mysql-user=root"];
    let with = |more: &[&'static str]| [&common[..], &["--mysql-db=test", &socket], more].concat();
    bench.done(&with(&["prepare"]));
    let words = with(&["--threads=2", "--time=600", "--report-interval=1", "--json=o.json", "run"]);
    let mut child = bench.start(&words);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    until(&mut out, "[ 1s ]");
    bench.cut();
    let (said, told) = (rest(out), rest(child.stderr.take().unwrap()));
    assert_eq!(child.wait().unwrap().code(), Some(2), "{told}");
    let events = said.lines().find_map(|line| line.trim().strip_prefix("total number of events:"));
    assert!(events.unwrap().trim().parse::<u64>().unwrap() > 0, "{said}");
    assert!(said.contains("interrupted:                         before its time"), "{said}");
    assert!(told.contains("the results are of what was measured until then"), "{told}");
    assert!(told.lines().last().unwrap().contains("lost the server"), "{told}");
    let json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(bench.world.path("o.json")).unwrap()).unwrap();
    assert_eq!(json["outcome"]["interrupted"], true);
    assert!(json["outcome"]["events"].as_u64() > Some(0) && json["seconds"][0]["events"].is_u64());

    let socket = format!("assay.socket={}", bench.server.socket.display());
    let with = |command, more: &[&'static str]| {
        let common = ["load", "ycsb", command, "jdbc", "-P", "workloada", "-p", &socket];
        [&common[..], more].concat()
    };
    bench.done(&with("load", &[]));
    let more = ["-s", "-p", "status.interval=1", "-p", "operationcount=100000000"];
    let mut child = bench.start(&with("run", &more));
    let mut told = BufReader::new(child.stderr.take().unwrap());
    until(&mut told, "current ops/sec");
    bench.cut();
    let (said, told) = (rest(child.stdout.take().unwrap()), rest(told));
    assert_eq!(child.wait().unwrap().code(), Some(2), "{told}");
    assert!(said.contains("[READ], Return=OK, "), "{said}");
    assert!(told.lines().last().unwrap().contains("lost the server"), "{told}");
}
