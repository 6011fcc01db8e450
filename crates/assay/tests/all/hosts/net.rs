//! A network of namespaces: a bridge on this machine and hosts at it, each with an sshd that knows
//! one key of one user.
//!
//! All names contain this process's id, and everything is removed when dropped; the next test
//! program removes what a killed one left.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use assay_ports::child::{Child, Process, spawn};
use assay_testing::skip;
use rustix::process::Signal;

use crate::common::World;

/// Time after which a step counts as stuck.
pub const PATIENCE: Duration = Duration::from_secs(60);

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Path of sshd on Debian.
const SSHD: &str = "/usr/sbin/sshd";

/// Hosts at a bridge, as a user of this machine reaches them.
pub struct Net {
    pub hosts: Vec<NetHost>,
    bridge: String,
    /// This machine's address at the bridge.
    pub address: String,
    pub world: World,
    /// Directory of the user's sockets, with a short path, as usual.
    run: tempfile::TempDir,
    mounts: Vec<PathBuf>,
}

/// A host of the network.
pub struct NetHost {
    pub address: String,
    /// Name that `ssh` takes.
    pub name: String,
    pub namespace: String,
    /// The host's interface at the bridge.
    link: String,
    sshd: Option<Child>,
}

/// Runs a program of the system, which must succeed.
fn done(words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A command in a network namespace. `ip netns exec` would also give it a mount namespace with
/// copies of all mounts, where mounts that other tests remove would persist.
fn inside(namespace: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/run/netns/{namespace}"));
    command
}

/// Whether such a network can be made.
fn has_net() -> bool {
    let has = |words: &[&str]| {
        Command::new(words[0])
            .args(&words[1..])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    if !rustix::process::geteuid().is_root() || !Path::new(SSHD).exists() {
        skip("root and openssh-server");
        return false;
    }
    // Tried once: concurrent tries would disturb each other.
    static CAN: OnceLock<bool> = OnceLock::new();
    let can = *CAN.get_or_init(|| {
        let probe = format!("assay-{}-probe", std::process::id());
        has(&["ip", "netns", "add", &probe]) && has(&["ip", "netns", "del", &probe])
    });
    if !can {
        skip("iproute2 and network namespaces");
    }
    can
}

/// Removes what killed test programs have left.
fn sweep() {
    let is_dead = |name: &str| {
        let pid = name.strip_prefix("assay-").and_then(|rest| rest.split('-').next()?.parse().ok());
        pid.filter(|pid: &u32| !Path::new(&format!("/proc/{pid}")).exists()).is_some()
    };
    for line in done(&["ip", "netns", "list"]).lines() {
        let name = line.split(' ').next().unwrap_or_default();
        if is_dead(name) {
            end_namespace(name);
        }
    }
    for line in done(&["ip", "-o", "link", "show", "type", "bridge"]).lines() {
        let name = line.split(": ").nth(1).unwrap_or_default();
        let pid =
            name.strip_prefix("asy").and_then(|rest| rest.split('x').next()?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = Command::new("ip").args(["link", "del", name]).output();
        }
    }
}

/// Kills all processes in a namespace, which are ours, and removes it.
fn end_namespace(name: &str) {
    for pid in pids(name) {
        if let Ok(Some(process)) = Process::open(pid) {
            let _ = process.signal(Signal::KILL);
            let _ = process.wait(Some(PATIENCE));
        }
    }
    let _ = Command::new("ip").args(["netns", "del", name]).output();
}

fn pids(namespace: &str) -> Vec<u32> {
    let output = Command::new("ip").args(["netns", "pids", namespace]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

impl Net {
    /// Starts a network whose hosts have the program; `None`, with a SKIPPED line, if there can be
    /// none.
    pub fn start(hosts: u32) -> Option<Net> {
        static DIGEST: OnceLock<String> = OnceLock::new();
        let net = Net::bare(hosts)?;
        let program = crate::common::program();
        let digest = DIGEST.get_or_init(|| done(&["sha256sum", program])[..16].to_owned());
        let entry = net.there().join("cache/programs").join(digest);
        std::fs::create_dir_all(&entry).unwrap();
        std::fs::hard_link(program, entry.join("assay")).unwrap();
        std::fs::write(entry.with_file_name(".lock"), "").unwrap();
        Some(net)
    }

    /// Starts a network whose hosts have nothing yet.
    pub fn bare(hosts: u32) -> Option<Net> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if !has_net() {
            return None;
        }
        if NUMBER.load(Ordering::Relaxed) == 0 {
            sweep();
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let pid = std::process::id();
        // Process ids repeat only after hours, so concurrent networks have different subnets.
        let subnet = format!("10.{}.{}", 128 + pid / 250 % 100, (pid % 250 + number) % 250);
        let mut net = Net {
            hosts: Vec::new(),
            bridge: format!("asy{pid}x{number}"),
            address: format!("{subnet}.1"),
            world: World::new(),
            run: tempfile::Builder::new().prefix("asy").tempdir_in("/tmp").unwrap(),
            mounts: Vec::new(),
        };
        done(&["ip", "link", "add", &net.bridge, "type", "bridge"]);
        done(&["ip", "addr", "add", &format!("{subnet}.1/24"), "dev", &net.bridge]);
        done(&["ip", "link", "set", &net.bridge, "up"]);
        net.make_keys();
        for place in 0..hosts {
            let namespace = format!("assay-{pid}-{number}{}", ["a", "b", "c"][place as usize]);
            let address = format!("{subnet}.{}", place + 2);
            let link = format!("av{pid}x{number}{place}");
            done(&["ip", "netns", "add", &namespace]);
            net.hosts.push(NetHost {
                name: format!("root@{address}"),
                address: address.clone(),
                namespace: namespace.clone(),
                link: link.clone(),
                sshd: None,
            });
            let peer = ["peer", "name", "eth0", "netns", &namespace];
            let add = ["ip", "link", "add", &link, "type", "veth"];
            done(&[&add[..], &peer[..]].concat());
            done(&["ip", "link", "set", &link, "master", &net.bridge, "up"]);
            let inside = ["ip", "-n", &namespace];
            let its = format!("{address}/24");
            done(&[&inside[..], &["addr", "add", &its, "dev", "eth0"]].concat());
            done(&[&inside[..], &["link", "set", "eth0", "up"]].concat());
            done(&[&inside[..], &["link", "set", "lo", "up"]].concat());
            net.hosts[place as usize].sshd = Some(net.sshd(place as usize, 22, ""));
        }
        net.trust();
        Some(net)
    }

    fn make_keys(&self) {
        for name in ["host_key", "user_key", "other_key"] {
            let path = self.world.path(name);
            done(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path.to_str().unwrap()]);
        }
        let user = std::fs::read_to_string(self.world.path("user_key.pub")).unwrap();
        self.world.write("authorized_keys", &user);
    }

    /// Starts an sshd on a port of a host, with more configuration, and waits until it listens.
    pub fn sshd(&self, place: usize, port: u16, more: &str) -> Child {
        // Directory for privilege separation, which the package's service makes at each boot.
        std::fs::create_dir_all("/run/sshd").unwrap();
        let NetHost { address, namespace, .. } = &self.hosts[place];
        let path = |name: &str| self.world.path(name).display().to_string();
        let config = format!(
            "Port {port}\nListenAddress {address}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile \
             none\nStrictModes no\nUsePAM no\n\
             PermitRootLogin prohibit-password\nPasswordAuthentication \
             no\nKbdInteractiveAuthentication no\nLogLevel ERROR\n{more}\n",
            path("host_key"),
            path("authorized_keys"),
        );
        let config = self.world.write(&format!("sshd_config_{place}_{port}"), &config);
        let mut command = inside(namespace);
        command.args([SSHD, "-D", "-e", "-f"]).arg(config);
        command.stdin(Stdio::null());
        let sshd = spawn(command, &[]).unwrap();
        let at = (address.as_str(), port);
        wait_until("sshd listens", || std::net::TcpStream::connect(at).is_ok());
        sshd
    }

    /// Adds the keys of all hosts to the user's known hosts, for every port.
    fn trust(&self) {
        let key = std::fs::read_to_string(self.world.path("host_key.pub")).unwrap();
        self.world.write("known_hosts", &format!("* {key}"));
        self.ssh_config("ssh_config", "known_hosts", "user_key", "");
    }

    /// Writes a configuration of the ssh client.
    pub fn ssh_config(&self, name: &str, known_hosts: &str, key: &str, more: &str) -> PathBuf {
        let path = |name: &str| self.world.path(name).display().to_string();
        let text = format!(
            "{more}\nHost *\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n  \
             GlobalKnownHostsFile /dev/null\n  \
             IdentityAgent none\n",
            path(key),
            path(known_hosts),
        );
        self.world.write(name, &text)
    }

    /// `assay` with these arguments, which reaches hosts by the ssh configuration of that name.
    pub fn command(&self, words: &[&str], ssh_config: &str) -> Command {
        self.command_of(crate::common::program().as_ref(), words, ssh_config)
    }

    /// The same with another program.
    pub fn command_of(&self, program: &Path, words: &[&str], ssh_config: &str) -> Command {
        self.command_at(program, words, ssh_config, &self.there())
    }

    /// The same with this directory on the host.
    pub fn command_at(
        &self,
        program: &Path,
        words: &[&str],
        ssh_config: &str,
        directory: &Path,
    ) -> Command {
        let mut command = Command::new(program);
        command.args(words).arg(format!("--ssh-config={}", self.world.path(ssh_config).display()));
        command.arg(format!("--host-directory={}", directory.display()));
        command.current_dir(self.world.path(""));
        command
            .env("ASSAY_STATE", self.world.path("state"))
            .env("XDG_RUNTIME_DIR", self.run.path());
        command.stdin(Stdio::null());
        command
    }

    pub fn run_directory(&self) -> &Path {
        self.run.path()
    }

    /// Whether a client has made its directory.
    pub fn is_connecting(&self) -> bool {
        std::fs::read_dir(self.run.path()).unwrap().next().is_some()
    }

    /// Directory on the hosts: they share this machine's disk.
    pub fn there(&self) -> PathBuf {
        self.world.path("there")
    }

    pub fn run(&self, words: &[&str]) -> Output {
        self.command(words, "ssh_config").output().unwrap()
    }

    /// Runs the command, which must succeed; returns its output.
    pub fn told(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the command, which must fail; returns the line of the error.
    pub fn refused(&self, words: &[&str], ssh_config: &str) -> String {
        error_of(&self.command(words, ssh_config).output().unwrap())
    }

    /// Mounts a file system in memory at `name`.
    pub fn mount(&mut self, name: &str, options: &str) -> PathBuf {
        let path = self.world.path(name);
        std::fs::create_dir_all(&path).unwrap();
        done(&["mount", "-t", "tmpfs", "-o", options, "tmpfs", path.to_str().unwrap()]);
        self.mounts.push(path.clone());
        path
    }

    /// Waits until nothing is left on the hosts but sshd and the program, and nothing here.
    pub fn assert_nothing_left(&self) {
        for host in &self.hosts {
            wait_until(&format!("nothing runs on {}", host.name), || host.programs().is_empty());
        }
        let names = |path: &Path| -> Vec<String> {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
        };
        for part in ["sessions", "ledgers"] {
            let left = names(&self.there().join("state").join(part));
            assert!(left.is_empty(), "{left:?} in {part} there");
        }
        let shelf = names(&self.there().join("cache/programs"));
        let is_whole = |name: &&String| name.len() == 16 || *name == ".lock";
        assert!(shelf.iter().all(|name| is_whole(&name)), "{shelf:?}");
        assert!(names(&self.world.path("state/ledgers")).is_empty());
        assert!(names(self.run.path()).is_empty(), "{:?}", names(self.run.path()));
    }
}

/// Returns the error of a failed command. The command prints one error, and a load one more line
/// about its results.
pub fn error_of(output: &Output) -> String {
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    eprintln!("{said}");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let is_of_results = |line: &str| line.starts_with("an error ended the run after ");
    let is_error = |line: &&str| !line.contains("copying the program") && !is_of_results(line);
    let lines: Vec<&str> = said.lines().filter(is_error).collect();
    assert_eq!(lines.len(), 1, "{said}");
    lines[0].to_owned()
}

impl NetHost {
    /// Takes the link down: packets are lost without notice.
    pub fn cut(&self) {
        done(&["ip", "link", "set", &self.link, "down"]);
    }

    /// Takes the link up and waits until the host is reached; the kernel considers it unreachable
    /// for a while.
    pub fn mend(&self) {
        done(&["ip", "link", "set", &self.link, "up"]);
        let at = (self.address.as_str(), 22);
        wait_until("it is reached again", || std::net::TcpStream::connect(at).is_ok());
    }

    /// Number of connections on the host to its port.
    pub fn clients_of(&self, port: u16) -> usize {
        let filter = format!("( sport = :{port} )");
        let mut command = inside(&self.namespace);
        command.args(["ss", "-Htn", "state", "established"]).arg(filter);
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).lines().count()
    }

    /// Drops the host's packets on their way here, without notice.
    pub fn lose_all(&self) {
        done(&["ip", "-n", &self.namespace, "addr", "flush", "dev", "eth0"]);
        let mac = std::fs::read_to_string(format!("/sys/class/net/{}/address", self.link)).unwrap();
        let device = std::fs::read_link(format!("/sys/class/net/{}/master", self.link)).unwrap();
        let device = device.file_name().unwrap().to_str().unwrap().to_owned();
        let place = ["ip", "neigh", "replace", &self.address, "lladdr", mac.trim(), "dev", &device];
        done(&place);
    }

    /// Processes on the host other than sshd: id and command line.
    pub fn programs(&self) -> Vec<(u32, String)> {
        let of = |pid: u32| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            // A zombie has no command line.
            (!name.starts_with("sshd") && !words.is_empty()).then_some((pid, words))
        };
        pids(&self.namespace).into_iter().filter_map(of).collect()
    }

    /// Processes of sshd on the host that serve a connection.
    pub fn connections(&self) -> Vec<u32> {
        let is_one = |pid: &u32| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).starts_with("sshd: root")
        };
        pids(&self.namespace).into_iter().filter(is_one).collect()
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for host in &mut self.hosts {
            host.sshd.take();
            end_namespace(&host.namespace);
        }
        let _ = Command::new("ip").args(["link", "del", &self.bridge]).output();
        for path in &self.mounts {
            let _ = Command::new("umount").arg(path).output();
        }
    }
}

/// Waits until `is_so`.
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not so: {what}");
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Kills a process that a test started.
pub fn kill(pid: u32) {
    if let Some(process) = Process::open(pid).unwrap() {
        process.signal(Signal::KILL).unwrap();
        assert!(process.wait(Some(PATIENCE)).unwrap());
    }
}
