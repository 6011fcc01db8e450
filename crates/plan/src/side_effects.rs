//! Programs, machines and files that a plan makes this program run or reach: a plan is code, and
//! its user should see what it does.

use std::fmt;

use super::document::{Plan, Restore};

/// Settings whose values the server runs or loads when it starts (MySQL reference manual, "Server
/// Command Options").
const RUN_BY_THE_SERVER: [&str; 6] = [
    "init_file",
    "init_connect",
    "init_replica",
    "plugin_load",
    "plugin_load_add",
    "early_plugin_load",
];

/// The most characters of a value that are shown.
const CHARS_MAX: usize = 200;

/// A program, machine or file that a plan makes this program run, load or reach.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SideEffect {
    /// A program as the server.
    Server(String),
    /// A program with its arguments before each run.
    Restore(Vec<String>),
    /// A setting by which the server runs or loads something.
    Setting(String, String),
    /// This program on another machine, over ssh.
    Host(String),
    /// A configuration of ssh, which can name programs.
    SshConfig(String),
    /// A configuration of Ceph, which can name libraries.
    CephConf(String),
    /// A log-in with a password that is not in the plan: where it comes from, and where it goes.
    Password(String, String),
}

/// The words for a person, in one line; characters that are not printable are escaped.
impl fmt::Display for SideEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SideEffect::Server(path) => write!(f, "the server {}", shown(path)),
            SideEffect::Restore(words) => write!(f, "the command {}", shown(&words.join(" "))),
            SideEffect::Setting(name, value) => {
                write!(f, "{name} = {} in the server", shown(value))
            }
            SideEffect::Host(ssh) => write!(f, "itself on {}", shown(ssh)),
            SideEffect::SshConfig(path) => write!(f, "ssh with {}", shown(path)),
            SideEffect::CephConf(path) => write!(f, "Ceph's libraries with {}", shown(path)),
            SideEffect::Password(from, address) => {
                write!(f, "a log-in at {} with the password from {}", shown(address), shown(from))
            }
        }
    }
}

fn shown(text: &str) -> String {
    let short: String = text.chars().take(CHARS_MAX).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("`{}{more}`", short.escape_debug())
}

impl Plan {
    /// Everything that the plan makes this program run or reach, each once.
    #[must_use]
    pub fn side_effects(&self) -> Vec<SideEffect> {
        let path = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
        let servers = self.configs.values().filter_map(|config| config.server.as_ref());
        let mut all: Vec<SideEffect> = self
            .server
            .iter()
            .chain(servers)
            .map(|server| SideEffect::Server(path(server)))
            .collect();
        for config in self.configs.values() {
            let settings = self.settings_of(config).into_iter();
            let run = settings.filter(|(name, _)| is_run(name));
            all.extend(run.map(|(name, value)| SideEffect::Setting(name, value)));
        }
        for rig in self.configs.values().map(|config| self.rig_of(config)) {
            if let Some(endpoint) = &rig.endpoint {
                if let Restore::Command(words) = &endpoint.restore {
                    all.push(SideEffect::Restore(words.clone()));
                }
                let from = endpoint.option_file.as_ref().map(path);
                let from = from.or_else(|| endpoint.password_env.clone());
                let address = endpoint.address.clone().unwrap_or_else(|| "its own address".into());
                all.extend(from.map(|from| SideEffect::Password(from, address)));
            }
            let conf = rig.pool.as_ref().and_then(|pool| pool.ceph_conf.as_ref());
            all.extend(conf.map(|conf| SideEffect::CephConf(path(conf))));
        }
        for host in self.hosts.values() {
            all.push(SideEffect::Host(host.ssh.clone()));
            all.extend(host.ssh_config.as_ref().map(|config| SideEffect::SshConfig(path(config))));
        }
        all.sort();
        all.dedup();
        all
    }
}

/// Servers take names with hyphens, in any case, with `loose_`, and shortened.
fn is_run(name: &str) -> bool {
    let name = super::settings::canonical(name);
    RUN_BY_THE_SERVER.iter().any(|one| name.len() >= 5 && one.starts_with(&name) || name == *one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_a_plan_has_run_is_named_once() {
        let plan = Plan::parse(
            r#"
title = "t"
threads = [1]
seconds = 1
server = "/home/eve/mysqld"
load_hosts = ["far"]
[hosts.far]
ssh = "root@far"
ssh_config = "evil.conf"
[settings]
Init-File = "/tmp/init.sql"
[workloads.w]
recipe = "oltp_read_only"
[configs.a]
[configs.b]
server = "other"
settings = { plugin_load_add = "x=evil.so" }
"#,
        )
        .unwrap();
        let told: Vec<String> = plan.side_effects().iter().map(ToString::to_string).collect();
        for expected in [
            "the server `/home/eve/mysqld`",
            "the server `other`",
            "init_file = `/tmp/init.sql` in the server",
            "plugin_load_add = `x=evil.so` in the server",
            "itself on `root@far`",
            "ssh with `evil.conf`",
        ] {
            let count = told.iter().filter(|line| line.to_lowercase() == expected).count();
            assert_eq!(count, 1, "{expected} in {told:?}");
        }
    }

    #[test]
    fn a_command_is_shown_in_one_line_of_a_sane_length() {
        let command =
            SideEffect::Restore(vec!["sh".into(), "\u{1b}[2Jx\n".into(), "y".repeat(9000)]);
        let told = command.to_string();
        assert!(told.starts_with("the command `sh \\u{1b}[2Jx\\n yyy"), "{told}");
        assert!(told.len() < 300 && !told.contains(char::is_control), "{told}");
    }
}
