//! OpenSSH's client: the options it is called with, and the meaning of its messages.
//!
//! The user's configuration decides how a host is reached and which keys are trusted. The options
//! set here keep the client from prompting, from forwarding anything of this machine to the host,
//! and from waiting for a dead link.

use std::ffi::OsString;
use std::path::Path;

use assay_base::HostSpec;
use assay_base::text::on_one_line;

use crate::failure::FailureReason;

/// Options of every call. A link is dead after three unanswered keep-alive messages, 3 s apart
/// (`ssh_config(5)`).
const OPTIONS: [&str; 13] = [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=3",
    "ServerAliveCountMax=3",
    "ControlPersist=no",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "Tunnel=no",
    "LogLevel=ERROR",
];

/// Arguments of a call up to the host's name: those of the client that connects, or of one that
/// shares its connection through `socket`.
pub(crate) fn words(spec: &HostSpec, socket: &Path, connects: bool) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    if let Some(file) = &spec.ssh_config {
        words.extend(["-F".into(), file.into()]);
    }
    let mut option = |text: OsString| words.extend(["-o".into(), text]);
    OPTIONS.iter().for_each(|text| option(text.into()));
    let mut path = OsString::from("ControlPath=");
    path.push(socket);
    option(path);
    match connects {
        true => {
            option("ControlMaster=yes".into());
            words.push("-N".into());
        }
        false => {
            option("ControlMaster=no".into());
            // Without a shared connection the client would open its own.
            option_without_connection(&mut words);
        }
    }
    words.extend(["-T".into(), "--".into(), spec.ssh.clone().into()]);
    words
}

fn option_without_connection(words: &mut Vec<OsString>) {
    words.extend(["-o".into(), "ProxyCommand=exit 255".into()]);
}

/// The reason why the client ended without a connection. Only its message reveals it.
pub(crate) fn meaning(said: &str) -> FailureReason {
    let has = |words: &str| said.contains(words);
    let line = |words: &str| said.lines().find(|line| line.contains(words)).map(str::trim);
    if has("REMOTE HOST IDENTIFICATION HAS CHANGED") {
        // "Offending ED25519 key in FILE:LINE"
        let known_at = line("Offending").and_then(|line| line.split_once(" key in "));
        return FailureReason::HostKeyChanged { known_at: known_at.map(|(_, at)| at.to_owned()) };
    }
    if has("Host key verification failed") || has("host key is known for") {
        return FailureReason::HostKeyUnknown;
    }
    if let Some(refusal) = line("Permission denied (") {
        let methods = refusal.rsplit_once('(').map_or("", |(_, methods)| methods);
        let methods = methods.trim_end_matches(['.', ')']).to_owned();
        return FailureReason::LoginRefused { methods };
    }
    let unreachable = [
        "Could not resolve hostname",
        "connect to host",
        "Connection timed out",
        "Connection closed",
        "Connection reset",
        "banner exchange",
        "kex_exchange_identification",
    ];
    let words = on_one_line(said);
    match unreachable.iter().any(|words| has(words)) {
        true => FailureReason::Unreachable(words.trim_start_matches("ssh: ").to_owned()),
        false if words.is_empty() => FailureReason::Client("it ended without a word".into()),
        false => FailureReason::Client(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_client_says_has_a_meaning() {
        let changed = "@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     \
                       @\nOffending ED25519 key in /root/known:7\n\
                       Host key verification failed.\n";
        assert!(matches!(
            meaning(changed),
            FailureReason::HostKeyChanged { known_at: Some(at) } if at == "/root/known:7"
        ));
        let unknown = "No ED25519 host key is known for db1 and you have requested strict \
                       checking.\nHost key verification failed.";
        assert!(matches!(meaning(unknown), FailureReason::HostKeyUnknown));
        assert!(matches!(
            meaning("ann@db1: Permission denied (publickey,password).\r\n"),
            FailureReason::LoginRefused { methods } if methods == "publickey,password"
        ));
        for said in [
            "ssh: connect to host 10.0.0.9 port 22: Connection refused",
            "ssh: Could not resolve hostname db9: Name or service not known",
            "kex_exchange_identification: Connection closed by remote host",
        ] {
            assert!(matches!(meaning(said), FailureReason::Unreachable(_)), "{said}");
        }
        assert!(matches!(
            meaning("command-line: line 0: Bad configuration option: x"),
            FailureReason::Client(_)
        ));
        assert!(matches!(meaning(""), FailureReason::Client(_)));
    }

    #[test]
    fn who_uses_a_connection_never_makes_one() {
        let spec = HostSpec { ssh_config: Some("/c".into()), ..HostSpec::new("ann@db1") };
        let of = |connects| -> Vec<String> {
            let words = words(&spec, Path::new("/run/s"), connects);
            words.into_iter().map(|word| word.into_string().unwrap()).collect()
        };
        let (maker, user) = (of(true), of(false));
        assert_eq!(maker[..2], ["-F", "/c"]);
        assert!(maker.contains(&"ControlMaster=yes".to_owned()) && maker.contains(&"-N".into()));
        assert!(user.contains(&"ProxyCommand=exit 255".to_owned()));
        assert!(!user.contains(&"-N".to_owned()));
        for words in [maker, user] {
            assert!(words.contains(&"ControlPath=/run/s".to_owned()));
            assert_eq!(words[words.len() - 2..], ["--", "ann@db1"], "no host is an option");
        }
    }
}
