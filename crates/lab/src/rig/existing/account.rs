//! The account that a plan names: address, encryption, and where name and password are kept.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use assay_load::{Address, ServerKey, Tls};
use assay_mysql::SslMode;
use assay_mysql::account::{Account, Login, read};
use assay_mysql::option_file::ClientOptions;
use assay_ports::child::withhold;

use assay_plan::{EndpointLogin, Experiment, PlannedEndpoint};

/// The account of an endpoint. A variable that holds its password is withheld from children from
/// now on.
///
/// # Errors
/// One line: the option file cannot be read, or says of no server.
pub fn account(endpoint: &PlannedEndpoint) -> Result<Account> {
    let (login, options) = match &endpoint.login {
        EndpointLogin::OptionFile(path) => {
            let path = absolute(path)?;
            let options = read(&path)?;
            (Login::OptionFile { path }, options)
        }
        EndpointLogin::Asked { user } => {
            (Login::Asked { user: user.clone() }, ClientOptions::default())
        }
        EndpointLogin::Variable { user, variable } => {
            withhold(variable);
            let (user, variable) = (user.clone(), variable.clone());
            (Login::Variable { user, variable }, ClientOptions::default())
        }
    };
    let address = endpoint.address.clone().or_else(|| address_of(&options));
    let address = address.context(
        "the option file names no server in its group [client]; give it host or socket there, or \
        the endpoint an address",
    )?;
    Ok(Account { address, login, tls: tls(endpoint, &options)?, key: key(&options)? })
}

/// The accounts of all endpoints of an experiment, each once.
///
/// # Errors
/// As of [`account`].
pub fn accounts(experiment: &Experiment) -> Result<Vec<Account>> {
    let mut all: Vec<Account> = Vec::new();
    for variant in &experiment.variants {
        let Some(endpoint) = variant.rig.endpoint() else { continue };
        let one = account(endpoint).with_context(|| variant.key.to_string())?;
        if !all.contains(&one) {
            all.push(one);
        }
    }
    Ok(all)
}

/// Address in an option file, as MySQL's programs read it: a socket before a host.
fn address_of(options: &ClientOptions) -> Option<Address> {
    if let Some(socket) = options.socket.as_deref().filter(|_| options.host.is_none()) {
        return Address::parse(socket);
    }
    let host = options.host.as_deref()?;
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    match &options.port {
        Some(port) => Address::parse(&format!("{host}:{port}")),
        None => Address::parse(&host),
    }
}

/// The stricter of what the plan and the option file say. Neither says anything: `PREFERRED`, as of
/// MySQL's own programs.
///
/// A CA that is named is held to, unless nothing is encrypted; with two different ones nobody can
/// say which is the stricter.
fn tls(endpoint: &PlannedEndpoint, options: &ClientOptions) -> Result<Tls> {
    if let Some(unbuilt) = options.unbuilt {
        bail!(
            "the option file has {unbuilt}, which is not built: the server would be checked less \
            than it asks for; remove it there"
        );
    }
    let of_plan = endpoint.ssl_ca.as_deref().map(absolute).transpose()?;
    let of_file = options.ssl_ca.as_deref().map(Path::new).map(absolute).transpose()?;
    ensure!(
        of_plan.is_none() || of_file.is_none() || of_plan == of_file,
        "the plan's ssl_ca is another file than the option file's ssl-ca; remove one"
    );
    let asked = [
        endpoint.ssl.then_some(SslMode::Required),
        of_plan.is_some().then_some(SslMode::VerifyCa),
        mode(options)?,
    ];
    let mode = asked.into_iter().flatten().max();
    let mode = mode.unwrap_or(SslMode::Preferred);
    mode.with_ca(of_plan.or(of_file))
        .context("the option file has the server's certificate checked but names no ssl-ca; add it")
}

