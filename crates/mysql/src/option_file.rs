//! A user's MySQL option file, such as `~/.my.cnf`: server and account in its group `[client]`.
//!
//! The format is that of the MySQL manual ("Using Option Files"): groups in brackets, `name=value`
//! with dashes or underscores in names, spaces around both ignored, values in quotes or not,
//! comments after `#` and `;`, escapes in values. Included files are not read. The content is kept
//! out of logs and messages.

use std::path::Path;

/// The options of the group `[client]`; those that it lacks are absent.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ClientOptions {
    /// Host name or address.
    pub host: Option<String>,
    /// Port, as text.
    pub port: Option<String>,
    /// A Unix socket.
    pub socket: Option<String>,
    /// User name.
    pub user: Option<String>,
    /// Password.
    pub password: Option<String>,
    /// `ssl-mode`.
    pub ssl_mode: Option<String>,
    /// `ssl-ca`.
    pub ssl_ca: Option<String>,
    /// MariaDB's `ssl`, and `skip-ssl` for false.
    pub ssl: Option<bool>,
    /// MariaDB's `ssl-verify-server-cert`.
    pub ssl_verify_server_cert: Option<bool>,
    /// `get-server-public-key`.
    pub get_server_public_key: Option<bool>,
    /// `server-public-key-path`.
    pub server_public_key_path: Option<String>,
    /// An option that would make connections stricter and is not supported.
    pub unbuilt: Option<&'static str>,
}

/// Options that require checks of the server that are not supported.
const UNBUILT: [&str; 4] = ["ssl-capath", "ssl-crl", "ssl-crlpath", "ssl-fips-mode"];

/// Prints neither names nor passwords.
impl std::fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientOptions").finish_non_exhaustive()
    }
}

/// Reads the file.
///
/// # Errors
/// The system's error.
pub fn read(path: &Path) -> std::io::Result<ClientOptions> {
    Ok(parse(&std::fs::read_to_string(path)?))
}

fn parse(text: &str) -> ClientOptions {
    let mut options = ClientOptions::default();
    let mut is_client = false;
    for line in text.lines().map(str::trim) {
        if let Some(group) = line.strip_prefix('[') {
            is_client = group.split(']').next().is_some_and(|group| group.trim() == "client");
        } else if is_client && !line.is_empty() && !line.starts_with(['#', ';', '!']) {
            match line.split_once('=') {
                Some((name, value)) => options.set(&name_of(name), Some(unquoted(value.trim()))),
                None => options.set(&name_of(&unquoted(line)), None),
            }
        }
    }
    options
}

/// Normalizes a name: underscores become dashes, and the prefix of options that programs may ignore
/// (`loose-`) is removed.
fn name_of(text: &str) -> String {
    let name = text.trim().replace('_', "-");
    name.strip_prefix("loose-").map(str::to_owned).unwrap_or(name)
}

/// Reads a switch as MySQL's programs do; without a value it is on.
fn is_on(value: Option<&str>) -> bool {
    let off = ["0", "off", "false"];
    value.is_none_or(|value| !off.iter().any(|word| value.eq_ignore_ascii_case(word)))
}

impl ClientOptions {
    fn set(&mut self, name: &str, value: Option<String>) {
        let switch = is_on(value.as_deref());
        match name {
            "ssl" => self.ssl = Some(switch),
            "skip-ssl" | "disable-ssl" => self.ssl = Some(!switch),
            "ssl-verify-server-cert" => self.ssl_verify_server_cert = Some(switch),
            "skip-ssl-verify-server-cert" | "disable-ssl-verify-server-cert" => {
                self.ssl_verify_server_cert = Some(!switch);
            }
            "get-server-public-key" => self.get_server_public_key = Some(switch),
            _ => {}
        }
        self.unbuilt = self.unbuilt.or(UNBUILT.into_iter().find(|option| *option == name));
        let Some(value) = value else { return };
        let place = match name {
            "host" => &mut self.host,
            "port" => &mut self.port,
            "socket" => &mut self.socket,
            "user" => &mut self.user,
            "password" => &mut self.password,
            "ssl-mode" => &mut self.ssl_mode,
            "ssl-ca" => &mut self.ssl_ca,
            "server-public-key-path" => &mut self.server_public_key_path,
            _ => return,
        };
        *place = Some(value);
    }
}

/// The value without its quotes and its comment, with escapes resolved.
fn unquoted(text: &str) -> String {
    let quote = text.chars().next().filter(|first| matches!(first, '\'' | '"'));
    let mut rest = text[quote.map_or(0, char::len_utf8)..].chars();
    let mut value = String::new();
    while let Some(one) = rest.next() {
        match one {
            _ if Some(one) == quote => return value,
            '#' if quote.is_none() => break,
            '\\' => match rest.next() {
                Some('b') => value.push('\u{8}'),
                Some('t') => value.push('\t'),
                Some('n') => value.push('\n'),
                Some('r') => value.push('\r'),
                Some('s') => value.push(' '),
                Some(other @ ('\\' | '\'' | '"')) => value.push(other),
                // An unknown escape stands for itself.
                Some(other) => value.extend(['\\', other]),
                None => value.push('\\'),
            },
            _ => value.push(one),
        }
    }
    value.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_group_alone_is_read() {
        let options = parse(
            "user=stray\n# a comment\n[mysqld]\npassword=not this\n[client]\n; more\nhost = \
             db1\nport=3307\n\
             user = \"bench\"\npassword = 'a#b\\\\c'  # behind \
             it\nssl_mode=REQUIRED\nssl-ca=/etc/ca.pem\n!include /x\nquick\n[mysql]\nuser=x\n",
        );
        let text = |text: &str| Some(text.to_owned());
        let wanted = ClientOptions {
            host: text("db1"),
            port: text("3307"),
            socket: None,
            user: text("bench"),
            password: text("a#b\\c"),
            ssl_mode: text("REQUIRED"),
            ssl_ca: text("/etc/ca.pem"),
            ..ClientOptions::default()
        };
        assert!(options == wanted);
        assert!(!format!("{options:?}").contains("bench"));
    }

    #[test]
    fn switches_are_on_without_a_value_and_go_by_their_old_names() {
        let of = |line: &str| parse(&format!("[client]\n{line}\n"));
        for (line, ssl) in [
            ("ssl", Some(true)),
            ("ssl=0", Some(false)),
            ("loose_skip_ssl  # for now", Some(false)),
            ("quick", None),
        ] {
            assert_eq!(of(line).ssl, ssl, "{line}");
        }
        assert_eq!(of("ssl-verify-server-cert").ssl_verify_server_cert, Some(true));
        assert_eq!(of("get-server-public-key").get_server_public_key, Some(true));
        assert_eq!(of("get_server_public_key = OFF").get_server_public_key, Some(false));
        let key = of("server-public-key-path=/k.pem").server_public_key_path;
        assert_eq!(key.as_deref(), Some("/k.pem"));
        assert_eq!(of("ssl-crl=/c.pem").unbuilt, Some("ssl-crl"));
    }

    #[test]
    fn values_are_what_mysqls_programs_take_them_for() {
        for (text, value) in [
            ("plain", "plain"),
            ("with blanks # comment", "with blanks"),
            ("\"# in quotes\"", "# in quotes"),
            ("a\\sb\\tc", "a b\tc"),
            ("C:\\dir", "C:\\dir"),
            ("'it\\'s'", "it's"),
            ("", ""),
        ] {
            assert_eq!(unquoted(text), value, "{text}");
        }
    }
}
