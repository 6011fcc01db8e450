//! The account that a plan names: address, encryption, and where name and password are kept.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use assay_load::{Address, Tls};
use assay_mysql::account::{Account, Login, read};
use assay_mysql::option_file::ClientOptions;
use assay_ports::child::withhold;

use assay_plan::{EndpointSpec, Plan};

/// The account of an endpoint. A variable that holds its password is withheld from children from now on.
///
/// # Errors
/// One line: the option file cannot be read, or says of no server.
pub fn account(spec: &EndpointSpec) -> Result<Account> {
    let path = spec.option_file.as_deref().map(absolute).transpose()?;
    let options = path.as_deref().map(read).transpose()?.unwrap_or_default();
    let login = match (path, spec.user.clone(), spec.ask) {
        (Some(path), ..) => Login::OptionFile { path },
        (None, Some(user), true) => Login::Asked { user },
        (None, Some(user), false) => {
            withhold(spec.variable());
            Login::Variable { user, variable: spec.variable().to_owned() }
        }
        (None, None, _) => bail!("the endpoint has neither user nor option_file"),
    };
    let address = match &spec.address {
        Some(address) => Address::parse(address),
        None => address_of(&options),
    };
    let address = address.context(
        "the option file names no server in its group [client]; give it host or socket there, or the endpoint an address",
    )?;
    Ok(Account { address, login, tls: tls(spec, &options)? })
}

/// The accounts of all endpoints of a plan, each once.
///
/// # Errors
/// As of [`account`].
pub fn accounts(plan: &Plan) -> Result<Vec<Account>> {
    let mut all: Vec<Account> = Vec::new();
    for variant in plan.variants() {
        let Some(spec) = &variant.rig.endpoint else { continue };
        let one = account(spec).with_context(|| variant.key.to_string())?;
        if !all.contains(&one) {
            all.push(one);
        }
    }
    Ok(all)
}

/// As MySQL's programs read it: a socket before a host.
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

/// What the plan says, else what the option file does; `PREFERRED` is taken for a wish.
fn tls(spec: &EndpointSpec, options: &ClientOptions) -> Result<Tls> {
    if let Some(ca) = &spec.ssl_ca {
        return Ok(Tls::Verified { ca: absolute(ca)? });
    }
    let mode = options.ssl_mode.as_deref().map(str::to_ascii_uppercase);
    Ok(match (spec.ssl, mode.as_deref(), &options.ssl_ca) {
        (true, ..) => Tls::Unverified,
        (false, Some("DISABLED"), _) => Tls::Off,
        (false, _, Some(ca)) => Tls::Verified { ca: absolute(Path::new(ca))? },
        (false, Some("VERIFY_CA" | "VERIFY_IDENTITY"), None) => {
            bail!(
                "the option file has the server's certificate checked but names no ssl-ca; add it"
            )
        }
        (false, Some(_), None) => Tls::Unverified,
        (false, None, None) => Tls::Off,
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

    fn spec(endpoint: &str) -> EndpointSpec {
        let plan = Plan::parse(&format!(
            "title = \"t\"\nthreads = [1]\nseconds = 1\n[workloads.w]\nrecipe = \"oltp_read_only\"\n[configs.a]\n\
             [rig]\nkind = \"endpoint\"\nendpoint = {{ {endpoint} }}\n"
        ));
        plan.unwrap().rig.endpoint.unwrap()
    }

    #[test]
    fn an_option_file_says_where_and_how_unless_the_plan_does() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my.cnf");
        let of = |file: &str, more: &str| {
            std::fs::write(&path, format!("[client]\nuser=u\npassword=p\n{file}")).unwrap();
            account(&spec(&format!("option_file = \"{}\"{more}", path.display())))
        };
        let tcp = |host: &str, port| Address::Tcp { host: host.into(), port };
        let one = of("host=db1\nport=3307\nssl-mode=REQUIRED\n", "").unwrap();
        assert_eq!((one.address, one.tls), (tcp("db1", 3307), Tls::Unverified));
        let one = of("socket=/run/db.sock\n", "").unwrap();
        assert_eq!((one.address, one.tls), (Address::Socket("/run/db.sock".into()), Tls::Off));
        let one = of("host=::1\nssl-ca=/etc/ca.pem\n", "").unwrap();
        assert_eq!(one.address, tcp("::1", 3306));
        assert_eq!(one.tls, Tls::Verified { ca: "/etc/ca.pem".into() });
        let one = of("host=db1\n", ", address = \"db2\", ssl = true").unwrap();
        assert_eq!((one.address, one.tls), (tcp("db2", 3306), Tls::Unverified));
        assert!(of("", "").unwrap_err().to_string().contains("names no server"));
        assert!(
            of("host=db1\nssl-mode=VERIFY_CA\n", "").unwrap_err().to_string().contains("ssl-ca")
        );
    }
}