/// The strictest mode of an option file, of MySQL's and of MariaDB's options.
fn mode(options: &ClientOptions) -> Result<Option<SslMode>> {
    let named = options.ssl_mode.as_deref().map(|name| {
        let names = SslMode::NAMES.join(", ");
        SslMode::parse(name)
            .with_context(|| format!("the option file's ssl-mode is none of {names}; correct it"))
    });
    let switch = |on| if on { SslMode::Required } else { SslMode::Disabled };
    let verified = options.ssl_verify_server_cert == Some(true);
    let modes =
        [named.transpose()?, options.ssl.map(switch), verified.then_some(SslMode::VerifyIdentity)];
    Ok(modes.into_iter().flatten().max())
}

/// Key that encrypts the password on a plain connection: only if the option file allows it.
fn key(options: &ClientOptions) -> Result<ServerKey> {
    if let Some(path) = &options.server_public_key_path {
        let path = absolute(Path::new(path))?;
        let pem = std::fs::read_to_string(&path).with_context(|| {
            format!("the option file's server-public-key-path cannot be read: {}", path.display())
        });
        return Ok(ServerKey::Known(pem?));
    }
    Ok(match options.get_server_public_key {
        Some(true) => ServerKey::Fetched,
        Some(false) | None => ServerKey::None,
    })
}

