//! Tests data that are incompressible by design: tables encrypted by a real MySQL with its keyring
//! component.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{World, has_server};
use assay_testing::skip;
use serde_json::Value;

/// A downloaded MySQL with a keyring. It reads the list of components from a file next to its
/// program (MySQL's manual, "Keyring Component Installation"), so the program is linked into a
/// directory of the test.
struct Encrypting {
    world: World,
    base: PathBuf,
    loader: PathBuf,
    libraries: String,
}

impl Encrypting {
    fn new() -> Option<Encrypting> {
        if !has_server() {
            return None;
        }
        let world = World::new();
        let listed = world.run(&["server", "list", "--json"]);
        let listed: Vec<Value> = serde_json::from_slice(&listed.stdout).unwrap();
        let mysql = listed.iter().find(|it| it["flavour"] == "mysql" && it["origin"] == "cache");
        let text = |value: &Value| value.as_str().map(PathBuf::from);
        let (base, loader) =
            mysql.and_then(|it| Some((text(&it["basedir"])?, text(&it["loader"])?)))?;
        let component = base.join("lib/mysql/plugin/component_keyring_file.so");
        if !component.exists() {
            skip("MySQL's component_keyring_file");
            return None;
        }
        let path = |name: &str| world.path(name);
        for directory in ["sbin", "plugin", "data"] {
            fs::create_dir(path(directory)).unwrap();
        }
        let program = base.join("sbin/mysqld");
        if fs::hard_link(&program, path("sbin/mysqld")).is_err() {
            fs::copy(&program, path("sbin/mysqld")).unwrap();
        }
        fs::copy(component, path("plugin/component_keyring_file.so")).unwrap();
        let manifest = r#"{"components":"file://component_keyring_file"}"#;
        fs::write(path("sbin/mysqld.my"), manifest).unwrap();
        let keyring = format!(r#"{{"path":"{}","read_only":false}}"#, path("keyring").display());
        fs::write(path("plugin/component_keyring_file.cnf"), keyring).unwrap();
        let directory = |name: &str| base.join(name).display().to_string();
        let libraries = [
            loader.parent()?.display().to_string(),
            directory("lib/mysql/private"),
            directory("lib/mysql"),
        ];
        Some(Encrypting { libraries: libraries.join(":"), world, base, loader })
    }

    /// Runs the server until it ends by itself.
    fn serve(&self, more: &[String]) {
        let path = |name: &str| self.world.path(name).display().to_string();
        let program = path("sbin/mysqld");
        let mut server = Command::new(&self.loader);
        server.args(["--library-path", &self.libraries, "--argv0", &program, &program]);
        server.args(["--no-defaults", "--user=root", "--skip-networking", "--mysqlx=OFF"]);
        server.args(["--secure-file-priv=NULL", "--disable-log-bin"]);
        server.arg(format!("--basedir={}", self.base.display()));
        server.arg(format!("--lc-messages-dir={}/share/mysql", self.base.display()));
        for (option, name) in [("plugin-dir", "plugin"), ("datadir", "data"), ("socket", "s")] {
            server.arg(format!("--{option}={}", path(name)));
        }
        let output = server.args(more).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Creates an encrypted table, and one with the same rows that is not.
    fn load(&self) {
        self.serve(&["--initialize-insecure".into()]);
        let columns = "(id INT PRIMARY KEY AUTO_INCREMENT, c CHAR(200))";
        let statements = [
            "CREATE DATABASE d".to_owned(),
            format!("CREATE TABLE d.secret {columns} ENCRYPTION='Y'"),
            format!("CREATE TABLE d.plain {columns}"),
            "INSERT INTO d.secret (c) VALUES (REPEAT('a', 200)), (REPEAT('b', 200)), (REPEAT('c', \
             200)), (REPEAT('d', 200))".into(),
            "INSERT INTO d.secret (c) SELECT x.c FROM d.secret x, d.secret y, d.secret z, d.secret \
             w, d.secret v".into(),
            "INSERT INTO d.plain SELECT * FROM d.secret".into(),
            "SET GLOBAL innodb_fast_shutdown = 0".into(),
            "SHUTDOWN".into(),
        ];
        let init = self.world.path("init.sql");
        fs::write(&init, statements.map(|statement| statement + ";\n").concat()).unwrap();
        self.serve(&[format!("--init-file={}", init.display())]);
    }

    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_slice(&self.world.run(words).stdout).unwrap()
    }

    fn said(&self, words: &[&str]) -> String {
        String::from_utf8(self.world.run(words).stdout).unwrap()
    }
}

fn is_called(path: &Value, name: &str) -> bool {
    path.as_str().is_some_and(|path| Path::new(path).ends_with(name))
}

#[test]
fn tables_that_the_server_encrypts_are_named_and_others_are_not() {
    let Some(mysql) = Encrypting::new() else { return };
    mysql.load();

    let audit = mysql.json(&["audit", "data", "--writes", "direct", "--json"]);
    let looked = audit["files"]["looked"].as_array().unwrap();
    let encrypted: Vec<&Value> = looked.iter().filter(|it| it["encrypted"] == true).collect();
    assert_eq!(encrypted.len(), 1, "{looked:?}");
    assert!(is_called(&encrypted[0]["path"], "d/secret.ibd"), "{encrypted:?}");
    let text = mysql.said(&["audit", "data", "--writes", "direct"]);
    assert!(text.contains("encrypted 1 file with pages ("), "{text}");
    assert!(text.contains("InnoDB encrypts them, so no layer below can compress them"), "{text}");

    let estimate = mysql.json(&["estimate", "data/d", "--full", "--json"]);
    let file = |name: &str| {
        let files = estimate["files"].as_array().unwrap();
        files.iter().find(|file| file["label"] == name).unwrap().clone()
    };
    let ratio = |name: &str| file(name)["configs"]["drive_zstd_4k"]["ratio"].as_f64().unwrap();
    assert_eq!(file("secret.ibd")["notes"], serde_json::json!(["encrypted"]));
    assert_eq!(file("plain.ibd")["notes"], serde_json::json!([]));
    assert!(ratio("secret.ibd") < 1.5 && ratio("plain.ibd") > 4.0, "{estimate}");
    let text = mysql.said(&["estimate", "data/d", "--full"]);
    assert!(
        text.contains("of data are encrypted by the server, so no layer below can compress"),
        "{text}"
    );
}
