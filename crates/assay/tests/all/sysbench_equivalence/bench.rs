//! A server under its general log.

use std::collections::BTreeMap;
use std::path::Path;

use mysql::prelude::Queryable;

use super::answer::Answer;
use super::statement::take_apart;
use super::tables::Tables;
use crate::common::root_at;

pub const DATABASE: &str = "assay_equivalence";

/// A server and a connection to it.
pub struct Bench {
    control: mysql::Conn,
    socket: String,
}

impl Bench {
    pub fn open(socket: &Path) -> Bench {
        let mut control = root_at(socket);
        let socket = socket.to_str().unwrap().to_owned();
        control.query_drop("SET GLOBAL log_output='TABLE'").unwrap();
        let mut bench = Bench { control, socket };
        bench.empty();
        bench
    }

    /// Options by which both programs find the server and its database.
    pub fn words(&self) -> Vec<String> {
        vec![
            format!("--mysql-socket={}", self.socket),
            "--mysql-user=root".into(),
            format!("--mysql-db={DATABASE}"),
        ]
    }

    /// Makes the database anew.
    pub fn empty(&mut self) {
        self.control.query_drop(format!("DROP DATABASE IF EXISTS {DATABASE}")).unwrap();
        self.control.query_drop(format!("CREATE DATABASE {DATABASE}")).unwrap();
    }

    pub fn tables(&mut self) -> Tables {
        Tables::read(&mut self.control, DATABASE)
    }

    /// Traces `run`, which returns its program's counts of reads, writes and others.
    pub fn trace(
        &mut self,
        events: u64,
        run: impl FnOnce(&Bench) -> [u64; 3],
    ) -> Result<Answer, String> {
        self.control.query_drop("TRUNCATE TABLE mysql.general_log").unwrap();
        self.control.query_drop("SET GLOBAL general_log=ON").unwrap();
        let counted = run(self);
        self.control.query_drop("SET GLOBAL general_log=OFF").unwrap();
        let query = format!(
            "SELECT command_type, CONVERT(argument USING utf8mb4) FROM mysql.general_log \
             WHERE thread_id <> {} AND command_type IN ('Prepare', 'Execute', 'Query')",
            self.control.connection_id()
        );
        let rows: Vec<(String, String)> = self.control.query(query).unwrap();
        let (mut prepared, mut statements) = (BTreeMap::new(), Vec::new());
        for (command, text) in rows {
            let statement = take_apart(&command, &text);
            match command.as_str() {
                "Prepare" => *prepared.entry(statement.form.1).or_default() += 1,
                _ => statements.push(statement),
            }
        }
        Answer::of(prepared, &statements, events, counted)
    }
}