/// `~/` is the user's home; other relative paths begin where the command was given.
fn absolute(path: &Path) -> Result<PathBuf> {
    let Ok(rest) = path.strip_prefix("~") else { return Ok(std::path::absolute(path)?) };
    let home = std::env::var_os("HOME").context("HOME is not set, and a path begins with ~")?;
    Ok(PathBuf::from(home).join(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::planned_rig;

    fn planned(endpoint: &str) -> PlannedEndpoint {
        let rig = planned_rig(&format!("kind = \"endpoint\"\nendpoint = {{ {endpoint} }}"));
        rig.endpoint().unwrap().clone()
    }

    #[test]
    fn an_option_file_says_where_and_how_unless_the_plan_does() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my.cnf");
        let of = |file: &str, more: &str| {
            std::fs::write(&path, format!("[client]\nuser=u\npassword=p\n{file}")).unwrap();
            account(&planned(&format!("option_file = \"{}\"{more}", path.display())))
        };
        let tcp = |host: &str, port| Address::Tcp { host: host.into(), port };
        let one = of("host=db1\nport=3307\nssl-mode=REQUIRED\n", "").unwrap();
        assert_eq!((one.address, one.tls), (tcp("db1", 3307), Tls::Unverified));
        let one = of("socket=/run/db.sock\n", "").unwrap();
        assert_eq!(
            (one.address, one.tls),
            (Address::Socket("/run/db.sock".into()), Tls::Preferred)
        );
        let one = of("host=::1\nssl-ca=/etc/ca.pem\n", "").unwrap();
        assert_eq!(one.address, tcp("::1", 3306));
        assert_eq!(one.tls, Tls::Verified { ca: "/etc/ca.pem".into() });
        let one = of("host=db1\n", ", address = \"db2\", ssl = true").unwrap();
        assert_eq!((one.address, one.tls), (tcp("db2", 3306), Tls::Unverified));
        assert!(of("", "").unwrap_err().to_string().contains("names no server"));
    }

    #[test]
    fn the_stricter_of_option_file_and_plan_is_what_counts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my.cnf");
        let of = |file: &str, more: &str| {
            let file = file.replace("; ", "\n");
            std::fs::write(&path, format!("[client]\nuser=u\npassword=p\nhost=db1\n{file}\n"))
                .unwrap();
            account(&planned(&format!("option_file = \"{}\"{more}", path.display())))
        };
        let (nothing, ssl, ca) = ("", ", ssl = true", ", ssl_ca = \"/ca\"");
        let verified = || Tls::Verified { ca: "/ca".into() };
        let identity = || Tls::VerifiedIdentity { ca: "/ca".into() };
        for (file, plan, tls) in [
            ("", nothing, Tls::Preferred),
            ("", ssl, Tls::Unverified),
            ("", ca, verified()),
            ("ssl-mode=DISABLED", nothing, Tls::Off),
            ("ssl-mode=DISABLED; ssl-ca=/ca", nothing, Tls::Off),
            ("ssl-mode=DISABLED", ssl, Tls::Unverified),
            ("ssl-mode=DISABLED; ssl-ca=/ca", ssl, verified()),
            ("ssl-mode=DISABLED", ca, verified()),
            ("ssl-mode=PREFERRED", nothing, Tls::Preferred),
            ("ssl-mode=PREFERRED", ssl, Tls::Unverified),
            ("ssl-mode=PREFERRED; ssl-ca=/ca", nothing, verified()),
            ("ssl-mode=required", nothing, Tls::Unverified),
            ("ssl-mode=REQUIRED", ssl, Tls::Unverified),
            ("ssl-mode=REQUIRED", ca, verified()),
            ("ssl-ca=/ca", nothing, verified()),
            ("ssl-ca=/ca", ssl, verified()),
            ("ssl-mode=VERIFY_CA; ssl-ca=/ca", nothing, verified()),
            ("ssl-mode=VERIFY_CA; ssl-ca=/ca", ssl, verified()),
            ("ssl-mode=VERIFY_CA", ca, verified()),
            ("ssl-mode=VERIFY_IDENTITY; ssl-ca=/ca", nothing, identity()),
            ("ssl-mode=VERIFY_IDENTITY; ssl-ca=/ca", ssl, identity()),
            ("ssl-mode=VERIFY_IDENTITY; ssl-ca=/ca", ca, identity()),
            ("ssl-mode=VERIFY_IDENTITY", ca, identity()),
            ("ssl", nothing, Tls::Unverified),
            ("skip-ssl", nothing, Tls::Off),
            ("skip-ssl", ssl, Tls::Unverified),
            ("ssl-verify-server-cert; ssl-ca=/ca", ssl, identity()),
            ("ssl-mode=PREFERRED; ssl-verify-server-cert; ssl-ca=/ca", nothing, identity()),
        ] {
            assert_eq!(of(file, plan).unwrap().tls, tls, "{file} {plan}");
        }
        for (file, plan, told) in [
            ("ssl-mode=VERIFY_CA", nothing, "names no ssl-ca"),
            ("ssl-mode=VERIFY_IDENTITY", ssl, "names no ssl-ca"),
            ("ssl-verify-server-cert", nothing, "names no ssl-ca"),
            ("ssl-mode=REQIRED", nothing, "is none of DISABLED, PREFERRED"),
            ("ssl-ca=/other", ca, "is another file"),
            ("ssl-crl=/crl; ssl-ca=/ca", nothing, "has ssl-crl, which is not built"),
        ] {
            let error = of(file, plan).unwrap_err().to_string();
            assert!(error.contains(told), "{file} {plan}: {error}");
        }
    }

    #[test]
    fn a_key_for_passwords_is_taken_from_where_the_option_file_says_and_nowhere_else() {
        let directory = tempfile::tempdir().unwrap();
        let (path, pem) = (directory.path().join("my.cnf"), directory.path().join("key.pem"));
        let of = |file: &str| {
            std::fs::write(&path, format!("[client]\nuser=u\npassword=p\nhost=db1\n{file}\n"))
                .unwrap();
            account(&planned(&format!("option_file = \"{}\"", path.display())))
        };
        assert_eq!(of("").unwrap().key, ServerKey::None);
        assert_eq!(of("get-server-public-key").unwrap().key, ServerKey::Fetched);
        assert_eq!(of("get-server-public-key=0").unwrap().key, ServerKey::None);
        let named = format!("get-server-public-key\nserver-public-key-path={}", pem.display());
        assert!(of(&named).unwrap_err().to_string().contains("server-public-key-path"));
        std::fs::write(&pem, "PEM").unwrap();
        assert_eq!(of(&named).unwrap().key, ServerKey::Known("PEM".into()));
    }
}
