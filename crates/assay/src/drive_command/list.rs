//! `assay drive list`: the drives attached on this machine, and the remains of those whose server
//! has died.

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

#[derive(Debug, PartialEq, Serialize)]
struct Listed {
    media: PathBuf,
    /// Preset of the modelled device.
    model: Option<String>,
    device: Option<PathBuf>,
    /// The file, if there is no device.
    file: Option<PathBuf>,
    /// Mount points of the device.
    mounted_on: Vec<PathBuf>,
    /// The state in its health; `None` if nobody answers.
    state: Option<&'static str>,
    /// Process number of its server; `None` if that has died.
    pid: Option<u32>,
    server_died: bool,
}

pub(super) fn run(args: &ListArgs) -> Result<ExitCode> {
    let listed: Vec<_> = registry::all()?.iter().map(look_at).collect::<Result<_>>()?;
    if args.json {
        print::line(serde_json::to_string_pretty(&listed)?);
    } else if listed.is_empty() {
        print::line("no drive is attached");
    }
    if !args.json {
        listed.iter().for_each(|listed| print::line(in_words(listed)));
    }
    Ok(ExitCode::SUCCESS)
}

fn look_at(attached: &RegisteredDrive) -> Result<Listed> {
    // A drive that is just being attached or detached has no health.
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

fn in_words(listed: &Listed) -> String {
    let place = listed.device.as_ref().or(listed.file.as_ref());
    let place = place.map_or_else(String::new, |place| format!(" as {}", place.display()));
    let mounted = health_text::mounted_on(&listed.mounted_on);
    let by = listed.pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
    let state = match (listed.state, listed.server_died) {
        (_, true) => "its server has died, stale device",
        (None, false) => "being attached or detached, or its server was stopped",
        (Some(state), false) => state,
    };
    let model = listed.model.as_ref().map_or_else(String::new, |name| format!("model of {name}, "));
    format!("{}: {model}{state}{place}{by}{mounted}", listed.media.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_where_a_drive_is_and_how() {
        let mut listed = Listed {
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
            in_words(&listed),
            "/vol.img: healthy as /dev/loop3 (process 4711), mounted on /data"
        );
        listed.model = Some("gp3".into());
        assert!(in_words(&listed).starts_with("/vol.img: model of gp3, healthy as "));
        listed.model = None;
        (listed.state, listed.pid, listed.server_died) = (None, None, true);
        assert_eq!(
            in_words(&listed),
            "/vol.img: its server has died, stale device as /dev/loop3, mounted on /data"
        );
    }
}
