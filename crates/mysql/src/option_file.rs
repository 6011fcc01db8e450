//! A user's MySQL option file, such as `~/.my.cnf`: what its group `[client]` says of a server and an account.
//!
//! As the MySQL manual has it ("Using Option Files"): groups in brackets, `name=value` with dashes or underscores in names,
//! blanks around both left out, values in quotes or not, `#` and `;` before comments, escapes in values. Files that it
//! includes are not read. What is read is kept out of logs and messages.

use std::path::Path;

/// What the group `[client]` says; what it does not say is absent.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ClientOptions {
    /// Host name or address.
    pub host: Option<String>,
    /// Port, as it stands there.
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
}

/// Neither names nor passwords are for logs.
impl std::fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientOptions").finish_non_exhaustive()
    }
}

/// Reads the file.
///
/// # Errors
/// What the system answered.
pub fn read(path: &Path) -> std::io::Result<ClientOptions> {
    Ok(parse(&std::fs::read_to_string(path)?))
}

fn parse(text: &str) -> ClientOptions {
    let mut options = ClientOptions::default();
    let mut is_client = false;
    for line in text.lines().map(str::trim) {
        if let Some(group) = line.strip_prefix('[') {
            is_client = group.split(']').next().is_some_and(|group| group.trim() == "client");
        } else if is_client
            && !line.starts_with(['#', ';', '!'])
            && let Some((name, value)) = line.split_once('=')
        {
            options.set(&name.trim().replace('_', "-"), unquoted(value.trim()));
        }
    }
    options
}

impl ClientOptions {
    fn set(&mut self, name: &str, value: String) {
        let place = match name {
            "host" => &mut self.host,
            "port" => &mut self.port,
            "socket" => &mut self.socket,
            "user" => &mut self.user,
            "password" => &mut self.password,
            "ssl-mode" => &mut self.ssl_mode,
            "ssl-ca" => &mut self.ssl_ca,
            _ => return,
        };
        *place = Some(value);
    }
}

/// The value without its quotes and its comment, escapes resolved.
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
                // What is no escape stands for itself.
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
            "user=stray\n# a comment\n[mysqld]\npassword=not this\n[client]\n; more\nhost = db1\nport=3307\n\
             user = \"bench\"\npassword = 'a#b\\\\c'  # behind it\nssl_mode=REQUIRED\nssl-ca=/etc/ca.pem\n!include /x\nquick\n[mysql]\nuser=x\n",
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
        };
        assert!(options == wanted);
        assert!(!format!("{options:?}").contains("bench"));
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
