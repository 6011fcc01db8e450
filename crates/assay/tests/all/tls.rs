//! Tests a real server with TLS, whose certificate is its own, a CA's, or another host's: options
//! of option files, plans and command lines have their documented effect.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use assay_testing::skip;
use mysql::prelude::Queryable;

use crate::common::{TestServer, World, root_at};

const USER: &str = "tls7f3a";
const PASSWORD: &str = "pw-77d0-tls";

struct Bench {
    server: TestServer,
    control: mysql::Conn,
    world: World,
    datadir: PathBuf,
}

impl Bench {
    /// Starts the server; `None`, with a SKIPPED line, without MySQL: MariaDB makes no certificates
    /// for itself.
    fn open() -> Option<Bench> {
        let server = TestServer::start(&[])?;
        let mut control = root_at(&server.socket);
        let datadir: String = control.query_first("SELECT @@datadir").unwrap().unwrap();
        let datadir = PathBuf::from(datadir);
        if !datadir.join("ca.pem").exists() {
            skip("the server made no certificate for itself");
            return None;
        }
        for statement in [
            format!("CREATE USER '{USER}'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'"),
            format!("GRANT ALL ON *.* TO '{USER}'@'127.0.0.1'"),
            "CREATE DATABASE IF NOT EXISTS sbtest".into(),
        ] {
            control.query_drop(statement).unwrap();
        }
        Some(Bench { server, control, world: World::new(), datadir })
    }

    /// Empties the server's password cache, so that the password itself is sent.
    fn forget(&mut self) {
        self.control.query_drop("FLUSH PRIVILEGES").unwrap();
    }

    /// Checks a plan against the server, with this option file.
    fn study(&mut self, file: &str, endpoint: &str) -> Output {
        self.forget();
        let port = self.server.port;
        let account =
            format!("[client]\nhost=127.0.0.1\nport={port}\nuser={USER}\npassword={PASSWORD}\n");
        self.world.write("my.cnf", &format!("{account}{file}\n"));
        self.world.write(
            "plan.toml",
            &format!(
                "title = \"t\"\nnoise_floor = false\nextra_runs = 0\nrepeats = 1\nthreads = \
                 [1]\nseconds = 1\n\
                 data.table_size = 100\n[rig]\nkind = \"endpoint\"\nendpoint = \
                 {{ option_file = \"my.cnf\"{endpoint} }}\n\
                 [workloads.w]\nrecipe = \"oltp_read_only\"\n[configs.theirs]\n"
            ),
        );
        self.world.run(&["run", "plan.toml", "--out", "study", "--dry-run"])
    }

    fn load(&mut self, words: &str) -> Output {
        self.forget();
        let port = self.server.port;
        let line = format!(
            "load oltp_insert --mysql-host=127.0.0.1 --mysql-port={port} --mysql-user={USER} \
             {words} cleanup"
        );
        let words: Vec<&str> = line.split_whitespace().collect();
        self.world.command(&words).env("MYSQL_PWD", PASSWORD).output().unwrap()
    }

    fn ca(&self) -> String {
        self.datadir.join("ca.pem").display().to_string()
    }

    /// Has the server use a certificate for this name, signed by the CA of the directory.
    fn present(&mut self, directory: &Path, name: &str) {
        let certificate = certificate(directory, name);
        let (key, certificate) = (directory.join("server.key"), certificate.display().to_string());
        for statement in [
            format!("SET GLOBAL ssl_ca = '{}'", directory.join("own-ca.pem").display()),
            format!("SET GLOBAL ssl_key = '{}'", key.display()),
            format!("SET GLOBAL ssl_cert = '{certificate}'"),
            "ALTER INSTANCE RELOAD TLS".into(),
        ] {
            self.control.query_drop(&statement).unwrap();
        }
    }
}

