//! Runs apt with a package state, lists and archives of its own: it resolves and downloads, and
//! installs nothing.
//!
//! The machine's proxies, mirrors and keys apply, because its configuration is read first and
//! Assay's after it (`apt.conf(5)`: the file given by `--config-file` is read last). Hooks that the
//! machine runs after an update or a download are cleared: they belong to the machine's own state.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use assay_system::tool::{self, Failed};

/// Generous for slow mirrors; a mirror that hangs is given up.
const LIMIT: Duration = Duration::from_secs(30 * 60);

#[derive(Debug, Clone, Copy)]
pub enum Sources<'a> {
    /// The sources in `/etc/apt`.
    Configured,
    /// One suite, component `main`, of a mirror.
    Suite {
        mirror: &'a AptMirror,
        /// The suite's name, e.g. `sid`.
        suite: &'a str,
    },
}

/// A mirror in the machine's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AptMirror {
    uri: String,
    signed_by: Option<String>,
}

/// A package index known to apt (`apt-get(8)`, "indextargets").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageIndex {
    uri: String,
    release: String,
    component: String,
    signed_by: String,
}

/// The packages of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DownloadPlan {
    packages: usize,
    /// Size of all packages together.
    pub download_bytes: u64,
}

impl fmt::Display for DownloadPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DownloadPlan { packages, download_bytes } = self;
        write!(formatter, "{packages} packages, {} MB", download_bytes.div_ceil(1_000_000))
    }
}

/// A private apt.
#[derive(Debug)]
pub struct Apt {
    configuration: PathBuf,
    archives: PathBuf,
}

impl Apt {
    /// Lays out the private state in `directory`.
    pub fn new(directory: &Path, sources: Sources<'_>) -> Result<Apt> {
        for part in ["state/lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(directory.join(part))?;
        }
        fs::write(directory.join("status"), "")?;
        if let Sources::Suite { mirror, suite } = sources {
            fs::write(directory.join("sources.list"), mirror.line(suite))?;
        }
        let configuration = directory.join("apt.conf");
        fs::write(&configuration, configuration_text(directory, sources)?)?;
        Ok(Apt { configuration, archives: directory.join("cache/archives") })
    }

    /// Reads the lists.
    ///
    /// # Errors
    /// Returns apt's first complaint if no list could be read. If some lists were read, sources
    /// that fail are ignored.
    pub fn update(&self) -> Result<()> {
        let stderr = match self.run("apt-get", &["update"]) {
            Ok(said) => said.stderr,
            Err(error) => error.downcast::<Failed>()?.stderr,
        };
        if self.targets()?.is_empty() {
            let reason = first_complaint(&stderr).unwrap_or("no sources are configured");
            bail!(
                "no package list could be read ({reason}); check the network and the package \
                 sources"
            );
        }
        Ok(())
    }

    /// The package indexes that were read.
    pub fn targets(&self) -> Result<Vec<PackageIndex>> {
        let format = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(SIGNED_BY)";
        let said =
            self.run("apt-get", &["indextargets", "--format", format, "Created-By: Packages"])?;
        Ok(said.stdout.lines().filter_map(PackageIndex::parse).collect())
    }

    /// The package called `stem`, or `stem-VERSION` with the highest version.
    pub fn newest_named(&self, stem: &str) -> Result<Option<String>> {
        let said = self.run("apt-cache", &["pkgnames", stem])?;
        Ok(newest(stem, said.stdout.lines()))
    }

    /// The download of `packages` and their dependencies.
    pub fn plan(&self, packages: &[&str]) -> Result<DownloadPlan> {
        let said = self.install(packages, &["--print-uris"])?;
        let sizes = said.stdout.lines().filter(|line| line.starts_with('\'')).map(|line| {
            line.split_whitespace().nth(2).and_then(|size| size.parse::<u64>().ok()).unwrap_or(0)
        });
        let sizes: Vec<u64> = sizes.collect();
        Ok(DownloadPlan { packages: sizes.len(), download_bytes: sizes.iter().sum() })
    }

    /// Downloads `packages` and their dependencies; returns the package files.
    pub fn download(&self, packages: &[&str]) -> Result<Vec<PathBuf>> {
        self.install(packages, &["--download-only"])
            .context("the download failed; try again, or check the network")?;
        let files = fs::read_dir(&self.archives)?.filter_map(|entry| Some(entry.ok()?.path()));
        let mut packages: Vec<_> =
            files.filter(|path| path.extension().is_some_and(|end| end == "deb")).collect();
        packages.sort();
        Ok(packages)
    }

    fn install(&self, packages: &[&str], options: &[&str]) -> Result<tool::Said> {
        let mut arguments = vec!["install", "--yes", "--quiet"];
        arguments.extend_from_slice(options);
        arguments.extend_from_slice(packages);
        self.run("apt-get", &arguments)
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<tool::Said> {
        let mut command = Command::new(program);
        command.arg("--config-file").arg(&self.configuration).args(arguments);
        command.env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive");
        tool::run(command, LIMIT)
    }
}

impl AptMirror {
    fn line(&self, suite: &str) -> String {
        let option = self.signed_by.as_ref().map(|keys| format!("[signed-by={keys}] "));
        format!("deb {}{} {suite} main\n", option.unwrap_or_default(), self.uri)
    }
}

impl PackageIndex {
    fn parse(line: &str) -> Option<PackageIndex> {
        let mut fields = line.split('|').map(str::to_string);
        let mut field = || fields.next();
        Some(PackageIndex {
            uri: field()?,
            release: field()?,
            component: field()?,
            signed_by: field()?,
        })
    }

