//! A real MySQL server at the bridge's address, with tables to load and an account for the load.

use std::process::Command;
use std::sync::{Arc, Mutex, Weak};

use mysql::prelude::Queryable;

use crate::common::{World, has_server};
use crate::drive_killed::mysql::server::{Program, Server};
use crate::hosts::net::Net;

pub const USER: &str = "loader5c0e";
pub const PASSWORD: &str = "pw-31f7a9c2-hx";
pub const PORT: u16 = 13306;

/// Tables that every test loads.
pub const TABLES: [&str; 2] = ["--tables=1", "--table-size=2000"];

pub struct Database {
    server: Server,
    _program: Program,
    _template: Arc<World>,
}

/// A data directory that is initialised once and shared by concurrent tests.
fn template(list: &str) -> Option<Arc<World>> {
    static SHARED: Mutex<Weak<World>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap();
    if let Some(template) = shared.upgrade() {
        return Some(template);
    }
    let template = Arc::new(World::new());
    Program::find(list, &template.path("data"))?.initialise();
    *shared = Arc::downgrade(&template);
    Some(template)
}

impl Database {
    /// Starts the server; `None`, with a SKIPPED line, if there is none.
    pub fn start(net: &Net) -> Option<Database> {
        if !has_server() {
            return None;
        }
        let list = net.world.run(&["server", "list", "--json"]);
        let list = String::from_utf8(list.stdout).unwrap();
        let template = template(&list)?;
        let mut copy = Command::new("cp");
        copy.arg("-a").args([template.path("data"), net.world.path("data")]);
        assert!(copy.status().unwrap().success());
        let mut program = Program::find(&list, &net.world.path("data"))?;
        let settings = [
            "--skip-networking=OFF".to_owned(),
            format!("--bind-address={}", net.address),
            format!("--port={PORT}"),
            "--skip-name-resolve".to_owned(),
        ];
        // `more_settings` holds static strings.
        let leak = |setting: String| &*Box::leak(setting.into_boxed_str());
        program.more_settings = settings.map(leak).to_vec();
        let server = program.start().unwrap();
        let mut root = server.connect();
        root.query_drop("CREATE DATABASE sbtest").unwrap();
        root.query_drop(format!("CREATE USER {USER} IDENTIFIED BY '{PASSWORD}'")).unwrap();
        root.query_drop(format!("GRANT ALL ON sbtest.* TO {USER}")).unwrap();
        Some(Database { server, _program: program, _template: template })
    }

    /// Number of executed prepared statements, which only a load executes.
    pub fn executed(&self) -> u64 {
        let sql = "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'";
        self.server.connect().query_first::<(String, u64), _>(sql).unwrap().unwrap().1
    }

    /// Number of connections of the load's account.
    pub fn connections(&self) -> u64 {
        let sql =
            format!("SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{USER}'");
        self.server.connect().query_first::<u64, _>(sql).unwrap().unwrap()
    }

    /// Kills all connections of the load's account, like a server that shuts down.
    pub fn cut(&self) {
        let mut root = self.server.connect();
        let sql = format!("SELECT id FROM information_schema.processlist WHERE user = '{USER}'");
        let ids: Vec<u64> = root.query(sql).unwrap();
        assert!(!ids.is_empty(), "nothing is connected");
        for id in ids {
            // A connection that has ended meanwhile is no error.
            let _ = root.query_drop(format!("KILL {id}"));
        }
    }

    /// Arguments of a load on the server, without the command.
    pub fn words(net: &Net, workload: &str) -> Vec<String> {
        let address = [
            format!("--mysql-host={}", net.address),
            format!("--mysql-port={PORT}"),
            format!("--mysql-user={USER}"),
            // Connections are not encrypted, and a restarted server has an empty password cache.
            "--mysql-get-server-public-key".to_owned(),
        ];
        let words = ["load", workload].into_iter().chain(TABLES).map(str::to_owned);
        words.chain(address).collect()
    }

    /// Fills the tables from this machine.
    pub fn fill(&self, net: &Net, more: &[&str]) {
        let words = Database::words(net, "oltp_read_write");
        let mut command = net.world.command(&[]);
        command.args(words).args(more).arg("prepare").env("MYSQL_PWD", PASSWORD);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}