fn openssl(directory: &Path, words: &str) {
    let words = words.split_whitespace();
    let output = Command::new("openssl").args(words).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Makes a CA; `None`, with a SKIPPED line, without `openssl`.
fn new_ca(directory: &Path) -> Option<PathBuf> {
    if Command::new("openssl").arg("version").output().is_err() {
        skip("there is no openssl");
        return None;
    }
    openssl(
        directory,
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=Test_CA -keyout own-ca.key -out \
         own-ca.pem",
    );
    Some(directory.join("own-ca.pem"))
}

fn certificate(directory: &Path, name: &str) -> PathBuf {
    std::fs::write(directory.join("server.ext"), format!("subjectAltName={name}\n")).unwrap();
    openssl(
        directory,
        "req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr",
    );
    openssl(
        directory,
        "x509 -req -in server.csr -CA own-ca.pem -CAkey own-ca.key -CAcreateserial -days 2 \
         -extfile server.ext -out server.pem",
    );
    directory.join("server.pem")
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn taken(output: &Output) {
    assert!(output.status.success(), "{}", told(output));
}

#[track_caller]
fn refused(output: &Output, words: &str) {
    let told = told(output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    let last = told.lines().last().unwrap_or_default();
    assert!(last.contains(words) && !told.contains(PASSWORD), "{words}: {told}");
}

#[test]
fn a_certificate_is_checked_as_strictly_as_anybody_asks() {
    let Some(mut bench) = Bench::open() else { return };
    let directory = bench.world.path("");
    let Some(own_ca) = new_ca(&directory) else { return };
    let (ca, own) = (bench.ca(), own_ca.display().to_string());

    // The server's own certificate, which names no host.
    taken(&bench.study("ssl-mode=REQUIRED", ""));
    taken(&bench.study(&format!("ssl-mode=VERIFY_CA\nssl-ca={ca}"), ""));
    taken(&bench.study(&format!("ssl-ca={ca}"), ", ssl = true"));
    refused(
        &bench.study(&format!("ssl-mode=VERIFY_IDENTITY\nssl-ca={ca}"), ""),
        "is not valid for its name",
    );
    // A plan with `ssl` keeps the option file's CA.
    refused(&bench.study(&format!("ssl-ca={own}"), ", ssl = true"), "is not valid for ");
    refused(&bench.study(&format!("ssl-ca={own}"), ""), "is not valid for ");
    refused(
        &bench.study("ssl-mode=VERIFY_IDENTITY", &format!(", ssl_ca = \"{ca}\"")),
        "is not valid for its name",
    );
    refused(&bench.load(&format!("--mysql-ssl=VERIFY_IDENTITY --mysql-ssl-ca={ca}")), "its name");
    taken(&bench.load(&format!("--mysql-ssl=VERIFY_CA --mysql-ssl-ca={ca}")));
    let unchecked = bench.load("--mysql-ssl");
    taken(&unchecked);
    assert!(told(&unchecked).contains("certificate is not checked"), "{}", told(&unchecked));
    refused(&bench.load("--mysql-ssl=VERIFY_CA"), "give --mysql-ssl-ca FILE");
    refused(&bench.load("--mysql-ssl=maybe"), "neither on, off nor one of DISABLED");

    // A CA's certificate for this host.
    bench.present(&directory, "IP:127.0.0.1");
    taken(&bench.study(&format!("ssl-mode=VERIFY_IDENTITY\nssl-ca={own}"), ""));
    taken(&bench.study(&format!("ssl-mode=VERIFY_IDENTITY\nssl-ca={own}"), ", ssl = true"));
    refused(&bench.study(&format!("ssl-mode=VERIFY_CA\nssl-ca={ca}"), ""), "is not valid for ");

    // The same CA's certificate for another host.
    bench.present(&directory, "DNS:db2.example.com");
    taken(&bench.study(&format!("ssl-mode=VERIFY_CA\nssl-ca={own}"), ""));
    refused(
        &bench.study(&format!("ssl-mode=VERIFY_IDENTITY\nssl-ca={own}"), ""),
        "is not valid for its name",
    );
}

#[test]
fn a_password_goes_over_no_wire_that_nobody_vouches_for_unless_the_user_says_so() {
    let Some(mut bench) = Bench::open() else { return };
    let key = bench.datadir.join("public_key.pem").display().to_string();
    let asks = "asks for the password itself over a connection without TLS";
    refused(&bench.study("ssl-mode=DISABLED", ""), asks);
    taken(&bench.study("ssl-mode=DISABLED\nget-server-public-key", ""));
    taken(&bench.study(&format!("ssl-mode=DISABLED\nserver-public-key-path={key}"), ""));
    bench.world.write("other.pem", include_str!("../../../mysql/src/client/key_of_tests.pem"));
    // With another public key the login is refused.
    refused(&bench.study("ssl-mode=DISABLED\nserver-public-key-path=other.pem", ""), "");
    refused(&bench.load(""), asks);
    taken(&bench.load("--mysql-get-server-public-key"));
    taken(&bench.load(&format!("--mysql-server-public-key-path={key}")));

    // The default is PREFERRED: the server offers TLS, and requires it.
    bench.control.query_drop("SET GLOBAL require_secure_transport = ON").unwrap();
    taken(&bench.study("", ""));
    refused(&bench.study("ssl-mode=DISABLED\nget-server-public-key", ""), "insecure transport");
    let port = bench.server.port;
    bench.forget();
    let address = format!("127.0.0.1:{port}");
    let words = ["audit", ".", "--server", &address, "--user", USER];
    let audit = bench.world.command(&words).env("MYSQL_PWD", PASSWORD).output().unwrap();
    assert!(!told(&audit).contains("cannot connect"), "{}", told(&audit));
}
