//! Asks a server program whether it knows settings, without starting a server.
//!
//! MySQL and Percona Server do that themselves (`--validate-config`, from 8.0.16 on). Every server
//! refuses a name that it does not know before it prints its help (`--help --verbose`), which makes
//! nothing; values that older servers and MariaDB refuse are found when they start. Values that a
//! server would change in silence pass.

use std::time::Duration;

use anyhow::{Result, bail};

use super::binary::{Binary, Flavour};
use super::{error_log, template};
use assay_plan::settings::{self, Settings};
use assay_system::tool;

const LIMIT: Duration = Duration::from_secs(30);

/// Checks that `binary` takes these settings.
///
/// # Errors
/// A name that it does not know or a value that it refuses, in its own words.
pub fn check_settings(binary: &Binary, settings: &Settings) -> Result<()> {
    let settings = settings::checked(settings)?;
    let mut command = binary.command();
    command.args(template::user_argument());
    command.args(["--datadir=/nonexistent", "--secure-file-priv=NULL"]);
    let cannot_validate = binary.flavour == Flavour::Mariadb || binary.version < (8, 0, 16);
    let asking: &[&str] =
        if cannot_validate { &["--help", "--verbose"] } else { &["--validate-config"] };
    command.args(asking);
    command.args(settings::arguments(&settings));
    let Err(error) = tool::run(command, LIMIT) else { return Ok(()) };
    let Some(failed) = error.downcast_ref::<tool::Failed>() else { return Err(error) };
    // Other objections are reported at the start.
    match error_log::refused_setting(&failed.stderr, &settings) {
        Some(line) => bail!("{binary} refused a setting: {line}"),
        None => Ok(()),
    }
}
