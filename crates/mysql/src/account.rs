//! Logins on servers that others run, without secrets: an account may be stored, its endpoint may
//! not.
//!
//! A password is looked up when it is needed, where its owner keeps it: in an environment variable,
//! in an option file, or in the owner's memory. It is never in a command line, in a file of ours or
//! in a message.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::endpoint::{Address, Endpoint, ServerKey, Tls};
use crate::option_file::{self, ClientOptions};

/// A server, and the place where user name and password for it are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The server's address.
    pub address: Address,
    /// The source of user name and password.
    pub login: Login,
    /// Encryption of the connection.
    pub tls: Tls,
    /// The key that encrypts the password on a connection without TLS.
    #[serde(default)]
    pub key: ServerKey,
}

/// The place where user name and password are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Login {
    /// The password is in an environment variable.
    Variable {
        /// User name.
        user: String,
        /// The variable's name.
        variable: String,
    },
    /// User name and password are in the group `[client]` of an option file.
    OptionFile {
        /// Absolute path.
        path: PathBuf,
    },
    /// The user types the password at the terminal, once in the life of a process; see
    /// [`set_password`].
    Asked {
        /// User name.
        user: String,
    },
}

/// The reason why there is no password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPassword {
    /// The variable is not set.
    #[error("the environment variable {0} is not set; set it to the password")]
    Variable(String),
    /// The option file cannot be read.
    #[error("cannot read the option file {}: {reason}", path.display())]
    OptionFile {
        /// The file.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// The option file lacks the user name or the password.
    #[error("the option file {} has no {key} in its group [client]; add it", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The key that is missing.
        key: &'static str,
    },
    /// The user was not asked.
    #[error(
        "the password for {0} must be typed, but there is no terminal to ask for it; use \
         password_env or option_file"
    )]
    NotAsked(String),
}

/// Typed passwords, by account.
static TYPED: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

/// Stores the password that was typed for `account`, for the life of this process.
pub fn set_password(account: &Account, password: String) {
    crate::client::keep_from_cores();
    TYPED.lock().unwrap_or_else(PoisonError::into_inner).insert(account.to_string(), password);
}

impl Account {
    /// Returns true if the user has yet to type the password.
    #[must_use]
    pub fn must_be_asked(&self) -> bool {
        let is_typed =
            || TYPED.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&self.to_string());
        matches!(self.login, Login::Asked { .. }) && !is_typed()
    }

    /// The endpoint, with its password: not to be stored.
    ///
    /// # Errors
    /// There is no password where it should be.
    pub fn endpoint(&self, database: &str) -> Result<Endpoint, NoPassword> {
        let (user, password) = self.login(|name| std::env::var(name).ok())?;
        Ok(Endpoint {
            address: self.address.clone(),
            user,
            password,
            database: database.into(),
            tls: self.tls.clone(),
            key: self.key.clone(),
            hides_user: true,
        })
    }

    fn login(
        &self,
        variable_of: impl Fn(&str) -> Option<String>,
    ) -> Result<(String, String), NoPassword> {
        match &self.login {
            Login::Variable { user, variable } => {
                let password = variable_of(variable);
                let password = password.ok_or_else(|| NoPassword::Variable(variable.clone()))?;
                Ok((user.clone(), password))
            }
            Login::OptionFile { path } => {
                let options = read(path)?;
                let missing = |key| NoPassword::Missing { path: path.clone(), key };
                let user = options.user.ok_or_else(|| missing("user"))?;
                Ok((user, options.password.ok_or_else(|| missing("password"))?))
            }
            Login::Asked { user } => {
                let told = TYPED.lock().unwrap_or_else(PoisonError::into_inner);
                let password = told.get(&self.to_string()).cloned();
                let password = password.ok_or_else(|| NoPassword::NotAsked(self.to_string()))?;
                Ok((user.clone(), password))
            }
        }
    }
}

/// Reads the option file of an account.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &std::path::Path) -> Result<ClientOptions, NoPassword> {
    option_file::read(path).map_err(|error| NoPassword::OptionFile {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

/// Prints the user's name, unless it is kept with the password, and the address.
impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.login {
            Login::Variable { user, .. } | Login::Asked { user } => {
                write!(f, "{user}@{}", self.address)
            }
            Login::OptionFile { .. } => self.address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(login: Login) -> Account {
        let address = Address::Tcp { host: "db1".into(), port: 3306 };
        Account { address, login, tls: Tls::Off, key: ServerKey::None }
    }

    #[test]
    fn a_password_is_looked_up_where_it_is_kept_and_its_lack_is_typed() {
        let login = Login::Variable { user: "ann".into(), variable: "DB_PASSWORD".into() };
        let in_variable = account(login);
        let of = |value: Option<&str>| in_variable.login(|_| value.map(str::to_owned));
        assert_eq!(of(Some("s3cret")), Ok(("ann".into(), "s3cret".into())));
        let told = of(None).unwrap_err().to_string();
        assert!(told.contains("DB_PASSWORD is not set"), "{told}");

        let directory = std::env::temp_dir().join(format!("assay-account-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("my.cnf");
        let in_file = account(Login::OptionFile { path: path.clone() });
        let lookup = || in_file.login(|_| None);
        assert!(matches!(lookup(), Err(NoPassword::OptionFile { .. })));
        std::fs::write(&path, "[client]\nuser=ann\n").unwrap();
        assert_eq!(lookup(), Err(NoPassword::Missing { path: path.clone(), key: "password" }));
        std::fs::write(&path, "[client]\nuser=ann\npassword=s3cret\n").unwrap();
        assert_eq!(lookup(), Ok(("ann".into(), "s3cret".into())));
        std::fs::remove_dir_all(&directory).unwrap();

        let asked = account(Login::Asked { user: "bob".into() });
        assert!(asked.must_be_asked() && asked.login(|_| None).is_err());
        set_password(&asked, "typed".into());
        assert_eq!(asked.login(|_| None), Ok(("bob".into(), "typed".into())));
        assert!(!asked.must_be_asked());
    }

    #[test]
    fn an_endpoint_is_the_accounts_with_its_encryption() {
        let login = Login::Asked { user: "kim".into() };
        let tls = Tls::Verified { ca: "/ca.pem".into() };
        let verified = Account { tls: tls.clone(), ..account(login) };
        set_password(&verified, "typed".into());
        let endpoint = verified.endpoint("shop").unwrap();
        assert_eq!((endpoint.tls, &endpoint.address), (tls, &verified.address));
        assert_eq!((endpoint.user, endpoint.password), ("kim".into(), "typed".into()));
        assert_eq!(endpoint.database, "shop");
        assert!(endpoint.hides_user);
    }

    #[test]
    fn what_is_stored_of_an_account_holds_no_secret() {
        let asked = account(Login::Asked { user: "eve".into() });
        set_password(&asked, "s3cret".into());
        assert!(!format!("{asked} {asked:?}").contains("s3cret"));
        let endpoint = asked.endpoint("d").unwrap();
        assert!(!format!("{endpoint} {endpoint:?}").contains("s3cret"));
    }
}