    /// The keys that verify this source: its own, else Debian's archive keyring, else apt's trusted
    /// keys. An apt that does not know the field prints the field's name instead.
    fn keys(&self) -> Option<String> {
        let own = Path::new(&self.signed_by);
        let keyrings = ["pgp", "gpg"]
            .map(|end| PathBuf::from(format!("/usr/share/keyrings/debian-archive-keyring.{end}")));
        let keyring = || keyrings.iter().find(|path| path.exists()).map(PathBuf::as_path);
        let keys = Some(own).filter(|path| path.is_absolute()).or_else(keyring)?;
        Some(keys.display().to_string())
    }
}

/// The mirror of Debian's base archive among the sources; `None` on other distributions.
#[must_use]
pub fn debian_mirror(targets: &[PackageIndex]) -> Option<AptMirror> {
    let system = fs::read_to_string("/etc/os-release").ok()?;
    let value = |key: &str| {
        let line = system.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.map(|value| value.trim_matches('"').to_string())
    };
    (value("ID")? == "debian")
        .then(|| base_mirror(targets, value("VERSION_CODENAME").as_deref()))?
}

/// The source of component `main` for the running release. If the release has another name there
/// (`stable`), the first source that is neither updates, security nor backports.
fn base_mirror(targets: &[PackageIndex], codename: Option<&str>) -> Option<AptMirror> {
    let main = || targets.iter().filter(|target| target.component == "main");
    let exact = main().find(|target| Some(target.release.as_str()) == codename);
    let plain = || main().find(|target| !target.release.contains(['-', '/']));
    let target = exact.or_else(plain)?;
    Some(AptMirror { uri: target.uri.clone(), signed_by: target.keys() })
}

fn newest<'a>(stem: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let version = |name: &str| -> Option<Vec<u32>> {
        match name.strip_prefix(stem)? {
            // The plain name stands for the newest version.
            "" => Some(vec![u32::MAX]),
            rest => rest.strip_prefix('-')?.split('.').map(|part| part.parse().ok()).collect(),
        }
    };
    let best = names.filter_map(|name| Some((version(name)?, name))).max()?;
    Some(best.1.to_string())
}

fn first_complaint(stderr: &str) -> Option<&str> {
    let starting = |mark: &str| stderr.lines().find(|line| line.starts_with(mark));
    starting("E:").or_else(|| starting("W:"))
}

fn configuration_text(directory: &Path, sources: Sources<'_>) -> Result<String> {
    let directory = match directory.to_str() {
        Some(text) if !text.contains(['"', '\n', ';']) => text,
        _ => bail!("apt cannot work in {}; set ASSAY_CACHE to a plain path", directory.display()),
    };
    let mut text = format!(
        r#"Dir::State "{directory}/state";
Dir::State::Lists "{directory}/state/lists";
Dir::State::Status "{directory}/status";
Dir::Cache "{directory}/cache";
Dir::Cache::Archives "{directory}/cache/archives";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
"#
    );
    if let Sources::Suite { .. } = sources {
        text.push_str(&format!(
            "Dir::Etc::SourceList \"{directory}/sources.list\";\nDir::Etc::SourceParts \
             \"/dev/null\";\n"
        ));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(release: &str, component: &str, signed_by: &str) -> PackageIndex {
        let line = format!("http://mirror.test/debian/|{release}|{component}|{signed_by}");
        PackageIndex::parse(&line).unwrap()
    }

    #[test]
    fn the_base_archive_is_told_from_updates_and_security() {
        let keys = "/etc/keys.gpg";
        let targets = [
            target("bookworm-updates", "main", keys),
            target("bookworm", "contrib", keys),
            target("bookworm", "main", keys),
        ];
        let mirror = base_mirror(&targets, Some("bookworm")).unwrap();
        assert_eq!(
            mirror.line("sid"),
            "deb [signed-by=/etc/keys.gpg] http://mirror.test/debian/ sid main\n"
        );
        assert_eq!(base_mirror(&targets[..2], Some("bookworm")), None);
        let stable = [target("stable-updates", "main", keys), target("stable", "main", keys)];
        assert!(base_mirror(&stable, Some("trixie")).is_some());
    }

    #[test]
    fn an_unknown_signed_by_field_is_not_taken_for_a_key_file() {
        let keys = target("bookworm", "main", "$(SIGNED_BY)").keys();
        assert_ne!(keys.as_deref(), Some("$(SIGNED_BY)"));
    }

    #[test]
    fn the_newest_package_is_chosen_by_number() {
        let names = ["mysql-server-core-8.0", "mysql-server-core-10.1", "mysql-server-core-9.7"];
        let stem = "mysql-server-core";
        assert_eq!(newest(stem, names.into_iter()).as_deref(), Some("mysql-server-core-10.1"));
        let with_plain = names.into_iter().chain([stem]);
        assert_eq!(newest(stem, with_plain).as_deref(), Some(stem));
        let others = ["mysql-server-core-udeb", "mysql-server-corex"];
        assert_eq!(newest(stem, others.into_iter()), None);
    }

    #[test]
    fn the_first_error_is_told_before_the_first_warning() {
        let text = "W: one\nE: two\nE: three";
        assert_eq!(first_complaint(text), Some("E: two"));
        assert_eq!(first_complaint("W: one"), Some("W: one"));
        assert_eq!(first_complaint("nothing"), None);
    }

    #[test]
    fn a_directory_that_apt_cannot_name_is_refused() {
        let text = configuration_text(Path::new("/tmp/a"), Sources::Configured).unwrap();
        // The machine's own configuration may allow it.
        assert!(text.contains("\nAcquire::AllowInsecureRepositories \"false\";\n"), "{text}");
        let error = configuration_text(Path::new("/tmp/a\"b"), Sources::Configured).unwrap_err();
        assert!(error.to_string().starts_with("apt cannot work in "), "{error}");
    }
}
