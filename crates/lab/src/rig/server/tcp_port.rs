//! A TCP port of a server of ours: on loopback, or open to other machines for as long as the server
//! runs.
//!
//! Guarantee: nobody logs in over it but one account with a password, which is drawn for this port
//! alone, goes into no file and is never shown.

use std::fmt;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::Path;

use anyhow::{Context, Result, bail};
use assay_mysql::{Address, Endpoint, ServerKey, Tls};

/// File of the key for passwords in a data directory (MySQL reference manual,
/// `caching_sha2_password_public_key_path`).
const PUBLIC_KEY: &str = "public_key.pem";

const LOOPBACK: &str = "127.0.0.1";

/// All addresses of the machine, in MySQL's words (reference manual, `bind_address`).
const EVERYWHERE: &str = "*";

/// A port, and the account that may come in.
#[derive(Clone)]
pub struct TcpPort {
    /// The address or name by which the server is reached.
    pub host: String,
    /// The port.
    pub number: u16,
    /// Password of the account [`TcpPort::USER`], which has all rights; nobody else can log in over
    /// TCP.
    pub password: String,
}

impl TcpPort {
    /// Name of the account that may log in over TCP.
    pub const USER: &str = "assay";

    /// This one on loopback.
    ///
    /// # Errors
    /// No password can be drawn.
    pub fn on_loopback(number: u16) -> Result<TcpPort> {
        Ok(TcpPort { host: LOOPBACK.into(), number, password: password()? })
    }

    /// A free one that other machines reach by this address or name.
    ///
    /// # Errors
    /// There is none, or no password can be drawn.
    pub fn for_others(host: &str) -> Result<TcpPort> {
        let any = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).context("there is no free port")?;
        let number = any.local_addr().context("there is no free port")?.port();
        Ok(TcpPort { host: host.into(), number, password: password()? })
    }

    /// Endpoint of a database over the port; `datadir` is the server's, where MySQL keeps the key
    /// for passwords.
    #[must_use]
    pub fn endpoint(&self, database: &str, datadir: &Path) -> Endpoint {
        let key = std::fs::read_to_string(datadir.join(PUBLIC_KEY)).map(ServerKey::Known);
        Endpoint {
            address: Address::Tcp { host: self.host.clone(), port: self.number },
            user: TcpPort::USER.into(),
            password: self.password.clone(),
            database: database.into(),
            tls: Tls::Off,
            // MariaDB has none, and needs none.
            key: key.unwrap_or_default(),
            hides_user: false,
        }
    }

    /// The address at which the server listens: the given one, or any if it is a name or may be
    /// translated on the way.
    pub(super) fn bind_address(&self) -> String {
        let own = self.host.parse::<IpAddr>().ok();
        let own = own.filter(|address| TcpListener::bind((*address, 0)).is_ok());
        own.map_or_else(|| EVERYWHERE.to_owned(), |address| address.to_string())
    }

    /// From where the account may come.
    pub(super) fn from(&self) -> &'static str {
        if self.host == LOOPBACK { LOOPBACK } else { "%" }
    }

    pub(super) fn check(&self) -> Result<()> {
        let number = self.number;
        if self.password.is_empty() {
            bail!("TCP port {number} needs a password; give one");
        }
        let bind = self.bind_address();
        let at = if bind == EVERYWHERE { "0.0.0.0" } else { &bind };
        let free = TcpListener::bind((at, number));
        free.map(drop).with_context(|| format!("TCP port {number} cannot be used; name another"))
    }
}

/// The password stays out of what is printed.
impl fmt::Debug for TcpPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpPort")
            .field("host", &self.host)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// A port is open to every user of the machine, or to others, so its password is drawn anew each
/// time: 128 bits.
fn password() -> Result<String> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("cannot read /dev/urandom for a password")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_open_no_wider_than_its_address_asks() {
        let loopback = TcpPort::on_loopback(3306).unwrap();
        assert_eq!((loopback.bind_address().as_str(), loopback.from()), (LOOPBACK, LOOPBACK));
        let own = TcpPort::for_others("127.0.0.2").unwrap();
        assert_eq!((own.bind_address().as_str(), own.from()), ("127.0.0.2", "%"));
        own.check().unwrap();
        // Neither a name nor an address that no interface here has (RFC 5737, 2) can be listened
        // at.
        for other in ["db.example", "192.0.2.1"] {
            assert_eq!(TcpPort::for_others(other).unwrap().bind_address(), EVERYWHERE, "{other}");
        }
        assert_eq!(own.password.len(), 32);
        assert_ne!(own.password, TcpPort::for_others("127.0.0.2").unwrap().password);
        assert!(
            !format!("{own:?} {:?}", own.endpoint("x", Path::new("/"))).contains(&own.password)
        );
    }
}
