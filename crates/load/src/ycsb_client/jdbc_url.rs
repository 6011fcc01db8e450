//! The server in a URL such as `jdbc:mysql://host:port/database?parameters`.

use crate::error::{Error, Result};
use assay_mysql::{Address, Endpoint, ServerKey, SslMode, Tls};

/// MySQL's port.
const PORT: u16 = 3306;

/// The endpoint of a JDBC URL, with this user and password.
///
/// The parameters `useSSL=true` and `sslMode` encrypt, and `allowPublicKeyRetrieval=true` accepts
/// the key that a server sends for the password on a connection without TLS. Parameters that would
/// change the statements are refused; the others concern the driver alone.
///
/// # Errors
/// [`Error::Config`] for another database, several servers, or an unsupported parameter.
pub(super) fn endpoint(url: &str, user: &str, password: &str) -> Result<Endpoint> {
    let bad = || {
        Error::Config(format!(
            "`db.url={url}` is not supported; give one server, such as \
             db.url=jdbc:mysql://127.0.0.1:3306/ycsb"
        ))
    };
    let rest = ["jdbc:mysql://", "jdbc:mariadb://"]
        .iter()
        .find_map(|scheme| url.strip_prefix(scheme))
        .ok_or_else(bad)?;
    let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let (server, database) = place.split_once('/').ok_or_else(bad)?;
    if server.contains([',', ';', '(']) || database.is_empty() {
        return Err(bad());
    }
    let (host, port) = match server.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| bad())?),
        None => (server, PORT),
    };
    let host = if host.is_empty() { "localhost" } else { host };
    refuse_unbuilt(parameters)?;
    let given: Vec<String> = parameters.split('&').map(str::to_ascii_lowercase).collect();
    let has = |parameter: &str| given.iter().any(|text| text == parameter);
    let mode = given.iter().find_map(|text| text.strip_prefix("sslmode="));
    let tls = match mode.map(|mode| (mode, SslMode::parse(mode))) {
        Some((_, Some(SslMode::Disabled))) => Tls::Off,
        Some((_, Some(SslMode::Preferred))) => Tls::Preferred,
        Some((_, Some(_))) => Tls::Unverified,
        Some((mode, None)) => {
            return Err(Error::Config(format!(
                "`sslMode={mode}` in db.url is no mode; give DISABLED, PREFERRED or REQUIRED"
            )));
        }
        None if has("usessl=true") => Tls::Unverified,
        None => Tls::Off,
    };
    let is_fetched = has("allowpublickeyretrieval=true");
    Ok(Endpoint {
        hides_user: false,
        address: Address::Tcp { host: host.into(), port },
        user: user.into(),
        password: password.into(),
        database: database.into(),
        tls,
        key: if is_fetched { ServerKey::Fetched } else { ServerKey::None },
    })
}

/// Parameters of Connector/J that change the statements, and what to give instead.
const UNBUILT: [(&str, &str); 5] = [
    (
        "useserverprepstmts=true",
        "leave it out, or give assay.mode=strict, which prepares on the server",
    ),
    ("usecompression=true", "leave it out"),
    ("sessionvariables=", "set the server's global variables"),
    (
        "sslmode=verify_ca",
        "give sslMode=REQUIRED, which encrypts without a check of the certificate",
    ),
    (
        "sslmode=verify_identity",
        "give sslMode=REQUIRED, which encrypts without a check of the certificate",
    ),
];

fn refuse_unbuilt(parameters: &str) -> Result<()> {
    for given in parameters.split('&') {
        let lower = given.to_ascii_lowercase();
        let unbuilt = UNBUILT.iter().find(|(start, _)| lower.starts_with(start));
        if let Some((_, remedy)) = unbuilt {
            return Err(Error::Config(format!("`{given}` in db.url is not supported; {remedy}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_urls_of_the_driver_are_understood() {
        let found = endpoint("jdbc:mysql://db:3307/ycsb?useSSL=true&x=1", "u", "p").unwrap();
        assert_eq!(found.address, Address::Tcp { host: "db".into(), port: 3307 });
        assert_eq!((found.database.as_str(), found.tls), ("ycsb", Tls::Unverified));
        let plain = endpoint("jdbc:mysql:///test", "u", "p").unwrap();
        assert_eq!(plain.address, Address::Tcp { host: "localhost".into(), port: 3306 });
        assert_eq!((plain.tls, plain.key), (Tls::Off, ServerKey::None));
        let tls = |parameter: &str| endpoint(&format!("jdbc:mysql://db/x?{parameter}"), "u", "p");
        assert_eq!(tls("sslMode=PREFERRED").unwrap().tls, Tls::Preferred);
        assert_eq!(tls("sslMode=REQUIRED&useSSL=false").unwrap().tls, Tls::Unverified);
        assert_eq!(tls("sslMode=DISABLED&useSSL=true").unwrap().tls, Tls::Off);
        assert_eq!(tls("allowPublicKeyRetrieval=true").unwrap().key, ServerKey::Fetched);
        assert!(tls("sslMode=REQIRED").unwrap_err().to_string().contains("is no mode"));
        for unbuilt in ["useServerPrepStmts=true", "sslMode=VERIFY_CA", "sessionVariables=a=1"] {
            let url = format!("jdbc:mysql://db/x?a=b&{unbuilt}");
            let refusal = endpoint(&url, "u", "p").unwrap_err().to_string();
            assert!(refusal.starts_with(&format!("`{unbuilt}` in db.url")), "{refusal}");
        }
        for bad in
            ["jdbc:postgresql://db/x", "jdbc:mysql://a,b/x", "jdbc:mysql://a:x/y", "jdbc:mysql://a"]
        {
            let refusal = endpoint(bad, "u", "p").unwrap_err().to_string();
            assert!(refusal.contains("jdbc:mysql://127.0.0.1"), "{refusal}");
        }
    }
}
