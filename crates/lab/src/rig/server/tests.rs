//! Real servers, started and stopped.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use assay_ports::child::identity;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use super::tcp_port::TcpPort;
use super::testing::{binary, prepared, running};
use super::*;

const GRACE: Duration = Duration::from_secs(60);

fn ask<T: mysql::prelude::FromRow>(server: &Server, query: &str) -> Vec<T> {
    Conn::new(super::testing::opts(server)).unwrap().query(query).unwrap()
}

fn refusal(binary: &Binary, start: &Start) -> String {
    format!("{:#}", super::start(binary, start).err().unwrap())
}

fn lives(flavour: Flavour) {
    let Some(binary) = binary(flavour) else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut start = prepared(&binary, directory.path(), &[("max_connections", "77")]);
    start.cpus = vec![0];
    let server = super::start(&binary, &start).unwrap();
    let variables = server.variables().unwrap();
    assert_eq!(variables["max_connections"], "77");
    assert_eq!(variables["skip_networking"], "ON");
    assert_eq!(fs::metadata(&start.run_dir).unwrap().permissions().mode() & 0o777, 0o700);
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    assert!(status.contains("Cpus_allowed_list:\t0\n"));
    let schemas: Vec<String> = ask(&server, "SHOW DATABASES");
    let own = ["information_schema", "mysql", "performance_schema", "sys"];
    assert!(schemas.iter().all(|schema| own.contains(&schema.as_str())), "{schemas:?}");
    let accounts: Vec<(String, String)> =
        ask(&server, "SELECT user, host FROM mysql.user WHERE user IN ('root', '')");
    assert_eq!(accounts, [("root".to_string(), "localhost".to_string())]);
    let _: Vec<String> = ask(&server, "CREATE DATABASE kept");
    assert!(server.stop(GRACE).unwrap().success());

    // Data survive a stop, a kill, and a dropped value.
    let server = super::start(&binary, &start).unwrap();
    let socket = server.socket().to_path_buf();
    server.kill().unwrap();
    assert!(!socket.exists());
    let server = super::start(&binary, &start).unwrap();
    assert_eq!(ask::<String>(&server, "SHOW DATABASES LIKE 'kept'"), ["kept"]);
    let process = identity(server.pid()).unwrap();
    drop(server);
    assert_ne!(identity(process.pid), Some(process));
    restarts(&binary, &start);
}

/// Another process on the same data at the same socket; one that has no time for it is not left
/// running.
fn restarts(binary: &Binary, start: &Start) {
    let mut server = super::start(binary, start).unwrap();
    let (pid, socket) = (server.pid(), server.socket().to_path_buf());
    let restarted = server.restart(binary, start, Instant::now() + GRACE).unwrap();
    assert!(restarted.is_orderly && restarted.stop + restarted.answer < GRACE);
    assert_ne!(server.pid(), pid);
    assert_eq!(server.socket(), socket);
    assert_eq!(ask::<String>(&server, "SHOW DATABASES LIKE 'kept'"), ["kept"]);
    assert!(server.restart(binary, start, Instant::now()).is_err());
}

#[test]
fn mysql_lives() {
    lives(Flavour::Mysql);
}

#[test]
#[ignore = "in --full: downloads MariaDB"]
fn mariadb_lives() {
    lives(Flavour::Mariadb);
}

fn settings_are_refused(flavour: Flavour) {
    let Some(binary) = binary(flavour) else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut start = prepared(&binary, directory.path(), &[]);
    for (name, value, words) in [
        ("innodb_foo", "1", "unknown variable 'innodb_foo=1'"),
        ("innodb_flush_method", "bogus", "bogus"),
        ("innodb_page_size", "5000", "5000"),
    ] {
        start.settings.insert(name.into(), value.into());
        let text = refusal(&binary, &start);
        assert!(text.contains("refused a setting") && text.contains(words), "{text}");
        assert!(!text.contains('\n'), "{text}");
        start.settings.remove(name);
    }
    start.settings.insert("datadir".into(), "/tmp".into());
    assert!(refusal(&binary, &start).contains("`datadir` is set by the rig"));
    start.settings.remove("datadir");
    start.settings.insert("max_connections".into(), "0".into());
    let server = super::start(&binary, &start).unwrap();
    let adjusted = server.adjusted_settings();
    assert!(adjusted.iter().any(|line| line.contains("max_connections")), "{adjusted:?}");
}

#[test]
fn mysql_refuses_settings_in_its_own_words() {
    settings_are_refused(Flavour::Mysql);
}

#[test]
#[ignore = "in --full: downloads MariaDB"]
fn mariadb_refuses_settings_in_its_own_words() {
    settings_are_refused(Flavour::Mariadb);
}

#[test]
fn a_server_that_dies_at_start_shows_its_log() {
    let Some(binary) = binary(Flavour::Mysql) else { return };
    let directory = tempfile::tempdir().unwrap();
    let start = prepared(&binary, directory.path(), &[]);
    fs::write(start.datadir.join("ibdata1"), "rubbish").unwrap();
    let text = refusal(&binary, &start);
    assert!(text.contains("ended at start with exit code 1: [ERROR]"), "{text}");
    assert!(text.contains("ibdata1") && text.contains("its log ends:\n  "), "{text}");
}

