//! Options that override a plan: the directories of its study and disks, and its server.

use std::path::{Path, PathBuf};

use assay_plan::{Plan, overlay_name};
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Directory of the study; results already in it are kept and not repeated [default: the plan's
    /// name, with the names of its overlays, and -quick for its quick profile; for the demo
    /// assay-demo, or, once that is finished, assay-demo-2, …]
    #[arg(long, value_name = "STUDY")]
    pub out: Option<PathBuf>,
    /// Directory on the disk to measure [default: the plan's, else `work` in the study]
    #[arg(long, value_name = "DIRECTORY")]
    pub location: Option<PathBuf>,
    /// Server program, a directory with one, or its maker's .tar.xz or .tar.gz [default: the
    /// plan's, else the one found or downloaded]
    #[arg(long, value_name = "PATH")]
    pub server: Option<PathBuf>,
    /// Run a plan that another user owns or can write, without asking
    #[arg(long)]
    pub yes: bool,
}

impl PlanArgs {
    /// The study's directory: the given one, or one named after the plan and its overlays; the
    /// quick form is a study of its own.
    pub fn study(&self, plan: &Path, overlays: &[PathBuf], is_quick: bool) -> PathBuf {
        self.out.clone().unwrap_or_else(|| {
            let mut name = plan.file_stem().unwrap_or("study".as_ref()).to_owned();
            for overlay in overlays {
                name.push("-");
                name.push(overlay_name(overlay));
            }
            if is_quick {
                name.push("-quick");
            }
            PathBuf::from(name)
        })
    }

    /// Applies the given options to the plan.
    pub fn put_into(&self, plan: &mut Plan) {
        plan.location = self.location.clone().or(plan.location.take());
        plan.server = self.server.clone().or(plan.server.take());
    }
}
