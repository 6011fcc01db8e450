//! The specification of another machine, as a user writes it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A host, as in `[hosts.db]` of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSpec {
    /// The destination for `ssh`: `host`, `user@host`, `ssh://user@host:port`, or a name in its
    /// configuration.
    pub ssh: String,
    /// Directory for Assay's files there; `None`: the user's cache and state directories there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Address for MySQL's traffic; `None`: the address that `ssh` connects to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Configuration file of `ssh` that replaces the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_config: Option<PathBuf>,
}

impl HostSpec {
    /// A host with defaults for everything but its destination.
    #[must_use]
    pub fn new(ssh: &str) -> HostSpec {
        HostSpec { ssh: ssh.to_owned(), directory: None, address: None, ssh_config: None }
    }

    /// Checks the fields. An error is one line that says what to change.
    pub fn check(&self) -> Result<(), String> {
        let HostSpec { ssh, directory, address, .. } = self;
        let is_word = |text: &str| {
            !text.is_empty()
                && !text.starts_with('-')
                && !text.contains(|sign: char| sign.is_whitespace() || sign.is_control())
        };
        if !is_word(ssh) {
            return Err(format!("`{ssh}` is no host; give one as `ssh` takes it: user@host"));
        }
        if let Some(address) = address.as_deref().filter(|address| !is_word(address)) {
            return Err(format!("`{address}` is no address; give a name or an IP address"));
        }
        match directory.as_deref().filter(|directory| !is_usable(directory)) {
            Some(directory) => Err(format!(
                "the directory {} on {ssh} is not absolute; give its full path",
                directory.display()
            )),
            None => Ok(()),
        }
    }
}

fn is_usable(directory: &Path) -> bool {
    directory.is_absolute()
        && directory.to_str().is_some_and(|text| !text.contains(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ssh_would_take_for_an_option_or_two_words_is_refused() {
        for good in ["db1", "ann@db1", "ssh://ann@db1:2222", "ann@fe80::1%eth0"] {
            assert_eq!(HostSpec::new(good).check(), Ok(()), "{good}");
        }
        for bad in ["", "-oProxyCommand=x", "db1 rm", "db1\n"] {
            assert!(HostSpec::new(bad).check().unwrap_err().contains("is no host"), "{bad}");
        }
        let spec = HostSpec { directory: Some("tmp".into()), ..HostSpec::new("db1") };
        assert!(spec.check().unwrap_err().contains("the directory tmp on db1 is not absolute"));
        let spec = HostSpec { address: Some("a b".into()), ..HostSpec::new("db1") };
        assert!(spec.check().unwrap_err().contains("is no address"));
    }
}
