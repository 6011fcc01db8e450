//! Text of the unit and of the lines for fstab.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::escape;
use super::file_system::FileSystemKind;
use assay_base::text::shell_word;

/// Path under which the unit is installed.
const FILE: &str = "/etc/systemd/system/assay-drive@.service";

/// A drive's unit.
pub(super) struct Unit {
    /// Absolute path of this program.
    pub(super) program: PathBuf,
    /// State directory with the drive's ledger; the unit passes it on as `ASSAY_STATE`.
    pub(super) state: PathBuf,
    pub(super) media: PathBuf,
    /// Whether the media are a block device, which the unit must wait for.
    pub(super) is_device: bool,
}

/// The mount of the drive's file system.
pub(super) struct Mount {
    pub(super) target: PathBuf,
    pub(super) kind: FileSystemKind,
    /// `None` before `mkfs`.
    pub(super) uuid: Option<String>,
}

impl Unit {
    /// Name of the unit's instance for this drive.
    pub(super) fn name(&self) -> String {
        format!("assay-drive@{}.service", escape::path(&self.media))
    }

    /// Text of the template unit, which is the same for all drives.
    pub(super) fn service(&self) -> String {
        let program = escape::word(&self.program.to_string_lossy());
        let state = escape::word(&self.state.to_string_lossy());
        let variable = escape::word(&format!("ASSAY_STATE={}", self.state.to_string_lossy()));
        format!(
            "\
# {FILE}
[Unit]
Description=Assay drive on %f
# Starts before the file systems on the drive are mounted, so not after basic.target, the default.
DefaultDependencies=no
RequiresMountsFor=%f {program} {state}
Wants=modprobe@fuse.service modprobe@loop.service
After=modprobe@fuse.service modprobe@loop.service systemd-remount-fs.service systemd-udevd.service
# Stops at shutdown: after the drive's file systems are unmounted, before that of its media.
Conflicts=umount.target
Before=umount.target

[Service]
Type=oneshot
RemainAfterExit=yes
Environment={variable}
ExecStart=:{program} drive attach --if-needed %f
ExecStop=:{program} drive detach --if-needed %f
# Recovery after a crash takes time.
TimeoutStartSec=15min
TimeoutStopSec=5min
# Killing the server of a mounted file system would lose writes that were not flushed.
KillMode=process
SendSIGKILL=no
OOMScoreAdjust=-1000

[Install]
WantedBy=multi-user.target"
        )
    }

    /// The fstab line for the mount.
    ///
    /// # Errors
    /// The drive has no file system, so there is no UUID.
    pub(super) fn fstab(&self, mount: &Mount) -> Result<String> {
        let uuid = mount.uuid.as_ref().with_context(|| {
            format!(
                "{} holds no file system yet; attach it, make one, and run this again",
                self.media.display()
            )
        })?;
        Ok(self.fstab_line(mount, uuid))
    }

    fn fstab_line(&self, mount: &Mount, uuid: &str) -> String {
        let (target, kind) = (escape::field(&mount.target.to_string_lossy()), mount.kind.name());
        let unit = escape::field(&self.name());
        // XFS is not checked at boot (fsck.xfs(8)).
        let pass = if mount.kind == FileSystemKind::Ext4 { 2 } else { 0 };
        format!(
            "UUID={uuid} {target} {kind} noatime,discard,nofail,x-systemd.requires={unit} 0 {pass}"
        )
    }

    /// All files and lines, with the commands that activate them.
    pub(super) fn whole(&self, mount: Option<&Mount>) -> Result<String> {
        let mut parts = vec![self.service()];
        parts.extend(self.is_device.then(|| self.drop_in()));
        match mount {
            Some(mount) => parts.push(self.mounting(mount)),
            None => parts.push(format!(
                "# Attached at boot, and not mounted:\n# systemctl daemon-reload && systemctl \
                 enable --now {}",
                shell_word(&self.name())
            )),
        }
        Ok(parts.join("\n\n"))
    }

    /// Drop-in that makes the unit wait for a block device.
    fn drop_in(&self) -> String {
        let device = escape::path(&self.media) + ".device";
        format!(
            "# /etc/systemd/system/{}.d/device.conf\n[Unit]\nRequires={device}\nAfter={device}",
            self.name()
        )
    }

