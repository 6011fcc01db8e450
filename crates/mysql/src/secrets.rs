//! Server variables that hold secrets, by their names.

/// Parts of names of variables whose values are, or may be, secrets. Sources: MySQL's reference
/// manual ("Server System Variables", "Replication", "Keyring System Variables",
/// `authentication_ldap_*`) and MariaDB's ("System Variables", `file_key_management`,
/// `hashicorp_key_management`, `s3_secret_key`, `wsrep_sst_auth`).
const PARTS: [&str; 14] = [
    "password",
    "passwd",
    "_pwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "access_key",
    "private_key",
    "filekey",
    "keyring",
    "key_management",
    "_auth",
    "wsrep_provider_options",
];

/// Names that contain one of [`PARTS`] and hold no secret.
const NONE: [&str; 8] = [
    "_authentication_",
    "default_authentication",
    "default_password_lifetime",
    "password_history",
    "old_passwords",
    "secure_auth",
    "_auth_rows",
    "strict_password_validation",
];

/// Printed in place of a secret value.
pub const HIDDEN: &str = "(hidden)";

/// Returns true if the variable's value must not be stored or printed.
#[must_use]
pub fn is_secret(variable: &str) -> bool {
    let name = variable.to_ascii_lowercase();
    PARTS.iter().any(|part| name.contains(part)) && !NONE.iter().any(|none| name.contains(none))
}

/// A server's variables for storing: secret ones keep their names alone.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use assay_mysql::secrets::{HIDDEN, masked};
///
/// let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
/// let variables = BTreeMap::from([pair("keyring_aws_conf_file", "/k"), pair("port", "3306")]);
/// let shown = masked(variables);
/// assert_eq!((&shown["keyring_aws_conf_file"][..], &shown["port"][..]), (HIDDEN, "3306"));
/// ```
#[must_use]
pub fn masked<C>(variables: C) -> C
where
    C: IntoIterator<Item = (String, String)> + FromIterator<(String, String)>,
{
    let mask = |(name, value): (String, String)| {
        // An empty value is shown: there is no secret.
        let hides = is_secret(&name) && !value.is_empty();
        (name, if hides { HIDDEN.to_owned() } else { value })
    };
    variables.into_iter().map(mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_a_secret_is_known_by_its_name() {
        for secret in [
            "report_password",
            "authentication_ldap_simple_bind_root_pwd",
            "wsrep_sst_auth",
            "keyring_hashicorp_secret_id",
            "keyring_okv_conf_dir",
            "hashicorp_key_management_token",
            "file_key_management_filekey",
            "s3_access_key",
            "S3_Secret_Key",
            "ssl_passphrase",
        ] {
            assert!(is_secret(secret), "{secret}");
        }
        for plain in [
            "innodb_buffer_pool_size",
            "key_buffer_size",
            "foreign_key_checks",
            "default_password_lifetime",
            "default_authentication_plugin",
            "authentication_policy",
            "secure_auth",
            "report_host",
        ] {
            assert!(!is_secret(plain), "{plain}");
        }
    }

    #[test]
    fn a_masked_variable_keeps_its_name_alone() {
        let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let all = vec![of("report_password", "s3cret"), of("wsrep_sst_auth", ""), of("port", "1")];
        let masked = masked(all);
        let expected = [of("report_password", HIDDEN), of("wsrep_sst_auth", ""), of("port", "1")];
        assert_eq!(masked, expected);
    }
}
