//! Asks before carrying out a plan of somebody else's: a plan is code, because it names programs,
//! commands and machines.
//!
//! Guarantees: nothing that the plan names is run, opened or contacted before the user agrees.

use std::path::Path;

use anyhow::{Result, bail};
use assay_plan::{Plan, SideEffect};
use assay_system::changeable::{self, ByOthers};
use assay_system::interrupt::Interrupt;

use crate::ask;

/// Number of items that are named; the rest are counted.
const NAMED_MAX: usize = 8;

/// Warns of the effects of a plan that is not the user's own, and obtains consent: by `--yes`, or
/// at the terminal. Fails without consent.
pub(crate) fn agree(
    plan: &Plan,
    files: &[&Path],
    is_agreed: bool,
    interrupt: &Interrupt,
) -> Result<()> {
    let Some(warning) = warning(plan, files) else { return Ok(()) };
    log::warn!("{warning}");
    if is_agreed || ask::yes("run it? [y/N] ", interrupt)? == Some(true) {
        return Ok(());
    }
    bail!("the plan was not run; read it, then make the file your own, or add --yes")
}

/// The effects that the user must know before the plan is carried out; `None` for the user's own
/// plan, and for one that runs nothing.
#[must_use]
pub(crate) fn warning(plan: &Plan, files: &[&Path]) -> Option<String> {
    let why = files.iter().find_map(|file| not_own(file))?;
    let effects = plan.side_effects();
    (!effects.is_empty()).then(|| format!("{why}, and the plan runs {}", listed(&effects)))
}

fn listed(effects: &[SideEffect]) -> String {
    let named: Vec<String> = effects.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    match effects.len().saturating_sub(NAMED_MAX) {
        0 => named.join(", "),
        more => format!("{}, and {more} more", named.join(", ")),
    }
}

/// Why the plan in `file` may be somebody else's: the owner of the file or of a directory above it,
/// or others with write access. `None` for a built-in plan.
fn not_own(file: &Path) -> Option<ByOthers> {
    if file.is_file() { changeable::anywhere(file) } else { None }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const RUNS: &str = "title = \"t\"\nthreads = [1]\nseconds = 1\nserver = \
                        \"/tmp/evil\"\n[workloads.w]\nrecipe = \"oltp_read_only\"\n[configs.a]\n";

    #[test]
    fn a_plan_that_others_can_write_is_told_with_what_it_runs() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("plan.toml");
        fs::write(&file, RUNS).unwrap();
        let plan = Plan::parse(RUNS).unwrap();
        let set =
            |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        set(&file, 0o644);
        assert_eq!(warning(&plan, &[&file]), None, "one's own");
        set(&file, 0o646);
        let told = warning(&plan, &[&file]).unwrap();
        assert!(told.starts_with("other users can write to /"), "{told}");
        assert!(told.ends_with("plan.toml, and the plan runs the server `/tmp/evil`"), "{told}");
        let harmless = Plan::parse(&RUNS.replace("server = \"/tmp/evil\"\n", "")).unwrap();
        assert_eq!(warning(&harmless, &[&file]), None, "it runs nothing");
        set(&file, 0o644);
        set(directory.path(), 0o777);
        assert!(warning(&plan, &[&file]).unwrap().starts_with("other users can write to /"));
        set(directory.path(), 0o1777);
        assert_eq!(warning(&plan, &[&file]), None, "sticky");
        assert_eq!(warning(&plan, &[Path::new("disk")]), None, "built-in");
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(12345), None).unwrap();
            let told = warning(&plan, &[&file]).unwrap();
            assert!(told.contains("plan.toml belongs to user 12345"), "{told}");
        }
    }
}
