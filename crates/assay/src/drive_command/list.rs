//! `assay drive list`: lists attached drives, and stale devices of drives whose server died.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::print;
use assay_serve::health::DIED;
use assay_serve::health_text;
use assay_serve::registry::{self, RegisteredDrive};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay drive list
  assay drive list --json | jq -r '.[] | select(.server_died) | .media'

Lists the drives recorded in the state directory (ASSAY_STATE): those that this user has attached, \
and those of running studies.")]
pub(super) struct ListArgs {
    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

/// An entry of the list.
#[derive(Debug, PartialEq, Serialize)]
struct Listed {
    media: PathBuf,
    /// Preset of the emulated device, if the drive is one.
    model: Option<String>,
    /// Block device, if the drive has one.
    device: Option<PathBuf>,
    /// File that shows the drive, if it has no device.
    file: Option<PathBuf>,
    /// Mount points of the device.
    mounted_on: Vec<PathBuf>,
    /// State in its health log; `None` if its server does not answer.
    state: Option<&'static str>,
    /// Process id of the server; `None` after its death.
    pid: Option<u32>,
    server_died: bool,
}

/// Prints the drives in the ledgers of the state directory.
pub(super) fn run(args: &ListArgs) -> Result<ExitCode> {
    let listed: Vec<_> = registry::all()?.iter().map(look_at).collect::<Result<_>>()?;
    if args.json {
        print::line(serde_json::to_string_pretty(&listed)?);
    } else if listed.is_empty() {
        print::line("no drive is attached");
    }
    if !args.json {
        listed.iter().for_each(|drive| print::line(in_words(drive)));
    }
    Ok(ExitCode::SUCCESS)
}

fn look_at(attached: &RegisteredDrive) -> Result<Listed> {
    // A drive that is just being attached or detached does not answer.
    let health = attached.owner.and_then(|_| attached.health().ok());
    let server_died = attached.owner.is_none();
    let left = attached.left_over()?;
    Ok(Listed {
        media: attached.media.clone(),
        model: health.as_ref().and_then(|health| Some(health.model.as_ref()?.name.clone())),
        device: left.device,
        file: left.file,
        mounted_on: left.mounted_on,
        state: match server_died {
            true => Some(DIED),
            false => health.as_ref().map(|health| health.status.state.name()),
        },
        pid: health.and_then(|health| health.attachment.pid).or(attached.owner),
        server_died,
    })
}

fn in_words(drive: &Listed) -> String {
    let place = drive.device.as_ref().or(drive.file.as_ref());
    let place = place.map_or_else(String::new, |place| format!(" as {}", place.display()));
    let mounted = health_text::mounted_on(&drive.mounted_on);
    let by = drive.pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
    let state = match (drive.state, drive.server_died) {
        (_, true) => "its server has died, stale device",
        (None, false) => "being attached or detached, or its server was stopped",
        (Some(state), false) => state,
    };
    let model = drive.model.as_ref().map_or_else(String::new, |name| format!("model of {name}, "));
    format!("{}: {model}{state}{place}{by}{mounted}", drive.media.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_where_a_drive_is_and_how() {
        let mut drive = Listed {
            media: "/vol.img".into(),
            model: None,
            device: Some("/dev/loop3".into()),
            file: None,
            mounted_on: vec!["/data".into()],
            state: Some("healthy"),
            pid: Some(4711),
            server_died: false,
        };
        assert_eq!(
            in_words(&drive),
            "/vol.img: healthy as /dev/loop3 (process 4711), mounted on /data"
        );
        drive.model = Some("gp3".into());
        assert!(in_words(&drive).starts_with("/vol.img: model of gp3, healthy as "));
        drive.model = None;
        (drive.state, drive.pid, drive.server_died) = (None, None, true);
        assert_eq!(
            in_words(&drive),
            "/vol.img: its server has died, stale device as /dev/loop3, mounted on /data"
        );
    }
}