#[test]
fn a_server_that_vanishes_says_how() {
    let Some(binary) = binary(Flavour::Mysql) else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut server = running(&binary, directory.path());
    assert_eq!(server.ended().unwrap(), None);
    let pid = rustix::process::Pid::from_raw(server.pid().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let deadline = Instant::now() + GRACE;
    let text = loop {
        if let Some(text) = server.ended().unwrap() {
            break text;
        }
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    };
    assert!(
        text.starts_with("signal 9; its log ends:") && text.contains("ready for connections"),
        "{text}"
    );
}

#[test]
fn what_is_in_use_is_told_at_once() {
    let Some(binary) = binary(Flavour::Mysql) else { return };
    let directory = tempfile::tempdir().unwrap();
    let first = prepared(&binary, directory.path(), &[]);
    let _server = super::start(&binary, &first).unwrap();
    let began = Instant::now();
    assert!(refusal(&binary, &first).contains("a server is running on the data directory"));
    let mut second = first.clone();
    second.datadir = directory.path().join("other");
    fs::create_dir(&second.datadir).unwrap();
    assert!(refusal(&binary, &second).contains("a server is listening on"));
    second.run_dir = directory.path().join("run2");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let number = taken.local_addr().unwrap().port();
    second.port = Some(TcpPort::on_loopback(number).unwrap());
    let text = refusal(&binary, &second);
    assert!(text.starts_with(&format!("TCP port {number} cannot be used")), "{text}");
    assert!(began.elapsed() < Duration::from_secs(60));
}

fn tcp_is_guarded(flavour: Flavour) {
    let Some(binary) = binary(flavour) else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut start = prepared(&binary, directory.path(), &[]);
    let number = assay_testing::free_port();
    let password = r"o'p\e n".to_string();
    let port = TcpPort::on_loopback(number).unwrap();
    start.port = Some(TcpPort { password: password.clone(), ..port.clone() });
    let _server = super::start(&binary, &start).unwrap();
    let enter = |user: &str, password: &str| {
        let opts = OptsBuilder::new().ip_or_hostname(Some("127.0.0.1")).tcp_port(number);
        let tls = mysql::SslOpts::default().with_danger_accept_invalid_certs(true);
        // MySQL takes a first login with its default plugin only over an encrypted connection.
        let tls = (flavour == Flavour::Mysql).then_some(tls);
        let opts = opts.prefer_socket(false).ssl_opts(tls);
        Conn::new(opts.user(Some(user)).pass(Some(password))).map(drop)
    };
    enter(TcpPort::USER, &password).unwrap();
    for (user, password) in [(TcpPort::USER, "wrong"), (TcpPort::USER, ""), ("root", ""), ("", "")]
    {
        assert!(enter(user, password).is_err(), "{user} got in with `{password}`");
    }
    start.port = Some(TcpPort { password: String::new(), ..port });
    start.run_dir = directory.path().join("run2");
    assert!(start.port.as_ref().is_some_and(|port| port.check().is_err()));
}

#[test]
fn mysql_s_port_is_guarded() {
    tcp_is_guarded(Flavour::Mysql);
}

#[test]
#[ignore = "in --full: downloads MariaDB"]
fn mariadb_s_port_is_guarded() {
    tcp_is_guarded(Flavour::Mariadb);
}

#[test]
fn clones_are_servers_of_their_own_and_layouts_are_kept_apart() {
    let Some(binary) = binary(Flavour::Mysql) else { return };
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let start = prepared(&binary, &at("one"), &[]);
    let again = make_datadir(&binary, &start.settings, &start.datadir, &|_| {});
    assert!(again.unwrap_err().to_string().contains("is not empty"));
    let one = super::start(&binary, &start).unwrap();
    let two = running(&binary, &at("two"));
    let three =
        super::start(&binary, &prepared(&binary, &at("three"), &[("innodb_page_size", "4k")]));
    let three = three.unwrap();
    let value = |server: &Server, name: &str| server.variables().unwrap()[name].clone();
    assert_ne!(value(&one, "server_uuid"), value(&two, "server_uuid"));
    assert_eq!(value(&one, "innodb_page_size"), "16384");
    assert_eq!(value(&three, "innodb_page_size"), "4096");
}

#[test]
fn a_layout_that_the_server_refuses_is_told_in_its_words() {
    let Some(binary) = binary(Flavour::Mysql) else { return };
    let directory = tempfile::tempdir().unwrap();
    let settings = Settings::from([("innodb-page-size".to_string(), "5000".to_string())]);
    let error = make_datadir(&binary, &settings, &directory.path().join("data"), &|_| {});
    let text = format!("{:#}", error.unwrap_err());
    assert!(text.contains("could not initialise") && text.contains("5000"), "{text}");
    assert!(!directory.path().join("data").exists());
}
