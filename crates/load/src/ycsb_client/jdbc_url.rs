//! `jdbc:mysql://host:port/database?parameters`: where the server is.

use crate::error::{Error, Result};
use assay_mysql::{Address, Endpoint, Tls};

/// MySQL's port.
const PORT: u16 = 3306;

/// The endpoint that a URL of the JDBC driver names, with this user and password.
///
/// Parameters of the driver do nothing here but `useSSL=true` and `sslMode`, which encrypt.
///
/// # Errors
/// [`Error::Config`] for another database or several servers.
pub(super) fn endpoint(url: &str, user: &str, password: &str) -> Result<Endpoint> {
    let bad = || {
        Error::Config(format!(
            "`db.url={url}` is not supported; give one server, such as db.url=jdbc:mysql://127.0.0.1:3306/ycsb"
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
    let is_encrypted = parameters.split('&').any(|one| {
        let one = one.to_ascii_lowercase();
        one == "usessl=true" || (one.starts_with("sslmode=") && one != "sslmode=disabled")
    });
    Ok(Endpoint {
        hides_user: false,
        address: Address::Tcp { host: host.into(), port },
        user: user.into(),
        password: password.into(),
        database: database.into(),
        tls: if is_encrypted { Tls::Unverified } else { Tls::Off },
    })
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
        assert_eq!(plain.tls, Tls::Off);
        for bad in
            ["jdbc:postgresql://db/x", "jdbc:mysql://a,b/x", "jdbc:mysql://a:x/y", "jdbc:mysql://a"]
        {
            let refusal = endpoint(bad, "u", "p").unwrap_err().to_string();
            assert!(refusal.contains("jdbc:mysql://127.0.0.1"), "{refusal}");
        }
    }
}