    fn mounting(&self, mount: &Mount) -> String {
        let target = mount.target.display();
        let line = match &mount.uuid {
            Some(uuid) => self.fstab_line(mount, uuid),
            None => {
                let line = self.fstab_line(mount, "…");
                format!("# make the file system, and ask again for its UUID:\n# {line}")
            }
        };
        format!(
            "\
# /etc/fstab
{line}

# What works on {target} must wait for it, e.g. `systemctl edit mysql`:
# [Unit]
# RequiresMountsFor={}

# systemctl daemon-reload && mount {}",
            escape::word(&mount.target.to_string_lossy()),
            shell_word(&mount.target.to_string_lossy()),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use assay_testing::skip;

    const GENERATOR: &str = "/usr/lib/systemd/system-generators/systemd-fstab-generator";
    const UUID: &str = "12345678-9abc-def0-1234-56789abcdef0";

    fn unit(media: &str) -> Unit {
        // `systemd-analyze verify` requires that the program exists.
        Unit {
            program: "/bin/true".into(),
            state: "/var/lib/my assay".into(),
            media: media.into(),
            is_device: media.starts_with("/dev"),
        }
    }

    fn mounted(kind: FileSystemKind, target: &str) -> Mount {
        Mount { target: target.into(), kind, uuid: Some(UUID.into()) }
    }

    #[test]
    fn fstab_names_the_unit_and_the_file_system() {
        let line = unit("/srv/vol-1.img")
            .fstab(&mounted(FileSystemKind::Ext4, "/var/lib/my sql"))
            .unwrap();
        let expected = "UUID=12345678-9abc-def0-1234-56789abcdef0 /var/lib/my\\040sql ext4 \
            noatime,discard,nofail,x-systemd.requires=assay-drive@srv-vol\\134x2d1.img.service 0 2";
        assert_eq!(line, expected);
        let line = unit("/srv/a.img").fstab(&mounted(FileSystemKind::Xfs, "/x")).unwrap();
        assert!(line.contains(" /x xfs ") && line.ends_with(" 0 0"), "{line}");
        let none = Mount { uuid: None, ..mounted(FileSystemKind::Xfs, "/x") };
        assert!(unit("/srv/a.img").fstab(&none).is_err());
        let whole = unit("/srv/a.img").whole(Some(&none)).unwrap();
        assert!(whole.lines().all(|line| !line.starts_with("UUID=")), "{whole}");
    }

    #[test]
    fn a_device_is_waited_for() {
        let whole = unit("/dev/nvme1n1").whole(None).unwrap();
        assert!(whole.contains("assay-drive@dev-nvme1n1.service.d/device.conf"), "{whole}");
        assert!(whole.contains("Requires=dev-nvme1n1.device\nAfter=dev-nvme1n1.device"), "{whole}");
        assert!(!unit("/srv/a.img").whole(None).unwrap().contains(".device"));
    }

    fn verify(directory: &Path, name: &str) -> Option<(bool, String)> {
        let output = Command::new("systemd-analyze")
            .args(["verify", "--man=no", name])
            .current_dir(directory)
            .env("SYSTEMD_UNIT_PATH", format!("{}:", directory.display()))
            .env("SYSTEMD_LOG_LEVEL", "info")
            .output()
            .ok()?;
        Some((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    /// Output of systemd on its own units is ignored; there must be none on ours.
    #[test]
    fn systemd_finds_nothing_wrong_with_the_unit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("assay-drive@.service");
        for media in ["/srv/vol.img", "/srv/my drive-1.img", "/dev/nvme1n1"] {
            let unit = unit(media);
            fs::write(&path, unit.service()).unwrap();
            let Some((is_sound, output)) = verify(directory.path(), &unit.name()) else {
                return skip("systemd-analyze");
            };
            assert!(is_sound && !output.contains("assay-drive"), "{media}: {output}");
        }
        // Negative control: an invalid value is reported.
        let wrong = unit("/srv/vol.img").service().replace("KillMode=process", "KillMode=nobody");
        fs::write(&path, wrong).unwrap();
        let (_, output) = verify(directory.path(), "assay-drive@srv-vol.img.service").unwrap();
        assert!(output.contains("nobody"), "{output}");
    }

    /// The mount unit that systemd generates from the fstab line requires our unit and starts after
    /// it.
    #[test]
    fn systemd_makes_a_mount_of_the_line_that_depends_on_the_unit() {
        if !Path::new(GENERATOR).exists() {
            return skip("systemd-fstab-generator");
        }
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let unit = unit("/srv/my drive-1.img");
        let line = unit.fstab(&mounted(FileSystemKind::Xfs, "/var/lib/my sql")).unwrap();
        fs::write(at("fstab"), line + "\n").unwrap();
        for name in ["normal", "early", "late"] {
            fs::create_dir(at(name)).unwrap();
        }
        let mut generate = Command::new(GENERATOR);
        generate.args([at("normal"), at("early"), at("late")]).env("SYSTEMD_FSTAB", at("fstab"));
        assert!(generate.status().unwrap().success());
        let mount = fs::read_to_string(at("normal").join("var-lib-my\\x20sql.mount")).unwrap();
        for line in [
            "Requires=assay-drive@srv-my\\x20drive\\x2d1.img.service",
            "After=assay-drive@srv-my\\x20drive\\x2d1.img.service",
            "What=/dev/disk/by-uuid/12345678-9abc-def0-1234-56789abcdef0",
            "Where=/var/lib/my sql",
            "Type=xfs",
        ] {
            assert!(mount.lines().any(|found| found == line), "`{line}` is not in: {mount}");
        }
    }
}
